/* stream_run_test.c - runs: how many messages of a stream a claim takes, and how a run is settled
 * from its front. The sentences that are quoted are those of docs/states.md, Streams. */
#include "lanes.h"

#include <stdlib.h>

/* ------------------------------------------------------------------- how long */

/* "With a head the claim takes a run: the messages that follow it in the stream … and there is room
 * in the batch." */
LANE_TEST(a_claim_takes_a_run)
{
    ph_store *store = open_at_epoch();
    ph_owner owner = ph_owner_new();

    fill(door, store, "a1 a2 a3 a4 a5 a6 a7 a8");
    REQ_STR("STR-010", worked(door, store, owner, 5), "a1 a2 a3 a4 a5");
    REQ_STR("STR-010", worked(door, store, owner, 1), "a6");
    REQ_STR("STR-010", worked(door, store, owner, 50), "a7 a8");
    all_is_well(store);
}

/* Scenario 36. "As long as other rows wait, a run has at most max(1, batch_size / 5) messages". */
LANE_TEST_LONG(a_busy_stream_does_not_starve_quiet_ones)
{
    ph_store *store = open_at_epoch();
    ph_owner owner = ph_owner_new();

    fill(door, store, "a1 a2 a3 a4 a5 a6 a7 a8 a9 b1 b2 b3 c1 d1 -x e1 f1 f2 f3");
    REQ_STR("STR-007", worked(door, store, owner, 10), "a1 a2 b1 b2 c1 d1 -x e1 f1 f2");
    REQ_STR("STR-007", worked(door, store, owner, 4), "a3 a4 b3 f3");
    all_is_well(store);
}

TEST(one_hot_stream_leaves_room_for_all_others_in_small_batches)
{
    ph_store *store = open_at_epoch();
    ph_owner owner = ph_owner_new();

    fill(&outbox_door, store, "a1 a2 a3 a4 a5 b1 c1 d1");
    t_clock_advance(store, 1);
    REQ_STR("STR-007", worked(&outbox_door, store, owner, 3), "a1 b1 c1");
    REQ_STR("STR-007", worked(&outbox_door, store, owner, 3), "d1 a2 a3");
    all_is_well(store);
}

/* "room that is left when nothing else is due goes to the runs taken, one after the other" */
LANE_TEST_LONG(room_that_is_left_goes_to_the_runs_taken)
{
    ph_store *store = open_at_epoch();
    ph_owner owner = ph_owner_new();
    ph_batch *batch;

    fill(door, store, "a1 a2 a3 a4 b1 b2 b3 b4 b5 b6 b7 b8 -x c1 c2 c3");
    batch = door_claim(door, store, owner, NULL, 15);
    REQ_STR("STR-010", payloads(batch), "a1 a2 a3 a4 b1 b2 b3 b4 b5 b6 b7 -x c1 c2 c3");
    for (size_t i = 0; i < ph_batch_count(batch); i++) /* one lease, each claimed once */
        CHECK_INT(ph_batch_at(batch, i)->fence, ph_batch_at(batch, 0)->fence);
    CHECK_STR(settled(door, store, owner, batch, "ack b1, ack c1, ack c2, ack -x, ack a1"),
              "acked acked acked acked acked");
    ph_batch_free(batch);
    CHECK_STR(lane(door, store, "b"), "b1=done b2=leased b3=leased b4=leased b5=leased b6=leased "
                                      "b7=leased b8=parked");
    all_is_well(store);
}

/* … also to runs that were cut short since many rows came with them. */
TEST(room_that_is_left_goes_to_short_runs_too)
{
    ph_store *store = open_at_epoch();
    ph_owner owner = ph_owner_new();
    ph_batch *batch;

    fill(&outbox_door, store, "-p -q -r -s -t a1 b1 b2 -u -v");
    batch = door_claim(&outbox_door, store, owner, NULL, 10);
    REQ_INT("STR-010", (int)ph_batch_count(batch), 10);
    CHECK_STR(lane(&outbox_door, store, "b"), "b1=leased b2=leased");
    ph_batch_free(batch);
    all_is_well(store);
}

