/* retry_test.c - abandon, backoff, error texts, and death after exactly the allowed attempts. */
#include "common.h"

TEST(abandon_gives_the_lease_back_and_counts_a_retry)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_owner owner = ph_owner_new();
    ph_lease_ref ref;
    struct seen s;

    t_clock_set(store, T_EPOCH);
    t_enqueue(store, "orders", "x");
    ref = take_one(store, owner);
    t_clock_advance(store, T_SECOND);
    CHECK_INT(settle(store, owner, ref, PH_ABANDON, "no answer", PH_DELAY_POLICY),
              PH_OUTCOME_ABANDONED);
    s = see(store, ref.work_id);
    CHECK_INT(s.status, PH_READY);
    REQ_INT("OBX-035", s.locked_until, 0);
    REQ("OBX-035", ph_id_is_zero(s.owner.b));
    REQ_STR("OBX-035", t_view(conn, ref.work_id, "owner_token"), "");
    REQ_STR("OBX-035", t_view(conn, ref.work_id, "locked_until"), "");
    REQ_INT("OBX-036", s.retry_count, 1);
    REQ_STR("OBX-036", t_view(conn, ref.work_id, "retry_count"), "1");
    REQ_INT("OBX-037", s.next_attempt_at, T_EPOCH + 3 * T_SECOND);
    REQ_STR("OBX-041", s.last_error, "no answer");
    REQ_STR("OBX-041", t_view(conn, ref.work_id, "last_error"), "no answer");
    CHECK_INT(s.attempts, 1);
    CHECK_INT(s.updated_at, T_EPOCH + T_SECOND);
    CHECK_STR(s.kinds, "abandoned");
    t_check_places(conn);
    t_disconnect(conn);
}

TEST(an_abandoned_message_comes_back_after_its_backoff)
{
    ph_store *store = t_open(NULL);
    ph_owner owner = ph_owner_new();
    ph_batch *batch;

    t_clock_set(store, T_EPOCH);
    t_enqueue(store, "orders", "x");
    settle(store, owner, take_one(store, owner), PH_ABANDON, "why", PH_DELAY_POLICY);
    t_clock_advance(store, 2 * T_SECOND - 1);
    REQ_INT("OBX-040", claimable(store, 1), 0);
    t_clock_advance(store, 1);
    batch = t_claim(store, owner, 1);
    REQ_INT("OBX-040", ph_batch_count(batch), 1);
    CHECK_INT(ph_batch_at(batch, 0)->attempts, 2);
    CHECK_INT(ph_batch_at(batch, 0)->retry_count, 1);
    CHECK_STR(ph_batch_at(batch, 0)->last_error, "why");
    CHECK_INT(ph_batch_at(batch, 0)->due_at, T_EPOCH); /* not when it was due again */
    ph_batch_free(batch);
}

/* The due time of the next delivery, which is given back with a delay. */
static int64_t due_of_next(ph_store *store, ph_settle_verb verb)
{
    const char *topic = "t"; /* a choice of topics takes another way through SQLite */
    ph_claim_opts opts = PH_CLAIM_OPTS_INIT;
    ph_owner owner = ph_owner_new();
    ph_lease_ref ref;
    ph_batch *batch;
    int64_t due;

    opts.topics = verb == PH_RELEASE ? &topic : NULL;
    opts.topic_count = verb == PH_RELEASE;
    batch = claim_with(store, owner, &opts);
    REQ_INT("OBX-057", ph_batch_count(batch), 1);
    due = ph_batch_at(batch, 0)->due_at;
    ref = (ph_lease_ref){ .work_id = ph_batch_at(batch, 0)->work_id };
    ph_batch_free(batch);
    settle(store, owner, ref, verb, NULL, 3000);
    t_clock_advance(store, 3 * T_SECOND);
    return due;
}

