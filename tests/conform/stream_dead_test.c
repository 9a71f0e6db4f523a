/* stream_dead_test.c - streams whose head has died: passed over, or blocked until somebody acts. The
 * sentences that are quoted are those of docs/states.md, Streams. */
#include "joins.h"
#include "lanes.h"

#include <stdlib.h>

/* Claims the head of "a" and fails it. */
static void kill_head(const struct door *door, ph_store *store, const char *payload)
{
    ph_owner owner = ph_owner_new();
    ph_batch *batch = door_claim(door, store, owner, NULL, 1);
    char items[64];

    CHECK_STR(payloads(batch), payload);
    snprintf(items, sizeof(items), "fail %s", payload);
    CHECK_STR(settled(door, store, owner, batch, items), "failed");
    ph_batch_free(batch);
}

static ph_work_id retry_dead(ph_store *store, ph_work_id id)
{
    ph_work_id new_id = { { 0 } };

    OK(ph_dead_retry(store, PH_OWN_TX, &id, 1, 0, &new_id, &t_err));
    return new_id;
}

static int64_t discard_dead(ph_store *store, ph_work_id id)
{
    int64_t count = -1;

    OK(ph_dead_discard(store, PH_OWN_TX, &id, 1, 0, &count, &t_err));
    return count;
}

/* Scenario 35, skip, which is the default. */
LANE_TEST(a_dead_head_is_passed_over)
{
    ph_store *store = open_at_epoch();

    fill(door, store, "a1 a2 a3");
    kill_head(door, store, "a1");
    REQ_STR("STR-006", lane(door, store, "a"), "a1=dead a2=ready a3=parked");
    REQ_STR("STR-006", worked(door, store, ph_owner_new(), 50), "a2 a3");
    all_is_well(store);
}

/* Scenario 35, block. */
LANE_TEST(a_dead_head_blocks_its_stream_if_the_queue_says_so)
{
    ph_store *store = open_at_epoch();
    ph_owner owner = ph_owner_new();
    struct lane_seen s;
    ph_queue_counts counts;
    ph_work_id dead;

    set_dead_head(door, store, PH_DEAD_HEAD_BLOCK);
    fill(door, store, "a1 a2 a3 b1 b2");
    dead = named(door, store, "a1");
    kill_head(door, store, "a1");
    REQ_STR("STR-006", lane(door, store, "a"), "a1=dead a2=parked a3=parked");
    REQ_STR("STR-006", worked(door, store, owner, 50), "b1 b2");
    fill(door, store, "a4");
    t_clock_advance(store, 3600 * T_SECOND);
    REQ_STR("STR-006", claimed(door, store, owner, 50), "");
    s = see_lane(door, store, "a");
    CHECK_INT(s.state, PH_STREAM_BLOCKED);
    CHECK(same_id(s.head.b, dead.b));
    CHECK_INT(s.last_seq, 4);
    CHECK_INT(s.unsettled, 3);
    CHECK_INT(s.head_due_at, 0);
    counts = door_counts(door, store, NULL); /* what blocks is no message that waits */
    CHECK_INT(counts.ready, 0);
    CHECK_INT(counts.scheduled, 0);
    CHECK_INT(counts.dead, 1);
    CHECK_INT(counts.parked, 3);
    all_is_well(store);
}

