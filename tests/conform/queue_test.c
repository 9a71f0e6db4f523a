/* queue_test.c - settings of a queue, pause and resume, retention. */
#include "common.h"

static int set_in(ph_store *store, const char *ns, const ph_queue_settings *settings)
{
    return ph_outbox_queue_set(store, PH_OWN_TX, ns, settings, 0, &t_err);
}

static int64_t clean_up(ph_store *store, int limit)
{
    int64_t deleted = -1;

    OK(ph_retention_run(store, PH_OWN_TX, limit, 0, &deleted, &t_err));
    return deleted;
}

/* ------------------------------------------------------------------- settings */

/* Refused with each of the values in turn. */
#define REFUSED(store, member, ...)                                                                \
    do {                                                                                           \
        const int64_t bad[] = { __VA_ARGS__ };                                                     \
        for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {                                  \
            ph_queue_settings s = PH_QUEUE_SETTINGS_INIT;                                          \
            s.member = (__typeof__(s.member))bad[i];                                               \
            CHECK_INT(set_in(store, NULL, &s), PH_EINVAL);                                         \
        }                                                                                          \
    } while (0)
#define ACCEPTED(store, member, ...)                                                               \
    do {                                                                                           \
        const int64_t good[] = { __VA_ARGS__ };                                                    \
        for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {                                \
            ph_queue_settings s = PH_QUEUE_SETTINGS_INIT;                                          \
            s.member = (__typeof__(s.member))good[i];                                              \
            OK(set_in(store, NULL, &s));                                                           \
        }                                                                                          \
    } while (0)

TEST(settings_at_their_edges)
{
    ph_store *store = t_open(NULL);
    const int64_t century_s = INT64_C(100) * 366 * 86400, year_ms = INT64_C(366) * 86400 * 1000;

    REFUSED(store, max_attempts, -1, PH_ATTEMPTS_MAX + 1);
    ACCEPTED(store, max_attempts, 1, PH_ATTEMPTS_MAX);
    REFUSED(store, backoff, -1, 3);
    ACCEPTED(store, backoff, PH_BACKOFF_EXPONENTIAL, PH_BACKOFF_EQUAL_JITTER);
    REFUSED(store, backoff_base_ms, -1, year_ms + 1);
    ACCEPTED(store, backoff_base_ms, 1, year_ms);
    REFUSED(store, backoff_max_ms, -1, year_ms + 1);
    ACCEPTED(store, backoff_max_ms, 1, year_ms);
    REFUSED(store, retention_s, -2, century_s + 1);
    ACCEPTED(store, retention_s, 1, century_s, PH_FOREVER);
    REFUSED(store, dead_retention_s, -2, century_s + 1);
    ACCEPTED(store, dead_retention_s, 1, century_s, PH_FOREVER);
    REFUSED(store, dedupe_retention_s, -2, century_s + 1);
    ACCEPTED(store, dedupe_retention_s, 1, century_s, PH_FOREVER);
    REFUSED(store, max_payload_bytes, -1, PH_PAYLOAD_MAX + 1);
    ACCEPTED(store, max_payload_bytes, 1, PH_PAYLOAD_MAX);
    REFUSED(store, max_lease_s, -1, PH_LEASE_MAX_S + 1);
    ACCEPTED(store, max_lease_s, 1, PH_LEASE_MAX_S);
    REFUSED(store, delete_on_ack, -2, 2);
    ACCEPTED(store, delete_on_ack, 1, -1);
}

