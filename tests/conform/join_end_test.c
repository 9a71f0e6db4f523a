/* join_end_test.c - joins that end before all of their steps have: cancelled, or at their deadline. */
#include "doors.h"
#include "joins.h"

#define SOON (T_EPOCH + 10 * T_SECOND)

/* Something that ends joins past their deadline. */
static void come_by_with_a_reap(ph_store *store)
{
    reap(store);
}

static void come_by_with_a_claim(ph_store *store)
{
    static const char *const topics[] = { "nothing" };
    ph_claim_opts opts = PH_CLAIM_OPTS_INIT;

    opts.topics = topics;
    opts.topic_count = 1;
    ph_batch_free(claim_with(store, ph_owner_new(), &opts));
}

static void come_by_with_an_exchange(ph_store *store)
{
    static const char *const topics[] = { "nothing" };
    ph_claim_opts opts = PH_CLAIM_OPTS_INIT;
    ph_batch *batch = NULL;

    opts.topics = topics;
    opts.topic_count = 1;
    OK(ph_outbox_exchange(store, PH_OWN_TX, ph_owner_new(), NULL, 0, &opts, 0, NULL, &batch,
                          &t_err));
    ph_batch_free(batch);
}

/* ------------------------------------------------------------------- cancelled */

TEST(cancel_ends_an_open_join_and_leaves_its_counters)
{
    ph_store *store = t_open(NULL);
    ph_join_id join = start_join(store, 4);
    ph_join_info *info;

    t_clock_set(store, T_EPOCH);
    for (int i = 0; i < 3; i++)
        put_step(store, join);
    end_step(store, PH_ACK);
    end_step(store, PH_FAIL);
    t_clock_advance(store, 5 * T_SECOND);
    CHECK(cancel(store, join));
    CHECK_STR(standing(store, join), "1+1/4 cancelled");
    CHECK_STR(steps_of(store, join), "completed failed pending");
    info = find_join(store, join);
    CHECK_INT(info->finished_at, T_EPOCH + 5 * T_SECOND);
    REQ_INT("JOIN-043", info->updated_at, T_EPOCH + 5 * T_SECOND);
    ph_join_info_free(info);
    t_clock_advance(store, 5 * T_SECOND);
    CHECK(!cancel(store, join));
    CHECK_STR(standing(store, join), "1+1/4 cancelled");
}

TEST(the_messages_of_a_cancelled_join_go_on_uncounted)
{
    ph_store *store = t_open(NULL);
    ph_join_id join = start_join(store, 2), other = start_join(store, 2);
    ph_enqueued a = put_step(store, join), b = put_step(store, join);

    attach(store, other, a.message_id);
    attach(store, other, b.message_id);
    CHECK(cancel(store, join));
    end_step(store, PH_ACK);
    end_step(store, PH_FAIL);
    CHECK_STR(standing(store, join), "0+0/2 cancelled");
    CHECK_STR(steps_of(store, join), "pending pending"); /* as it stood */
    CHECK_STR(standing(store, other), "1+1/2 failed");
    CHECK_STR(steps_of(store, other), "completed failed");
}

TEST(nothing_can_be_attached_to_a_cancelled_join)
{
    ph_store *store = t_open(NULL);
    ph_join_id join = start_join(store, 2);
    ph_enqueued open = a_step(store), done;

    end_step(store, PH_ACK);
    done = open;
    open = a_step(store);
    CHECK(cancel(store, join));
    CHECK_INT(try_attach(store, join, open.message_id), PH_ESTATE);
    CHECK(strstr(t_err.message, "is closed") != NULL);
    CHECK_INT(try_attach(store, join, done.message_id), PH_ESTATE);
    CHECK_INT(attached_to(store, join), 0);
}

TEST(the_waits_of_a_cancelled_join_take_the_way_of_failure)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_join_id join = start_join(store, 2);
    ph_wait wait = a_wait(false);
    ph_work_id silent;

    wait_for(store, join, true);
    wait_for(store, join, false);
    wait.on_fail_topic = NULL;
    OK(ph_join_wait(store, PH_OWN_TX, join, &wait, 0, &silent, &t_err));
    put_step(store, join);
    end_step(store, PH_ACK);
    CHECK(cancel(store, join));
    CHECK_STR(sent_text(store), "0 good, 2 bad");
    CHECK_INT(see(store, silent).status, PH_DONE);
    wait_for(store, join, false); /* afterwards, too */
    CHECK_STR(sent_text(store), "0 good, 3 bad");
    CHECK(!cancel(store, join));
    CHECK_STR(sent_text(store), "0 good, 3 bad");
    t_check_places(conn);
    t_disconnect(conn);
}

