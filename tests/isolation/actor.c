/* actor.c - connections, transactions, names and fences of those who act. */
#include "actor.h"

#include "util/deadline.h"

#include <posthorn/pg.h>
#include <posthorn/sqlite.h>
#include <stdarg.h>
#include <stdlib.h>

/* PostgreSQL looks for a deadlock when someone has waited so long. The same for
 * all, so that the one who began to wait first is the victim. */
#define DEADLOCK_MS 80

/* ------------------------------------------------------------------ results */

void iso_result_add(struct iso_result *result, const char *format, ...)
{
    size_t length = strlen(result->words);
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(result->words + length, sizeof(result->words) - length, format, arguments);
    va_end(arguments);
    length = strlen(result->words);
    if (length + 1 < sizeof(result->words))
        memcpy(result->words + length, " ", 2);
}

static bool matches(const char *text, size_t length, const char *pattern)
{
    if (*pattern == '*') {
        pattern++;
        return length >= strlen(pattern) &&
               memcmp(text + length - strlen(pattern), pattern, strlen(pattern)) == 0;
    }
    return length == strlen(pattern) && memcmp(text, pattern, length) == 0;
}

int iso_result_count(const struct iso_result *result, const char *pattern)
{
    const char *at = result->words;
    int count = 0;

    if (strcmp(pattern, "blocked") == 0)
        return result->blocked;
    while (*at) {
        size_t length = strcspn(at, " ");

        count += matches(at, length, pattern);
        at += length + (at[length] == ' ');
    }
    return count;
}

/* -------------------------------------------------------------- connections */

/* The busy handler of a session's raw SQLite connection: says that it waits,
 * and waits on for as long as a spec may last. */
static int wait_for_lock(void *context, int times)
{
    struct iso_actor *actor = context;

    atomic_store(&actor->conn_waits, true);
    ph__deadline_nap(ph__deadline_in(10), 2);
    return times < ISO_PATIENCE_MS;
}

static void url_for(const struct iso_actor *actor, char *ret_url, size_t size)
{
    const char *url = t_url();

    if (t_is_pg())
        snprintf(ret_url, size, "%s%capplication_name=%s&options=-c%%20deadlock_timeout%%3D%d", url,
                 strchr(url, '?') ? '&' : '?', actor->name, DEADLOCK_MS);
    else
        snprintf(ret_url, size, "%s", url);
}

void iso_actor_open(struct iso_actor *actor, const char *name, struct iso_world *world,
                    const ph_store_opts *opts)
{
    char url[1200], sql[120];

    snprintf(actor->name, sizeof(actor->name), "%s", name);
    actor->world = world;
    url_for(actor, url, sizeof(url));
    OK(ph_open_lazy(url, opts, &actor->store, &t_err));
    actor->conn = t_connect();
    if (t_is_pg()) {
        snprintf(sql, sizeof(sql), "SET application_name = '%s'; SET deadlock_timeout = %d",
                 actor->name, DEADLOCK_MS);
        t_sql(actor->conn, sql);
    } else {
        CHECK_INT(sqlite3_busy_handler(t_native(actor->conn), wait_for_lock, actor), SQLITE_OK);
    }
}

void iso_actor_close(struct iso_actor *actor)
{
    ph_close(actor->store);
    t_disconnect(actor->conn);
    *actor = (struct iso_actor){ .store = NULL };
}

/* ------------------------------------------------------------- transactions */

static int execute_pg(PGconn *conn, const char *sql, ph_error *err)
{
    PGresult *result = PQexec(conn, sql);
    bool ok = PQresultStatus(result) == PGRES_COMMAND_OK;
    bool undone = strcmp(sql, "COMMIT") == 0 && strcmp(PQcmdStatus(result), "ROLLBACK") == 0;

    const char *sqlstate = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    int r = undone ? PH_ETXDEAD : 0;

    if (!ok) {
        r = sqlstate && strncmp(sqlstate, "40", 2) == 0 ? PH_ECONFLICT : PH_EDATABASE;
        snprintf(err->message, sizeof(err->message), "%.200s", PQerrorMessage(conn));
    } else if (undone) {
        snprintf(err->message, sizeof(err->message), "the database rolled back at COMMIT");
    }
    PQclear(result);
    return r;
}

static int execute_sqlite(sqlite3 *conn, const char *sql, ph_error *err)
{
    int r = sqlite3_exec(conn, sql, NULL, NULL, NULL);

    if (r == SQLITE_OK)
        return 0;
    snprintf(err->message, sizeof(err->message), "%.200s", sqlite3_errmsg(conn));
    return (r & 0xff) == SQLITE_BUSY ? PH_EBUSY : PH_EDATABASE;
}

static int execute(struct iso_actor *actor, const char *sql, ph_error *err)
{
    int r = t_is_pg() ? execute_pg(t_native(actor->conn), sql, err)
                      : execute_sqlite(t_native(actor->conn), sql, err);

    atomic_store(&actor->conn_waits, false);
    err->code = r;
    return r;
}

