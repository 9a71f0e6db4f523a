/* affinity_test.c - instances and the streams that are theirs for a while: "a claim of an instance
 * (and only that) passes over heads whose partition belongs to another live instance of its service
 * for as long as due > T - affinity_grace_ms" (docs/states.md, Streams, Affinity). Who does not
 * come for them is in absence_test.c. */
#include "lanes.h"

#include <stdlib.h>

#define LANES 26 /* one letter each */

/* Stores the head of every stream, "a1 b1 …"; then the messages with the number given. */
static void fill_all(ph_store *store, int number)
{
    char words[LANES * 8] = "";

    for (int i = 0; i < LANES; i++) {
        size_t used = strlen(words);

        snprintf(words + used, sizeof(words) - used, "%c%d ", 'a' + i, number);
    }
    fill(&outbox_door, store, words);
}

/* Whose each stream is, of SERVICE. */
static void owners(ph_store *store, ph_owner ret_owners[LANES])
{
    for (int i = 0; i < LANES; i++) {
        char key[2] = { (char)('a' + i), '\0' };

        ret_owners[i] = see_lane(&outbox_door, store, key).affinity_owner;
    }
}

static int how_many(const ph_owner *owned, ph_owner owner)
{
    int count = 0;

    for (int i = 0; i < LANES; i++)
        count += same_id(owned[i].b, owner.b);
    return count;
}

/* Every message of the batch is of a stream that belongs to this owner. */
static void check_own(const ph_batch *batch, const ph_owner *owned, ph_owner owner)
{
    for (size_t i = 0; i < ph_batch_count(batch); i++)
        REQ("STR-014", same_id(owned[ph_batch_at(batch, i)->stream[0] - 'a'].b, owner.b));
}

TEST(a_due_head_is_left_to_the_instance_that_its_partition_belongs_to)
{
    ph_store *store = open_at_epoch();
    ph_owner a = ph_owner_new(), b = ph_owner_new(), owned[LANES];
    ph_work_batch_opts opts = a_claim(a, 100);
    ph_work_batch *batch;

    come(store, a);
    come(store, b);
    fill_all(store, 1);
    fill(&outbox_door, store, "-x");
    owners(store, owned);
    CHECK_INT(how_many(owned, a) + how_many(owned, b), LANES);
    CHECK(how_many(owned, a) > 0 && how_many(owned, b) > 0);
    batch = work(store, &opts);
    REQ_INT("STR-014", ph_batch_count(batch->outbox), how_many(owned, a) + 1); /* and -x */
    CHECK_STR(ph_batch_at(batch->outbox, ph_batch_count(batch->outbox) - 1)->payload, "-x");
    for (size_t i = 0; i + 1 < ph_batch_count(batch->outbox); i++)
        REQ("STR-014", same_id(owned[ph_batch_at(batch->outbox, i)->stream[0] - 'a'].b, a.b));
    ph_work_batch_free(batch);
    t_clock_advance(store, T_SECOND - 1); /* the grace is not over yet */
    REQ_STR("STR-014", instance_claimed(store, a, 100), "");
    t_clock_advance(store, 1); /* now anybody may */
    batch = work(store, &opts);
    REQ_INT("STR-014", ph_batch_count(batch->outbox), how_many(owned, b));
    check_own(batch->outbox, owned, b);
    ph_work_batch_free(batch);
    all_is_well(store);
}

TEST(the_other_one_takes_what_is_its_own)
{
    ph_store *store = open_at_epoch();
    ph_owner a = ph_owner_new(), b = ph_owner_new(), owned[LANES];
    ph_work_batch_opts opts = a_claim(a, 100);
    ph_work_batch *first, *second;

    come(store, a);
    come(store, b);
    fill_all(store, 1);
    fill_all(store, 2); /* runs, too */
    owners(store, owned);
    first = work(store, &opts);
    opts.instance_id = b;
    second = work(store, &opts);
    check_own(first->outbox, owned, a);
    check_own(second->outbox, owned, b);
    REQ_INT("STR-014", ph_batch_count(first->outbox) + ph_batch_count(second->outbox), 2 * LANES);
    ph_work_batch_free(first);
    ph_work_batch_free(second);
    all_is_well(store);
}