/* "A head that dies (fail, attempts, lost, expired)": each way blocks, and each way is passed over. */
TEST(however_a_head_dies_it_blocks)
{
    ph_store *store = open_at_epoch();
    ph_owner owner = ph_owner_new();
    ph_queue_settings settings = PH_QUEUE_SETTINGS_INIT;
    ph_batch *batch;
    ph_message m;

    set_dead_head(&outbox_door, store, PH_DEAD_HEAD_BLOCK);
    m = in_stream("a", "a1"); /* attempts */
    m.max_attempts = 1;
    put(store, &m);
    m = in_stream("b", "b1"); /* lost */
    m.max_attempts = 1;
    put(store, &m);
    m = in_stream("c", "c1"); /* expired */
    m.expires_at = T_EPOCH + 10 * T_SECOND;
    m.due_at = T_EPOCH + 5 * T_SECOND;
    put(store, &m);
    fill(&outbox_door, store, "d1 a2 b2 c2 d2"); /* attempts that were lowered */
    batch = t_claim(store, owner, 3);
    CHECK_STR(payloads(batch), "a1 b1 d1");
    CHECK_STR(settled(&outbox_door, store, owner, batch, "abandon a1, abandon+9000 d1"),
              "dead abandoned");
    ph_batch_free(batch);
    settings.max_attempts = 1;
    set_queue(store, &settings);
    t_clock_advance(store, 31 * T_SECOND);
    CHECK_STR(claimed(&outbox_door, store, owner, 50), "");
    REQ_STR("STR-006", lane(&outbox_door, store, "a"), "a1=dead a2=parked");
    REQ_STR("STR-006", lane(&outbox_door, store, "b"), "b1=dead b2=parked");
    REQ_STR("STR-006", lane(&outbox_door, store, "c"), "c1=dead c2=parked");
    REQ_STR("STR-006", lane(&outbox_door, store, "d"), "d1=dead d2=parked");
    CHECK_STR(see_named(&outbox_door, store, "a1").dead_reason, "attempts");
    CHECK_STR(see_named(&outbox_door, store, "b1").dead_reason, "lost");
    CHECK_STR(see_named(&outbox_door, store, "c1").dead_reason, "expired");
    CHECK_STR(see_named(&outbox_door, store, "d1").dead_reason, "attempts");
    all_is_well(store);
    /* "Setting dead_head to skip makes the next head of every blocked stream of that queue." */
    set_dead_head(&outbox_door, store, PH_DEAD_HEAD_SKIP);
    CHECK_INT(see_lane(&outbox_door, store, "c").state, PH_STREAM_READY);
    REQ_STR("STR-006", worked(&outbox_door, store, owner, 50), "a2 b2 c2 d2");
    all_is_well(store);
}

TEST(however_a_head_dies_it_is_passed_over)
{
    ph_store *store = open_at_epoch();
    ph_owner owner = ph_owner_new();
    ph_batch *batch;
    ph_message m;

    m = in_stream("a", "a1");
    m.max_attempts = 1;
    put(store, &m);
    m = in_stream("b", "b1");
    m.max_attempts = 1;
    put(store, &m);
    m = in_stream("c", "c1");
    m.expires_at = T_EPOCH + 10 * T_SECOND;
    m.due_at = T_EPOCH + 5 * T_SECOND;
    put(store, &m);
    m = in_stream("c", "c2"); /* the next one has expired, too */
    m.expires_at = T_EPOCH + 10 * T_SECOND;
    put(store, &m);
    fill(&outbox_door, store, "a2 b2 c3");
    batch = t_claim(store, owner, 2);
    CHECK_STR(payloads(batch), "a1 b1");
    CHECK_STR(settled(&outbox_door, store, owner, batch, "abandon a1"), "dead");
    ph_batch_free(batch);
    t_clock_advance(store, 31 * T_SECOND);
    for (int i = 0; i < 3; i++) /* burials may take more than one call to come to the end */
        worked(&outbox_door, store, owner, 50);
    REQ_STR("STR-006", lane(&outbox_door, store, "a"), "a1=dead a2=done");
    REQ_STR("STR-006", lane(&outbox_door, store, "b"), "b1=dead b2=done");
    REQ_STR("STR-006", lane(&outbox_door, store, "c"), "c1=dead c2=dead c3=done");
    all_is_well(store);
}

/* More than a claim may bury ("after 1 000 burials the call ends"), all of them in one stream: the way
 * becomes free in a few calls, and others are not held up. */
