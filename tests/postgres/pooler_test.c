/* pooler_test.c - through PgBouncer in transaction mode, where each transaction
 * may run in another session of the server, and prepared statements do not last. */
#include "seam.h"

#include <netinet/in.h>
#include <pwd.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t pooler;

static const char *find_pgbouncer(void)
{
    static const char *const places[] = { "/usr/sbin/pgbouncer", "/usr/bin/pgbouncer",
                                          "/usr/local/bin/pgbouncer" };

    for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
        if (access(places[i], X_OK) == 0)
            return places[i];
    }
    t_skip("pgbouncer is not installed");
}

static int free_port(void)
{
    struct sockaddr_in address = { .sin_family = AF_INET };
    socklen_t size = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    CHECK(fd >= 0 && bind(fd, (struct sockaddr *)&address, size) == 0);
    CHECK(getsockname(fd, (struct sockaddr *)&address, &size) == 0);
    close(fd);
    return ntohs(address.sin_port);
}

/* One parameter of the test's URL. */
static const char *parameter(const char *name)
{
    PQconninfoOption *options = PQconninfoParse(t_url(), NULL);
    const char *value = "";

    for (PQconninfoOption *o = options; o && o->keyword; o++) {
        if (strcmp(o->keyword, name) == 0 && o->val)
            value = say("%s", o->val);
    }
    PQconninfoFree(options);
    return value;
}

static void write_settings(const char *path, int port, const char *who_may)
{
    FILE *file = fopen(path, "w");

    CHECK(file != NULL);
    fprintf(file,
            "[databases]\n* = host=%s port=%s user=%s\n"
            "[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = %d\nunix_socket_dir =\n"
            "%s\npool_mode = transaction\ndefault_pool_size = 3\n"
            "logfile =\npidfile =\n",
            parameter("host"), parameter("port"), parameter("user"), port, who_may);
    CHECK(fclose(file) == 0);
}

/* PgBouncer does not run as root; it reads its settings before it changes. */
static void __attribute__((noreturn)) become_pgbouncer(const char *program, const char *settings)
{
    const char *account = getpwnam("postgres") ? "postgres" : "nobody";

    if (getuid() == 0)
        execl(program, program, "-q", "-u", account, settings, (char *)NULL);
    else
        execl(program, program, "-q", settings, (char *)NULL);
    _exit(127);
}

/* Returns the pooler's URL of the test's database; who_may: its settings about that. */
static const char *start_pooler_for(const char *who_may)
{
    const char *program = find_pgbouncer();
    char settings[300];
    int port = free_port();
    const char *url = say("postgresql://%s@127.0.0.1:%d/%s?sslmode=disable", parameter("user"),
                          port, parameter("dbname"));

    snprintf(settings, sizeof(settings), "%s/pgbouncer.ini", t_dir());
    write_settings(settings, port, who_may);
    pooler = fork();
    CHECK(pooler >= 0);
    if (pooler == 0)
        become_pgbouncer(program, settings);
    for (int i = 0; i < 200; i++) {
        if (PQping(url) == PQPING_OK)
            return url;
        CHECK_INT(waitpid(pooler, NULL, WNOHANG), 0); /* it has ended: its output says why */
        usleep(25000);
    }
    FAIL("pgbouncer answers");
    return NULL;
}

static const char *start_pooler(void)
{
    return start_pooler_for("auth_type = any");
}

static void stop_pooler(void)
{
    kill(pooler, SIGTERM);
    CHECK(waitpid(pooler, NULL, 0) == pooler);
}

/* How often the store said that it goes on without prepared statements. */
static void count_warnings(void *context, const ph_log_event *event)
{
    int *count = context;

    *count += event->level == PH_LOG_WARN &&
              strstr(event->text, "prepared statements do not work") != NULL;
}

static ph_store *open_through(const char *url, ph_prepared prepared, int *warnings)
{
    ph_store_opts opts = PH_STORE_OPTS_INIT;
    ph_store *store = NULL;

    opts.schema = t_schema();
    opts.deploy_schema = true;
    opts.prepared = prepared;
    opts.log = count_warnings;
    opts.log_context = warnings;
    OK(t_try_open(url, &opts, &store));
    return store;
}

/* Every verb, by two stores that take turns, while a third client holds one of
 * the server's sessions in ever new transactions, so that the others move. */
