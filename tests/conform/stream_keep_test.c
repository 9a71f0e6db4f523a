/* stream_keep_test.c - what becomes of streams when their messages go: retention, delete_on_ack,
 * discard. "Forgetting the last message of an idle stream that has no checkpoint: the stream is
 * deleted, too (its numbers begin anew)" (docs/states.md, Streams). */
#include "lanes.h"

static int64_t retain(ph_store *store)
{
    int64_t count = -1;

    OK(ph_retention_run(store, PH_OWN_TX, 0, 0, &count, &t_err));
    return count;
}

static void keep_for(const struct door *door, ph_store *store, int64_t seconds)
{
    ph_queue_settings settings = PH_QUEUE_SETTINGS_INIT;

    settings.retention_s = seconds;
    set_door_queue(door, store, &settings);
}

static void delete_at_once(const struct door *door, ph_store *store)
{
    ph_queue_settings settings = PH_QUEUE_SETTINGS_INIT;

    settings.delete_on_ack = 1;
    set_door_queue(door, store, &settings);
}

static void follow(const struct door *door, ph_store *store, const char *stream, int64_t seq)
{
    ph_checkpoint_result result = { .door = door->number, .stream = stream, .consumer = "c" };

    result.seq = seq;
    OK(ph_checkpoint_report(store, PH_OWN_TX, &result, 1, 0, &t_err));
}

LANE_TEST(an_idle_stream_goes_with_its_last_message)
{
    ph_store *store = open_at_epoch();
    ph_owner owner = ph_owner_new();

    keep_for(door, store, 10);
    fill(door, store, "a1 a2 b1");
    CHECK_STR(worked(door, store, owner, 50), "a1 a2 b1");
    CHECK_STR(claimed(door, store, owner, 50), "");
    t_clock_advance(store, 5 * T_SECOND);
    fill(door, store, "b2");
    CHECK_STR(worked(door, store, owner, 50), "b2");
    CHECK_STR(claimed(door, store, owner, 50), "");
    t_clock_advance(store, 5 * T_SECOND);
    REQ_INT("STR-020", retain(store), 3);
    CHECK(!see_lane(door, store, "a").there);
    CHECK(see_lane(door, store, "b").there); /* it has a message left */
    fill(door, store, "a8 b3");
    REQ_STR("STR-020", numbers(door, store, "a"), "1"); /* anew */
    REQ_STR("STR-020", numbers(door, store, "b"), "2 3");
    CHECK_STR(worked(door, store, owner, 50), "a8 b3");
    all_is_well(store);
}

/* Never what is still to be done: retention deletes settled messages, also in the middle of work. */
LANE_TEST(a_busy_stream_stays_and_keeps_counting)
{
    ph_store *store = open_at_epoch();
    ph_owner owner = ph_owner_new();
    ph_batch *batch;

    keep_for(door, store, 10);
    fill(door, store, "a1 a2 a3");
    CHECK_STR(worked(door, store, owner, 1), "a1");
    batch = door_claim(door, store, owner, NULL, 1);
    t_clock_advance(store, 10 * T_SECOND);
    REQ_INT("STR-020", retain(store), 1);
    CHECK_STR(lane(door, store, "a"), "a2=leased a3=parked");
    CHECK_STR(settled(door, store, owner, batch, "ack a2"), "acked");
    ph_batch_free(batch);
    t_clock_advance(store, 10 * T_SECOND);
    REQ_INT("STR-020", retain(store), 1);
    CHECK_STR(lane(door, store, "a"), "a3=ready");
    fill(door, store, "a4");
    CHECK_STR(worked(door, store, owner, 50), "a3 a4");
    CHECK_STR(numbers(door, store, "a"), "3 4");
    all_is_well(store);
}

LANE_TEST(a_stream_with_a_checkpoint_stays_when_it_is_empty)
{
    ph_store *store = open_at_epoch();
    ph_owner owner = ph_owner_new();

    keep_for(door, store, 10);
    fill(door, store, "a1 a2");
    follow(door, store, "a", 1);
    CHECK_STR(worked(door, store, owner, 50), "a1 a2");
    CHECK_STR(claimed(door, store, owner, 50), "");
    t_clock_advance(store, 10 * T_SECOND);
    CHECK_INT(retain(store), 2);
    REQ("STR-020", see_lane(door, store, "a").there);
    CHECK_INT(see_lane(door, store, "a").last_seq, 2);
    fill(door, store, "a3");
    REQ_STR("STR-020", numbers(door, store, "a"), "3");
    CHECK_STR(worked(door, store, owner, 50), "a3");
    all_is_well(store);
}

