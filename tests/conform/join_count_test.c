/* join_count_test.c - every way in which a message can end moves its joins, once, and no other way
 * does. */
#include "joins.h"

/* ---------------------------------------------------------- how messages end
 * Each is given one ready message of the topic STEP, the only one, under the fake clock. */

/* How many steps a claim hands out; what waits have sent is left to others. */
static size_t claimed(ph_store *store)
{
    return take_steps(store, ph_owner_new(), &(ph_lease_ref){ 0 }, 1);
}

static void by_ack(ph_store *store)
{
    end_step(store, PH_ACK);
}

static void by_fail(ph_store *store)
{
    end_step(store, PH_FAIL);
}

static void by_abandon_on_the_last_attempt(ph_store *store)
{
    set_max_attempts(store, 2);
    end_step(store, PH_ABANDON);
    t_clock_advance(store, 100 * T_SECOND);
    end_step(store, PH_ABANDON);
}

/* The claim finds it past its time. */
static void by_expiry(ph_store *store)
{
    t_clock_advance(store, 1001 * T_SECOND);
    CHECK_INT(claimed(store), 0);
}

static void by_lowered_attempts(ph_store *store)
{
    end_step(store, PH_ABANDON);
    set_max_attempts(store, 1);
    t_clock_advance(store, 100 * T_SECOND);
    CHECK_INT(claimed(store), 0);
}

static void by_reap_on_the_last_attempt(ph_store *store)
{
    set_max_attempts(store, 1);
    CHECK_INT(claimed(store), 1);
    t_clock_advance(store, 31 * T_SECOND);
    CHECK_INT(reap(store), 1);
}

/* The claim takes the lease back by itself. */
static void by_loss_on_the_last_attempt(ph_store *store)
{
    set_max_attempts(store, 1);
    CHECK_INT(claimed(store), 1);
    t_clock_advance(store, 31 * T_SECOND);
    CHECK_INT(claimed(store), 0);
}

static void by_exchange(ph_store *store)
{
    static const char *const topics[] = { "none" };
    ph_claim_opts opts = PH_CLAIM_OPTS_INIT;
    ph_owner owner = ph_owner_new();
    ph_settlement item = { .verb = PH_ACK };
    ph_batch *batch = NULL;

    opts.topics = topics;
    opts.topic_count = 1;
    CHECK_INT(take_steps(store, owner, &item.lease, 1), 1);
    OK(ph_outbox_exchange(store, PH_OWN_TX, owner, &item, 1, &opts, 0, NULL, &batch, &t_err));
    ph_batch_free(batch);
}

static void by_ack_after_the_lease_ran_out(ph_store *store)
{
    ph_owner owner = ph_owner_new();
    ph_lease_ref ref;

    CHECK_INT(take_steps(store, owner, &ref, 1), 1);
    t_clock_advance(store, 31 * T_SECOND);
    CHECK_INT(ack(store, owner, ref), PH_OUTCOME_ACKED);
}

static void by_ack_and_deletion(ph_store *store)
{
    ph_queue_settings settings = PH_QUEUE_SETTINGS_INIT;

    settings.delete_on_ack = 1;
    set_queue(store, &settings);
    end_step(store, PH_ACK);
}

static const struct {
    const char *what;
    void (*end)(ph_store *store);
    bool fails; /* counted as failed */
    bool gone;  /* there is no message afterwards */
} ends[] = {
    { "ack", by_ack, false, false },
    { "fail", by_fail, true, false },
    { "abandon on the last attempt", by_abandon_on_the_last_attempt, true, false },
    { "expiry", by_expiry, true, false },
    { "lowered attempts", by_lowered_attempts, true, false },
    { "reap on the last attempt", by_reap_on_the_last_attempt, true, false },
    { "loss on the last attempt", by_loss_on_the_last_attempt, true, false },
    { "exchange", by_exchange, false, false },
    { "ack after the lease ran out", by_ack_after_the_lease_ran_out, false, false },
    { "ack and deletion", by_ack_and_deletion, false, true },
};
#define ENDS (sizeof(ends) / sizeof(ends[0]))

static ph_store *fresh(void)
{
    ph_store *store = t_open(NULL);

    t_clock_set(store, T_EPOCH);
    return store;
}

/* What an end has set is set back. */
static void set_back(ph_store *store)
{
    ph_queue_settings settings = PH_QUEUE_SETTINGS_INIT;

    settings.max_attempts = 10;
    settings.delete_on_ack = -1;
    set_queue(store, &settings);
}