/* "as long as each is due (due_at <= T), not expired and of a wanted topic" */
TEST(a_run_ends_before_a_message_that_is_not_due_or_has_expired)
{
    ph_store *store = open_at_epoch();
    ph_owner owner = ph_owner_new();
    ph_message m;

    fill(&outbox_door, store, "a1 b1");
    m = in_stream("a", "a2");
    m.due_at = T_EPOCH + 3 * T_SECOND;
    put(store, &m);
    m = in_stream("b", "b2");
    m.expires_at = T_EPOCH + 2 * T_SECOND;
    put(store, &m);
    fill(&outbox_door, store, "a3 b3");
    t_clock_advance(store, 2 * T_SECOND);
    REQ_STR("STR-010", worked(&outbox_door, store, owner, 50), "a1 b1");
    CHECK_STR(lane(&outbox_door, store, "a"), "a1=done a2=scheduled a3=parked");
    t_clock_advance(store, T_SECOND); /* b2 is buried on the way, and the stream goes on */
    CHECK_STR(worked(&outbox_door, store, owner, 1), "a2");
    CHECK_STR(worked(&outbox_door, store, owner, 1), "a3");
    CHECK_STR(worked(&outbox_door, store, owner, 1), "b3");
    CHECK_STR(lane(&outbox_door, store, "b"), "b1=done b2=dead b3=done");
    CHECK_STR(see_named(&outbox_door, store, "b2").dead_reason, "expired");
    CHECK_STR(see_named(&outbox_door, store, "b2").kinds, "expired");
    all_is_well(store);
}

TEST(a_message_whose_time_has_come_when_the_claim_runs_is_part_of_the_run)
{
    ph_store *store = open_at_epoch();
    ph_message m = in_stream("a", "a2");

    fill(&outbox_door, store, "a1");
    m.due_at = T_EPOCH + 3 * T_SECOND;
    m.expires_at = T_EPOCH + 3 * T_SECOND + 1;
    put(store, &m);
    t_clock_advance(store, 3 * T_SECOND);
    CHECK_STR(claimed(&outbox_door, store, ph_owner_new(), 50), "a1 a2");
    CHECK_INT(see_named(&outbox_door, store, "a2").attempts, 1);
    all_is_well(store);
}

/* As long as the largest batch, with one more behind it; settled as a whole. */
TEST(a_run_may_be_as_long_as_the_largest_batch)
{
    ph_store *store = open_at_epoch();
    ph_owner owner = ph_owner_new();
    ph_message *m = calloc(PH_BATCH_MAX, sizeof(*m));
    ph_lease_ref *refs = calloc(PH_BATCH_MAX, sizeof(*refs));
    ph_outcome *out = calloc(PH_BATCH_MAX, sizeof(*out));

    for (int i = 0; i < PH_BATCH_MAX; i++)
        m[i] = in_stream("a", "x");
    OK(ph_enqueue_many(store, PH_OWN_TX, m, PH_BATCH_MAX, 0, NULL, &t_err));
    fill(&outbox_door, store, "a1");
    REQ_INT("STR-010", take(store, owner, PH_BATCH_MAX, refs), PH_BATCH_MAX);
    CHECK_INT(ack(store, owner, refs[5000]), PH_OUTCOME_STALE);
    OK(ph_outbox_ack(store, PH_OWN_TX, owner, refs, PH_BATCH_MAX, 0, out, &t_err));
    for (int i = 0; i < PH_BATCH_MAX; i++)
        CHECK_INT(out[i], PH_OUTCOME_ACKED);
    REQ_STR("STR-010", claimed(&outbox_door, store, owner, 10), "a1");
    CHECK_INT(see_lane(&outbox_door, store, "a").next_seq, PH_BATCH_MAX + 1);
    free(m);
    free(refs);
    free(out);
    all_is_well(store);
}

/* ------------------------------------------------------------------------ acks */

