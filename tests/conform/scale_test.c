/* scale_test.c - numbers that have grown: ids and fences beyond 32 bits, the last attempt that can
 * be counted, batches whose ids lie far apart, and time limits of many days. */
#include "common.h"

static void whole_life(ph_store *store, struct t_conn *conn)
{
    ph_owner owner = ph_owner_new();
    ph_lease_ref refs[3];
    ph_enqueued e[3];

    put_many(store, "orders", 3, e);
    CHECK_INT(take(store, owner, 3, refs), 3);
    for (int i = 0; i < 3; i++)
        CHECK(same_id(refs[i].work_id.b, e[i].work_id.b));
    CHECK_INT(see(store, e[0].work_id).fence, refs[0].fence);
    CHECK_INT(ack(store, owner, refs[0]), PH_OUTCOME_ACKED);
    CHECK_INT(settle(store, owner, refs[1], PH_FAIL, "no", 0), PH_OUTCOME_FAILED);
    CHECK_INT(settle(store, owner, refs[2], PH_ABANDON, "no", 0), PH_OUTCOME_ABANDONED);
    CHECK_INT(see(store, e[0].work_id).status, PH_DONE);
    CHECK_STR(t_view(conn, e[0].work_id, "status"), "done");
    CHECK_STR(t_view(conn, e[1].work_id, "status"), "failed");
    CHECK_STR(t_view(conn, e[2].work_id, "status"), "ready");
    CHECK_INT(take(store, owner, 3, refs), 1);
    CHECK_INT(ack(store, owner, refs[0]), PH_OUTCOME_ACKED);
    t_check_places(conn);
}

static void raise_sequence(struct t_conn *conn, const char *pg, const char *lite, long long to)
{
    char sql[200];

    if (t_is_pg())
        snprintf(sql, sizeof(sql), "SELECT setval('{t}%s', %lld)", pg, to);
    else
        snprintf(sql, sizeof(sql),
                 "DELETE FROM sqlite_sequence WHERE name = '{p}%s'; INSERT INTO sqlite_sequence "
                 "VALUES ('{p}%s', %lld)",
                 lite, lite, to);
    t_sql(conn, sql);
}

TEST(message_numbers_beyond_32_bits)
{
    static const long long edges[] = { 0xfffe, 0x7ffffffeLL, 0xfffffffeLL, 0xffffffffffLL,
                                       0x7ffffffffff0LL };
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();

    for (size_t i = 0; i < sizeof(edges) / sizeof(*edges); i++) {
        raise_sequence(conn, "message_number", "message", edges[i]);
        whole_life(store, conn);
    }
    t_disconnect(conn);
}

TEST(fences_beyond_32_bits)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_owner owner = ph_owner_new();

    raise_sequence(conn, "fence", "lease", 0xffffffffffLL);
    t_enqueue(store, "orders", "x");
    CHECK_INT(take_one(store, owner).fence, 0x10000000000LL);
    whole_life(store, conn);
    t_disconnect(conn);
}

TEST(the_last_attempt_that_can_be_counted)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_owner owner = ph_owner_new();
    ph_message m = a_message("orders", "x");
    char sql[100];
    ph_lease_ref ref;

    m.max_attempts = PH_ATTEMPTS_MAX;
    put(store, &m);
    snprintf(sql, sizeof(sql), "UPDATE {t}pending SET attempts = %d", PH_ATTEMPTS_MAX - 2);
    t_sql(conn, sql);
    ref = take_one(store, owner);
    CHECK_INT(ref.attempts, PH_ATTEMPTS_MAX - 1);
    CHECK_INT(settle(store, owner, ref, PH_ABANDON, "no", 0), PH_OUTCOME_ABANDONED);
    ref = take_one(store, owner);
    CHECK_INT(ref.attempts, PH_ATTEMPTS_MAX);
    CHECK_INT(settle(store, owner, ref, PH_ABANDON, "no", 0), PH_OUTCOME_DEAD);
    t_disconnect(conn);
}

TEST(the_backoff_does_not_overflow_at_the_last_attempt)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_owner owner = ph_owner_new();
    ph_queue_settings settings = PH_QUEUE_SETTINGS_INIT;
    ph_message m = a_message("orders", "x");
    int64_t wait, year = INT64_C(366) * 86400 * 1000;
    ph_lease_ref ref;

    t_clock_set(store, T_EPOCH);
    settings.backoff = PH_BACKOFF_EQUAL_JITTER;
    settings.backoff_base_ms = 86400000;
    settings.backoff_max_ms = year;
    set_queue(store, &settings);
    m.max_attempts = PH_ATTEMPTS_MAX;
    put(store, &m);
    t_sql(conn, "UPDATE {t}pending SET attempts = 29990");
    ref = take_one(store, owner);
    CHECK_INT(settle(store, owner, ref, PH_ABANDON, "no", PH_DELAY_POLICY), PH_OUTCOME_ABANDONED);
    wait = see(store, ref.work_id).next_attempt_at - T_EPOCH;
    REQ("OBX-061", wait >= year * 500 && wait <= year * 1000);
    t_disconnect(conn);
}

TEST(a_batch_whose_ids_lie_far_apart_is_settled_whole)
{
    static const char *const rare[] = { "rare" };
    enum { N = 24, GAP = 999 };
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_owner owner = ph_owner_new();
    ph_claim_opts opts = PH_CLAIM_OPTS_INIT;
    ph_enqueued e[N];

    for (int i = 0; i < N; i++) {
        e[i] = t_enqueue(store, "rare", "x");
        put_many(store, "common", GAP, NULL);
    }
    opts.topics = rare;
    opts.topic_count = 1;
    CHECK_INT(t_ack_all(store, owner, claim_with(store, owner, &opts)), N);
    for (int i = 0; i < N; i++) {
        CHECK_INT(see(store, e[i].work_id).status, PH_DONE);
        CHECK_STR(t_view(conn, e[i].work_id, "status"), "done");
    }
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}pending"), N * GAP);
    t_disconnect(conn);
}

TEST(time_limits_of_many_days)
{
    ph_store_opts opts = PH_STORE_OPTS_INIT;
    ph_message m = a_message("orders", "x");
    ph_store *store;

    opts.timeout_ms = INT32_MAX;
    store = t_open(&opts);
    OK(ph_enqueue(store, PH_OWN_TX, &m, 0, NULL, &t_err));
    OK(ph_enqueue(store, PH_OWN_TX, &m, INT32_MAX, NULL, &t_err));
    CHECK_INT(claimable(store, 10), 2);
}

TEST(the_shortest_time_limit_is_not_a_hang)
{
    ph_store *store = t_open(NULL);
    ph_message m = a_message("orders", "x");
    struct t_conn *conn = t_connect();
    int stored = 0;

    for (int i = 0; i < 20; i++) {
        int r = ph_enqueue(store, PH_OWN_TX, &m, 1, NULL, &t_err);

        CHECK(r == 0 || r == PH_ETIMEOUT || r == PH_EBUSY);
        CHECK(r == 0 || !(t_err.flags & PH_UNKNOWN));
        stored += r == 0;
    }
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}outbox"), stored);
    t_disconnect(conn);
}