TEST(a_complete_join_cannot_be_cancelled)
{
    ph_store *store = t_open(NULL);
    ph_join_id join = start_join(store, 1);

    put_step(store, join);
    end_step(store, PH_ACK);
    CHECK(!cancel(store, join));
    REQ_STR("JOIN-042", standing(store, join), "1+0/1 completed");
}

TEST(cancel_says_what_is_missing)
{
    ph_store *store = t_open(NULL);
    ph_join_id join = start_join(store, 1), none = { { 0 } };
    bool cancelled = true;

    CHECK_INT(ph_join_cancel(store, PH_OWN_TX, no_join(), 0, &cancelled, &t_err), PH_ENOTFOUND);
    CHECK_INT(ph_join_cancel(store, PH_OWN_TX, none, 0, &cancelled, &t_err), PH_EINVAL);
    CHECK(cancelled); /* left alone */
    OK(ph_join_cancel(store, PH_OWN_TX, join, 0, NULL, &t_err));
    CHECK_STR(standing(store, join), "0+0/1 cancelled");
}

/* -------------------------------------------------------------------- deadline */

static void ends_at_its_deadline(void (*come_by)(ph_store *store))
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_join_id join, other;
    ph_join_info *info;

    t_clock_set(store, T_EPOCH);
    join = start_join_until(store, 3, SOON);
    other = start_join_until(store, 3, SOON + 1);
    put_step(store, join);
    put_step(store, join);
    end_step(store, PH_ACK);
    wait_for(store, join, true);
    wait_for(store, join, false);
    t_clock_set(store, SOON - 1);
    come_by(store);
    CHECK_STR(standing(store, join), "1+0/3 pending");
    t_clock_set(store, SOON);
    come_by(store);
    CHECK_STR(standing(store, join), "1+0/3 failed");
    CHECK_STR(standing(store, other), "0+0/3 pending");
    CHECK_STR(steps_of(store, join), "completed pending");
    CHECK_STR(sent_text(store), "0 good, 2 bad");
    info = find_join(store, join);
    REQ_INT("JOIN-043", info->updated_at, SOON);
    CHECK_INT(info->finished_at, SOON);
    CHECK_INT(info->deadline, SOON);
    CHECK_INT(info->open_waits, 0);
    ph_join_info_free(info);
    t_check_places(conn);
    /* It is over. */
    end_step(store, PH_ACK);
    CHECK_STR(standing(store, join), "1+0/3 failed");
    CHECK_STR(steps_of(store, join), "completed pending");
    CHECK_INT(try_attach(store, join, a_step(store).message_id), PH_ESTATE);
    CHECK(strstr(t_err.message, "is closed") != NULL);
    CHECK(!cancel(store, join));
    wait_for(store, join, false);
    CHECK_STR(sent_text(store), "0 good, 3 bad");
    t_disconnect(conn);
}

TEST(a_reap_ends_joins_past_their_deadline)
{
    ends_at_its_deadline(come_by_with_a_reap);
}

TEST(a_claim_ends_joins_past_their_deadline)
{
    ends_at_its_deadline(come_by_with_a_claim);
}

TEST(an_exchange_ends_joins_past_their_deadline)
{
    ends_at_its_deadline(come_by_with_an_exchange);
}

static void come_by_with_a_scheduler(ph_store *store)
{
    ph_schedule done = PH_SCHEDULE_INIT;
    ph_scheduler *scheduler = NULL;

    OK(ph_scheduler_new(store, NULL, &scheduler, &t_err));
    OK(ph_scheduler_run(scheduler, 0, &done, &t_err));
    ph_scheduler_free(scheduler);
}

TEST(a_scheduler_ends_joins_past_their_deadline)
{
    ends_at_its_deadline(come_by_with_a_scheduler);
}

TEST(a_join_that_completes_in_time_does_not_mind_its_deadline)
{
    ph_store *store = t_open(NULL);
    ph_join_id join;

    t_clock_set(store, T_EPOCH);
    join = start_join_until(store, 1, SOON);
    put_step(store, join);
    wait_for(store, join, true);
    end_step(store, PH_ACK);
    t_clock_set(store, SOON + T_SECOND);
    come_by_with_a_reap(store);
    come_by_with_a_claim(store);
    REQ_STR("JOIN-042", standing(store, join), "1+0/1 completed");
    CHECK_STR(sent_text(store), "1 good, 0 bad");
}