TEST(a_delivery_says_for_when_it_was_asked_for_however_often_it_comes)
{
    static const int64_t asked[] = { 0, T_EPOCH + 5 * T_SECOND, T_EPOCH - 7 * T_SECOND };

    for (size_t i = 0; i < sizeof(asked) / sizeof(*asked); i++) {
        ph_store *store = t_open(NULL);
        ph_message m = a_message("t", "x");
        int64_t due = asked[i] ? asked[i] : T_EPOCH;
        struct seen s;
        ph_work_id id;

        t_clock_set(store, T_EPOCH);
        m.due_at = asked[i];
        id = put(store, &m).work_id;
        t_clock_set(store, T_EPOCH + 10 * T_SECOND);
        REQ_INT("OBX-057", due_of_next(store, PH_ABANDON), due);
        REQ_INT("OBX-057", due_of_next(store, PH_RELEASE), due);
        REQ_INT("OBX-057", due_of_next(store, PH_ABANDON), due);
        s = see(store, id);
        CHECK_INT(s.due_at, due);
        CHECK_INT(s.requested_due_at, asked[i]);
        CHECK_INT(s.next_attempt_at, T_EPOCH + 19 * T_SECOND);
        t_start_over();
    }
}

/* The waiting time after one more abandon, in microseconds; the clock then stands at its end. */
static int64_t next_wait(ph_store *store, ph_owner owner, int64_t delay_ms)
{
    ph_lease_ref ref = take_one(store, owner);
    int64_t now = t_clock(store), due;

    CHECK_INT(settle(store, owner, ref, PH_ABANDON, NULL, delay_ms), PH_OUTCOME_ABANDONED);
    due = see(store, ref.work_id).next_attempt_at;
    t_clock_set(store, due);
    return due - now;
}

TEST(the_default_backoff_doubles_up_to_a_minute)
{
    static const int seconds[] = { 2, 4, 8, 16, 32, 60, 60, 60, 60 };
    ph_store *store = t_open(NULL);
    ph_owner owner = ph_owner_new();

    t_clock_set(store, T_EPOCH);
    t_enqueue(store, "orders", "x");
    for (int i = 0; i < 9; i++)
        REQ_INT("OBX-061 OBX-062", next_wait(store, owner, PH_DELAY_POLICY), seconds[i] * T_SECOND);
}

TEST(the_backoff_never_overflows)
{
    ph_store *store = t_open(NULL);
    ph_owner owner = ph_owner_new();
    ph_message m = a_message("orders", "x");

    t_clock_set(store, T_EPOCH);
    m.max_attempts = PH_ATTEMPTS_MAX;
    put(store, &m);
    for (int i = 0; i < 40; i++) {
        int64_t wait = next_wait(store, owner, PH_DELAY_POLICY);

        CHECK(wait >= 2 * T_SECOND && wait <= 60 * T_SECOND);
        if (i >= 5)
            REQ_INT("OBX-061", wait, 60 * T_SECOND);
    }
}

TEST(base_and_maximum_of_the_backoff_can_be_set)
{
    static const int64_t ms[] = { 200, 400, 800, 1000, 1000 };
    ph_store *store = t_open(NULL);
    ph_owner owner = ph_owner_new();
    ph_queue_settings settings = PH_QUEUE_SETTINGS_INIT;

    t_clock_set(store, T_EPOCH);
    settings.backoff_base_ms = 100;
    settings.backoff_max_ms = 1000;
    set_queue(store, &settings);
    t_enqueue(store, "orders", "x");
    for (int i = 0; i < 5; i++)
        REQ_INT("OBX-063", next_wait(store, owner, PH_DELAY_POLICY), ms[i] * 1000);
}

TEST(equal_jitter_lies_between_half_and_whole)
{
    ph_store *store = t_open(NULL);
    ph_owner owner = ph_owner_new();
    ph_queue_settings settings = PH_QUEUE_SETTINGS_INIT;
    ph_message m = a_message("orders", "x");
    int64_t whole = T_SECOND;
    bool differed = false;

    t_clock_set(store, T_EPOCH);
    settings.backoff = PH_BACKOFF_EQUAL_JITTER;
    set_queue(store, &settings);
    m.max_attempts = 100;
    put(store, &m);
    for (int i = 0; i < 30; i++) {
        int64_t wait = next_wait(store, owner, PH_DELAY_POLICY);

        REQ("OBX-063", wait >= whole / 2 && wait <= whole);
        differed = differed || (wait != whole / 2 && wait != whole);
        whole = whole * 2 > 300 * T_SECOND ? 300 * T_SECOND : whole * 2;
    }
    CHECK(differed);
}