/* "A claim by an owner that is not an instance takes any." */
TEST(who_is_no_instance_takes_any_stream)
{
    ph_store *store = open_at_epoch();

    come(store, ph_owner_new());
    come(store, ph_owner_new());
    fill_all(store, 1);
    REQ_INT("STR-014", claimable(store, 100), LANES);
    all_is_well(store);
}

/* Each service has its own instances: one of another takes no account of them. */
TEST(affinity_is_among_the_instances_of_one_service)
{
    ph_store *store = open_at_epoch();
    ph_work_batch_opts opts = a_claim(ph_owner_new(), 100);
    ph_work_batch *batch;

    come(store, ph_owner_new());
    come(store, ph_owner_new());
    fill_all(store, 1);
    opts.service_name = "another";
    batch = work(store, &opts);
    REQ_INT("STR-014", ph_batch_count(batch->outbox), LANES);
    ph_work_batch_free(batch);
    all_is_well(store);
}

/* affinity_grace_ms of the queue: longer, and none at all. */
TEST(the_grace_is_a_setting_of_the_queue)
{
    ph_store *store = open_at_epoch();
    ph_queue_settings settings = PH_QUEUE_SETTINGS_INIT;
    ph_owner a = ph_owner_new(), b = ph_owner_new(), owned[LANES];
    ph_work_batch_opts opts = a_claim(a, 100);
    ph_work_batch *batch;

    settings.affinity_grace_ms = 60000;
    set_queue(store, &settings);
    come(store, a);
    come(store, b);
    fill_all(store, 1);
    owners(store, owned);
    t_clock_advance(store, 60 * T_SECOND - 1);
    batch = work(store, &opts);
    CHECK_INT(ph_batch_count(batch->outbox), how_many(owned, a));
    ph_work_batch_free(batch);
    settings.affinity_grace_ms = PH_NO_GRACE;
    set_queue(store, &settings);
    batch = work(store, &opts);
    REQ_INT("STR-014", ph_batch_count(batch->outbox), LANES - how_many(owned, a));
    ph_work_batch_free(batch);
    all_is_well(store);
}

/* The grace is counted from the head's due time, a retry's too. */
TEST(a_retry_is_left_to_the_owner_of_its_partition_first)
{
    ph_store *store = open_at_epoch();
    ph_owner a = ph_owner_new(), b = ph_owner_new(), mine, other;
    ph_owner outsider = ph_owner_new();
    ph_batch *batch;

    come(store, a);
    come(store, b);
    fill(&outbox_door, store, "a1 a2");
    mine = see_lane(&outbox_door, store, "a").affinity_owner;
    other = same_id(mine.b, a.b) ? b : a;
    batch = t_claim(store, outsider, 50);
    CHECK_STR(settled(&outbox_door, store, outsider, batch, "abandon+10000 a1"), "abandoned");
    ph_batch_free(batch);
    t_clock_advance(store, 10 * T_SECOND);
    REQ_STR("STR-014", instance_claimed(store, other, 50), "");
    REQ_STR("STR-014", instance_claimed(store, mine, 50), "a1 a2");
    all_is_well(store);
}

/* Scenario 6: "a message that waits for its retry while the number of instances changes is still
 * picked up by someone". */