static ph_enqueued a_mortal_step(ph_store *store)
{
    ph_message m = a_message(STEP, "x");

    m.expires_at = t_clock(store) + 1000 * T_SECOND;
    return put(store, &m);
}

TEST(every_end_of_a_message_moves_its_joins_with_it)
{
    ph_store *store = fresh();
    struct t_conn *conn = t_connect();

    for (size_t i = 0; i < ENDS; i++) {
        ph_join_id open = start_join(store, 2), last = start_join(store, 1);
        ph_enqueued e = a_mortal_step(store);
        bool fails = ends[i].fails;

        printf("%s\n", ends[i].what);
        set_back(store);
        attach(store, open, e.message_id);
        attach(store, last, e.message_id);
        ends[i].end(store);
        CHECK(see(store, e.work_id).there != ends[i].gone);
        REQ_STR(fails ? "OBX-046 OBX-089 JOIN-031 JOIN-081" : "OBX-033 OBX-089 JOIN-030 JOIN-081",
                standing(store, open), fails ? "0+1/2 pending" : "1+0/2 pending");
        REQ_STR("OBX-090 JOIN-040 JOIN-041 JOIN-081", standing(store, last),
                fails ? "0+1/1 failed" : "1+0/1 completed");
        REQ_STR(fails ? "JOIN-031" : "JOIN-030", steps_of(store, open),
                fails ? "failed" : "completed");
        t_check_places(conn);
    }
    t_disconnect(conn);
}

TEST(every_end_is_counted_by_a_later_attach_too)
{
    ph_store *store = fresh();

    for (size_t i = 0; i < ENDS; i++) {
        ph_join_id join = start_join(store, 2);
        ph_enqueued e = a_mortal_step(store);
        bool fails = ends[i].fails;

        printf("%s\n", ends[i].what);
        set_back(store);
        ends[i].end(store);
        if (ends[i].gone) {
            CHECK_INT(try_attach(store, join, e.message_id), PH_ENOTFOUND);
            continue;
        }
        attach(store, join, e.message_id);
        REQ_STR(fails ? "JOIN-031" : "JOIN-030", standing(store, join),
                fails ? "0+1/2 pending" : "1+0/2 pending");
        CHECK_STR(steps_of(store, join), fails ? "failed" : "completed");
    }
}

TEST(every_end_sends_what_waits_for_it)
{
    ph_store *store = fresh();
    int good = 0, bad = 0;

    for (size_t i = 0; i < ENDS; i++) {
        ph_join_id join = start_join(store, 1);
        char want[40];

        printf("%s\n", ends[i].what);
        set_back(store);
        attach(store, join, a_mortal_step(store).message_id);
        wait_for(store, join, true);
        ends[i].end(store);
        good += !ends[i].fails;
        bad += ends[i].fails;
        snprintf(want, sizeof(want), "%d good, %d bad", good, bad);
        REQ_STR("OBX-093 OBX-094 JOIN-054 JOIN-055", sent_text(store), want);
    }
}

/* ---------------------------------------------------------------- no end at all */

TEST(a_message_that_comes_back_is_not_counted)
{
    ph_store *store = fresh();
    ph_join_id join = start_join(store, 1);

    put_step(store, join);
    end_step(store, PH_ABANDON);
    CHECK_STR(standing(store, join), "0+0/1 pending");
    t_clock_advance(store, 100 * T_SECOND);
    end_step(store, PH_RELEASE);
    CHECK_STR(standing(store, join), "0+0/1 pending");
    CHECK_INT(claimable(store, 1), 1);
    t_clock_advance(store, 31 * T_SECOND);
    CHECK_INT(reap(store), 1);
    REQ_STR("JOIN-013", standing(store, join), "0+0/1 pending");
    CHECK_STR(steps_of(store, join), "pending");
    end_step(store, PH_ACK);
    REQ_STR("JOIN-030", standing(store, join), "1+0/1 completed");
}

TEST(a_stale_settlement_counts_nothing)
{
    ph_store *store = fresh();
    ph_join_id join = start_join(store, 2);
    ph_owner owner = ph_owner_new();
    ph_lease_ref old, now;

    put_step(store, join);
    put_step(store, join);
    CHECK_INT(take_steps(store, owner, &old, 1), 1);
    t_clock_advance(store, 31 * T_SECOND);
    CHECK_INT(reap(store), 1);
    CHECK_INT(ack(store, owner, old), PH_OUTCOME_STALE);
    CHECK_INT(settle(store, owner, old, PH_FAIL, "x", 0), PH_OUTCOME_STALE);
    REQ_STR("JOIN-030 JOIN-031", standing(store, join), "0+0/2 pending");
    CHECK_INT(take_steps(store, owner, &now, 1), 1);
    CHECK_INT(ack(store, ph_owner_new(), now), PH_OUTCOME_STALE);
    CHECK_STR(standing(store, join), "0+0/2 pending");
    CHECK_INT(ack(store, owner, now), PH_OUTCOME_ACKED);
    CHECK_INT(ack(store, owner, now), PH_OUTCOME_ACKED); /* a second time: it is told so */
    REQ_STR("JOIN-022", standing(store, join), "1+0/2 pending");
}

