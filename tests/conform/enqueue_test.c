/* enqueue_test.c - messages in: alone, in the caller's transaction, many at once. */
#include "common.h"

#include <stdlib.h>

static long long rows(struct t_conn *conn)
{
    return t_number(conn, "SELECT count(*) FROM {t}outbox");
}

/* ------------------------------------------------------------------ stand-alone */

TEST(a_message_enqueued_alone_is_there_for_another_connection)
{
    ph_store *store = t_open(NULL);
    ph_enqueued e = t_enqueue(store, "orders", "{\"id\": 7}");
    struct t_conn *conn = t_connect();

    REQ("OBX-001 OBX-002", rows(conn) == 1);
    REQ_STR("OBX-001", t_view(conn, e.work_id, "payload"), "{\"id\": 7}");
    CHECK_STR(t_view(conn, e.work_id, "topic"), "orders");
    t_check_places(conn);
    t_disconnect(conn);
}

TEST(each_message_gets_ids_of_its_own)
{
    ph_store *store = t_open(NULL);
    ph_enqueued e[100];

    put_many(store, "orders", 100, e);
    for (int i = 0; i < 100; i++) {
        CHECK(e[i].is_new);
        CHECK(!ph_id_is_zero(e[i].work_id.b) && !ph_id_is_zero(e[i].message_id.b));
        for (int k = 0; k < i; k++) {
            REQ("OBX-014", !same_id(e[i].work_id.b, e[k].work_id.b));
            CHECK(!same_id(e[i].message_id.b, e[k].message_id.b));
        }
    }
}

TEST(a_new_message_starts_with_nothing_counted)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_enqueued e;
    struct seen s;
    const char *processed;

    t_clock_set(store, T_EPOCH);
    e = t_enqueue(store, "orders", "x");
    s = see(store, e.work_id);
    REQ_INT("OBX-015", s.created_at, T_EPOCH);
    REQ_INT("OBX-016", s.retry_count, 0);
    CHECK_INT(s.attempts, 0);
    CHECK_INT(s.status, PH_READY);
    CHECK_INT(s.due_at, T_EPOCH);
    CHECK_INT(s.next_attempt_at, T_EPOCH);
    CHECK_INT(s.updated_at, T_EPOCH);
    CHECK_INT(s.requested_due_at, 0);
    CHECK_INT(s.locked_until, 0);
    CHECK_INT(s.processed_at, 0);
    CHECK_INT(s.max_attempts, 10);
    CHECK(ph_id_is_zero(s.owner.b) && !s.has_error);
    processed = t_view(conn, e.work_id, "is_processed");
    REQ("OBX-016", strcmp(processed, "f") == 0 || strcmp(processed, "0") == 0);
    CHECK_STR(t_view(conn, e.work_id, "retry_count"), "0");
    CHECK_STR(t_view(conn, e.work_id, "status"), "ready");
    CHECK_STR(t_view(conn, e.work_id, "status_code"), "0");
    t_disconnect(conn);
}

TEST(the_time_of_creation_is_the_databases_clock)
{
    ph_store *store = t_open(NULL);
    int64_t before, after;
    ph_enqueued e;
    struct seen s;

    OK(ph_clock(store, PH_OWN_TX, 0, &before, &t_err));
    e = t_enqueue(store, "orders", "x");
    OK(ph_clock(store, PH_OWN_TX, 0, &after, &t_err));
    s = see(store, e.work_id);
    REQ("OBX-015", s.created_at >= before && s.created_at <= after);
    CHECK(before > INT64_C(1577836800000000)); /* 2020: microseconds, not another unit */
    CHECK(before < PH_TIME_MAX);
}

/* --------------------------------------------------- in the caller's transaction */

TEST(rollback_of_the_callers_transaction_leaves_nothing)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_message m = a_message("orders", "x");

    t_sql(conn, "CREATE TABLE {t}shop_order (id integer)");
    t_begin(conn);
    t_sql(conn, "INSERT INTO {t}shop_order VALUES (1)");
    OK(try_put(store, t_tx(conn), &m));
    CHECK_INT(rows(conn), 1);
    t_rollback(conn);
    REQ("OBX-003", rows(conn) == 0);
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}shop_order"), 0);
    CHECK_INT(claimable(store, 10), 0);
    t_check_places(conn);
    t_disconnect(conn);
}

