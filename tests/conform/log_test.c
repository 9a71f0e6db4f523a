/* log_test.c - what the log callback is told, at which level, and what it never is. */
#include "common.h"
#include "journal.h"

#include <stdlib.h>

#define SECRET "tR0ub4dor&3"

TEST(enqueue_is_logged_at_info_with_topic_and_correlation_id)
{
    ph_store *store = open_logging(PH_LOG_INFO);
    ph_message m = a_message("order.created", "body");
    char id[PH_ID_TEXT_SIZE];
    ph_enqueued e;

    m.correlation_id = "trace-7";
    m.ns = "billing";
    m.dedupe_key = "k";
    e = put(store, &m);
    REQ("OBX-102", newest("enqueue") != NULL);
    REQ_INT("OBX-102", newest("enqueue")->level, PH_LOG_INFO);
    REQ_STR("OBX-102", field(newest("enqueue"), "topic"), "order.created");
    REQ_STR("OBX-102", field(newest("enqueue"), "correlation_id"), "trace-7");
    CHECK_STR(field(newest("enqueue"), "namespace"), "billing");
    CHECK_STR(field(newest("enqueue"), "work_id"), ph_id_text(e.work_id.b, id));
    CHECK_STR(field(newest("enqueue"), "message_id"), ph_id_text(e.message_id.b, id));
    CHECK(strstr(newest("enqueue")->text, "topic=order.created") != NULL);
    CHECK(strstr(newest("enqueue")->text, "stored") != NULL);
    put(store, &m);
    CHECK(strstr(newest("enqueue")->text, "duplicate") != NULL);
}

TEST(each_message_of_a_list_is_logged)
{
    ph_store *store = open_logging(PH_LOG_INFO);

    journal.count = 0;
    put_many(store, "t", 3, NULL);
    REQ_INT("OBX-102", journal.count, 3);
    CHECK_STR(field(newest("enqueue"), "correlation_id"), NULL);
}

TEST(who_is_taken_for_dead_is_named)
{
    ph_store *store = open_logging(PH_LOG_WARN);
    ph_work_batch_opts opts = PH_WORK_BATCH_OPTS_INIT;
    ph_owner silent = ph_owner_new();
    char text[PH_ID_TEXT_SIZE];
    ph_work_batch *batch;

    t_clock_set(store, T_EPOCH);
    opts.service_name = "service";
    opts.instance_id = silent;
    OK(ph_process_work_batch(store, PH_OWN_TX, &opts, 0, &batch, &t_err));
    ph_work_batch_free(batch);
    t_clock_advance(store, (PH_STALE_THRESHOLD_S + 1) * T_SECOND);
    opts.instance_id = ph_owner_new();
    opts.service_name = "s";
    OK(ph_process_work_batch(store, PH_OWN_TX, &opts, 0, &batch, &t_err));
    ph_work_batch_free(batch);
    CHECK_INT(newest("instance")->level, PH_LOG_WARN);
    CHECK_STR(field(newest("instance"), "count"), "1");
    CHECK_STR(field(newest("instance"), "instance"), ph_id_text(silent.b, text));
}

TEST(claim_and_settle_are_logged_at_debug_with_numbers)
{
    ph_store *store = open_logging(PH_LOG_DEBUG);
    ph_owner owner = ph_owner_new();
    char text[PH_ID_TEXT_SIZE];
    ph_lease_ref refs[2];

    put_many(store, "t", 2, NULL);
    CHECK_INT(take(store, owner, 5, refs), 2);
    REQ_INT("OBX-103", newest("claim")->level, PH_LOG_DEBUG);
    REQ_STR("OBX-103", field(newest("claim"), "count"), "2");
    CHECK_STR(field(newest("claim"), "owner"), ph_id_text(owner.b, text));
    renew(store, owner, refs[0], 60);
    CHECK_INT(newest("renew")->level, PH_LOG_DEBUG);
    ack(store, owner, refs[0]);
    CHECK_INT(newest("settle")->level, PH_LOG_DEBUG);
    CHECK_STR(field(newest("settle"), "count"), "1");
    CHECK_STR(field(newest("settle"), "stale"), "0");
    ack(store, ph_owner_new(), refs[0]);
    CHECK_STR(field(newest("settle"), "count"), "0");
    CHECK_STR(field(newest("settle"), "stale"), "1");
}

TEST(leases_that_a_claim_takes_back_are_logged_like_a_reap)
{
    ph_store *store = open_logging(PH_LOG_INFO);
    ph_work_batch_opts opts = PH_WORK_BATCH_OPTS_INIT;
    ph_work_batch *batch;
    ph_lease_ref refs[3];

    t_clock_set(store, T_EPOCH);
    put_many(store, "t", 3, NULL);
    CHECK_INT(take(store, ph_owner_new(), 3, refs), 3);
    CHECK(newest("reap") == NULL);
    t_clock_advance(store, 31 * T_SECOND);
    CHECK(take(store, ph_owner_new(), 1, refs) == 1);
    REQ("OBX-106", newest("reap") != NULL);
    REQ_INT("OBX-106", newest("reap")->level, PH_LOG_INFO);
    REQ_STR("OBX-106", field(newest("reap"), "count"), "3");
    t_clock_advance(store, 31 * T_SECOND);
    opts.instance_id = ph_owner_new();
    opts.service_name = "s";
    OK(ph_process_work_batch(store, PH_OWN_TX, &opts, 0, &batch, &t_err));
    REQ_STR("OBX-106", field(newest("reap"), "count"), "1");
    ph_work_batch_free(batch);
}