/* ---------------------------------------------------------------- many at once */

TEST(three_steps_in_one_call_add_three)
{
    ph_store *store = fresh();
    ph_join_id a = start_join(store, 5), b = start_join(store, 3);
    ph_owner owner = ph_owner_new();
    ph_settlement items[3] = { { .verb = PH_ACK }, { .verb = PH_FAIL }, { .verb = PH_ACK } };
    ph_lease_ref refs[3];

    for (int i = 0; i < 3; i++)
        attach(store, b, put_step(store, a).message_id);
    wait_for(store, b, false);
    CHECK_INT(take_steps(store, owner, refs, 3), 3);
    for (int i = 0; i < 3; i++)
        items[i].lease = refs[i];
    OK(ph_outbox_settle(store, PH_OWN_TX, owner, items, 3, 0, NULL, &t_err));
    REQ_STR("OBX-033 OBX-046 JOIN-081", standing(store, a), "2+1/5 pending");
    REQ_STR("JOIN-040 JOIN-041 JOIN-081", standing(store, b), "2+1/3 failed");
    CHECK_STR(steps_of(store, b), "completed failed completed");
    REQ_STR("JOIN-055", sent_text(store), "1 good, 0 bad");
}

TEST(an_id_given_twice_in_one_call_counts_once)
{
    ph_store *store = fresh();
    ph_join_id join = start_join(store, 2);
    ph_owner owner = ph_owner_new();
    ph_lease_ref refs[2];

    put_step(store, join);
    CHECK_INT(take_steps(store, owner, refs, 1), 1);
    refs[1] = refs[0];
    OK(ph_outbox_ack(store, PH_OWN_TX, owner, refs, 2, 0, NULL, &t_err));
    REQ_STR("JOIN-022 JOIN-023", standing(store, join), "1+0/2 pending");
}

TEST(a_batch_of_steps_of_many_joins_moves_each_by_its_own)
{
    enum { JOINS = 20, EACH = 3 };
    ph_store *store = fresh();
    ph_owner owner = ph_owner_new();
    ph_lease_ref refs[JOINS * EACH];
    ph_join_id joins[JOINS];

    for (int i = 0; i < JOINS; i++)
        joins[i] = start_join(store, EACH);
    for (int i = 0; i < JOINS * EACH; i++)
        attach(store, joins[i % JOINS], a_step(store).message_id);
    CHECK_INT(take_steps(store, owner, refs, JOINS * EACH), JOINS * EACH);
    OK(ph_outbox_ack(store, PH_OWN_TX, owner, refs, JOINS * 2, 0, NULL, &t_err));
    for (int i = 0; i < JOINS; i++)
        REQ_STR("OBX-033", standing(store, joins[i]), "2+0/3 pending");
    OK(ph_outbox_fail(store, PH_OWN_TX, owner, refs + JOINS * 2, JOINS, "x", 0, NULL, &t_err));
    for (int i = 0; i < JOINS; i++)
        REQ_STR("OBX-046 JOIN-041", standing(store, joins[i]), "2+1/3 failed");
}

TEST(a_claim_that_buries_many_counts_them_all)
{
    ph_store *store = fresh();
    ph_join_id join = start_join(store, 60);

    for (int i = 0; i < 60; i++)
        attach(store, join, a_mortal_step(store).message_id);
    wait_for(store, join, true);
    t_clock_advance(store, 1001 * T_SECOND);
    CHECK_INT(claimed(store), 0);
    REQ_STR("JOIN-031", standing(store, join), "0+60/60 failed");
    CHECK_STR(sent_text(store), "0 good, 1 bad");
}

TEST(a_reap_that_buries_many_counts_them_all)
{
    ph_store *store = fresh();
    ph_join_id join = start_join(store, 60);
    ph_lease_ref refs[60];

    set_max_attempts(store, 1);
    for (int i = 0; i < 60; i++)
        put_step(store, join);
    for (int i = 0; i < 6; i++)
        CHECK_INT(take_steps(store, ph_owner_new(), refs, 10), 10);
    t_clock_advance(store, 31 * T_SECOND);
    CHECK_INT(reap(store), 60);
    REQ_STR("JOIN-031", standing(store, join), "0+60/60 failed");
}