TEST(a_delay_given_with_the_abandon_wins)
{
    ph_store *store = t_open(NULL);
    ph_owner owner = ph_owner_new();

    t_clock_set(store, T_EPOCH);
    t_enqueue(store, "orders", "x");
    CHECK_INT(next_wait(store, owner, 0), 0);
    CHECK_INT(next_wait(store, owner, 1), 1000);
    CHECK_INT(next_wait(store, owner, 86400000), 86400 * T_SECOND);
    CHECK_INT(next_wait(store, owner, INT64_MAX), INT64_C(366) * 86400 * T_SECOND);
    CHECK_INT(next_wait(store, owner, PH_DELAY_POLICY), 32 * T_SECOND);
}

/* -------------------------------------------------------------- the callback */

struct asked {
    int64_t answer;
    int calls, retry_count, attempts;
};

static int64_t answer(void *context, int retry_count, int attempts)
{
    struct asked *asked = context;

    asked->calls++;
    asked->retry_count = retry_count;
    asked->attempts = attempts;
    return asked->answer;
}

static ph_store *open_with_callback(struct asked *asked)
{
    ph_store_opts opts = PH_STORE_OPTS_INIT;

    opts.backoff = answer;
    opts.backoff_context = asked;
    return t_open(&opts);
}

TEST(a_callback_can_decide_the_waiting_time)
{
    struct asked asked = { 0 };
    ph_store *store = open_with_callback(&asked);
    ph_owner owner = ph_owner_new();

    t_clock_set(store, T_EPOCH);
    t_enqueue(store, "orders", "x");
    asked.answer = 12345;
    REQ_INT("OBX-063", next_wait(store, owner, PH_DELAY_POLICY), 12345000);
    CHECK_INT(asked.retry_count, 1);
    CHECK_INT(asked.attempts, 1);
    asked.answer = 0;
    REQ_INT("OBX-063", next_wait(store, owner, PH_DELAY_POLICY), 0);
    CHECK_INT(asked.retry_count, 2);
    CHECK_INT(asked.attempts, 2);
    asked.answer = INT64_MAX;
    CHECK_INT(next_wait(store, owner, PH_DELAY_POLICY), INT64_C(366) * 86400 * T_SECOND);
    asked.answer = -1; /* as the queue says */
    CHECK_INT(next_wait(store, owner, PH_DELAY_POLICY), 16 * T_SECOND);
    CHECK_INT(asked.calls, 4);
    CHECK_INT(next_wait(store, owner, 7), 7000);
    CHECK_INT(asked.calls, 4); /* not asked when a delay was given */
}

TEST(without_known_attempts_the_callback_is_not_asked)
{
    struct asked asked = { .answer = 99 };
    ph_store *store = open_with_callback(&asked);
    ph_owner owner = ph_owner_new();
    ph_lease_ref ref;

    t_clock_set(store, T_EPOCH);
    t_enqueue(store, "orders", "x");
    ref = take_one(store, owner);
    ref.attempts = 0;
    settle(store, owner, ref, PH_ABANDON, NULL, PH_DELAY_POLICY);
    CHECK_INT(asked.calls, 0);
    CHECK_INT(see(store, ref.work_id).next_attempt_at, T_EPOCH + 2 * T_SECOND);
}

/* -------------------------------------------------------------- error texts */

static void keeps(ph_store *store, const char *error, const char *kept)
{
    ph_owner owner = ph_owner_new();
    ph_lease_ref ref;
    struct seen s;

    t_enqueue(store, "orders", "x");
    ref = take_one(store, owner);
    CHECK_INT(settle(store, owner, ref, PH_FAIL, error, 0), PH_OUTCOME_FAILED);
    s = see(store, ref.work_id);
    REQ_STR("OBX-043", s.last_error, kept);
    CHECK(s.has_error == (error != NULL));
    t_enqueue(store, "orders", "x");
    ref = take_one(store, owner);
    CHECK_INT(settle(store, owner, ref, PH_ABANDON, error, 86400000), PH_OUTCOME_ABANDONED);
    REQ_STR("OBX-041", see(store, ref.work_id).last_error, kept);
}

