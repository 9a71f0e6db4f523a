/* store.c - stores for tests, the fake clock, and shorthands for the verbs. */
#include "internal.h"

#include "core/call.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#define STORES_MAX 64

/* Threads of a dispatcher close theirs, too, some of them after the test has ended. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static ph_store *stores[STORES_MAX];
static size_t store_count;

static void remember(ph_store *store)
{
    pthread_mutex_lock(&lock);
    if (store_count < STORES_MAX)
        stores[store_count++] = store;
    pthread_mutex_unlock(&lock);
}

/* The linker sends the tests' ph_close here (--wrap), so that a store that the
 * test closes is not closed again. */
void __real_ph_close(ph_store *store);
void __wrap_ph_close(ph_store *store);

void __wrap_ph_close(ph_store *store)
{
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < store_count; i++) {
        if (store && stores[i] == store)
            stores[i] = NULL;
    }
    pthread_mutex_unlock(&lock);
    __real_ph_close(store);
}

void t_stores_close(void)
{
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < store_count; i++) {
        __real_ph_close(stores[i]);
        stores[i] = NULL;
    }
    store_count = 0;
    pthread_mutex_unlock(&lock);
}

const char *t_backend(void)
{
    return t_env.backend;
}

bool t_is_pg(void)
{
    return strcmp(t_env.backend, "postgresql") == 0;
}

const char *t_url(void)
{
    return t_env.url;
}

const char *t_dir(void)
{
    return t_env.dir;
}

void t_env_place(void)
{
    if (t_is_pg())
        t_server_url(t_env.database, t_env.url, sizeof(t_env.url));
    else
        snprintf(t_env.url, sizeof(t_env.url), "sqlite:%s/test%d.db", t_env.dir, t_env.round);
    snprintf(t_env.schema, sizeof(t_env.schema), "t_%d_%d_%d", (int)getppid(), t_env.number,
             t_env.round);
}

void t_start_over(void)
{
    t_stores_close();
    t_conns_close();
    t_schema_leave();
    t_env.round++;
    t_env_place();
}

/* ------------------------------------------------- a file that is migrated already */

/* A name that no other process or thread of the test has. */
static void make_name(char *ret_path, size_t size)
{
    int fd;

    snprintf(ret_path, size, "%s/migrated.XXXXXX", t_env.dir);
    fd = mkstemp(ret_path);
    CHECK(fd >= 0);
    close(fd);
    CHECK_INT(unlink(ret_path), 0);
}

/* The file gets its name when it is whole; if it has that already, another was faster. */
static void give_name(const char *file, const char *path)
{
    CHECK(link(file, path) == 0 || errno == EEXIST);
    CHECK_INT(unlink(file), 0);
}

/* Migrates a file once for all tests of this run; those at the same time may each make one. */
static void make_template(const char *template)
{
    ph_store_opts opts = PH_STORE_OPTS_INIT;
    char made[PATH_MAX], url[PATH_MAX + 8];
    ph_store *store = NULL;

    make_name(made, sizeof(made));
    snprintf(url, sizeof(url), "sqlite:%s", made);
    opts.deploy_schema = true;
    OK(ph_open(url, &opts, &store, &t_err));
    OK(ph_clock(store, PH_OWN_TX, 0, &(int64_t){ 0 },
                &t_err)); /* it migrates when it is first used */
    __real_ph_close(store);
    give_name(made, template);
}

static void copy_file(const char *from, const char *to)
{
    int in = open(from, O_RDONLY | O_CLOEXEC);
    int out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    struct stat stat;

    CHECK(in >= 0 && out >= 0 && fstat(in, &stat) == 0);
    CHECK_INT(sendfile(out, in, NULL, (size_t)stat.st_size), stat.st_size);
    close(in);
    close(out);
}