TEST(settings_arguments_are_checked)
{
    ph_store *store = t_open(NULL);
    ph_queue_settings s = PH_QUEUE_SETTINGS_INIT;

    CHECK_INT(ph_outbox_queue_set(NULL, PH_OWN_TX, NULL, &s, 0, &t_err), PH_EINVAL);
    CHECK_INT(ph_outbox_queue_set(store, PH_OWN_TX, NULL, NULL, 0, &t_err), PH_EINVAL);
    CHECK_INT(ph_outbox_queue_set(store, PH_OWN_TX, NULL, &s, -1, &t_err), PH_EINVAL);
    CHECK_INT(set_in(store, "\xff", &s), PH_EINVAL);
    CHECK_INT(set_in(store, repeated("n", PH_NAME_MAX + 1), &s), PH_EINVAL);
    OK(set_in(store, repeated("ü", PH_NAME_MAX), &s));
    s.size = 0;
    CHECK_INT(set_in(store, NULL, &s), PH_EINVAL);
    s.size = sizeof(s) * 100;
    CHECK_INT(set_in(store, NULL, &s), PH_EINVAL);
    CHECK_INT(ph_outbox_queue_pause(NULL, PH_OWN_TX, NULL, 0, &t_err), PH_EINVAL);
    CHECK_INT(ph_outbox_queue_pause(store, PH_OWN_TX, "\xff", 0, &t_err), PH_EINVAL);
    CHECK_INT(ph_outbox_queue_resume(store, PH_OWN_TX, NULL, -1, &t_err), PH_EINVAL);
    CHECK_INT(ph_retention_run(NULL, PH_OWN_TX, 0, 0, NULL, &t_err), PH_EINVAL);
    CHECK_INT(ph_retention_run(store, PH_OWN_TX, -1, 0, NULL, &t_err), PH_EINVAL);
    CHECK_INT(ph_retention_run(store, PH_OWN_TX, 100001, 0, NULL, &t_err), PH_EINVAL);
    OK(ph_retention_run(store, PH_OWN_TX, 100000, 0, NULL, &t_err));
}

TEST(zero_leaves_a_setting_as_it_is)
{
    ph_store *store = t_open(NULL);
    ph_queue_settings s = PH_QUEUE_SETTINGS_INIT;

    set_max_attempts(store, 3);
    s.retention_s = 5;
    set_queue(store, &s);
    REQ_INT("OBX-065", see(store, t_enqueue(store, "t", "p").work_id).max_attempts, 3);
}

TEST(settings_are_per_namespace)
{
    ph_store *store = t_open(NULL);
    ph_queue_settings s = PH_QUEUE_SETTINGS_INIT;
    ph_message m = a_message("t", "p");

    s.max_attempts = 2;
    OK(set_in(store, "a", &s));
    m.ns = "a";
    CHECK_INT(see(store, put(store, &m).work_id).max_attempts, 2);
    m.ns = "A";
    CHECK_INT(see(store, put(store, &m).work_id).max_attempts, 10);
}

TEST(the_queues_payload_limit_is_exact)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_queue_settings s = PH_QUEUE_SETTINGS_INIT;
    ph_message fits = a_message("t", "123456789ü"), long_one = a_message("t", "1234567890ü");

    s.max_payload_bytes = 11;
    set_queue(store, &s);
    put(store, &fits); /* 11 bytes */
    REQ_INT("OBX-114", try_put(store, PH_OWN_TX, &long_one), PH_EINVAL);
    t_begin(conn); /* and the caller's transaction is not harmed */
    CHECK_INT(try_put(store, t_tx(conn), &long_one), PH_EINVAL);
    OK(try_put(store, t_tx(conn), &fits));
    t_commit(conn);
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}message"), 2);
}

TEST(the_payload_limit_is_a_mebibyte_by_default)
{
    ph_store *store = t_open(NULL);
    ph_message m = a_message("t", repeated("x", 1024 * 1024));

    put(store, &m);
    m.payload = repeated("x", 1024 * 1024 + 1);
    REQ_INT("OBX-114", try_put(store, PH_OWN_TX, &m), PH_EINVAL);
}

TEST(another_backoff_policy_brings_its_own_defaults)
{
    ph_store *store = t_open(NULL);
    ph_queue_settings s = PH_QUEUE_SETTINGS_INIT;
    ph_owner owner = ph_owner_new();
    ph_work_id id;
    int64_t due;

    t_clock_set(store, T_EPOCH);
    s.backoff_base_ms = 3000;
    s.backoff_max_ms = 4000;
    set_queue(store, &s); /* exponential with 3 s: 6 s, cut to 4 */
    id = t_enqueue(store, "t", "p").work_id;
    settle(store, owner, take_one(store, owner), PH_ABANDON, NULL, PH_DELAY_POLICY);
    REQ_INT("OBX-063", see(store, id).next_attempt_at, T_EPOCH + 4 * T_SECOND);
    s = (ph_queue_settings)PH_QUEUE_SETTINGS_INIT;
    s.backoff = PH_BACKOFF_EQUAL_JITTER;
    set_queue(store, &s);
    t_clock_advance(store, 4 * T_SECOND);
    settle(store, owner, take_one(store, owner), PH_ABANDON, NULL, PH_DELAY_POLICY);
    due = see(store, id).next_attempt_at - (T_EPOCH + 4 * T_SECOND);
    REQ("OBX-063", due >= T_SECOND && due <= 2 * T_SECOND); /* d = 1 s × 2^(2-1) */
    s.backoff = PH_BACKOFF_EXPONENTIAL;
    set_queue(store, &s);
    t_clock_advance(store, 10 * T_SECOND);
    settle(store, owner, take_one(store, owner), PH_ABANDON, NULL, PH_DELAY_POLICY);
    REQ_INT("OBX-061 OBX-062", see(store, id).next_attempt_at, T_EPOCH + (14 + 8) * T_SECOND);
}