TEST(a_retry_is_picked_up_though_the_instances_have_changed)
{
    ph_store *store = open_at_epoch();
    ph_owner a = ph_owner_new(), b = ph_owner_new(), c = ph_owner_new(), d = ph_owner_new();
    ph_settlement item = { .verb = PH_ABANDON, .delay_ms = 10000 };
    ph_work_batch_opts opts = a_claim(a, 50), more = a_call(a);
    ph_work_batch *batch;

    come(store, a);
    fill(&outbox_door, store, "a1 a2 a3");
    batch = work(store, &opts);
    CHECK_STR(payloads(batch->outbox), "a1 a2 a3");
    item.lease = ph_lease_ref_of(ph_batch_at(batch->outbox, 0));
    ph_work_batch_free(batch);
    more.outbox = &item;
    more.outbox_count = 1;
    work_only(store, &more);
    come(store, b); /* out … */
    come(store, c);
    t_clock_advance(store, 5 * T_SECOND);
    OK(ph_instance_leave(store, PH_OWN_TX, a, 0, NULL, &t_err)); /* … and in */
    OK(ph_instance_leave(store, PH_OWN_TX, b, 0, NULL, &t_err));
    come(store, d);
    REQ_STR("STR-009", instance_claimed(store, c, 50), "");
    REQ_STR("STR-009", instance_claimed(store, d, 50), "");
    t_clock_advance(store, 5 * T_SECOND);
    {
        char both[200];

        snprintf(both, sizeof(both), "%s", instance_claimed(store, c, 50));
        snprintf(both + strlen(both), sizeof(both) - strlen(both), "%s",
                 instance_claimed(store, d, 50));
        REQ_STR("STR-009", both, "a1 a2 a3"); /* one of the two, at once */
    }
    all_is_well(store);
}

/* "0: that of the service's live instances", and without a service there is no owner to name. */
TEST(a_list_goes_by_the_partitions_of_the_service)
{
    ph_store *store = open_at_epoch();
    ph_owner a = ph_owner_new(), b = ph_owner_new();
    ph_work_batch_opts opts = a_call(a);
    ph_stream_list_opts wanted = PH_STREAM_LIST_OPTS_INIT;
    ph_streams *list = NULL;

    fill(&outbox_door, store, "a1");
    CHECK_INT(see_lane(&outbox_door, store, "a").partition, ph_stream_partition("a", 0));
    opts.flags = PH_BATCH_NO_OUTBOX | PH_BATCH_NO_INBOX;
    opts.partition_count = 7;
    work_only(store, &opts);
    CHECK_INT(see_lane(&outbox_door, store, "a").partition, ph_stream_partition("a", 7));
    t_clock_advance(store, T_SECOND);
    opts.instance_id = b;
    opts.partition_count = 9;
    work_only(store, &opts);
    CHECK_INT(see_lane(&outbox_door, store, "a").partition, ph_stream_partition("a", 7));
    OK(ph_instance_leave(store, PH_OWN_TX, a, 0, NULL, &t_err));
    CHECK_INT(see_lane(&outbox_door, store, "a").partition, ph_stream_partition("a", 9));
    CHECK(
        ph_id_is_zero(see_lane(&outbox_door, store, "a").affinity_owner.b)); /* b claims nothing */
    come(store, b);
    CHECK(same_id(see_lane(&outbox_door, store, "a").affinity_owner.b, b.b));
    OK(ph_stream_list(store, PH_OWN_TX, &wanted, 0, &list, &t_err));
    CHECK_INT(ph_streams_at(list, 0)->partition, ph_stream_partition("a", 0));
    CHECK(!ph_streams_at(list, 0)->affinity_service);
    CHECK(ph_id_is_zero(ph_streams_at(list, 0)->affinity_owner.b));
    ph_streams_free(list);
    all_is_well(store);
}