static void work_through(const char *url, ph_store *const stores[2])
{
    struct t_conn *other = t_connect_to(url);
    ph_owner owner = ph_owner_new();
    ph_outcome outcomes[3];
    ph_lease_ref refs[3];
    ph_batch *batch;

    for (int i = 0; i < 12; i++) {
        ph_store *store = stores[i % 2];

        if (i % 3 == 0)
            t_begin(other);
        for (int k = 0; k < 3; k++)
            t_enqueue(store, "t", "p");
        batch = t_claim(store, owner, 3);
        CHECK_INT(ph_batch_count(batch), 3);
        for (size_t k = 0; k < 3; k++)
            refs[k] = ph_lease_ref_of(ph_batch_at(batch, k));
        ph_batch_free(batch);
        OK(ph_outbox_renew(stores[(i + 1) % 2], PH_OWN_TX, owner, refs, 3, 30, 0, outcomes,
                           &t_err));
        CHECK_INT(outcomes[2], PH_OUTCOME_RENEWED);
        OK(ph_outbox_ack(stores[(i + 1) % 2], PH_OWN_TX, owner, refs, 3, 0, outcomes, &t_err));
        CHECK_INT(outcomes[0], PH_OUTCOME_ACKED);
        CHECK_INT(outcomes[2], PH_OUTCOME_ACKED);
        if (i % 3 == 2)
            t_rollback(other);
    }
    t_disconnect(other);
}

TEST(prepared_statements_are_given_up_behind_a_pooler)
{
    const char *url = start_pooler();
    int warnings = 0;
    ph_store *stores[2];
    struct t_conn *direct;

    stores[0] = open_through(url, PH_PREPARED_AUTO, &warnings);
    stores[1] = open_through(url, PH_PREPARED_AUTO, &warnings);
    work_through(url, stores);
    CHECK(warnings >= 1 && warnings <= 2); /* once per store, and then no more */
    direct = t_connect();
    CHECK_INT(t_number(direct, "SELECT count(*) FROM {t}outbox WHERE is_processed"), 36);
    ph_close(stores[0]);
    ph_close(stores[1]);
    stop_pooler();
}

/* The session that has the statement is busy: another one does not know it. */
TEST(a_statement_prepared_in_another_session_is_no_error)
{
    const char *url = start_pooler();
    struct t_conn *other = t_connect_to(url);
    int warnings = 0;
    ph_store *store = open_through(url, PH_PREPARED_AUTO, &warnings);

    t_enqueue(store, "t", "p");
    CHECK_INT(warnings, 0);
    (void)t_clock(store); /* has read the doorbell's answer: the session is free */
    t_begin(other);       /* takes the session that was used last */
    t_enqueue(store, "t", "p");
    CHECK_INT(warnings, 1);
    t_rollback(other);
    t_disconnect(other);
    ph_close(store);
    stop_pooler();
}

TEST(without_prepared_statements_nothing_is_noticed)
{
    const char *url = start_pooler();
    int warnings = 0;
    ph_store *stores[2];

    stores[0] = open_through(url, PH_PREPARED_OFF, &warnings);
    stores[1] = open_through(url, PH_PREPARED_OFF, &warnings);
    work_through(url, stores);
    CHECK_INT(warnings, 0);
    ph_close(stores[0]);
    ph_close(stores[1]);
    stop_pooler();
}

TEST(a_callers_transaction_goes_through_the_pooler)
{
    const char *url = start_pooler();
    ph_message message = PH_MESSAGE_INIT;
    ph_owner owner = ph_owner_new();
    ph_batch *batch = NULL;
    int warnings = 0;
    ph_store *store = open_through(url, PH_PREPARED_AUTO, &warnings);
    struct t_conn *conn = a_connection(url);

    message.topic = "t";
    message.payload = "p";
    t_begin(conn);
    OK(ph_enqueue(store, t_tx(conn), &message, 0, NULL, &t_err));
    t_rollback(conn);
    t_begin(conn);
    OK(ph_enqueue(store, t_tx(conn), &message, 0, NULL, &t_err));
    OK(ph_outbox_claim(store, t_tx(conn), owner, NULL, 0, &batch, &t_err));
    CHECK_INT(ph_batch_count(batch), 1);
    t_commit(conn);
    CHECK_INT(t_ack_all(store, owner, batch), 1);
    t_disconnect(conn);
    ph_close(store);
    stop_pooler();
}