/* "ack of a message if all before it in the run are settled, or acked in this same call" */
LANE_TEST_LONG(acks_of_a_run_come_from_its_front)
{
    ph_store *store = open_at_epoch();
    ph_owner owner = ph_owner_new();
    ph_batch *batch;

    fill(door, store, "a1 a2 a3 a4 a5 a6");
    batch = door_claim(door, store, owner, NULL, 5);
    REQ_STR("STR-011", settled(door, store, owner, batch, "ack a2"), "stale");
    REQ_STR("STR-011", settled(door, store, owner, batch, "ack a1, ack a3"), "acked stale");
    CHECK_STR(lane(door, store, "a"), "a1=done a2=leased a3=leased a4=leased a5=leased a6=parked");
    /* in any order within one call, also twice */
    REQ_STR("STR-011", settled(door, store, owner, batch, "ack a4, ack a3, ack a4, ack a2, ack a2"),
            "acked acked acked acked acked");
    CHECK_STR(settled(door, store, owner, batch, "ack a2, ack a5"), "acked acked");
    CHECK_STR(lane(door, store, "a"), "a1=done a2=done a3=done a4=done a5=done a6=ready");
    ph_batch_free(batch);
    CHECK_STR(worked(door, store, owner, 50), "a6");
    all_is_well(store);
}

/* Two runs and messages without stream in one lease: each for itself. */
LANE_TEST_LONG(runs_in_one_batch_are_settled_each_for_itself)
{
    ph_store *store = open_at_epoch();
    ph_owner owner = ph_owner_new();
    ph_batch *batch;

    fill(door, store, "a1 a2 a3 b1 b2 b3 -x -y");
    batch = door_claim(door, store, owner, NULL, 50);
    CHECK_STR(settled(door, store, owner, batch,
                      "ack b2, ack -y, ack a3, ack a1, fail b1, ack a2, abandon+9000 -x"),
              "stale acked acked acked failed acked abandoned");
    CHECK_STR(lane(door, store, "a"), "a1=done a2=done a3=done");
    CHECK_STR(lane(door, store, "b"), "b1=dead b2=ready b3=parked");
    ph_batch_free(batch);
    CHECK_STR(worked(door, store, owner, 50), "b2 b3");
    all_is_well(store);
}

TEST(another_owner_or_an_old_fence_settles_nothing_of_a_run)
{
    ph_store *store = open_at_epoch();
    ph_owner owner = ph_owner_new(), other = ph_owner_new();
    ph_batch *batch, *again;

    fill(&outbox_door, store, "a1 a2");
    batch = t_claim(store, owner, 50);
    CHECK_STR(settled(&outbox_door, store, other, batch, "ack a1, fail a2, release a1"),
              "stale stale stale");
    t_clock_advance(store, 31 * T_SECOND);
    again = t_claim(store, owner, 50); /* the same owner, a new claim */
    CHECK_STR(payloads(again), "a1 a2");
    REQ_STR("STR-011", settled(&outbox_door, store, owner, batch, "ack a1, ack a2"), "stale stale");
    CHECK_STR(settled(&outbox_door, store, owner, again, "ack a1"), "acked");
    ph_batch_free(batch);
    ph_batch_free(again);
    CHECK_STR(lane(&outbox_door, store, "a"), "a1=done a2=leased");
    all_is_well(store);
}

/* Without a fence: any lease of this owner. */
TEST(a_run_is_settled_without_a_fence_too)
{
    ph_store *store = open_at_epoch();
    ph_owner owner = ph_owner_new();
    ph_lease_ref refs[3];
    ph_outcome out[3];

    fill(&outbox_door, store, "a1 a2 a3");
    CHECK_INT(take(store, owner, 3, refs), 3);
    for (int i = 0; i < 3; i++)
        refs[i].fence = 0;
    OK(ph_outbox_ack(store, PH_OWN_TX, owner, refs + 1, 1, 0, out, &t_err));
    CHECK_INT(out[0], PH_OUTCOME_STALE);
    OK(ph_outbox_ack(store, PH_OWN_TX, owner, refs, 3, 0, out, &t_err));
    for (int i = 0; i < 3; i++)
        CHECK_INT(out[i], PH_OUTCOME_ACKED);
    all_is_well(store);
}

/* ------------------------------------------------------ abandon, fail, release */