TEST(a_stream_full_of_expired_messages_is_worked_off)
{
    enum { DEAD = 1300 };
    ph_store *store = open_at_epoch();
    ph_owner owner = ph_owner_new();
    ph_message *m = calloc(DEAD, sizeof(*m));
    int calls = 0;

    for (int i = 0; i < DEAD; i++) {
        m[i] = in_stream("a", "old");
        m[i].expires_at = T_EPOCH + T_SECOND;
    }
    OK(ph_enqueue_many(store, PH_OWN_TX, m, DEAD, 0, NULL, &t_err));
    free(m);
    fill(&outbox_door, store, "a1 b1");
    t_clock_advance(store, T_SECOND);
    while (door_counts(&outbox_door, store, NULL).parked > 0 ||
           door_counts(&outbox_door, store, NULL).ready > 0) {
        worked(&outbox_door, store, owner, 10);
        CHECK(++calls < 10);
    }
    REQ_INT("STR-006", door_counts(&outbox_door, store, NULL).dead, DEAD);
    CHECK_INT(see_named(&outbox_door, store, "a1").status, PH_DONE);
    CHECK_INT(see_named(&outbox_door, store, "b1").status, PH_DONE);
    all_is_well(store);
}

/* "Setting dead_head to skip … of that queue": no other; and setting something else unblocks none. */
TEST(unblocking_concerns_one_queue)
{
    ph_store *store = open_at_epoch();
    ph_queue_settings settings = PH_QUEUE_SETTINGS_INIT;
    ph_owner owner = ph_owner_new();
    ph_batch *batch;
    ph_outcome out;

    settings.dead_head = PH_DEAD_HEAD_BLOCK;
    OK(ph_queue_set(store, PH_OWN_TX, PH_OUTBOX, "", &settings, 0, &t_err));
    OK(ph_queue_set(store, PH_OWN_TX, PH_OUTBOX, "other", &settings, 0, &t_err));
    fill(&outbox_door, store, "a1 a2");
    fill_in(&outbox_door, store, "other", "a1 a2");
    kill_head(&outbox_door, store, "a1");
    batch = door_claim(&outbox_door, store, owner, "other", 1);
    {
        ph_lease_ref ref = ph_lease_ref_of(ph_batch_at(batch, 0));

        OK(ph_outbox_fail(store, PH_OWN_TX, owner, &ref, 1, "no", 0, &out, &t_err));
    }
    ph_batch_free(batch);
    settings.dead_head = PH_DEAD_HEAD_KEEP;
    settings.max_attempts = 5;
    OK(ph_queue_set(store, PH_OWN_TX, PH_OUTBOX, "", &settings, 0, &t_err));
    CHECK_STR(claimed(&outbox_door, store, owner, 50), "");
    settings.dead_head = PH_DEAD_HEAD_SKIP;
    OK(ph_queue_set(store, PH_OWN_TX, PH_OUTBOX, "", &settings, 0, &t_err));
    CHECK_STR(claimed(&outbox_door, store, owner, 50), "a2");
    batch = door_claim(&outbox_door, store, owner, "other", 50);
    CHECK_INT(ph_batch_count(batch), 0);
    ph_batch_free(batch);
    all_is_well(store);
}

/* "Operator's retry …: if it blocks the stream, the new message takes its number and is the head, and
 * the stream goes on" */
LANE_TEST(a_retry_of_the_head_that_blocks_takes_its_place)
{
    ph_store *store = open_at_epoch();
    ph_owner owner = ph_owner_new();
    ph_work_id dead, again;
    ph_batch *batch;

    set_dead_head(door, store, PH_DEAD_HEAD_BLOCK);
    fill(door, store, "a1 a2 a3");
    CHECK_STR(worked(door, store, owner, 1), "a1");
    kill_head(door, store, "a2");
    dead = named(door, store, "a2");
    fill(door, store, "a4");
    t_clock_advance(store, T_SECOND);
    again = retry_dead(store, dead);
    CHECK(!ph_id_is_zero(again.b));
    CHECK(same_id(see_by(door->find, store, dead).retried_as.b, again.b));
    CHECK_INT(see_lane(door, store, "a").state, PH_STREAM_READY);
    CHECK(same_id(see_lane(door, store, "a").head.b, again.b));
    batch = door_claim(door, store, owner, NULL, 50);
    REQ_STR("STR-006", payloads(batch), "a2 a3 a4");
    CHECK(same_id(ph_batch_at(batch, 0)->work_id.b, again.b));
    REQ_INT("STR-006", ph_batch_at(batch, 0)->seq, 2);
    CHECK_INT(ph_batch_at(batch, 1)->seq, 3);
    CHECK_INT(ph_batch_at(batch, 0)->attempts, 1);
    CHECK_STR(settled(door, store, owner, batch, "ack a2, ack a3, ack a4"), "acked acked acked");
    ph_batch_free(batch);
    CHECK_INT(see_lane(door, store, "a").last_seq, 4);
    /* A reader gets what was put back, not the dead one with the same number. */
    CHECK_STR(lane(door, store, "a"), "a1=done a2=done a3=done a4=done");
    CHECK(ph_id_is_zero(retry_dead(store, dead).b)); /* once */
    all_is_well(store);
}