/* An instance that is removed leaves its partitions to the others; they keep their own. */
TEST(partitions_move_only_from_who_goes_and_to_who_comes)
{
    ph_store *store = open_at_epoch();
    ph_owner a = ph_owner_new(), b = ph_owner_new(), c = ph_owner_new();
    ph_owner two[LANES], three[LANES], again[LANES];

    come(store, a);
    fill_all(store, 1);
    owners(store, two);
    CHECK_INT(how_many(two, a), LANES); /* alone: all of them */
    CHECK_STR(see_lane(&outbox_door, store, "a").affinity_service, SERVICE);
    come(store, b);
    owners(store, two);
    come(store, c);
    owners(store, three);
    CHECK(how_many(three, c) > 0);
    for (int i = 0; i < LANES; i++)
        REQ("STR-014", same_id(three[i].b, two[i].b) || same_id(three[i].b, c.b));
    OK(ph_instance_leave(store, PH_OWN_TX, c, 0, NULL, &t_err));
    owners(store, again);
    REQ_INT("STR-014", memcmp(again, two, sizeof(two)), 0);
    /* evicted, not left: the same */
    t_clock_advance(store, 601 * T_SECOND);
    come(store, a);
    CHECK_INT(see_instance(store, b).state, PH_INSTANCE_EVICTED);
    owners(store, again);
    REQ_INT("STR-014", how_many(again, a), LANES);
    all_is_well(store);
}

/* "sticky while being worked on": who comes steals nothing. */
TEST(a_new_instance_steals_nothing_that_is_being_worked_on)
{
    ph_store *store = open_at_epoch();
    ph_owner a = ph_owner_new(), b = ph_owner_new(), owned[LANES];
    ph_settlement *items;
    ph_work_batch_opts opts = a_claim(a, 100), ack = a_call(a);
    ph_work_batch *batch, *done;
    size_t count;

    come(store, a);
    fill_all(store, 1);
    batch = work(store, &opts);
    count = ph_batch_count(batch->outbox);
    CHECK_INT(count, LANES);
    fill_all(store, 2);
    REQ_STR("STR-016", instance_claimed(store, b, 100), ""); /* registers, too */
    owners(store, owned);
    CHECK(how_many(owned, b) > 0);
    items = calloc(count, sizeof(*items));
    for (size_t i = 0; i < count; i++) {
        items[i].verb = PH_ACK;
        items[i].lease = ph_lease_ref_of(ph_batch_at(batch->outbox, i));
    }
    ack.outbox = items;
    ack.outbox_count = count;
    done = work(store, &ack);
    for (size_t i = 0; i < count; i++)
        REQ_INT("STR-016", done->outbox_outcomes[i], PH_OUTCOME_ACKED);
    ph_work_batch_free(done);
    ph_work_batch_free(batch);
    free(items);
    opts = a_claim(b, 100); /* what follows is b's, where it belongs to it */
    batch = work(store, &opts);
    CHECK_INT(ph_batch_count(batch->outbox), how_many(owned, b));
    check_own(batch->outbox, owned, b);
    ph_work_batch_free(batch);
    all_is_well(store);
}

/* The inbox has streams, too: same owners, same grace. */
TEST(the_inbox_has_the_same_affinity)
{
    ph_store *store = open_at_epoch();
    ph_owner a = ph_owner_new(), b = ph_owner_new();
    ph_work_batch_opts opts;
    ph_work_batch *batch;
    size_t count = 0;

    come(store, a);
    come(store, b);
    fill(&inbox_door, store, "a1 b1 c1 d1 e1 f1 g1 h1 i1 j1 k1 l1 m1 n1 o1 p1 q1 r1 s1 t1");
    for (int i = 0; i < 2; i++) {
        ph_owner self = i ? b : a;

        opts = a_claim(self, 100);
        batch = work(store, &opts);
        for (size_t n = 0; n < ph_batch_count(batch->inbox); n++) {
            struct lane_seen s = see_lane(&inbox_door, store, ph_batch_at(batch->inbox, n)->stream);

            REQ("STR-014", same_id(s.affinity_owner.b, self.b));
            count++;
        }
        ph_work_batch_free(batch);
    }
    CHECK_INT(count, 20);
    all_is_well(store);
}

/* ---------------------------------------------------------------- max_partitions */

/* "if it has a maximum of partitions, heads of other partitions than those of which it holds runs,
 * once it has that many" */