/* Deadlines act when somebody comes by, not before. */
TEST(a_step_that_ends_before_anybody_comes_by_completes_the_join)
{
    ph_store *store = t_open(NULL);
    ph_owner owner = ph_owner_new();
    ph_lease_ref ref;
    ph_join_id join;

    t_clock_set(store, T_EPOCH);
    join = start_join_until(store, 1, SOON);
    put_step(store, join);
    wait_for(store, join, true);
    CHECK_INT(take_steps(store, owner, &ref, 1), 1);
    t_clock_set(store, SOON + T_SECOND);
    CHECK_INT(ack(store, owner, ref), PH_OUTCOME_ACKED);
    CHECK_STR(standing(store, join), "1+0/1 completed");
    CHECK_STR(sent_text(store), "1 good, 0 bad");
    come_by_with_a_reap(store);
    CHECK_STR(standing(store, join), "1+0/1 completed");
}

TEST(a_full_join_at_its_deadline_fails_like_any_other)
{
    ph_store *store = t_open(NULL);
    ph_join_id join;

    t_clock_set(store, T_EPOCH);
    join = start_join_until(store, 1, SOON);
    put_step(store, join);
    wait_for(store, join, false);
    t_clock_set(store, SOON);
    come_by_with_a_reap(store);
    CHECK_STR(standing(store, join), "0+0/1 failed");
    end_step(store, PH_ACK);
    CHECK_STR(standing(store, join), "0+0/1 failed");
    CHECK_STR(sent_text(store), "0 good, 1 bad");
}

TEST(many_joins_past_their_deadline_end_in_a_few_claims)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    const char *open = "SELECT count(*) FROM {t}joins WHERE status = 'pending'";

    t_clock_set(store, T_EPOCH);
    for (int i = 0; i < 45; i++)
        wait_for(store, start_join_until(store, 1, SOON + i), false);
    t_clock_set(store, SOON + T_SECOND);
    come_by_with_a_claim(store);
    CHECK(t_number(conn, open) >= 25); /* at most 20 in one claim */
    come_by_with_a_claim(store);
    come_by_with_a_claim(store);
    CHECK_INT(t_number(conn, open), 0);
    CHECK_STR(sent_text(store), "0 good, 45 bad");
    for (int i = 0; i < 45; i++)
        wait_for(store, start_join_until(store, 1, SOON + 2 * T_SECOND + i), false);
    t_clock_set(store, SOON + 3 * T_SECOND);
    come_by_with_a_reap(store); /* all of them */
    CHECK_INT(t_number(conn, open), 0);
    CHECK_STR(sent_text(store), "0 good, 90 bad");
    t_disconnect(conn);
}

TEST(a_claim_may_hand_out_what_a_deadline_has_sent)
{
    ph_store *store = t_open(NULL);
    const char *topic = BAD;
    ph_claim_opts opts = PH_CLAIM_OPTS_INIT;
    size_t count = 0;

    opts.topics = &topic;
    opts.topic_count = 1;
    t_clock_set(store, T_EPOCH);
    wait_for(store, start_join_until(store, 1, SOON), false);
    t_clock_set(store, SOON);
    for (int i = 0; i < 2 && count == 0; i++) { /* in this claim or the next */
        ph_batch *batch = claim_with(store, ph_owner_new(), &opts);

        count = ph_batch_count(batch);
        ph_batch_free(batch);
    }
    CHECK_INT(count, 1);
}

TEST(a_deadline_of_a_join_is_something_planned)
{
    ph_store *store = t_open(NULL);
    ph_join_opts opts = PH_JOIN_OPTS_INIT;
    ph_schedule done;
    ph_join_id join;

    t_clock_set(store, T_EPOCH);
    opts.deadline = T_EPOCH + 300 * T_SECOND;
    OK(ph_join_start(store, PH_OWN_TX, 1, &opts, 0, &join, &t_err));
    CHECK_INT(run_scheduler(store, NULL).next_at, opts.deadline);
    put_job(store, "sooner", "* * * * *");
    done = run_scheduler(store, NULL);
    CHECK(done.next_at < opts.deadline);
    t_clock_advance(store, 300 * T_SECOND);
    CHECK_INT(run_scheduler(store, NULL).joins, 1);
}