TEST(reap_is_logged_at_info_with_the_number_of_messages)
{
    ph_store *store = open_logging(PH_LOG_INFO);
    ph_lease_ref refs[3];

    t_clock_set(store, T_EPOCH);
    put_many(store, "t", 3, NULL);
    CHECK_INT(take(store, ph_owner_new(), 3, refs), 3);
    t_clock_advance(store, 31 * T_SECOND);
    CHECK_INT(reap(store), 3);
    REQ_INT("OBX-106", newest("reap")->level, PH_LOG_INFO);
    REQ_STR("OBX-106", field(newest("reap"), "count"), "3");
}

TEST(every_line_names_its_store)
{
    ph_store *store = open_logging(PH_LOG_DEBUG);
    ph_owner owner = ph_owner_new();
    ph_lease_ref refs[1];

    t_enqueue(store, "t", "p");
    take(store, owner, 1, refs);
    ack(store, owner, refs[0]);
    reap(store);
    CHECK(journal.count >= 5);
    for (size_t i = 0; i < journal.count; i++) {
        REQ_STR("OBX-107", journal.lines[i].store, "orders");
        REQ("OBX-107", strstr(journal.lines[i].text, "store=orders") != NULL);
    }
    CHECK_STR(ph_store_id(store), "orders");
}

TEST(a_store_without_a_name_is_named_after_its_url_without_the_password)
{
    ph_store *store = t_open(NULL), *lazy = NULL;
    const char *url =
        t_is_pg() ? "postgresql://user:" SECRET "@localhost/orders" : "sqlite:orders.db";

    CHECK(*ph_store_id(store));
    OK(ph_open_lazy(url, NULL, &lazy, &t_err));
    CHECK(strstr(ph_store_id(lazy), "orders") != NULL);
    REQ("OBX-125", strstr(ph_store_id(lazy), SECRET) == NULL);
    ph_close(lazy);
}

TEST(the_level_is_respected)
{
    ph_store *store = open_logging(PH_LOG_WARN);
    ph_lease_ref refs[1];

    t_enqueue(store, "t", "p");
    take(store, ph_owner_new(), 1, refs);
    reap(store);
    CHECK_INT(journal.count, 0);
    store = open_logging(PH_LOG_INFO);
    journal.count = 0;
    take(store, ph_owner_new(), 1, refs);
    CHECK(newest("claim") == NULL);
    reap(store);
    CHECK(newest("reap") != NULL);
}

TEST(a_failed_call_is_returned_and_not_logged_as_done)
{
    ph_store *store = open_logging(PH_LOG_DEBUG);
    ph_message m = a_message("", "p");

    journal.count = 0;
    CHECK_INT(try_put(store, PH_OWN_TX, &m), PH_EINVAL);
    CHECK(newest("enqueue") == NULL);
}

TEST(hostile_names_stay_on_one_line)
{
    ph_store *store = open_logging(PH_LOG_DEBUG);
    ph_message m = a_message("a\nERROR forged %s%n \x1b[31m\r\t\\ \x7f \xc2\x85", "p");
    const struct line *line;

    m.correlation_id = "b\nWARN forged";
    m.ns = "c\nINFO forged";
    put(store, &m);
    line = newest("enqueue");
    for (const char *at = line->text; *at; at++)
        REQ("OBX-102 OBX-125", (unsigned char)*at >= 0x20 && *at != 0x7f);
    CHECK(strstr(line->text, "%s%n") != NULL);
    CHECK(strstr(line->text, "\xc2\x85") == NULL); /* C1 controls are controls, too */
    CHECK_STR(field(line, "topic"), m.topic);      /* fields are as they are */
    CHECK_STR(field(line, "correlation_id"), m.correlation_id);
}

/* ------------------------------------------------------------------- the secret */

static void no_secret(const char *where, const char *text)
{
    bool shown = text && strstr(text, SECRET);

    if (shown)
        printf("%s: %s\n", where, text);
    REQ("OBX-125", !shown);
}

static void no_secret_in_error(void)
{
    no_secret("error", t_err.message);
    memset(&t_err, 0, sizeof(t_err));
}

static void no_secret_in_journal(void)
{
    for (size_t i = 0; i < journal.count; i++) {
        const struct line *line = &journal.lines[i];

        no_secret("log", line->text);
        for (size_t f = 0; f < line->field_count; f++)
            no_secret(line->keys[f], line->values[f]);
    }
}

