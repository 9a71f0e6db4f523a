/* stream_order_test.c - ordered streams: numbers, heads, and who waits for whom. The sentences that
 * are quoted are those of docs/states.md, Streams; scenarios by their numbers. */
#include "lanes.h"

#include <stdatomic.h>

/* "A stream is a pair of queue and key, made by its first message." */
LANE_TEST(messages_of_a_stream_are_numbered_from_one)
{
    ph_store *store = open_at_epoch();
    ph_owner owner = ph_owner_new();
    ph_batch *batch;

    fill(door, store, "a1 b1 a2 -x a3 b2");
    REQ_STR("STR-001", numbers(door, store, "a"), "1 2 3");
    REQ_STR("STR-001", numbers(door, store, "b"), "1 2");
    CHECK_STR(numbers(door, store, "c"), "");
    CHECK_STR(lane(door, store, "a"), "a1=ready a2=parked a3=parked");
    batch = door_claim(door, store, owner, NULL, 50);
    CHECK_INT(ph_batch_count(batch), 6);
    for (int i = 1; i <= 3; i++) {
        const ph_delivery *d = delivered(batch, i == 1 ? "a1" : i == 2 ? "a2" : "a3");

        CHECK_STR(d->stream, "a");
        CHECK_INT(d->seq, i);
        CHECK_INT(d->attempts, 1);
        CHECK_INT(d->flags, 0);
    }
    CHECK(delivered(batch, "-x")->stream == NULL);
    CHECK_INT(delivered(batch, "-x")->seq, 0);
    ph_batch_free(batch);
    CHECK_STR(lane(door, store, "a"), "a1=leased a2=leased a3=leased");
    all_is_well(store);
}

/* Scenario 31. */
LANE_TEST(who_holds_the_head_holds_the_stream)
{
    ph_store *store = open_at_epoch();
    ph_owner first = ph_owner_new(), second = ph_owner_new();
    ph_batch *batch;

    fill(door, store, "a1");
    batch = door_claim(door, store, first, NULL, 50);
    CHECK_STR(payloads(batch), "a1");
    fill(door, store, "a2 a3 b1");
    REQ_STR("STR-002", claimed(door, store, second, 50), "b1");
    CHECK_STR(claimed(door, store, first, 50), ""); /* nor does the same owner get more of it */
    CHECK_STR(lane(door, store, "a"), "a1=leased a2=parked a3=parked");
    CHECK_STR(settled(door, store, first, batch, "ack a1"), "acked");
    ph_batch_free(batch);
    REQ_STR("STR-002", claimed(door, store, second, 50), "a2 a3");
    all_is_well(store);
}

/* Scenarios 32 and 33: "A head that waits for its retry … holds up its own stream and no other". */
LANE_TEST(a_head_that_waits_for_its_retry_holds_up_its_stream_and_no_other)
{
    ph_store *store = open_at_epoch();
    ph_owner first = ph_owner_new(), second = ph_owner_new();
    ph_batch *batch;

    fill(door, store, "a1 a2 a3 b1 b2 -x");
    batch = door_claim(door, store, first, NULL, 50);
    CHECK_STR(settled(door, store, first, batch, "abandon+5000 a1, ack b1, ack b2, ack -x"),
              "abandoned acked acked acked");
    ph_batch_free(batch);
    CHECK_STR(lane(door, store, "a"), "a1=scheduled a2=parked a3=parked");
    CHECK_STR(claimed(door, store, second, 50), "");
    fill(door, store, "a4 b3 -y");
    REQ_STR("STR-003", worked(door, store, second, 50), "b3 -y");
    t_clock_advance(store, 5 * T_SECOND - 1);
    REQ_STR("STR-003", claimed(door, store, second, 50), "");
    t_clock_advance(store, 1);
    REQ_STR("STR-004", worked(door, store, second, 50), "a1 a2 a3 a4");
    CHECK_STR(see_named(door, store, "a1").kinds, "abandoned");
    CHECK_STR(see_named(door, store, "a2").kinds, "");
    all_is_well(store);
}

