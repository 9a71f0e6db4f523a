/* doctor_test.c - what the doctor says about a server, and who keeps it from cleaning up. */
#include "roles.h"

#include <libpq-fe.h>
#include <stdlib.h>

/* The text of the worst finding of one check, as "2: text"; "" if there is none. */
static const char *finding(ph_store *store, const char *check, bool deep)
{
    ph_doctor_opts opts = PH_DOCTOR_OPTS_INIT;
    const ph_finding *worst = NULL;
    ph_report *report = NULL;
    const char *text;

    opts.deep = deep;
    OK(ph_doctor(store, &opts, 0, &report, &t_err));
    for (size_t i = 0; i < ph_report_count(report); i++) {
        const ph_finding *f = ph_report_at(report, i);

        if (strcmp(f->check, check) == 0 && (!worst || f->level > worst->level))
            worst = f;
    }
    text = worst ? say("%d: %s", (int)worst->level, worst->text) : "";
    if (worst) /* what is wrong has a cure, what is right has none */
        CHECK((worst->level == PH_FINDING_OK) == (worst->advice == NULL));
    ph_report_free(report);
    return text;
}

static bool has(const char *text, const char *part)
{
    if (!strstr(text, part))
        printf("\"%s\" is not in: %s\n", part, text);
    return strstr(text, part) != NULL;
}

/* A store in a database of its own: elsewhere other tests hold back vacuum, too. */
static ph_store *store_alone(const char *url)
{
    ph_store_opts opts = PH_STORE_OPTS_INIT;
    ph_store *store = NULL;

    opts.schema = t_schema();
    opts.deploy_schema = true;
    OK(t_try_open(url, &opts, &store));
    return store;
}

TEST(the_session_that_holds_back_vacuum_is_named)
{
    const char *url = t_fresh_database();
    struct t_conn *other = a_connection(url);
    ph_store *store = store_alone(url);
    const char *pid, *text;

    CHECK_STR(finding(store, "vacuum", false), "0: nothing holds it back");
    pid = t_value(other, "SELECT pg_backend_pid()");
    t_sql(other, "SET application_name = 'report'");
    t_begin(other);
    t_sql(other, "CREATE TABLE theirs (secret text); INSERT INTO theirs VALUES ('hush')");
    text = finding(store, "vacuum", false);
    CHECK(has(text, say("0: session %s (user ", pid)));
    CHECK(has(text, "application report, idle in transaction) has held back vacuum for "));
    CHECK(strstr(text, "hush") == NULL);
    t_rollback(other);
    CHECK_STR(finding(store, "vacuum", false), "0: nothing holds it back");
    t_begin(other); /* a snapshot alone is enough */
    t_sql(other, "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; SELECT 1");
    CHECK(has(finding(store, "vacuum", false), say("session %s (", pid)));
    t_disconnect(other);
    ph_close(store);
}

TEST(a_prepared_transaction_is_named)
{
    const char *url = t_fresh_database();
    struct t_conn *conn = a_connection(url);
    ph_store *store = store_alone(url);
    const char *name = say("%s forgotten", t_schema()), *text;

    if (t_number(conn, "SELECT current_setting('max_prepared_transactions')") == 0)
        t_skip("max_prepared_transactions is 0 on this server");
    t_begin(conn);
    t_sql(conn, "CREATE TABLE theirs (n int)");
    t_sql(conn, say("PREPARE TRANSACTION '%s'", name));
    text = finding(store, "vacuum", false);
    t_sql(conn, say("ROLLBACK PREPARED '%s'", name)); /* or the database could not be dropped */
    CHECK(has(text, say("prepared transaction \"%s\" (user ", name)));
    t_disconnect(conn);
    ph_close(store);
}

TEST(what_others_do_may_be_hidden)
{
    ph_store *store;

    roles_set_up();
    store = open_as("reader");
    t_begin(super);
    t_sql(super, "CREATE TABLE theirs (n int)");
    CHECK(has(finding(store, "vacuum", false), "this role may not see for how long"));
    t_rollback(super);
    ph_close(store);
    roles_tear_down();
}