/* A dead message is a message: the stream stays until it is discarded. */
LANE_TEST(a_stream_with_a_dead_message_stays_until_it_is_discarded)
{
    ph_store *store = open_at_epoch();
    ph_owner owner = ph_owner_new();
    ph_batch *batch;
    ph_work_id dead;
    int64_t count = 0;

    keep_for(door, store, 10);
    fill(door, store, "a1 a2");
    batch = door_claim(door, store, owner, NULL, 1);
    CHECK_STR(settled(door, store, owner, batch, "fail a1"), "failed");
    ph_batch_free(batch);
    CHECK_STR(worked(door, store, owner, 50), "a2");
    CHECK_STR(claimed(door, store, owner, 50), "");
    t_clock_advance(store, 10 * T_SECOND);
    CHECK_INT(retain(store), 1);
    CHECK(see_lane(door, store, "a").there);
    CHECK_INT(see_lane(door, store, "a").state, PH_STREAM_IDLE);
    dead = named(door, store, "a1");
    OK(ph_dead_discard(store, PH_OWN_TX, &dead, 1, 0, &count, &t_err));
    CHECK_INT(count, 1);
    REQ("STR-020", !see_lane(door, store, "a").there);
    all_is_well(store);
}

LANE_TEST(acked_messages_of_a_stream_are_deleted_if_the_queue_says_so)
{
    ph_store *store = open_at_epoch();
    struct t_conn *conn = t_connect();
    ph_owner owner = ph_owner_new();
    ph_batch *batch;

    delete_at_once(door, store);
    fill(door, store, "a1 a2 a3 a4");
    batch = door_claim(door, store, owner, NULL, 3);
    CHECK_STR(settled(door, store, owner, batch, "ack a2, ack a1"), "acked acked");
    CHECK_STR(lane(door, store, "a"), "a3=leased a4=parked");
    CHECK_STR(settled(door, store, owner, batch, "ack a1"), "unknown"); /* it is gone */
    CHECK_STR(settled(door, store, owner, batch, "ack a3"), "acked");
    ph_batch_free(batch);
    REQ_STR("STR-020", numbers(door, store, "a"), "4");
    fill(door, store, "a5");
    CHECK_STR(worked(door, store, owner, 50), "a4 a5");
    CHECK_STR(claimed(door, store, owner, 50), "");
    REQ_INT("STR-020", t_number(conn, "SELECT count(*) FROM {t}message"), 0);
    t_disconnect(conn);
    all_is_well(store);
}

/* Numbers begin anew when the stream has gone, and go on when a checkpoint keeps it. */
TEST(with_delete_on_ack_a_stream_lives_as_long_as_it_is_used)
{
    ph_store *store = open_at_epoch();
    ph_owner owner = ph_owner_new();

    delete_at_once(&outbox_door, store);
    fill(&outbox_door, store, "a1 b1");
    follow(&outbox_door, store, "b", 1);
    CHECK_STR(worked(&outbox_door, store, owner, 50), "a1 b1");
    CHECK_STR(claimed(&outbox_door, store, owner, 50), "");
    retain(store); /* whoever deletes the stream: by now it must be gone */
    CHECK(!see_lane(&outbox_door, store, "a").there);
    REQ("STR-020", see_lane(&outbox_door, store, "b").there);
    fill(&outbox_door, store, "a2 b2");
    REQ_STR("STR-020", numbers(&outbox_door, store, "a"), "1");
    REQ_STR("STR-020", numbers(&outbox_door, store, "b"), "2");
    all_is_well(store);
}

/* The limit of a call concerns messages; streams of many messages go in several calls. */
TEST(retention_in_small_steps_ends_with_the_stream)
{
    ph_store *store = open_at_epoch();
    ph_owner owner = ph_owner_new();
    int64_t count = -1, total = 0;

    keep_for(&outbox_door, store, 10);
    for (int i = 0; i < 5; i++) {
        fill(&outbox_door, store, "a1");
        CHECK_STR(worked(&outbox_door, store, owner, 50), "a1");
    }
    CHECK_STR(claimed(&outbox_door, store, owner, 50), "");
    t_clock_advance(store, 10 * T_SECOND);
    do {
        OK(ph_retention_run(store, PH_OWN_TX, 2, 0, &count, &t_err));
        total += count;
        CHECK_INT(see_lane(&outbox_door, store, "a").there, total < 5);
    } while (count > 0);
    REQ_INT("STR-020", total, 5);
    all_is_well(store);
}

/* A caller's transaction that forgets the last message and is rolled back has forgotten nothing. */
TEST(a_rolled_back_discard_keeps_the_stream)
{
    ph_store *store = open_at_epoch();
    struct t_conn *conn = t_connect();
    ph_owner owner = ph_owner_new();
    ph_batch *batch;
    ph_work_id dead;

    fill(&outbox_door, store, "a1");
    batch = t_claim(store, owner, 1);
    CHECK_STR(settled(&outbox_door, store, owner, batch, "fail a1"), "failed");
    ph_batch_free(batch);
    dead = named(&outbox_door, store, "a1");
    t_begin(conn);
    OK(ph_dead_discard(store, t_tx(conn), &dead, 1, 0, NULL, &t_err));
    t_rollback(conn);
    CHECK_STR(lane(&outbox_door, store, "a"), "a1=dead");
    CHECK_INT(see_lane(&outbox_door, store, "a").last_seq, 1);
    all_is_well(store);
}