/* Scenario 34. */
LANE_TEST(releasing_what_follows_a_waiting_head_keeps_it_blocked)
{
    ph_store *store = open_at_epoch();
    ph_owner owner = ph_owner_new();
    ph_batch *batch;

    fill(door, store, "a1 a2 a3");
    batch = door_claim(door, store, owner, NULL, 50);
    CHECK_STR(payloads(batch), "a1 a2 a3");
    CHECK_STR(settled(door, store, owner, batch, "abandon+60000 a1"), "abandoned");
    REQ_STR("STR-005", settled(door, store, owner, batch, "release a2, release a3"), "stale stale");
    REQ_STR("STR-005", claimed(door, store, ph_owner_new(), 50), "");
    ph_batch_free(batch);
    t_clock_advance(store, 60 * T_SECOND);
    /* the same in one call */
    batch = door_claim(door, store, owner, NULL, 50);
    CHECK_STR(settled(door, store, owner, batch, "release a3, abandon+60000 a1, release a2"),
              "released abandoned released");
    ph_batch_free(batch);
    REQ_STR("STR-005", claimed(door, store, ph_owner_new(), 50), "");
    CHECK_STR(lane(door, store, "a"), "a1=scheduled a2=parked a3=parked");
    CHECK_INT(see_named(door, store, "a2").attempts, 0);
    CHECK_STR(see_named(door, store, "a2").kinds, "");
    all_is_well(store);
}

/* "due time, priority and expiry count when it is the stream's head" (ph_message.stream) */
TEST(a_head_that_is_due_later_holds_up_its_stream)
{
    ph_store *store = open_at_epoch();
    ph_owner owner = ph_owner_new();
    ph_message m = in_stream("a", "a1");

    m.due_at = T_EPOCH + 10 * T_SECOND;
    put(store, &m);
    fill(&outbox_door, store, "a2 b1");
    CHECK_STR(lane(&outbox_door, store, "a"), "a1=scheduled a2=parked");
    CHECK_STR(worked(&outbox_door, store, owner, 50), "b1");
    t_clock_advance(store, 10 * T_SECOND - 1);
    CHECK_STR(claimed(&outbox_door, store, owner, 50), "");
    t_clock_advance(store, 1);
    REQ_STR("STR-004", claimed(&outbox_door, store, owner, 50), "a1 a2");
    all_is_well(store);
}

/* "Next head … due = max(due_at, T), attempts 0, lost 0": a follower waits for its own time, too. */
TEST(a_follower_that_is_due_later_waits_as_head)
{
    ph_store *store = open_at_epoch();
    ph_owner owner = ph_owner_new();
    ph_message m = in_stream("a", "a2");

    fill(&outbox_door, store, "a1");
    m.due_at = T_EPOCH + 10 * T_SECOND;
    put(store, &m);
    fill(&outbox_door, store, "a3");
    CHECK_STR(worked(&outbox_door, store, owner, 50), "a1"); /* the run ends before it */
    CHECK_STR(lane(&outbox_door, store, "a"), "a1=done a2=scheduled a3=parked");
    CHECK_INT(see_named(&outbox_door, store, "a2").next_attempt_at, T_EPOCH + 10 * T_SECOND);
    t_clock_advance(store, 4 * T_SECOND);
    CHECK_STR(claimed(&outbox_door, store, owner, 50), "");
    t_clock_advance(store, 6 * T_SECOND);
    REQ_STR("STR-004", worked(&outbox_door, store, owner, 50), "a2 a3");
    all_is_well(store);
}

/* Levels are those of the heads: who follows does not overtake. */
TEST(the_priority_of_the_head_counts)
{
    ph_store *store = open_at_epoch();
    ph_owner owner = ph_owner_new();
    ph_message m;
    ph_batch *batch;

    m = in_stream("a", "a1");
    m.priority = PH_PRIORITY_BULK;
    put(store, &m);
    m = in_stream("a", "a2");
    m.priority = PH_PRIORITY_URGENT;
    put(store, &m);
    m = in_stream("b", "b1");
    m.priority = PH_PRIORITY_LOW;
    put(store, &m);
    m = in_stream("c", "c1");
    m.priority = PH_PRIORITY_URGENT;
    put(store, &m);
    fill(&outbox_door, store, "-x");
    batch = t_claim(store, owner, 4);
    CHECK_STR(payloads(batch), "c1 -x b1 a1");
    t_clock_advance(store, 1);
    CHECK_STR(settled(&outbox_door, store, owner, batch, "ack a1"), "acked");
    ph_batch_free(batch);
    fill(&outbox_door, store, "-y");
    batch = t_claim(store, owner, 4);
    CHECK_STR(payloads(batch), "a2 -y"); /* now it is the head, with its own priority */
    CHECK_INT(ph_batch_at(batch, 0)->priority, PH_PRIORITY_URGENT);
    ph_batch_free(batch);
    all_is_well(store);
}