/* "… otherwise it is a new message at the end of the stream." */
LANE_TEST(a_retry_of_a_head_that_was_passed_over_goes_to_the_end)
{
    ph_store *store = open_at_epoch();
    ph_owner owner = ph_owner_new();
    ph_work_id dead, again;
    ph_batch *batch;

    fill(door, store, "a1 a2");
    dead = named(door, store, "a1");
    kill_head(door, store, "a1");
    again = retry_dead(store, dead); /* busy: behind a2 */
    CHECK_INT(see_by(door->find, store, again).status, PH_PARKED);
    batch = door_claim(door, store, owner, NULL, 50);
    REQ_STR("STR-006", payloads(batch), "a2 a1");
    CHECK_INT(ph_batch_at(batch, 1)->seq, 3);
    CHECK_INT(ph_batch_at(batch, 1)->attempts, 1);
    CHECK_STR(settled(door, store, owner, batch, "ack a2, fail a1"), "acked failed");
    ph_batch_free(batch);
    CHECK_STR(claimed(door, store, owner, 50), "");
    again = retry_dead(store, again); /* idle: the head */
    batch = door_claim(door, store, owner, NULL, 50);
    CHECK_STR(payloads(batch), "a1");
    CHECK_INT(ph_batch_at(batch, 0)->seq, 4);
    CHECK(same_id(ph_batch_at(batch, 0)->work_id.b, again.b));
    CHECK_STR(settled(door, store, owner, batch, "ack a1"), "acked");
    ph_batch_free(batch);
    all_is_well(store);
}

/* "… several of one call in their old order", whatever order they are named in. */
LANE_TEST(retries_of_one_stream_keep_their_old_order)
{
    ph_store *store = open_at_epoch();
    ph_owner owner = ph_owner_new();
    ph_work_id ids[4], again[4];

    fill(door, store, "a1 a2 b1 a3");
    for (int i = 0; i < 4; i++) {
        static const char *const heads[] = { "a1", "a2", "b1", "a3" };

        kill_head(door, store, heads[i]);
    }
    ids[0] = named(door, store, "a3");
    ids[1] = named(door, store, "b1");
    ids[2] = named(door, store, "a1");
    ids[3] = named(door, store, "a2");
    OK(ph_dead_retry(store, PH_OWN_TX, ids, 4, 0, again, &t_err));
    for (int i = 0; i < 4; i++)
        CHECK(!ph_id_is_zero(again[i].b));
    REQ_STR("STR-006", claimed(door, store, owner, 50), "a1 a2 a3 b1");
    all_is_well(store);
}

/* "Discard (or dead retention) of a blocking head: next head." */
LANE_TEST(discarding_the_head_that_blocks_lets_the_stream_go_on)
{
    ph_store *store = open_at_epoch();
    ph_owner owner = ph_owner_new();

    set_dead_head(door, store, PH_DEAD_HEAD_BLOCK);
    fill(door, store, "a1 a2 a3 b1");
    kill_head(door, store, "a1");
    CHECK_INT(discard_dead(store, named(door, store, "a1")), 1);
    REQ_STR("STR-006", lane(door, store, "a"), "a2=ready a3=parked");
    CHECK_STR(worked(door, store, owner, 50), "a2 a3 b1");
    CHECK_STR(numbers(door, store, "a"), "2 3");
    all_is_well(store);
}