TEST(error_texts_survive_whatever_they_hold)
{
    ph_store *store = t_open(NULL);

    keeps(store, NULL, "");
    keeps(store, "", "");
    keeps(store, "it's \"broken\"; DROP TABLE message; -- %s\\",
          "it's \"broken\"; DROP TABLE message; -- %s\\");
    keeps(store, "line\nline\r\n\ttab", "line\nline\r\n\ttab");
    keeps(store, "na\xc3\xafve \xf0\x9f\x92\xa5", "na\xc3\xafve \xf0\x9f\x92\xa5");
    keeps(store, "bad \xff byte \xc3", "bad \xef\xbf\xbd byte \xef\xbf\xbd");
    keeps(store, "<script>alert(1)</script>", "<script>alert(1)</script>");
}

TEST(over_long_error_texts_are_cut_at_a_code_point)
{
    ph_store *store = t_open(NULL);

    keeps(store, repeated("e", PH_ERROR_TEXT_MAX), repeated("e", PH_ERROR_TEXT_MAX));
    keeps(store, repeated("e", PH_ERROR_TEXT_MAX + 1), repeated("e", PH_ERROR_TEXT_MAX));
    keeps(store, repeated("\xe2\x82\xac", PH_ERROR_TEXT_MAX),
          repeated("\xe2\x82\xac", PH_ERROR_TEXT_MAX / 3));
    keeps(store, repeated("\xff", 1000000), repeated("\xef\xbf\xbd", PH_ERROR_TEXT_MAX / 3));
}

TEST(the_newest_error_is_shown_and_all_are_kept)
{
    ph_store *store = t_open(NULL);
    ph_owner owner = ph_owner_new();
    ph_message_info *info = NULL;
    ph_lease_ref ref;

    t_clock_set(store, T_EPOCH);
    t_enqueue(store, "orders", "x");
    settle(store, owner, take_one(store, owner), PH_ABANDON, "first", 1000);
    t_clock_advance(store, T_SECOND);
    settle(store, owner, take_one(store, owner), PH_ABANDON, NULL, 0);
    ref = take_one(store, owner);
    CHECK(!see(store, ref.work_id).has_error); /* of the newest, also if that is none */
    settle(store, owner, ref, PH_FAIL, "last", 0);
    OK(ph_outbox_find(store, PH_OWN_TX, ref.work_id, 0, &info, &t_err));
    CHECK_STR(info->message->last_error, "last");
    CHECK_INT(info->history_count, 3);
    CHECK_STR(info->history[0].kind, "abandoned");
    CHECK_STR(info->history[0].error, "first");
    CHECK_INT(info->history[0].attempt, 1);
    CHECK_INT(info->history[0].at, T_EPOCH);
    CHECK_INT(info->history[0].next_due_at, T_EPOCH + T_SECOND);
    CHECK(same_id(info->history[0].owner.b, owner.b));
    CHECK_STR(info->history[1].error, NULL);
    CHECK_INT(info->history[1].attempt, 2);
    CHECK_STR(info->history[2].kind, "failed");
    CHECK_INT(info->history[2].attempt, 3);
    CHECK_INT(info->history[2].next_due_at, 0);
    ph_message_info_free(info);
}

/* ------------------------------------------------------------------- the end */

/* Abandons until it is dead; returns the number of deliveries. */
static int deliveries_until_dead(ph_store *store, ph_owner owner, ph_work_id id)
{
    for (int n = 1; n <= 100; n++) {
        ph_outcome out = settle(store, owner, take_one(store, owner), PH_ABANDON, "no", 0);

        if (out == PH_OUTCOME_DEAD)
            return n;
        CHECK_INT(out, PH_OUTCOME_ABANDONED);
        CHECK_INT(see(store, id).status, PH_READY);
    }
    return -1;
}