TEST(commit_of_the_callers_transaction_leaves_exactly_one)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_message m = a_message("orders", "x");
    ph_enqueued e;

    t_sql(conn, "CREATE TABLE {t}shop_order (id integer)");
    t_begin(conn);
    t_sql(conn, "INSERT INTO {t}shop_order VALUES (1)");
    OK(ph_enqueue(store, t_tx(conn), &m, 0, &e, &t_err));
    REQ("OBX-003", !see(store, e.work_id).there); /* not committed behind the caller's back */
    t_commit(conn);
    REQ("OBX-003", see(store, e.work_id).there);
    CHECK_INT(rows(conn), 1);
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}shop_order"), 1);
    CHECK_INT(claimable(store, 10), 1);
    t_check_places(conn);
    t_disconnect(conn);
}

TEST(a_lazy_store_serves_the_callers_transaction_without_a_connection_of_its_own)
{
    ph_store *lazy = NULL, *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_store_opts opts = PH_STORE_OPTS_INIT;
    ph_message m = a_message("orders", "x");

    opts.schema = t_schema();
    OK(ph_open_lazy(t_url(), &opts, &lazy, &t_err));
    t_begin(conn);
    OK(try_put(lazy, t_tx(conn), &m));
    t_commit(conn);
    CHECK_INT(claimable(store, 10), 1);
    ph_close(lazy);
    t_disconnect(conn);
}

TEST(without_a_transaction_the_call_is_refused)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_message m = a_message("orders", "x");

    REQ_INT("OBX-003", try_put(store, t_tx(conn), &m), PH_ENOTX);
    CHECK(strstr(t_err.message, "transaction") != NULL);
    CHECK_INT(rows(conn), 0);
    t_begin(conn);
    OK(try_put(store, t_tx(conn), &m));
    t_commit(conn);
    CHECK_INT(rows(conn), 1);
    t_disconnect(conn);
}

TEST(a_broken_transaction_is_reported_and_not_made_worse)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_message m = a_message("orders", "x");

    t_sql(conn, "CREATE TABLE {t}shop_order (id integer PRIMARY KEY)");
    t_sql(conn, "INSERT INTO {t}shop_order VALUES (1)");
    t_begin(conn);
    if (t_is_pg()) {
        CHECK(!t_try_sql(conn, "INSERT INTO {t}shop_order VALUES (1)"));
        CHECK_INT(try_put(store, t_tx(conn), &m), PH_ETXDEAD);
        CHECK(t_err.flags & PH_TX_DEAD);
        CHECK_INT(try_put(store, t_tx(conn), &m), PH_ETXDEAD);
        t_rollback(conn);
    } else { /* SQLite's broken transaction is one that was rolled back already */
        CHECK(!t_try_sql(conn, "INSERT OR ROLLBACK INTO {t}shop_order VALUES (1)"));
        CHECK_INT(try_put(store, t_tx(conn), &m), PH_ENOTX);
    }
    CHECK_INT(rows(conn), 0);
    t_begin(conn);
    OK(try_put(store, t_tx(conn), &m));
    t_commit(conn);
    CHECK_INT(rows(conn), 1);
    t_disconnect(conn);
}

TEST(a_refused_argument_does_not_harm_the_callers_transaction)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_queue_settings settings = PH_QUEUE_SETTINGS_INIT;
    ph_message bad = a_message("", "x"), large = a_message("orders", "12345678901");
    ph_message good = a_message("orders", "1234567890");

    settings.max_payload_bytes = 10;
    set_queue(store, &settings);
    t_begin(conn);
    CHECK_INT(try_put(store, t_tx(conn), &bad), PH_EINVAL);
    CHECK_INT(try_put(store, t_tx(conn), &large), PH_EINVAL); /* known to the database only */
    CHECK(!(t_err.flags & PH_TX_DEAD));
    OK(try_put(store, t_tx(conn), &good));
    t_commit(conn);
    CHECK_INT(rows(conn), 1);
    CHECK_STR(claimed_payloads(store, ph_owner_new(), 10), "1234567890");
    t_disconnect(conn);
}