/* "A head … whose topic nobody claims" holds up its stream, and a run ends before such a message. */
TEST(a_topic_that_is_not_wanted_ends_a_run_and_holds_up_the_stream)
{
    static const char *const wanted[] = { TOPIC, "more" };
    ph_store *store = open_at_epoch();
    ph_owner owner = ph_owner_new();
    ph_claim_opts opts = PH_CLAIM_OPTS_INIT;
    ph_message m = in_stream("a", "a3");
    ph_batch *batch;

    fill(&outbox_door, store, "a1 a2");
    m.topic = "other";
    put(store, &m);
    fill(&outbox_door, store, "a4 b1");
    opts.topics = wanted;
    opts.topic_count = 2;
    batch = claim_with(store, owner, &opts);
    REQ_STR("STR-010", payloads(batch), "a1 a2 b1");
    t_ack_all(store, owner, batch);
    batch = claim_with(store, owner, &opts);
    CHECK_STR(payloads(batch), "");
    ph_batch_free(batch);
    CHECK_STR(lane(&outbox_door, store, "a"), "a1=done a2=done a3=ready a4=parked");
    CHECK_STR(worked(&outbox_door, store, owner, 50), "a3 a4"); /* somebody who wants everything */
    all_is_well(store);
}

/* ----------------------------------------------------------------- apart */

/* "A stream is a pair of queue and key": a queue, one of door and namespace. */
TEST(streams_of_the_same_name_in_other_queues_are_apart)
{
    ph_store *store = open_at_epoch();
    ph_owner owner = ph_owner_new();
    ph_batch *batch;

    fill(&outbox_door, store, "a1");
    fill(&inbox_door, store, "a1");
    fill_in(&outbox_door, store, "other", "a1 a2");
    CHECK_STR(claimed(&outbox_door, store, owner, 50), "a1"); /* stays held */
    CHECK_STR(claimed(&inbox_door, store, owner, 50), "a1");
    batch = door_claim(&outbox_door, store, owner, "other", 50);
    CHECK_STR(payloads(batch), "a1 a2");
    CHECK_INT(ph_batch_at(batch, 1)->seq, 2);
    ph_batch_free(batch);
    CHECK_STR(numbers(&outbox_door, store, "a"), "1");
    CHECK_STR(numbers(&inbox_door, store, "a"), "1");
    all_is_well(store);
}

/* Keys compare byte for byte (posthorn.h, TEXT). */
TEST(keys_that_differ_in_a_byte_are_different_streams)
{
    static const char *const keys[] = { "a", "A", "a ", " a", "\xc3\xa4", "a\xcc\x88", "0", "00" };
    ph_store *store = open_at_epoch();
    ph_batch *batch;

    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
        ph_message m = in_stream(keys[i], keys[i]);

        put(store, &m);
    }
    batch = t_claim(store, ph_owner_new(), 50);
    CHECK_INT(ph_batch_count(batch), 8);
    for (size_t i = 0; i < ph_batch_count(batch); i++) {
        CHECK_INT(ph_batch_at(batch, i)->seq, 1);
        CHECK_STR(ph_batch_at(batch, i)->stream, ph_batch_at(batch, i)->payload);
    }
    ph_batch_free(batch);
    all_is_well(store);
}

TEST(a_key_may_be_as_long_as_a_name_and_not_empty)
{
    ph_store *store = open_at_epoch();
    ph_message m = in_stream(repeated("\xc3\xa4", PH_NAME_MAX), "x");

    put(store, &m);
    CHECK_INT(see_lane(&outbox_door, store, m.stream).last_seq, 1);
    CHECK_STR(worked(&outbox_door, store, ph_owner_new(), 1), "x");
    m.stream = repeated("\xc3\xa4", PH_NAME_MAX + 1);
    CHECK_INT(try_put(store, PH_OWN_TX, &m), PH_EINVAL);
    CHECK(strstr(t_err.message, "stream") != NULL);
    m.stream = "";
    CHECK_INT(try_put(store, PH_OWN_TX, &m), PH_EINVAL);
    CHECK(strstr(t_err.message, "stream") != NULL);
    m.stream = "\xff";
    CHECK_INT(try_put(store, PH_OWN_TX, &m), PH_EINVAL);
    CHECK(strstr(t_err.message, "stream") != NULL);
    all_is_well(store);
}

/* ------------------------------------------------------- numbers without gaps */