LANE_TEST(dead_retention_of_the_head_that_blocks_lets_the_stream_go_on)
{
    ph_store *store = open_at_epoch();
    ph_owner owner = ph_owner_new();
    ph_queue_settings settings = PH_QUEUE_SETTINGS_INIT;
    int64_t count = -1;

    settings.dead_head = PH_DEAD_HEAD_BLOCK;
    settings.dead_retention_s = 100;
    set_door_queue(door, store, &settings);
    fill(door, store, "a1 a2");
    kill_head(door, store, "a1");
    t_clock_advance(store, 100 * T_SECOND - 1);
    OK(ph_retention_run(store, PH_OWN_TX, 0, 0, &count, &t_err));
    CHECK_INT(count, 0);
    CHECK_STR(claimed(door, store, owner, 50), "");
    t_clock_advance(store, 1);
    OK(ph_retention_run(store, PH_OWN_TX, 0, 0, &count, &t_err));
    CHECK_INT(count, 1);
    REQ_STR("STR-006", worked(door, store, owner, 50), "a2");
    all_is_well(store);
}

/* A blocked stream with nothing behind its head: what comes is parked, and the stream is not idle. */
LANE_TEST(a_blocked_stream_without_followers_stays_blocked)
{
    ph_store *store = open_at_epoch();
    ph_owner owner = ph_owner_new();
    ph_stream_list_opts opts = PH_STREAM_LIST_OPTS_INIT;

    opts.door = door->number;
    set_dead_head(door, store, PH_DEAD_HEAD_BLOCK);
    fill(door, store, "a1");
    kill_head(door, store, "a1");
    CHECK_STR(claimed(door, store, owner, 50), "");
    CHECK_INT(see_lane(door, store, "a").state, PH_STREAM_BLOCKED);
    CHECK_STR(listed(store, &opts), "a"); /* something to do, for somebody */
    fill(door, store, "a2");
    CHECK_STR(claimed(door, store, owner, 50), "");
    CHECK_STR(lane(door, store, "a"), "a1=dead a2=parked");
    CHECK_INT(discard_dead(store, named(door, store, "a1")), 1);
    CHECK_STR(worked(door, store, owner, 50), "a2");
    /* the same, discarded when nothing follows: idle, and of no use any more once it is empty */
    fill(door, store, "b1");
    kill_head(door, store, "b1");
    CHECK_INT(discard_dead(store, named(door, store, "b1")), 1);
    CHECK_STR(claimed(door, store, owner, 50), "");
    fill(door, store, "b2");
    CHECK_STR(worked(door, store, owner, 50), "b2");
    all_is_well(store);
}

/* A dead head in the middle of a run ends it; in a blocked stream the rest stays. */
LANE_TEST(a_head_that_dies_in_a_run_blocks_the_rest)
{
    ph_store *store = open_at_epoch();
    ph_owner owner = ph_owner_new();
    ph_batch *batch;

    set_dead_head(door, store, PH_DEAD_HEAD_BLOCK);
    fill(door, store, "a1 a2 a3");
    batch = door_claim(door, store, owner, NULL, 50);
    CHECK_STR(settled(door, store, owner, batch, "ack a1, fail a2, release a3"),
              "acked failed released");
    ph_batch_free(batch);
    CHECK_STR(lane(door, store, "a"), "a1=done a2=dead a3=parked");
    CHECK_INT(see_lane(door, store, "a").state, PH_STREAM_BLOCKED);
    CHECK_STR(claimed(door, store, owner, 50), "");
    all_is_well(store);
}

/* Two dead heads, one after the other; a discard of a dead message that blocks nothing changes
 * nothing. */
TEST(only_the_head_that_blocks_unblocks)
{
    ph_store *store = open_at_epoch();
    ph_owner owner = ph_owner_new();
    ph_work_id first, second;

    fill(&outbox_door, store, "a1 a2 a3");
    first = named(&outbox_door, store, "a1");
    second = named(&outbox_door, store, "a2");
    kill_head(&outbox_door, store, "a1"); /* passed over */
    set_dead_head(&outbox_door, store, PH_DEAD_HEAD_BLOCK);
    kill_head(&outbox_door, store, "a2"); /* blocks */
    CHECK_INT(discard_dead(store, first), 1);
    CHECK_STR(claimed(&outbox_door, store, owner, 50), "");
    CHECK(same_id(see_lane(&outbox_door, store, "a").head.b, second.b));
    CHECK_INT(discard_dead(store, second), 1);
    CHECK_STR(claimed(&outbox_door, store, owner, 50), "a3");
    all_is_well(store);
}