/* ----------------------------------------------------------------- many at once */

TEST(many_are_stored_in_the_order_given)
{
    ph_store *store = t_open(NULL);
    ph_message m[4] = { a_message("a", "0"), a_message("b", "1"), a_message("a", "2"),
                        a_message("c", "3") };
    ph_enqueued e[4];

    t_clock_set(store, T_EPOCH);
    OK(ph_enqueue_many(store, PH_OWN_TX, m, 4, 0, e, &t_err));
    CHECK_STR(claimed_payloads(store, ph_owner_new(), 10), "0 1 2 3");
    for (int i = 0; i < 4; i++)
        CHECK_INT(see(store, e[i].work_id).created_at, T_EPOCH);
}

TEST(one_bad_message_rejects_all)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_message m[3] = { a_message("a", "0"), a_message("", "1"), a_message("c", "2") };
    ph_enqueued e[3], untouched[3];

    memset(e, 0x5a, sizeof(e));
    memset(untouched, 0x5a, sizeof(untouched));
    REQ_INT("OBX-097", ph_enqueue_many(store, PH_OWN_TX, m, 3, 0, e, &t_err), PH_EINVAL);
    CHECK(strstr(t_err.message, "message 1: topic") != NULL);
    REQ("OBX-097", rows(conn) == 0);
    CHECK(memcmp(e, untouched, sizeof(e)) == 0);
    m[1].topic = "b";
    OK(ph_enqueue_many(store, PH_OWN_TX, m, 3, 0, e, &t_err));
    CHECK_INT(rows(conn), 3);
    t_disconnect(conn);
}

TEST(one_message_over_its_queues_limit_rejects_all_and_is_named)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_queue_settings settings = PH_QUEUE_SETTINGS_INIT;
    ph_message m[3] = { a_message("a", "0"), a_message("a", "1"), a_message("a", "12345") };

    settings.max_payload_bytes = 4;
    set_queue(store, &settings);
    REQ_INT("OBX-097", ph_enqueue_many(store, PH_OWN_TX, m, 3, 0, NULL, &t_err), PH_EINVAL);
    CHECK(strstr(t_err.message, "message 2") != NULL);
    CHECK_INT(rows(conn), 0);
    t_disconnect(conn);
}

TEST(many_in_the_callers_transaction_come_and_go_with_it)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_message m[3] = { a_message("a", "0"), a_message("b", "1"), a_message("c", "2") };

    t_begin(conn);
    OK(ph_enqueue_many(store, t_tx(conn), m, 3, 0, NULL, &t_err));
    t_rollback(conn);
    CHECK_INT(rows(conn), 0);
    t_begin(conn);
    OK(ph_enqueue_many(store, t_tx(conn), m, 3, 0, NULL, &t_err));
    t_commit(conn);
    CHECK_INT(rows(conn), 3);
    t_disconnect(conn);
}

TEST(ten_thousand_at_once_and_no_more)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_message *m = calloc(PH_BATCH_MAX + 1, sizeof(*m));

    for (int i = 0; i <= PH_BATCH_MAX; i++)
        m[i] = a_message("a", "x");
    CHECK_INT(ph_enqueue_many(store, PH_OWN_TX, m, PH_BATCH_MAX + 1, 0, NULL, &t_err), PH_EINVAL);
    CHECK_INT(ph_enqueue_many(store, PH_OWN_TX, m, 0, 0, NULL, &t_err), PH_EINVAL);
    CHECK_INT(rows(conn), 0);
    OK(ph_enqueue_many(store, PH_OWN_TX, m, PH_BATCH_MAX, 0, NULL, &t_err));
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}pending"), PH_BATCH_MAX);
    free(m);
    t_disconnect(conn);
}

/* --------------------------------------------------------------- when it is due */

static ph_enqueued put_due(ph_store *store, int64_t due_at)
{
    ph_message m = a_message("orders", "x");

    m.due_at = due_at;
    return put(store, &m);
}