TEST(delete_on_ack_leaves_nothing_behind)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_queue_settings s = PH_QUEUE_SETTINGS_INIT;
    ph_owner owner = ph_owner_new();
    ph_lease_ref refs[3];
    ph_message keyed = a_message("t", "p");
    ph_enqueued e;

    s.delete_on_ack = 1;
    set_queue(store, &s);
    keyed.dedupe_key = "k";
    e = put(store, &keyed);
    put_many(store, "t", 2, NULL);
    CHECK_INT(take(store, owner, 3, refs), 3);
    CHECK_INT(settle(store, owner, refs[0], PH_ABANDON, "once", 0), PH_OUTCOME_ABANDONED);
    refs[0] = take_one(store, owner);
    for (int i = 0; i < 3; i++)
        CHECK_INT(ack(store, owner, refs[i]), PH_OUTCOME_ACKED);
    CHECK(!see(store, e.work_id).there);
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}message"), 0);
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}attempt_log"), 0);
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}done"), 0);
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}lease"), 0);
    CHECK_INT(ack(store, owner, refs[0]), PH_OUTCOME_UNKNOWN);
    OK(ph_enqueue(store, PH_OWN_TX, &keyed, 0, &e, &t_err)); /* the key outlives its message */
    CHECK(!e.is_new);
}

TEST(renewals_stop_at_the_queues_longest_lease)
{
    ph_store *store = t_open(NULL);
    ph_queue_settings s = PH_QUEUE_SETTINGS_INIT;
    ph_owner owner = ph_owner_new();
    ph_lease_ref ref;

    t_clock_set(store, T_EPOCH);
    s.max_lease_s = 40;
    set_queue(store, &s);
    t_enqueue(store, "t", "p");
    ref = take_one(store, owner);
    CHECK_INT(renew(store, owner, ref, 35), PH_OUTCOME_RENEWED);
    CHECK_INT(see(store, ref.work_id).locked_until, T_EPOCH + 35 * T_SECOND);
    CHECK_INT(renew(store, owner, ref, 100), PH_OUTCOME_RENEWED);
    CHECK_INT(see(store, ref.work_id).locked_until, T_EPOCH + 40 * T_SECOND);
    CHECK_INT(renew(store, owner, ref, 1), PH_OUTCOME_RENEWED); /* never shortens */
    CHECK_INT(see(store, ref.work_id).locked_until, T_EPOCH + 40 * T_SECOND);
    t_clock_advance(store, 40 * T_SECOND);
    CHECK_INT(renew(store, owner, ref, 100), PH_OUTCOME_STALE);
}

/* --------------------------------------------------------------- pause, resume */

TEST(a_paused_queue_hands_out_nothing_but_takes_and_settles)
{
    ph_store *store = t_open(NULL);
    ph_owner owner = ph_owner_new();
    ph_lease_ref ref;
    ph_message other = a_message("t", "elsewhere");
    ph_claim_opts opts = PH_CLAIM_OPTS_INIT;
    ph_batch *batch;

    t_enqueue(store, "t", "one");
    ref = take_one(store, owner);
    OK(ph_outbox_queue_pause(store, PH_OWN_TX, NULL, 0, &t_err));
    t_enqueue(store, "t", "two");
    CHECK_INT(claimable(store, 10), 0);
    CHECK_INT(renew(store, owner, ref, 60), PH_OUTCOME_RENEWED);
    CHECK_INT(ack(store, owner, ref), PH_OUTCOME_ACKED);
    other.ns = "elsewhere"; /* the others go on */
    put(store, &other);
    opts.ns = "elsewhere";
    batch = claim_with(store, owner, &opts);
    CHECK_INT(ph_batch_count(batch), 1);
    ph_batch_free(batch);
    OK(ph_outbox_queue_pause(store, PH_OWN_TX, "", 0, &t_err)); /* again: harmless */
    OK(ph_outbox_queue_resume(store, PH_OWN_TX, "", 0, &t_err));
    OK(ph_outbox_queue_resume(store, PH_OWN_TX, "", 0, &t_err));
    CHECK_INT(claimable(store, 10), 1);
}