/* Every file has a store id of its own. */
static void give_identity(const char *path)
{
    sqlite3 *db = NULL;

    CHECK_INT(sqlite3_open(path, &db), SQLITE_OK);
    CHECK_INT(sqlite3_exec(db, "UPDATE posthorn_store SET store_id = random() & 268435455", NULL,
                           NULL, NULL),
              SQLITE_OK);
    CHECK_INT(sqlite3_close(db), SQLITE_OK);
}

/* Copies a migrated file to where the test will open its own: migrating takes longer than most
 * tests. Tests of migrations use ph_open() or t_try_open(). */
static void place_migrated_file(void)
{
    const char *path = t_env.url + strlen("sqlite:");
    char template[PATH_MAX], copy[PATH_MAX];

    if (access(path, F_OK) == 0)
        return;
    snprintf(template, sizeof(template), "%s/../template.db", t_env.dir);
    if (access(template, F_OK) < 0)
        make_template(template);
    make_name(copy, sizeof(copy));
    copy_file(template, copy);
    give_identity(copy);
    give_name(copy, path);
}

ph_store *t_open(const ph_store_opts *opts)
{
    ph_store_opts copy = PH_STORE_OPTS_INIT;
    ph_store *store = NULL;

    if (opts)
        copy = *opts;
    copy.deploy_schema = true;
    if (!copy.schema)
        copy.schema = t_schema_first(copy.table_prefix ? T_CHOICE_EMPTY : T_CHOICE_MIGRATED);
    if (!*t_env.backend)
        t_skip("this program was started without --backend");
    if (!t_is_pg() && !copy.table_prefix)
        place_migrated_file();
    OK(ph_open(t_env.url, &copy, &store, &t_err));
    remember(store);
    return store;
}

int t_try_open(const char *url, const ph_store_opts *opts, ph_store **ret_store)
{
    int r = ph_open(url, opts, ret_store, &t_err);

    if (r == 0)
        remember(*ret_store);
    return r;
}

/* ----------------------------------------------------------------- the clock */

void t_clock_set(ph_store *store, int64_t time_us)
{
    PH__CALL(call);

    OK(ph__call_own(&call, store, 0, &t_err));
    OK(store->backend->test_clock(&call, &time_us));
}

int64_t t_clock(ph_store *store)
{
    int64_t time = 0;

    OK(ph_clock(store, PH_OWN_TX, 0, &time, &t_err));
    return time;
}

void t_clock_advance(ph_store *store, int64_t by_us)
{
    t_clock_set(store, t_clock(store) + by_us);
}

/* ----------------------------------------------------------------- shorthands */

ph_enqueued t_enqueue(ph_store *store, const char *topic, const char *payload)
{
    ph_message message = PH_MESSAGE_INIT;
    ph_enqueued enqueued;

    message.topic = topic;
    message.payload = payload;
    OK(ph_enqueue(store, PH_OWN_TX, &message, 0, &enqueued, &t_err));
    return enqueued;
}

ph_batch *t_claim(ph_store *store, ph_owner owner, int n)
{
    ph_claim_opts opts = PH_CLAIM_OPTS_INIT;
    ph_batch *batch = NULL;

    opts.batch_size = n;
    opts.lease_s = 30;
    OK(ph_outbox_claim(store, PH_OWN_TX, owner, &opts, 0, &batch, &t_err));
    return batch;
}

size_t t_ack_all(ph_store *store, ph_owner owner, ph_batch *batch)
{
    size_t count = ph_batch_count(batch), acked = 0;
    ph_lease_ref *refs = calloc(count + 1, sizeof(*refs));
    ph_outcome *outcomes = calloc(count + 1, sizeof(*outcomes));

    CHECK(refs && outcomes);
    for (size_t i = 0; i < count; i++)
        refs[i] = ph_lease_ref_of(ph_batch_at(batch, i));
    OK(ph_outbox_ack(store, PH_OWN_TX, owner, refs, count, 0, outcomes, &t_err));
    for (size_t i = 0; i < count; i++)
        acked += outcomes[i] == PH_OUTCOME_ACKED;
    free(refs);
    free(outcomes);
    ph_batch_free(batch);
    return acked;
}