/* --------------------------------------------------------------- how joins end */

TEST(the_status_says_whether_any_step_failed)
{
    ph_store *store = fresh();
    ph_join_id good = start_join(store, 2), mixed = start_join(store, 2),
               bad = start_join(store, 2);

    put_step(store, good);
    put_step(store, good);
    end_step(store, PH_ACK);
    REQ_STR("OBX-090 JOIN-040", standing(store, good), "1+0/2 pending");
    end_step(store, PH_ACK);
    REQ_STR("OBX-090 JOIN-040 JOIN-041", standing(store, good), "2+0/2 completed");
    put_step(store, mixed);
    put_step(store, mixed);
    end_step(store, PH_FAIL);
    REQ_STR("JOIN-040", standing(store, mixed), "0+1/2 pending"); /* it waits for the other */
    end_step(store, PH_ACK);
    REQ_STR("JOIN-041 OBX-092", standing(store, mixed), "1+1/2 failed");
    put_step(store, bad);
    put_step(store, bad);
    end_step(store, PH_FAIL);
    end_step(store, PH_FAIL);
    REQ_STR("JOIN-041 OBX-092", standing(store, bad), "0+2/2 failed");
}

TEST(an_open_join_waits_for_steps_that_are_not_attached_yet)
{
    ph_store *store = fresh();
    ph_join_id join = start_join(store, 2);

    put_step(store, join);
    end_step(store, PH_ACK);
    t_clock_advance(store, 30 * 86400 * T_SECOND);
    CHECK_INT(claimable(store, 5), 0);
    CHECK_STR(standing(store, join), "1+0/2 pending");
    put_step(store, join);
    end_step(store, PH_ACK);
    CHECK_STR(standing(store, join), "2+0/2 completed");
}

TEST(a_complete_join_does_not_change_any_more)
{
    ph_store *store = fresh();
    ph_join_id join = start_join_until(store, 2, T_EPOCH + 1000 * T_SECOND);
    ph_enqueued a = put_step(store, join), b = put_step(store, join);
    ph_join_info *info;
    ph_work_id again;

    end_step(store, PH_FAIL);
    t_clock_advance(store, T_SECOND);
    end_step(store, PH_ACK);
    t_clock_advance(store, T_SECOND);
    OK(ph_dead_retry(store, PH_OWN_TX, &a.work_id, 1, 0, &again, &t_err));
    end_step(store, PH_ACK);
    OK(ph_join_report_completed(store, PH_OWN_TX, join, a.message_id, 0, &t_err));
    OK(ph_join_report_failed(store, PH_OWN_TX, join, b.message_id, 0, &t_err));
    attach(store, join, a.message_id);
    CHECK(!cancel(store, join));
    t_clock_advance(store, 2000 * T_SECOND); /* past the deadline, too */
    reap(store);
    claimable(store, 1);
    REQ_STR("JOIN-042", standing(store, join), "1+1/2 failed");
    REQ_STR("JOIN-042", steps_of(store, join), "failed completed");
    info = find_join(store, join);
    REQ_INT("JOIN-042", info->updated_at, T_EPOCH + T_SECOND);
    CHECK_INT(info->finished_at, T_EPOCH + T_SECOND);
    ph_join_info_free(info);
}

TEST(every_change_sets_the_time_of_update)
{
    ph_store *store = fresh();
    ph_join_id join = start_join(store, 4);
    ph_message_id by_hand;

    for (int i = 0; i < 3; i++)
        put_step(store, join);
    by_hand = put_step(store, join).message_id;
    for (int i = 1; i <= 4; i++) {
        ph_join_info *info;

        t_clock_set(store, T_EPOCH + i * T_SECOND);
        if (i == 1)
            OK(ph_join_report_failed(store, PH_OWN_TX, join, by_hand, 0, &t_err));
        else
            end_step(store, i == 2 ? PH_FAIL : PH_ACK);
        info = find_join(store, join);
        REQ_INT("JOIN-043", info->updated_at, T_EPOCH + i * T_SECOND);
        REQ_INT("JOIN-005", info->created_at, T_EPOCH);
        CHECK_INT(info->finished_at, i == 4 ? T_EPOCH + i * T_SECOND : 0);
        ph_join_info_free(info);
    }
    REQ_STR("JOIN-043", standing(store, join), "2+2/4 failed");
}

/* ------------------------------------------------------------ operator's retry */