TEST(a_message_is_not_claimed_before_its_due_time)
{
    ph_store *store = t_open(NULL);
    int64_t due = T_EPOCH + 60 * T_SECOND;
    ph_enqueued e;

    t_clock_set(store, T_EPOCH);
    e = put_due(store, due);
    CHECK_INT(see(store, e.work_id).requested_due_at, due);
    CHECK_INT(see(store, e.work_id).next_attempt_at, due);
    CHECK_INT(see(store, e.work_id).status, PH_READY);
    REQ("OBX-012", claimable(store, 1) == 0);
    t_clock_set(store, due - 1);
    REQ("OBX-012", claimable(store, 1) == 0);
    t_clock_set(store, due);
    REQ("OBX-012", claimable(store, 1) == 1);
}

TEST(a_message_due_in_the_past_or_at_no_time_is_claimed_at_once)
{
    static const int64_t past[] = { 0, 1, -1, PH_TIME_MIN, T_EPOCH - 1, T_EPOCH };
    ph_store *store = t_open(NULL);

    t_clock_set(store, T_EPOCH);
    for (size_t i = 0; i < sizeof(past) / sizeof(*past); i++) {
        ph_enqueued e = put_due(store, past[i]);

        CHECK_INT(see(store, e.work_id).next_attempt_at, T_EPOCH);
        CHECK_INT(see(store, e.work_id).due_at, past[i] ? past[i] : T_EPOCH);
        CHECK_INT(see(store, e.work_id).requested_due_at, past[i]);
        REQ("OBX-013", claimable(store, 1) == 1);
    }
}

TEST(a_message_due_at_the_end_of_time_waits)
{
    ph_store *store = t_open(NULL);
    ph_enqueued e;

    t_clock_set(store, T_EPOCH);
    e = put_due(store, PH_TIME_MAX);
    CHECK_INT(see(store, e.work_id).next_attempt_at, PH_TIME_MAX);
    CHECK_INT(claimable(store, 1), 0);
    t_clock_set(store, PH_TIME_MAX);
    REQ("OBX-012", claimable(store, 1) == 1); /* and its lease may end after the year 9999 */
}

/* --------------------------------------------------------- topics and namespaces */

TEST(topics_compare_byte_for_byte)
{
    static const char *const topics[] = { "order.created",  "Order.Created", "order.created ",
                                          "caf\xc3\xa9",    "cafe\xcc\x81",  "order.created\t",
                                          " order.created", "o'rder\"; --",  "order%created" };
    enum { N = sizeof(topics) / sizeof(*topics) };
    ph_store *store = t_open(NULL);
    ph_claim_opts opts = PH_CLAIM_OPTS_INIT;

    for (int i = 0; i < N; i++)
        t_enqueue(store, topics[i], topics[i]);
    for (int i = 0; i < N; i++) {
        ph_batch *batch;

        opts.topics = &topics[i];
        opts.topic_count = 1;
        batch = claim_with(store, ph_owner_new(), &opts);
        REQ_INT("OBX-010", ph_batch_count(batch), 1);
        REQ_STR("OBX-010", ph_batch_at(batch, 0)->topic, topics[i]);
        CHECK_STR(ph_batch_at(batch, 0)->payload, topics[i]);
        ph_batch_free(batch);
    }
}

TEST(namespaces_are_apart)
{
    static const char *const names[] = { "", "a", "A", "a ", "b;DROP TABLE message", "'\"`", "\n" };
    enum { N = sizeof(names) / sizeof(*names) };
    ph_store *store = t_open(NULL);
    ph_claim_opts opts = PH_CLAIM_OPTS_INIT;

    for (int i = 0; i < N; i++) {
        ph_message m = a_message("orders", names[i]);

        m.ns = names[i];
        put(store, &m);
    }
    for (int i = 0; i < N; i++) {
        ph_batch *batch;

        opts.ns = names[i];
        batch = claim_with(store, ph_owner_new(), &opts);
        CHECK_INT(ph_batch_count(batch), 1);
        CHECK_STR(ph_batch_at(batch, 0)->ns, names[i]);
        CHECK_STR(ph_batch_at(batch, 0)->payload, names[i]);
        ph_batch_free(batch);
    }
}