/* ------------------------------------------------------------------------- joins */

/* "Attach to a join of a parked message holds the stream's token." What is counted is what became
 * of it, once. */
TEST(steps_in_a_stream_are_counted_when_they_end)
{
    ph_store *store = open_at_epoch();
    ph_join_id join = start_join(store, 4);
    ph_owner owner = ph_owner_new();
    ph_enqueued e[4];
    ph_batch *batch;

    for (int i = 0; i < 4; i++) {
        static const char *const words[] = { "a1", "a2", "a3", "a4" };
        ph_message m = in_stream("a", words[i]);

        if (i == 3)
            m.join_id = &join; /* as it is stored: parked */
        e[i] = put(store, &m);
    }
    attach(store, join, e[1].message_id); /* parked */
    attach(store, join, e[0].message_id); /* the head */
    batch = t_claim(store, owner, 50);
    attach(store, join, e[2].message_id); /* leased, in the middle of a run */
    attach(store, join, e[1].message_id); /* again: nothing */
    CHECK_STR(settled(&outbox_door, store, owner, batch, "ack a1, ack a2"), "acked acked");
    REQ_STR("STR-019", standing(store, join), "2+0/4 pending");
    CHECK_STR(settled(&outbox_door, store, owner, batch, "fail a3"), "failed");
    ph_batch_free(batch);
    REQ_STR("STR-019", standing(store, join), "2+1/4 pending");
    CHECK_STR(worked(&outbox_door, store, owner, 50), "a4");
    REQ_STR("STR-019", standing(store, join), "3+1/4 failed");
    all_is_well(store);
}

/* A parked step that expires, or is lost on its last attempt, is counted by whoever buries it. */
TEST(a_step_that_expires_as_head_fails)
{
    ph_store *store = open_at_epoch();
    ph_join_id join = start_join(store, 2);
    ph_owner owner = ph_owner_new();
    ph_message m = in_stream("a", "a2");

    fill(&outbox_door, store, "a1");
    m.join_id = &join;
    m.expires_at = T_EPOCH + 5 * T_SECOND;
    put(store, &m);
    m.payload = "a3";
    m.expires_at = 0;
    m.max_attempts = 1;
    put(store, &m);
    t_clock_advance(store, 5 * T_SECOND);
    CHECK_STR(worked(&outbox_door, store, owner, 50), "a1");
    CHECK_STR(standing(store, join), "0+0/2 pending");
    for (int i = 0; i < 2; i++) /* buries a2; takes a3 */
        ph_batch_free(t_claim(store, owner, 50));
    CHECK_STR(standing(store, join), "0+1/2 pending");
    CHECK_STR(lane(&outbox_door, store, "a"), "a1=done a2=dead a3=leased");
    t_clock_advance(store, 31 * T_SECOND);
    reap(store);
    REQ_STR("STR-019", standing(store, join), "0+2/2 failed");
    all_is_well(store);
}

/* A message that is attached while it is parked in a blocked stream, and the retry of its head. */
TEST(a_blocked_stream_holds_up_its_join)
{
    ph_store *store = open_at_epoch();
    ph_join_id join = start_join(store, 2);
    ph_owner owner = ph_owner_new();
    ph_enqueued e[2];
    ph_message m = in_stream("a", "a1");

    set_dead_head(&outbox_door, store, PH_DEAD_HEAD_BLOCK);
    e[0] = put(store, &m);
    m.payload = "a2";
    e[1] = put(store, &m);
    kill_head(&outbox_door, store, "a1");
    attach(store, join, e[1].message_id);
    attach(store, join, e[0].message_id); /* dead: counted at once */
    REQ_STR("STR-019", standing(store, join), "0+1/2 pending");
    retry_dead(store, e[0].work_id);
    CHECK_STR(worked(&outbox_door, store, owner, 50), "a1 a2");
    REQ_STR("STR-019", standing(store, join), "1+1/2 failed"); /* who was counted stays so */
    all_is_well(store);
}