TEST(a_step_that_an_operator_puts_back_counts_once)
{
    ph_store *store = fresh();
    ph_join_id join = start_join(store, 2);
    ph_enqueued e = put_step(store, join);
    ph_work_id again;

    end_step(store, PH_FAIL);
    OK(ph_dead_retry(store, PH_OWN_TX, &e.work_id, 1, 0, &again, &t_err));
    attach(store, join, e.message_id); /* it is a step already */
    CHECK_INT(attached_to(store, join), 1);
    CHECK_STR(steps_of(store, join), "failed");
    end_step(store, PH_ACK);
    REQ_STR("JOIN-022", standing(store, join), "0+1/2 pending");
    CHECK_STR(steps_of(store, join), "failed");
    put_step(store, join);
    end_step(store, PH_ACK);
    REQ_STR("JOIN-023 JOIN-041", standing(store, join), "1+1/2 failed");
}

TEST(a_dead_step_that_is_discarded_stays_counted)
{
    ph_store *store = fresh();
    ph_join_id join = start_join(store, 2);
    ph_enqueued e = put_step(store, join);
    int64_t count = 0;

    end_step(store, PH_FAIL);
    OK(ph_dead_discard(store, PH_OWN_TX, &e.work_id, 1, 0, &count, &t_err));
    CHECK_INT(count, 1);
    REQ_STR("JOIN-031", standing(store, join), "0+1/2 pending");
    CHECK_STR(steps_of(store, join), "failed");
    attach(store, join, e.message_id); /* it is still a step */
    CHECK_STR(standing(store, join), "0+1/2 pending");
}

/* ------------------------------------------------ several messages with one message id */

static const ph_message_id shared_id = { { 0x77, 1, 2, 3, 4, 5, 0x40, 7, 0x80, 9 } };

/* One more message with the shared id. */
static void put_shared(ph_store *store, ph_priority priority)
{
    ph_message m = a_message(STEP, "x");

    m.message_id = &shared_id;
    m.priority = priority;
    put(store, &m);
}

TEST(of_two_messages_with_one_message_id_the_first_that_ends_counts)
{
    for (int way = 0; way < 8; way++) {
        bool older_first = way & 1, attach_first = way & 2, fails = way & 4;
        ph_store *store = t_open(NULL);
        struct t_conn *conn = t_connect();
        ph_join_id join = start_join(store, 2), done = start_join(store, 1);

        put_shared(store, PH_PRIORITY_NORMAL);
        if (attach_first)
            attach(store, join, shared_id);
        put_shared(store, older_first ? PH_PRIORITY_BULK : PH_PRIORITY_URGENT);
        attach(store, join, shared_id);
        attach(store, done, shared_id);
        end_step(store, fails ? PH_FAIL : PH_ACK);
        REQ_STR("JOIN-030", standing(store, join), fails ? "0+1/2 pending" : "1+0/2 pending");
        REQ_STR("JOIN-030", standing(store, done), fails ? "0+1/1 failed" : "1+0/1 completed");
        REQ_STR("JOIN-030", steps_of(store, join), fails ? "failed" : "completed");
        end_step(store, fails ? PH_ACK : PH_FAIL); /* the other one is too late */
        REQ_STR("JOIN-030", standing(store, join), fails ? "0+1/2 pending" : "1+0/2 pending");
        t_check_joins(conn);
        t_start_over();
    }
}

TEST(messages_with_one_message_id_that_end_in_one_call_count_once)
{
    for (int deleted = 0; deleted < 2; deleted++) {
        ph_queue_settings settings = PH_QUEUE_SETTINGS_INIT;
        ph_store *store = t_open(NULL);
        struct t_conn *conn = t_connect();
        ph_join_id join = start_join(store, 3);
        ph_owner owner = ph_owner_new();
        ph_lease_ref refs[3];
        ph_outcome outcomes[3];

        settings.delete_on_ack = deleted ? 1 : -1;
        set_queue(store, &settings);
        for (int i = 0; i < 3; i++)
            put_shared(store, PH_PRIORITY_NORMAL);
        attach(store, join, shared_id);
        CHECK_INT(take_steps(store, owner, refs, 3), 3);
        OK(ph_outbox_ack(store, PH_OWN_TX, owner, refs, 3, 0, outcomes, &t_err));
        REQ_STR("JOIN-030", standing(store, join), "1+0/3 pending");
        put_step(store, join);
        end_step(store, PH_ACK);
        CHECK_STR(standing(store, join), "2+0/3 pending");
        t_check_joins(conn);
        t_start_over();
    }
}