/* Nobody would hear a notification there; but to ring goes through it. */
TEST(the_doorbell_does_not_listen_through_the_pooler)
{
    const char *url = start_pooler();
    int warnings = 0;
    ph_store *pooled = open_through(url, PH_PREPARED_AUTO, &warnings), *direct = t_open(NULL);

    CHECK_INT(seam_listen(pooled), -1);
    CHECK_INT(seam_listen(pooled), -1);
    CHECK(!seam_taken(pooled, ""));
    CHECK(seam_listen(direct) >= 0);
    t_enqueue(pooled, "t", "p");
    CHECK(seam_hears(direct, ""));
    usleep(6000);
    OK(ph_doorbell_ring(pooled, NULL, 0, &t_err));
    CHECK(seam_hears(direct, ""));
    ph_close(pooled);
    stop_pooler();
}

/* It gives no SQLSTATE of its own to that. */
TEST(a_password_that_the_pooler_refuses_is_not_tried_again)
{
    const char *users = say("%s/users", t_dir()), *url, *wrong;
    FILE *file = fopen(users, "w");
    ph_store_opts opts = PH_STORE_OPTS_INIT;
    ph_store *store = NULL;

    CHECK(file && fprintf(file, "\"%s\" \"right\"\n", parameter("user")) > 0 && fclose(file) == 0);
    url = start_pooler_for(say("auth_type = md5\nauth_file = %s", users));
    wrong = say("postgresql://%s:wrong@%s", parameter("user"), strchr(url, '@') + 1);
    CHECK_INT(t_try_open(wrong, &opts, &store), PH_EAUTH);
    CHECK_INT(t_err.flags, 0);
    CHECK(strstr(t_err.message, "check user and password"));
    stop_pooler();
}

TEST(the_doctor_names_the_pooler)
{
    const char *url = start_pooler();
    int warnings = 0;
    ph_store *stores[2];
    ph_report *report = NULL;

    stores[0] = open_through(url, PH_PREPARED_AUTO, &warnings);
    stores[1] = t_open(NULL);
    for (int i = 0; i < 2; i++) {
        bool found = false;

        OK(ph_doctor(stores[i], NULL, 0, &report, &t_err));
        for (size_t k = 0; k < ph_report_count(report); k++)
            found |= strcmp(ph_report_at(report, k)->check, "pooler") == 0 &&
                     ph_report_at(report, k)->level == (i == 0 ? PH_FINDING_INFO : PH_FINDING_OK);
        CHECK(found);
        ph_report_free(report);
    }
    ph_close(stores[0]);
    stop_pooler();
}

TEST(exchanges_and_handlers_go_through_the_pooler)
{
    const char *url = start_pooler();
    ph_settlement item = { .verb = PH_ACK };
    ph_owner owner = ph_owner_new();
    ph_claim_opts one = PH_CLAIM_OPTS_INIT;
    ph_outcome outcome = PH_OUTCOME_UNKNOWN;
    ph_batch *batch = NULL;
    int warnings = 0;
    ph_store *store = open_through(url, PH_PREPARED_AUTO, &warnings);
    struct t_conn *direct = t_connect();

    one.batch_size = 1;
    one.topics = (const char *const[]){ "t" };
    one.topic_count = 1;
    for (int i = 0; i < 3; i++)
        t_enqueue(store, "t", "p");
    for (int i = 0; i < 4; i++) {
        OK(ph_outbox_exchange(store, PH_OWN_TX, owner, &item, i > 0 ? 1 : 0, &one, 0, &outcome,
                              &batch, &t_err));
        CHECK_INT(outcome, i > 0 ? PH_OUTCOME_ACKED : PH_OUTCOME_UNKNOWN);
        CHECK_INT(ph_batch_count(batch), i < 3 ? 1 : 0);
        if (i < 3)
            item.lease = ph_lease_ref_of(ph_batch_at(batch, 0));
        ph_batch_free(batch);
        PQclear(PQexec(seam_begin(store), say("SELECT \"%s\".enqueue('u', 'p')", t_schema())));
        OK(seam_end(store, i % 2 == 0));
    }
    CHECK_INT(t_number(direct, "SELECT count(*) FROM {t}message WHERE topic = 'u'"), 2);
    ph_close(store);
    stop_pooler();
}