/* "Abandon and fail likewise only of the first that is then not settled, otherwise stale" */
LANE_TEST_LONG(abandon_and_fail_in_the_middle_change_nothing)
{
    ph_store *store = open_at_epoch();
    ph_owner owner = ph_owner_new();
    ph_batch *batch;

    fill(door, store, "a1 a2 a3");
    batch = door_claim(door, store, owner, NULL, 50);
    REQ_STR("STR-011", settled(door, store, owner, batch, "abandon a2, fail a3"), "stale stale");
    CHECK_STR(lane(door, store, "a"), "a1=leased a2=leased a3=leased");
    CHECK_STR(see_named(door, store, "a2").kinds, "");
    /* first when the one before it is acked in the same call, whatever the order of the items */
    REQ_STR("STR-011", settled(door, store, owner, batch, "abandon+1000 a2, ack a1"),
            "abandoned acked");
    CHECK_STR(lane(door, store, "a"), "a1=done a2=scheduled a3=parked");
    CHECK_STR(settled(door, store, owner, batch, "ack a3, ack a2"), "stale stale");
    ph_batch_free(batch);
    t_clock_advance(store, T_SECOND);
    batch = door_claim(door, store, owner, NULL, 50);
    CHECK_STR(payloads(batch), "a2 a3");
    CHECK_INT(delivered(batch, "a2")->attempts, 2);
    CHECK_INT(delivered(batch, "a2")->retry_count, 1);
    CHECK_STR(delivered(batch, "a2")->last_error, "why");
    CHECK_INT(delivered(batch, "a3")->attempts, 1);
    ph_batch_free(batch);
    all_is_well(store);
}

/* "they … end the run there: what follows in it is parked again, as if it had not been claimed,
 * without an entry in the history; of those, an item of the same call is released if it asks for
 * that, else stale" */
LANE_TEST(what_follows_the_end_of_a_run_is_parked_again)
{
    static const struct {
        const char *items, *outcomes, *lane;
    } cases[] = {
        { "fail a1", "failed", "a1=dead a2=ready a3=parked a4=parked" },
        { "abandon+9000 a1, ack a2", "abandoned stale",
          "a1=scheduled a2=parked a3=parked a4=parked" },
        { "abandon+9000 a1, abandon a2", "abandoned stale",
          "a1=scheduled a2=parked a3=parked a4=parked" },
        { "ack a1, fail a2, fail a3", "acked failed stale", "a1=done a2=dead a3=ready a4=parked" },
        { "ack a1, fail a2, release a3", "acked failed released",
          "a1=done a2=dead a3=ready a4=parked" },
        { "release+9000 a1, ack a2", "released stale",
          "a1=scheduled a2=parked a3=parked a4=parked" },
        { "release a1, release a2, release a3", "released released released",
          "a1=ready a2=parked a3=parked a4=parked" },
        { "ack a1, ack a2, abandon+9000 a3", "acked acked abandoned",
          "a1=done a2=done a3=scheduled a4=parked" },
        { "ack a1, ack a2, fail a3", "acked acked failed", "a1=done a2=done a3=dead a4=ready" },
    };

    ph_store *store = open_at_epoch();
    ph_owner owner = ph_owner_new();

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char ns[8]; /* each in a queue of its own */
        ph_messages *list = NULL;
        ph_batch *batch;

        snprintf(ns, sizeof(ns), "%zu", i);
        fill_in(door, store, ns, "a1 a2 a3 a4");
        batch = door_claim(door, store, owner, ns, 3);
        CHECK_STR(payloads(batch), "a1 a2 a3");
        REQ_STR("STR-011", settled(door, store, owner, batch, cases[i].items), cases[i].outcomes);
        REQ_STR("STR-011", lane_in(door, store, ns, "a"), cases[i].lane);
        ph_batch_free(batch);
        OK(ph_stream_read(store, PH_OWN_TX, door->number, ns, "a", 0, 0, 0, &list, &t_err));
        for (size_t n = 0; n < ph_messages_count(list); n++) {
            struct seen s = see_by(door->find, store, ph_messages_at(list, n)->message->work_id);

            if (s.status == PH_PARKED) {
                CHECK_INT(s.attempts, 0);
                CHECK_STR(s.kinds, "");
            }
        }
        ph_messages_free(list);
    }
    all_is_well(store);
}