TEST(a_queue_can_be_paused_before_its_first_message)
{
    ph_store *store = t_open(NULL);
    ph_message m = a_message("t", "p");
    ph_claim_opts opts = PH_CLAIM_OPTS_INIT;
    ph_batch *batch;

    OK(ph_outbox_queue_pause(store, PH_OWN_TX, "new", 0, &t_err));
    m.ns = opts.ns = "new";
    put(store, &m);
    batch = claim_with(store, ph_owner_new(), &opts);
    CHECK_INT(ph_batch_count(batch), 0);
    ph_batch_free(batch);
}

TEST(pause_is_part_of_the_callers_transaction)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();

    t_enqueue(store, "t", "p");
    t_begin(conn);
    OK(ph_outbox_queue_pause(store, t_tx(conn), NULL, 0, &t_err));
    t_rollback(conn);
    CHECK_INT(claimable(store, 1), 1);
}

/* ------------------------------------------------------------------- retention */

/* Enqueues count messages and acks them; the ids of the first 10 come back. */
static void settle_some(ph_store *store, int amount, ph_work_id *ret_ids)
{
    ph_owner owner = ph_owner_new();
    ph_enqueued enqueued[10];

    put_many(store, "t", (size_t)amount, enqueued);
    for (int i = 0; i < amount; i++)
        ret_ids[i] = enqueued[i].work_id;
    CHECK_INT(t_ack_all(store, owner, t_claim(store, owner, amount)), amount);
}

TEST(settled_messages_go_after_seven_days)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_work_id ids[3];

    t_clock_set(store, T_EPOCH);
    settle_some(store, 3, ids);
    t_clock_advance(store, 7 * 86400 * T_SECOND - 1);
    CHECK_INT(clean_up(store, 0), 0);
    t_clock_advance(store, 1);
    CHECK_INT(clean_up(store, 0), 3);
    CHECK(!see(store, ids[0]).there);
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}message"), 0);
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}done"), 0);
    CHECK_INT(clean_up(store, 0), 0);
}

TEST(retention_never_touches_what_is_pending_leased_or_dead)
{
    ph_store *store = t_open(NULL);
    ph_owner owner = ph_owner_new();
    ph_queue_settings s = PH_QUEUE_SETTINGS_INIT;
    ph_lease_ref refs[2];
    ph_work_id waiting;

    t_clock_set(store, T_EPOCH);
    s.retention_s = 1;
    set_queue(store, &s);
    put_many(store, "t", 2, NULL);
    CHECK_INT(take(store, owner, 2, refs), 2);
    CHECK_INT(settle(store, owner, refs[1], PH_FAIL, NULL, 0), PH_OUTCOME_FAILED);
    waiting = t_enqueue(store, "t", "waiting").work_id;
    t_clock_advance(store, INT64_C(3650) * 86400 * T_SECOND);
    CHECK_INT(clean_up(store, 0), 0);
    CHECK_INT(see(store, refs[0].work_id).status, PH_IN_PROGRESS);
    CHECK_INT(see(store, refs[1].work_id).status, PH_FAILED);
    CHECK_INT(see(store, waiting).status, PH_READY);
}

TEST(one_lease_settled_in_parts_is_cleaned_up_in_parts)
{
    ph_store *store = t_open(NULL);
    ph_owner owner = ph_owner_new();
    ph_queue_settings s = PH_QUEUE_SETTINGS_INIT;
    ph_lease_ref refs[2];

    t_clock_set(store, T_EPOCH);
    s.retention_s = 10;
    set_queue(store, &s);
    put_many(store, "t", 2, NULL);
    CHECK_INT(take(store, owner, 2, refs), 2);
    CHECK_INT(ack(store, owner, refs[0]), PH_OUTCOME_ACKED);
    t_clock_advance(store, 10 * T_SECOND);
    CHECK_INT(clean_up(store, 0), 1);
    CHECK(!see(store, refs[0].work_id).there);
    CHECK_INT(see(store, refs[1].work_id).status, PH_IN_PROGRESS);
    CHECK_INT(ack(store, owner, refs[1]), PH_OUTCOME_ACKED);
    CHECK_INT(clean_up(store, 0), 0);
}