TEST(an_instance_works_on_no_more_partitions_than_it_may)
{
    ph_store *store = open_at_epoch();
    ph_owner a = ph_owner_new();
    ph_settlement item = { .verb = PH_ACK };
    ph_work_batch_opts opts = a_claim(a, 100);
    ph_work_batch *batch;

    opts.max_partitions = 3;
    fill(&outbox_door, store, "a1 a2 b1 c1 d1 e1 -x");
    batch = work(store, &opts);
    REQ_STR("STR-015", payloads(batch->outbox),
            "a1 a2 b1 c1 -x"); /* who has no stream counts not */
    item.lease = ph_lease_ref_of(delivered(batch->outbox, "b1"));
    ph_work_batch_free(batch);
    fill(&outbox_door, store, "a3 -y");
    batch = work(store, &opts);
    REQ_STR("STR-015", payloads(batch->outbox), "-y"); /* no fourth */
    ph_work_batch_free(batch);
    opts.outbox = &item; /* one is done: there is room for one */
    opts.outbox_count = 1;
    batch = work(store, &opts);
    CHECK_INT(batch->outbox_outcomes[0], PH_OUTCOME_ACKED);
    REQ_STR("STR-015", payloads(batch->outbox), "d1");
    ph_work_batch_free(batch);
    opts = a_claim(a, 100); /* without a maximum: all */
    batch = work(store, &opts);
    REQ_STR("STR-015", payloads(batch->outbox), "e1");
    ph_work_batch_free(batch);
    all_is_well(store);
}

/* … wherever those without a stream stand among the heads. */
TEST(messages_without_a_stream_take_no_room_from_partitions)
{
    static const char *const expected[] = { "-x a1 a2 -y", "-x a1 a2 b1 -y", "-x a1 a2 b1 -y c1" };
    ph_store *store = open_at_epoch();

    for (int most = 1; most <= 3; most++) {
        ph_work_batch_opts opts = a_claim(ph_owner_new(), 100);
        char ns[] = { (char)('0' + most), '\0' };
        ph_work_batch *batch;

        opts.ns = ns;
        opts.max_partitions = most;
        fill_in(&outbox_door, store, ns, "-x a1 a2 b1 -y c1 d1");
        batch = work(store, &opts);
        REQ_STR("STR-015", payloads(batch->outbox), expected[most - 1]);
        ph_work_batch_free(batch);
        CHECK_STR(lane_in(&outbox_door, store, ns, "d"), "d1=ready");
        all_is_well(store); /* no stream without its token */
        OK(ph_instance_leave(store, PH_OWN_TX, opts.instance_id, 0, NULL, &t_err));
    }
}

/* Partitions, not streams: others of a partition that it holds may come. */
TEST(streams_of_a_partition_that_it_holds_may_come_on_top)
{
    ph_store *store = open_at_epoch();
    ph_owner a = ph_owner_new();
    ph_work_batch_opts opts = a_claim(a, 100);
    ph_work_batch *batch;
    bool seen[4] = { false };
    int partitions = 0;

    opts.partition_count = 4;
    opts.max_partitions = 2;
    fill_all(store, 1);
    for (int round = 0; round < 2; round++) {
        batch = work(store, &opts);
        CHECK(round > 0 || ph_batch_count(batch->outbox) > 2);
        for (size_t i = 0; i < ph_batch_count(batch->outbox); i++) {
            int partition = ph_stream_partition(ph_batch_at(batch->outbox, i)->stream, 4);

            partitions += !seen[partition];
            seen[partition] = true;
        }
        ph_work_batch_free(batch);
    }
    REQ_INT("STR-015", partitions, 2);
    for (int i = 0; i < LANES; i++) { /* and all of these two were taken */
        char key[2] = { (char)('a' + i), '\0' };

        CHECK_INT(see_lane(&outbox_door, store, key).state,
                  seen[ph_stream_partition(key, 4)] ? PH_STREAM_IN_PROGRESS : PH_STREAM_READY);
    }
    all_is_well(store);
}