/* "release (of any message of the run) … leaves the ones before it leased; its delay is ignored" */
LANE_TEST_LONG(a_release_in_the_middle_leaves_the_ones_before_it_leased)
{
    ph_store *store = open_at_epoch();
    ph_owner owner = ph_owner_new();
    ph_batch *batch;

    fill(door, store, "a1 a2 a3 a4");
    batch = door_claim(door, store, owner, NULL, 50);
    REQ_STR("STR-011", settled(door, store, owner, batch, "release+60000 a3"), "released");
    CHECK_STR(lane(door, store, "a"), "a1=leased a2=leased a3=parked a4=parked");
    CHECK_STR(claimed(door, store, ph_owner_new(), 50), "");
    CHECK_STR(settled(door, store, owner, batch, "ack a3, ack a4"), "stale stale");
    CHECK_STR(settled(door, store, owner, batch, "ack a1, ack a2"), "acked acked");
    ph_batch_free(batch);
    batch = door_claim(door, store, owner, NULL, 50);
    REQ_STR("STR-011", payloads(batch), "a3 a4"); /* at once */
    CHECK_INT(delivered(batch, "a3")->attempts, 1);
    /* acked before it in the same call: then it is the first, and its delay counts */
    CHECK_STR(settled(door, store, owner, batch, "release+60000 a4, ack a3"), "released acked");
    ph_batch_free(batch);
    CHECK_STR(lane(door, store, "a"), "a1=done a2=done a3=done a4=scheduled");
    CHECK_INT(see_named(door, store, "a4").next_attempt_at, T_EPOCH + 60 * T_SECOND);
    all_is_well(store);
}

/* A release in the middle and an end before it, in one call: the earlier end counts. */
LANE_TEST_LONG(the_earliest_end_of_a_run_counts)
{
    ph_store *store = open_at_epoch();
    ph_owner owner = ph_owner_new();
    ph_batch *batch;

    fill(door, store, "a1 a2 a3 a4");
    batch = door_claim(door, store, owner, NULL, 50);
    CHECK_STR(settled(door, store, owner, batch, "release a3, release a2, ack a4"),
              "released released stale");
    CHECK_STR(lane(door, store, "a"), "a1=leased a2=parked a3=parked a4=parked");
    CHECK_STR(settled(door, store, owner, batch, "fail a1"), "failed");
    ph_batch_free(batch);
    batch = door_claim(door, store, owner, NULL, 50);
    CHECK_STR(settled(door, store, owner, batch, "release a4, abandon a3, ack a2"),
              "released abandoned acked");
    CHECK_STR(lane(door, store, "a"), "a1=dead a2=done a3=ready a4=parked");
    ph_batch_free(batch);
    all_is_well(store);
}

/* "An abandoned or released head stays head: its row of pending as for any message." */
LANE_TEST_LONG(a_released_head_has_its_attempt_back_and_an_abandoned_one_has_not)
{
    ph_store *store = open_at_epoch();
    ph_owner owner = ph_owner_new();
    ph_batch *batch;
    struct seen s;

    fill(door, store, "a1 a2");
    batch = door_claim(door, store, owner, NULL, 50);
    CHECK_STR(settled(door, store, owner, batch, "release+2000 a1"), "released");
    ph_batch_free(batch);
    s = see_named(door, store, "a1");
    CHECK_INT(s.attempts, 0);
    CHECK_INT(s.next_attempt_at, T_EPOCH + 2 * T_SECOND);
    CHECK_STR(s.kinds, "released");
    t_clock_advance(store, 2 * T_SECOND);
    batch = door_claim(door, store, owner, NULL, 50);
    CHECK_STR(payloads(batch), "a1 a2");
    CHECK_INT(delivered(batch, "a1")->attempts, 1);
    CHECK_INT(delivered(batch, "a2")->attempts, 1);
    CHECK_STR(settled(door, store, owner, batch, "abandon a1"), "abandoned");
    ph_batch_free(batch);
    batch = door_claim(door, store, owner, NULL, 50);
    CHECK_INT(delivered(batch, "a1")->attempts, 2);
    CHECK_INT(delivered(batch, "a2")->attempts, 1);
    CHECK_STR(settled(door, store, owner, batch, "ack a1, ack a2"), "acked acked");
    ph_batch_free(batch);
    CHECK_STR(see_named(door, store, "a1").kinds, "released,abandoned");
    CHECK_STR(see_named(door, store, "a2").kinds, "");
    all_is_well(store);
}