TEST(settings_that_lose_messages_are_found)
{
    const char *url = t_fresh_database();
    struct t_conn *conn = a_connection(url);
    ph_store *store = store_alone(url);
    bool fsync = strcmp(t_value(conn, "SHOW fsync"), "on") == 0;

    if (fsync)
        CHECK_STR(finding(store, "durability", false),
                  "0: fsync is on, full_page_writes is on, synchronous_commit is on");
    else
        CHECK(has(finding(store, "durability", false), "3: fsync is off"));
    ph_close(store);
    t_sql(conn, say("ALTER DATABASE \"%s\" SET synchronous_commit = off",
                    t_value(conn, "SELECT current_database()")));
    store = store_alone(url);
    if (fsync)
        CHECK(has(finding(store, "durability", false), "2: synchronous_commit is off"));
    else
        CHECK(has(finding(store, "durability", false), "3: fsync is off"));
    ph_close(store);
    t_disconnect(conn);
}

TEST(the_server_is_named)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();

    CHECK_STR(finding(store, "version", false),
              say("0: PostgreSQL %s", t_value(conn, "SHOW server_version")));
    CHECK_STR(finding(store, "pooler", false), "0: there is no pooler");
}

/* -------------------------------------------------------------------- places */

TEST(what_is_in_no_place_or_in_two_is_named)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    char none[PH_ID_TEXT_SIZE], two[PH_ID_TEXT_SIZE], gone[PH_ID_TEXT_SIZE];

    ph_id_text(t_enqueue(store, "t", "p").work_id.b, none);
    ph_id_text(t_enqueue(store, "t", "p").work_id.b, two);
    ph_id_text(t_enqueue(store, "t", "p").work_id.b, gone);
    t_enqueue(store, "t", "p");
    CHECK_STR(finding(store, "places", true), "0: each of 4 messages is in exactly one place");
    CHECK_STR(finding(store, "places", false), "");
    t_sql(conn, say("DELETE FROM {t}pending WHERE id = '%s'", none));
    t_sql(conn,
          say("INSERT INTO {t}dead (id, died_at, queue, reason) VALUES ('%s', now(), 1, 1)", two));
    t_sql(conn, say("DELETE FROM {t}message WHERE id = '%s'", gone));
    CHECK_STR(finding(store, "places", true),
              say("3: of 3 messages 3 are wrong: %s in no place; %s in dead and in pending; "
                  "%s in pending, but there is no such message",
                  none, two, gone));
}

TEST(a_lease_that_miscounts_is_named)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();

    t_enqueue(store, "t", "p");
    ph_batch_free(t_claim(store, ph_owner_new(), 1));
    CHECK_STR(finding(store, "places", true), "0: each of 1 messages is in exactly one place");
    t_sql(conn, "UPDATE {t}lease SET open = 2");
    CHECK_STR(finding(store, "places", true),
              "3: of 1 messages 1 are wrong: lease 1 says that 2 messages are open, but has 1");
}

static void count_progress(void *context, int64_t done, int64_t total)
{
    int64_t *last = context;

    CHECK(done > *last && done <= total);
    *last = done;
}

/* More than one stretch: the borders lose nobody. */
TEST(a_deep_look_goes_stretch_by_stretch)
{
    enum { MESSAGES = 110000 };
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_doctor_opts opts = PH_DOCTOR_OPTS_INIT;
    ph_report *report = NULL;
    int64_t last = 0;

    t_sql(conn,
          say("INSERT INTO {t}message (id, created_at, queue, level, topic, payload) "
              "SELECT (lpad(to_hex(i), 12, '0') || repeat('8', 20))::uuid, now(), 1, 1, 't', '' "
              "FROM generate_series(1, %d) i; "
              "INSERT INTO {t}pending (due, id, lane, topic, attempts, lost) "
              "SELECT created_at, id, 5, 0, 0, 0 FROM {t}message",
              MESSAGES));
    opts.deep = true;
    opts.progress = count_progress;
    opts.progress_context = &last;
    OK(ph_doctor(store, &opts, 100000, &report, &t_err));
    CHECK_INT(last, MESSAGES);
    ph_report_free(report);
    CHECK_STR(finding(store, "places", true),
              say("0: each of %d messages is in exactly one place", MESSAGES));
    t_sql(conn, "DELETE FROM {t}pending WHERE id IN (SELECT id FROM {t}message ORDER BY id "
                "OFFSET 99999 LIMIT 2)");
    CHECK(has(finding(store, "places", true), say("3: of %d messages 2 are wrong", MESSAGES)));
}