static const char *begin_text(const char *isolation)
{
    if (!t_is_pg())
        return "BEGIN IMMEDIATE";
    if (strcmp(isolation, "repeatable_read") == 0)
        return "BEGIN ISOLATION LEVEL REPEATABLE READ";
    return strcmp(isolation, "serializable") == 0 ? "BEGIN ISOLATION LEVEL SERIALIZABLE" : "BEGIN";
}

int iso_actor_begin(struct iso_actor *actor, const char *isolation, ph_error *err)
{
    int r = execute(actor, begin_text(isolation), err);

    if (r == 0)
        atomic_store(&actor->in_tx, true);
    return r;
}

int iso_actor_commit(struct iso_actor *actor, ph_error *err)
{
    int r = execute(actor, "COMMIT", err);

    atomic_store(&actor->in_tx, false);
    return r;
}

int iso_actor_rollback(struct iso_actor *actor, ph_error *err)
{
    int r = execute(actor, "ROLLBACK", err);

    atomic_store(&actor->in_tx, false);
    return r;
}

ph_tx iso_actor_tx(struct iso_actor *actor)
{
    return atomic_load(&actor->in_tx) ? t_tx(actor->conn) : PH_OWN_TX;
}

/* ------------------------------------------------------------------- fences */

void iso_actor_remember(struct iso_actor *actor, ph_owner owner, const ph_delivery *delivery)
{
    CHECK(actor->lease_count < ISO_LEASES_MAX);
    actor->leases[actor->lease_count].owner = owner;
    actor->leases[actor->lease_count++].ref = ph_lease_ref_of(delivery);
}

ph_lease_ref iso_actor_lease(const struct iso_actor *actor, ph_owner owner, ph_work_id id)
{
    for (size_t i = actor->lease_count; i-- > 0;) {
        if (memcmp(&actor->leases[i].owner, &owner, sizeof(owner)) == 0 &&
            memcmp(&actor->leases[i].ref.work_id, &id, sizeof(id)) == 0)
            return actor->leases[i].ref;
    }
    return (ph_lease_ref){ .work_id = id };
}

/* -------------------------------------------------------------------- names */

void iso_world_name(struct iso_world *world, const char *name, ph_work_id id,
                    ph_message_id message_id)
{
    size_t i = 0;

    pthread_mutex_lock(&world->lock);
    while (i < world->name_count && strcmp(world->names[i].name, name) != 0)
        i++;
    CHECK(i < ISO_NAMES_MAX);
    world->names[i].name = name;
    world->names[i].id = id;
    world->names[i].message_id = message_id;
    if (i == world->name_count)
        world->name_count++;
    pthread_mutex_unlock(&world->lock);
}

void iso_world_name_join(struct iso_world *world, const char *name, ph_join_id id)
{
    ph_work_id same;

    memcpy(same.b, id.b, sizeof(same.b));
    iso_world_name(world, name, same, (ph_message_id){ { 0 } });
}

static void look_up(struct iso_world *world, const char *name, ph_work_id *ret_id,
                    ph_message_id *ret_message_id)
{
    *ret_id = (ph_work_id){ { 0 } };
    *ret_message_id = (ph_message_id){ { 0 } };
    pthread_mutex_lock(&world->lock);
    for (size_t i = 0; i < world->name_count; i++) {
        if (strcmp(world->names[i].name, name) == 0) {
            *ret_id = world->names[i].id;
            *ret_message_id = world->names[i].message_id;
        }
    }
    pthread_mutex_unlock(&world->lock);
}

ph_work_id iso_world_id(struct iso_world *world, const char *name)
{
    ph_message_id message_id;
    ph_work_id id;

    look_up(world, name, &id, &message_id);
    return id;
}

ph_message_id iso_world_message_id(struct iso_world *world, const char *name)
{
    ph_message_id message_id;
    ph_work_id id;

    look_up(world, name, &id, &message_id);
    return message_id;
}

ph_join_id iso_world_join_id(struct iso_world *world, const char *name)
{
    ph_work_id id = iso_world_id(world, name);
    ph_join_id join;

    memcpy(join.b, id.b, sizeof(join.b));
    return join;
}

const char *iso_world_name_of(struct iso_world *world, ph_work_id id)
{
    const char *name = NULL;

    pthread_mutex_lock(&world->lock);
    for (size_t i = 0; i < world->name_count; i++) {
        if (memcmp(&world->names[i].id, &id, sizeof(id)) == 0)
            name = world->names[i].name;
    }
    pthread_mutex_unlock(&world->lock);
    return name;
}

ph_owner iso_owner(const char *name)
{
    ph_owner owner = { { 0x0f } };

    memcpy(owner.b + 1, name, strnlen(name, sizeof(owner.b) - 1));
    return owner;
}