/* The backoff of an abandoned head is that of the queue. */
TEST(an_abandoned_head_waits_by_the_backoff)
{
    ph_store *store = open_at_epoch();
    ph_owner owner = ph_owner_new();
    ph_lease_ref refs[2];

    fill(&outbox_door, store, "a1 a2");
    CHECK_INT(take(store, owner, 2, refs), 2);
    CHECK_INT(settle(store, owner, refs[0], PH_ABANDON, "no", PH_DELAY_POLICY),
              PH_OUTCOME_ABANDONED);
    CHECK_INT(see(store, refs[0].work_id).next_attempt_at, T_EPOCH + 2 * T_SECOND);
    t_clock_advance(store, 2 * T_SECOND);
    CHECK_INT(take(store, owner, 2, refs), 2);
    CHECK_INT(settle(store, owner, refs[0], PH_ABANDON, "no", PH_DELAY_POLICY),
              PH_OUTCOME_ABANDONED);
    CHECK_INT(see(store, refs[0].work_id).next_attempt_at, T_EPOCH + 6 * T_SECOND);
    all_is_well(store);
}

/* Settling and claiming in one call: the rest of the stream comes with it. */
TEST(an_exchange_settles_a_run_and_takes_the_next)
{
    ph_store *store = open_at_epoch();
    ph_owner owner = ph_owner_new();
    ph_claim_opts opts = PH_CLAIM_OPTS_INIT;
    ph_settlement items[2] = { { .verb = PH_ACK }, { .verb = PH_ABANDON } };
    ph_outcome out[2];
    ph_lease_ref refs[2];
    ph_batch *batch = NULL;

    fill(&outbox_door, store, "a1 a2 a3 b1");
    opts.batch_size = 2;
    CHECK_INT(take(store, owner, 2, refs), 2); /* a1 b1 */
    items[0].lease = refs[0];
    items[1].lease = refs[1];
    OK(ph_outbox_exchange(store, PH_OWN_TX, owner, items, 2, &opts, 0, out, &batch, &t_err));
    CHECK_INT(out[0], PH_OUTCOME_ACKED);
    CHECK_INT(out[1], PH_OUTCOME_ABANDONED);
    CHECK_INT(ph_batch_count(batch), 2);
    CHECK_INT(delivered(batch, "a2")->attempts, 1);
    CHECK_INT(delivered(batch, "b1")->attempts, 2);
    CHECK_INT(t_ack_all(store, owner, batch), 2);
    CHECK_STR(claimed(&outbox_door, store, owner, 2), "a3");
    all_is_well(store);
}

/* In the caller's transaction: all of it, or nothing. */
TEST(a_run_is_worked_in_the_callers_transaction)
{
    ph_store *store = open_at_epoch();
    struct t_conn *conn = t_connect();
    ph_owner owner = ph_owner_new();
    ph_lease_ref refs[3];
    ph_outcome out[3];
    ph_batch *batch = NULL;

    fill(&outbox_door, store, "a1 a2 a3");
    t_begin(conn);
    OK(ph_outbox_claim(store, t_tx(conn), owner, NULL, 0, &batch, &t_err));
    CHECK_INT(ph_batch_count(batch), 3);
    ph_batch_free(batch);
    t_rollback(conn);
    CHECK_STR(lane(&outbox_door, store, "a"), "a1=ready a2=parked a3=parked");
    CHECK_INT(take(store, owner, 3, refs), 3);
    t_begin(conn);
    OK(ph_outbox_ack(store, t_tx(conn), owner, refs, 3, 0, out, &t_err));
    t_rollback(conn);
    CHECK_STR(lane(&outbox_door, store, "a"), "a1=leased a2=leased a3=leased");
    t_begin(conn);
    OK(ph_outbox_ack(store, t_tx(conn), owner, refs, 1, 0, out, &t_err));
    OK(ph_outbox_abandon(store, t_tx(conn), owner, refs + 1, 1, "no", 0, 0, out, &t_err));
    CHECK_INT(out[0], PH_OUTCOME_ABANDONED);
    t_commit(conn);
    CHECK_STR(lane(&outbox_door, store, "a"), "a1=done a2=ready a3=parked");
    all_is_well(store);
}