static ph_message secretive(void)
{
    ph_message m = a_message("t", "{\"password\": \"" SECRET "\"}");

    m.headers = "{\"authorization\": \"" SECRET "\"}";
    return m;
}

TEST(no_secret_in_the_log_of_a_message_s_life)
{
    ph_store *store = open_logging(PH_LOG_DEBUG);
    ph_owner owner = ph_owner_new();
    ph_message m[2] = { secretive(), secretive() };
    ph_queue_counts counts = PH_QUEUE_COUNTS_INIT;
    ph_lease_ref refs[2];
    ph_work_id again;

    t_clock_set(store, T_EPOCH);
    OK(ph_enqueue_many(store, PH_OWN_TX, m, 2, 0, NULL, &t_err));
    CHECK_INT(take(store, owner, 2, refs), 2);
    settle(store, owner, refs[0], PH_ABANDON, "cannot log in with " SECRET, 0);
    settle(store, owner, refs[1], PH_FAIL, "cannot log in with " SECRET, 0);
    OK(ph_dead_retry(store, PH_OWN_TX, &refs[1].work_id, 1, 0, &again, &t_err));
    CHECK_INT(take(store, owner, 2, refs), 2);
    t_clock_advance(store, 100 * T_SECOND);
    CHECK_INT(reap(store), 2);
    OK(ph_outbox_count(store, PH_OWN_TX, NULL, 0, &counts, &t_err));
    OK(ph_retention_run(store, PH_OWN_TX, 0, 0, NULL, &t_err));
    CHECK(journal.count > 8);
    no_secret_in_journal();
}

TEST(no_secret_in_error_messages)
{
    ph_store *store = open_logging(PH_LOG_DEBUG);
    struct t_conn *conn = t_connect();
    ph_queue_settings small = PH_QUEUE_SETTINGS_INIT;
    ph_message m = secretive();
    char invalid[64];

    m.headers = "[\"" SECRET "\"]";
    CHECK_INT(try_put(store, PH_OWN_TX, &m), PH_EINVAL);
    no_secret_in_error();
    m.headers = "{\"" SECRET;
    CHECK_INT(try_put(store, PH_OWN_TX, &m), PH_EINVAL);
    no_secret_in_error();
    snprintf(invalid, sizeof(invalid), "%s\xff", SECRET);
    m = secretive();
    m.payload = invalid;
    CHECK_INT(try_put(store, PH_OWN_TX, &m), PH_EINVAL);
    no_secret_in_error();
    small.max_payload_bytes = 3;
    set_queue(store, &small);
    m = secretive();
    CHECK_INT(try_put(store, PH_OWN_TX, &m), PH_EINVAL);
    no_secret_in_error();
    /* The database's own errors: a constraint that quotes the row it refuses, a missing table. */
    small.max_payload_bytes = 1000;
    set_queue(store, &small);
    t_sql(conn, t_is_pg() ? "ALTER TABLE {t}message ADD CHECK (payload = 'nothing')"
                          : "CREATE TRIGGER refuse BEFORE INSERT ON {t}message BEGIN "
                            "SELECT raise(ABORT, 'refused'); END");
    CHECK(try_put(store, PH_OWN_TX, &m) < 0);
    no_secret_in_error();
    t_sql(conn, t_is_pg() ? "DROP TABLE {t}message CASCADE" : "DROP TABLE {t}message");
    CHECK(try_put(store, PH_OWN_TX, &m) < 0);
    no_secret_in_error();
    no_secret_in_journal();
}

TEST(no_password_in_connection_errors)
{
    ph_store *store = NULL;
    ph_store_opts opts = PH_STORE_OPTS_INIT;
    static const char *const urls[] = {
        "postgresql://user:" SECRET "@127.0.0.1:1/orders?connect_timeout=2",
        "postgresql:host=127.0.0.1 port=1 dbname=orders password=" SECRET,
        "postgresql://user:" SECRET "@127.0.0.1:1/orders?no_such_option=1",
        "postgresql:host=127.0.0.1 port=1 password='" SECRET,
        "mysql://user:" SECRET "@localhost/orders",
    };

    opts.log = write_down;
    opts.log_context = &journal;
    opts.log_level = PH_LOG_DEBUG;
    opts.timeout_ms = 3000;
    for (size_t i = 0; i < sizeof(urls) / sizeof(*urls); i++) {
        CHECK(t_try_open(urls[i], &opts, &store) < 0);
        no_secret_in_error();
    }
    no_secret_in_journal();
}

/* What the server shows to its operators. */
TEST(no_secret_in_the_databases_statistics)
{
    ph_store *store = open_logging(PH_LOG_DEBUG);
    struct t_conn *conn = t_connect();
    ph_message m = secretive();

    if (!t_is_pg())
        t_not_here("SQLite keeps no statistics of statements");
    put(store, &m);
    REQ_INT("OBX-125",
            t_number(conn, "SELECT count(*) FROM pg_stat_activity WHERE pid <> pg_backend_pid() "
                           "AND datname = current_database() AND strpos(query, '" SECRET "') > 0"),
            0);
}