/* "only if the message is really new (its dedupe key was not taken)" */
TEST(a_duplicate_takes_no_number)
{
    ph_store *store = open_at_epoch();
    ph_message m[4];
    ph_enqueued e[4];

    for (int i = 0; i < 4; i++) {
        static const char *const payload[] = { "a1", "twice", "a2", "b1" };
        static const char *const keys[] = { "k1", "k1", "k2", "k3" };

        m[i] = in_stream(i == 3 ? "b" : "a", payload[i]);
        m[i].dedupe_key = keys[i];
    }
    OK(ph_enqueue_many(store, PH_OWN_TX, m, 4, 0, e, &t_err));
    CHECK(e[0].is_new && !e[1].is_new && e[2].is_new && e[3].is_new);
    REQ_STR("STR-017", numbers(&outbox_door, store, "a"), "1 2");
    m[2].stream = "c"; /* the same message, said to be in another stream: nothing happens */
    CHECK(!put(store, &m[2]).is_new);
    CHECK(!see_lane(&outbox_door, store, "c").there);
    CHECK(!put(store, &m[0]).is_new);
    m[0].dedupe_key = NULL;
    m[0].payload = "a3";
    CHECK(put(store, &m[0]).is_new);
    REQ_STR("STR-017", numbers(&outbox_door, store, "a"), "1 2 3");
    CHECK_STR(worked(&outbox_door, store, ph_owner_new(), 50), "a1 a2 a3 b1");
    all_is_well(store);
}

/* Scenario 13 for streams: a rollback leaves neither message nor number nor stream. */
TEST(a_rollback_leaves_no_gap)
{
    ph_store *store = open_at_epoch();
    struct t_conn *conn = t_connect();
    ph_message a = in_stream("a", "a1"), b = in_stream("b", "b1");
    ph_owner owner = ph_owner_new();

    put(store, &a);
    t_begin(conn);
    a.payload = "never";
    OK(try_put(store, t_tx(conn), &a));
    OK(try_put(store, t_tx(conn), &b));
    t_rollback(conn);
    CHECK(!see_lane(&outbox_door, store, "b").there);
    CHECK_INT(see_lane(&outbox_door, store, "a").last_seq, 1);
    t_begin(conn);
    a.payload = "a2";
    OK(try_put(store, t_tx(conn), &a));
    t_commit(conn);
    REQ_STR("STR-001", numbers(&outbox_door, store, "a"), "1 2");
    CHECK_STR(worked(&outbox_door, store, owner, 50), "a1 a2");
    t_begin(conn); /* the same once the stream has been drained */
    a.payload = "never";
    OK(try_put(store, t_tx(conn), &a));
    t_rollback(conn);
    CHECK_STR(claimed(&outbox_door, store, owner, 50), "");
    fill(&outbox_door, store, "a3");
    REQ_STR("STR-001", numbers(&outbox_door, store, "a"), "1 2 3");
    CHECK_STR(claimed(&outbox_door, store, owner, 50), "a3");
    all_is_well(store);
}

/* "numbers rise in the order given", however many streams are mixed in one call. */
LANE_TEST(numbers_rise_in_the_order_given)
{
    ph_store *store = open_at_epoch();
    ph_owner owner = ph_owner_new();
    ph_batch *batch;

    fill(door, store, "z1 a1 z2 m1 a2 z3 a3 m2 -x z4");
    batch = door_claim(door, store, owner, NULL, 50);
    CHECK_INT(ph_batch_count(batch), 10);
    for (size_t i = 0; i < ph_batch_count(batch); i++) {
        const ph_delivery *d = ph_batch_at(batch, i);

        if (d->stream)
            CHECK_INT(d->seq, d->payload[1] - '0');
    }
    ph_batch_free(batch);
    all_is_well(store);
}

/* A stream that was drained is taken up again by its next message. */
LANE_TEST(a_drained_stream_goes_on_where_it_was)
{
    ph_store *store = open_at_epoch();
    ph_owner owner = ph_owner_new();

    fill(door, store, "a1 a2");
    CHECK_STR(worked(door, store, owner, 50), "a1 a2");
    fill(door, store, "a3"); /* at once */
    CHECK_STR(worked(door, store, owner, 50), "a3");
    CHECK_STR(claimed(door, store, owner, 50), "");
    fill(door, store, "a4 a5"); /* after a claim that found nothing */
    CHECK_STR(worked(door, store, owner, 1), "a4");
    CHECK_STR(worked(door, store, owner, 1), "a5");
    CHECK_STR(numbers(door, store, "a"), "1 2 3 4 5");
    CHECK_STR(lane(door, store, "a"), "a1=done a2=done a3=done a4=done a5=done");
    all_is_well(store);
}

/* ---------------------------------------------------------------- many at once */

#define PRODUCERS 4
#define EACH 12

struct race {
    atomic_int next;
    ph_work_id ids[PRODUCERS * EACH]; /* in the order in which the stream's row was held */
    atomic_int rolled_back;
};