static void check_dead(ph_store *store, ph_work_id id, int attempts, const char *reason)
{
    struct seen s = see(store, id);

    REQ_INT("OBX-064", s.status, PH_FAILED);
    CHECK_STR(s.dead_reason, reason);
    CHECK_INT(s.attempts, attempts);
    REQ_INT("OBX-064", claimable(store, 10), 0);
}

TEST(ten_attempts_are_allowed_by_default)
{
    ph_store *store = t_open(NULL);
    ph_work_id id = t_enqueue(store, "orders", "x").work_id;

    REQ_INT("OBX-064 OBX-065", deliveries_until_dead(store, ph_owner_new(), id), 10);
    check_dead(store, id, 10, "attempts");
    CHECK_INT(see(store, id).retry_count, 10);
    CHECK_STR(see(store, id).last_error, "no");
}

TEST(the_queue_and_the_message_set_the_maximum)
{
    ph_store *store = t_open(NULL);
    ph_owner owner = ph_owner_new();
    ph_message m = a_message("orders", "x");
    ph_work_id id;

    set_max_attempts(store, 3);
    id = put(store, &m).work_id;
    CHECK_INT(see(store, id).max_attempts, 3);
    REQ_INT("OBX-065", deliveries_until_dead(store, owner, id), 3);
    check_dead(store, id, 3, "attempts");
    m.max_attempts = 1;
    id = put(store, &m).work_id;
    REQ_INT("OBX-065", deliveries_until_dead(store, owner, id), 1);
    check_dead(store, id, 1, "attempts");
    m.max_attempts = 5;
    id = put(store, &m).work_id;
    REQ_INT("OBX-065", deliveries_until_dead(store, owner, id), 5);
}

TEST(lost_leases_cost_attempts_too)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_work_id id;

    t_clock_set(store, T_EPOCH);
    set_max_attempts(store, 4);
    id = t_enqueue(store, "orders", "kills its worker").work_id;
    for (int n = 1; n <= 4; n++) {
        CHECK_INT(take_one(store, ph_owner_new()).attempts, n);
        t_clock_advance(store, 31 * T_SECOND);
    }
    REQ_INT("OBX-064", claimable(store, 10), 0); /* the claim itself buries it */
    check_dead(store, id, 4, "lost");
    CHECK_STR(see(store, id).kinds, "lost,lost,lost,lost");
    CHECK_INT(see(store, id).retry_count, 0);
    t_check_places(conn);
    t_disconnect(conn);
}

TEST(lost_and_abandoned_attempts_add_up_and_released_ones_do_not)
{
    ph_store *store = t_open(NULL);
    ph_owner owner = ph_owner_new();
    ph_work_id id;

    t_clock_set(store, T_EPOCH);
    set_max_attempts(store, 3);
    id = t_enqueue(store, "orders", "x").work_id;
    settle(store, owner, take_one(store, owner), PH_ABANDON, "1", 0);
    settle(store, owner, take_one(store, owner), PH_RELEASE, NULL, 0);
    CHECK_INT(take_one(store, owner).attempts, 2);
    t_clock_advance(store, 31 * T_SECOND);
    settle(store, owner, take_one(store, owner), PH_RELEASE, NULL, 0);
    CHECK_INT(settle(store, owner, take_one(store, owner), PH_ABANDON, "3", 0), PH_OUTCOME_DEAD);
    check_dead(store, id, 3, "attempts");
    CHECK_STR(see(store, id).kinds, "abandoned,released,lost,released,abandoned");
    CHECK_INT(see(store, id).retry_count, 2);
}

TEST(an_ack_on_the_last_attempt_still_counts)
{
    ph_store *store = t_open(NULL);
    ph_owner owner = ph_owner_new();
    ph_work_id id;

    set_max_attempts(store, 2);
    id = t_enqueue(store, "orders", "x").work_id;
    settle(store, owner, take_one(store, owner), PH_ABANDON, "1", 0);
    CHECK_INT(ack(store, owner, take_one(store, owner)), PH_OUTCOME_ACKED);
    CHECK_INT(see(store, id).status, PH_DONE);
    CHECK_INT(see(store, id).attempts, 2);
    CHECK_INT(see(store, id).retry_count, 1);
    CHECK_STR(see(store, id).last_error, "1");
}