TEST(dead_messages_go_only_where_that_is_set)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_owner owner = ph_owner_new();
    ph_queue_settings s = PH_QUEUE_SETTINGS_INIT;
    ph_work_id id;

    t_clock_set(store, T_EPOCH);
    id = t_enqueue(store, "t", "p").work_id;
    CHECK_INT(settle(store, owner, take_one(store, owner), PH_FAIL, "x", 0), PH_OUTCOME_FAILED);
    s.dead_retention_s = 100;
    set_queue(store, &s);
    t_clock_advance(store, 100 * T_SECOND - 1);
    CHECK_INT(clean_up(store, 0), 0);
    t_clock_advance(store, 1);
    CHECK_INT(clean_up(store, 0), 1);
    CHECK(!see(store, id).there);
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}attempt_log"), 0);
}

TEST(a_dedupe_key_stays_as_long_as_its_message)
{
    ph_store *store = t_open(NULL);
    ph_queue_settings s = PH_QUEUE_SETTINGS_INIT;
    ph_message m = a_message("t", "p");
    ph_owner owner = ph_owner_new();
    ph_enqueued e;

    t_clock_set(store, T_EPOCH);
    s.retention_s = 1000;
    s.dedupe_retention_s = 10;
    set_queue(store, &s);
    m.dedupe_key = "k";
    put(store, &m);
    t_clock_advance(store, 500 * T_SECOND); /* older than its time, but the message is there */
    clean_up(store, 0);
    OK(ph_enqueue(store, PH_OWN_TX, &m, 0, &e, &t_err));
    CHECK(!e.is_new);
    CHECK_INT(ack(store, owner, take_one(store, owner)), PH_OUTCOME_ACKED);
    t_clock_advance(store, 1000 * T_SECOND);
    CHECK_INT(clean_up(store, 0), 1);
    clean_up(store, 0);
    OK(ph_enqueue(store, PH_OWN_TX, &m, 0, &e, &t_err));
    CHECK(e.is_new);
}

TEST(a_dedupe_key_can_outlive_its_message)
{
    ph_store *store = t_open(NULL);
    ph_queue_settings s = PH_QUEUE_SETTINGS_INIT;
    ph_message m = a_message("t", "p");
    ph_owner owner = ph_owner_new();
    ph_enqueued first, e;

    t_clock_set(store, T_EPOCH);
    s.retention_s = 1;
    s.dedupe_retention_s = 100;
    set_queue(store, &s);
    m.dedupe_key = "k";
    first = put(store, &m);
    CHECK_INT(ack(store, owner, take_one(store, owner)), PH_OUTCOME_ACKED);
    t_clock_advance(store, 100 * T_SECOND - 1);
    CHECK_INT(clean_up(store, 0), 1);
    OK(ph_enqueue(store, PH_OWN_TX, &m, 0, &e, &t_err));
    CHECK(!e.is_new && same_id(e.work_id.b, first.work_id.b));
    t_clock_advance(store, 1);
    clean_up(store, 0);
    OK(ph_enqueue(store, PH_OWN_TX, &m, 0, &e, &t_err));
    CHECK(e.is_new);
}

TEST(retention_works_in_bounded_portions)
{
    ph_store *store = t_open(NULL);
    ph_work_id ids[10];
    int64_t deleted = 0, last;
    int calls = 0;

    t_clock_set(store, T_EPOCH);
    for (int i = 0; i < 6; i++)
        settle_some(store, 2, ids);
    t_clock_advance(store, 8 * 86400 * T_SECOND);
    while ((last = clean_up(store, 4)) > 0) {
        CHECK(last <= 4);
        deleted += last;
        calls++;
    }
    CHECK_INT(deleted, 12);
    CHECK(calls >= 3);
}

TEST(retention_gets_on_when_a_batch_is_above_the_limit)
{
    ph_store *store = t_open(NULL);
    ph_work_id ids[10];
    int64_t deleted = 0, last;

    t_clock_set(store, T_EPOCH);
    settle_some(store, 10, ids);
    t_clock_advance(store, 8 * 86400 * T_SECOND);
    for (int calls = 0; calls < 20 && (last = clean_up(store, 1)) > 0; calls++)
        deleted += last;
    CHECK_INT(deleted, 10);
}

TEST(retention_is_part_of_the_callers_transaction)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_work_id ids[1];
    int64_t deleted = -1;

    t_clock_set(store, T_EPOCH);
    settle_some(store, 1, ids);
    t_clock_advance(store, 8 * 86400 * T_SECOND);
    t_begin(conn);
    OK(ph_retention_run(store, t_tx(conn), 0, 0, &deleted, &t_err));
    CHECK_INT(deleted, 1);
    t_rollback(conn);
    CHECK_INT(see(store, ids[0]).status, PH_DONE);
}