/* Between the enqueue and the commit the stream's row is held: so the counter is drawn in the order
 * of commits. */
static void produce(int index, void *argument)
{
    struct race *race = argument;
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();

    for (int i = 0; i < EACH; i++) {
        ph_message m = in_stream("a", "x");
        ph_enqueued e = { 0 };

        t_begin(conn);
        OK(ph_enqueue(store, t_tx(conn), &m, 0, &e, &t_err));
        if ((i + index) % 4 == 0) {
            t_rollback(conn);
            atomic_fetch_add(&race->rolled_back, 1);
            continue;
        }
        race->ids[atomic_fetch_add(&race->next, 1)] = e.work_id;
        t_commit(conn);
    }
}

/* Scenario 37. */
TEST(racing_producers_get_numbers_in_the_order_of_their_commits)
{
    struct race *race = shared_memory(sizeof(*race));
    ph_store *store = t_open(NULL);
    ph_batch *batch;
    int count;

    ph_close(store);
    in_processes(PRODUCERS, produce, race);
    store = t_open(NULL);
    count = atomic_load(&race->next);
    CHECK_INT(count + atomic_load(&race->rolled_back), PRODUCERS * EACH);
    CHECK(atomic_load(&race->rolled_back) > 0);
    batch = t_claim(store, ph_owner_new(), 100);
    CHECK_INT(ph_batch_count(batch), count);
    for (int i = 0; i < count; i++) {
        REQ_INT("STR-008", ph_batch_at(batch, (size_t)i)->seq, i + 1);
        REQ("STR-008", same_id(ph_batch_at(batch, (size_t)i)->work_id.b, race->ids[i].b));
    }
    ph_batch_free(batch);
    all_is_well(store);
}

struct chase {
    atomic_int held[8]; /* how many have a message of stream n in hand */
    atomic_int next[8]; /* the number that must come next */
    atomic_int handled;
};

/* Claims, checks from the outside that order and exclusion hold, and settles: one in five is
 * abandoned. */
static void consume(int index, void *argument)
{
    struct chase *chase = argument;
    ph_store *store = t_open(NULL);
    ph_owner owner = ph_owner_new();
    unsigned dice = (unsigned)index * 7919u + 1;

    while (atomic_load(&chase->handled) < 8 * 20) {
        ph_batch *batch = t_claim(store, owner, 10);

        for (size_t i = 0; i < ph_batch_count(batch); i++) {
            const ph_delivery *d = ph_batch_at(batch, i);
            ph_lease_ref ref = ph_lease_ref_of(d);
            int n = d->stream[0] - 'a';
            bool retry;

            dice = dice * 1103515245u + 12345u;
            retry = (dice >> 16) % 5 == 0 && d->attempts < 5;
            CHECK_INT(atomic_fetch_add(&chase->held[n], 1), 0);
            CHECK_INT(d->seq, atomic_load(&chase->next[n]) + 1);
            if (!retry)
                atomic_store(&chase->next[n], (int)d->seq);
            CHECK_INT(atomic_fetch_sub(&chase->held[n], 1), 1);
            CHECK_INT(settle(store, owner, ref, retry ? PH_ABANDON : PH_ACK, NULL, 0),
                      retry ? PH_OUTCOME_ABANDONED : PH_OUTCOME_ACKED);
            if (retry) { /* the rest of this run was given back */
                while (i + 1 < ph_batch_count(batch) &&
                       strcmp(ph_batch_at(batch, i + 1)->stream, d->stream) == 0)
                    i++;
                continue;
            }
            atomic_fetch_add(&chase->handled, 1);
        }
        ph_batch_free(batch);
    }
}

/* Scenario 6 and 7 for streams: several share the work with no overlap and no gap. */
TEST(three_workers_share_streams_without_overlap_and_in_order)
{
    struct chase *chase = shared_memory(sizeof(*chase));
    ph_store *store = t_open(NULL);

    for (int i = 1; i <= 20; i++) {
        char words[128] = "";

        for (int n = 0; n < 8; n++) {
            size_t used = strlen(words);

            snprintf(words + used, sizeof(words) - used, "%c%d ", 'a' + n, i);
        }
        fill(&outbox_door, store, words);
    }
    ph_close(store);
    in_processes(3, consume, chase);
    store = t_open(NULL);
    REQ_INT("STR-002", atomic_load(&chase->handled), 8 * 20);
    for (int n = 0; n < 8; n++)
        REQ_INT("STR-004", atomic_load(&chase->next[n]), 20);
    CHECK_INT(claimable(store, 10), 0);
    all_is_well(store);
}
