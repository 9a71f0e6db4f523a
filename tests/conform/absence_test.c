/* absence_test.c - affinity costs nothing when the owner does not come: partitions belong only to
 * instances that claim the queue and the topic of a head, and one that has left a head lying, or
 * whose lease ran out, has none until it claims again (docs/states.md, Streams, Affinity). */
#include "lanes.h"

#define LANES 26 /* one letter each */

/* A stream whose partition belongs to the instance, for messages of TOPIC in the outbox. */
static const char *lane_of(ph_store *store, ph_owner instance)
{
    static char keys[LANES][2];

    for (int i = 0; i < LANES; i++) {
        keys[i][0] = (char)('a' + i);
        if (same_id(see_lane(&outbox_door, store, keys[i]).affinity_owner.b, instance.b))
            return keys[i];
    }
    FAIL("no stream belongs to it");
    return NULL;
}

/* Every stream has a message that is done, so that all are known. */
static void know_all(ph_store *store)
{
    for (int i = 0; i < LANES; i++) {
        char word[4];

        snprintf(word, sizeof(word), "%c0", 'a' + i);
        fill(&outbox_door, store, word);
    }
    CHECK(*worked(&outbox_door, store, ph_owner_new(), 100));
    t_clock_advance(store, T_SECOND);
    CHECK_STR(worked(&outbox_door, store, ph_owner_new(), 100), ""); /* and none of them is busy */
}

static void fill_one(ph_store *store, const char *key, int number)
{
    char word[16];

    snprintf(word, sizeof(word), "%s%d", key, number);
    fill(&outbox_door, store, word);
}

/* The instance takes the next message of the stream and is done with it: true; or there is nothing
 * for it. */
static bool works_one(ph_store *store, ph_owner instance)
{
    ph_work_batch_opts opts = a_claim(instance, 1), ack = a_call(instance);
    ph_settlement item = { .verb = PH_ACK };
    ph_work_batch *batch = work(store, &opts);
    bool any = ph_batch_count(batch->outbox) > 0;

    if (any) {
        item.lease = ph_lease_ref_of(ph_batch_at(batch->outbox, 0));
        ack.outbox = &item;
        ack.outbox_count = 1;
        work_only(store, &ack);
    }
    ph_work_batch_free(batch);
    return any;
}

/* The worker was killed: its instance counts as live for ten minutes, but it never comes. Only the
 * first of its heads waits out the grace. */
TEST(the_streams_of_a_killed_worker_wait_once)
{
    ph_store *store = open_at_epoch();
    ph_owner a = ph_owner_new(), killed = ph_owner_new();
    const char *key;
    int waited = 0;

    know_all(store);
    come(store, a);
    come(store, killed);
    key = lane_of(store, killed);
    for (int i = 1; i <= 15; i++) {
        fill_one(store, key, i);
        while (!works_one(store, a)) { /* an instance that polls every 100 ms */
            t_clock_advance(store, T_SECOND / 10);
            waited++;
        }
    }
    REQ_INT("STR-014", waited, 10); /* one second in all, for 15 messages */
    CHECK(same_id(see_lane(&outbox_door, store, key).affinity_owner.b, a.b));
    CHECK_INT(see_instance(store, killed).state, PH_INSTANCE_LIVE);
    all_is_well(store);
}

/* It was only slow: from its next claim on its streams are its own again. */
TEST(who_claims_again_has_its_partitions_again)
{
    ph_store *store = open_at_epoch();
    ph_owner a = ph_owner_new(), slow = ph_owner_new();
    const char *key;

    know_all(store);
    come(store, a);
    come(store, slow);
    key = lane_of(store, slow);
    fill_one(store, key, 1);
    CHECK(!works_one(store, a));
    t_clock_advance(store, T_SECOND);
    CHECK(works_one(store, a));
    fill_one(store, key, 2);
    CHECK(works_one(store, a));     /* at once */
    CHECK(!works_one(store, slow)); /* there is nothing, but it has come */
    CHECK(same_id(see_lane(&outbox_door, store, key).affinity_owner.b, slow.b));
    fill_one(store, key, 3);
    REQ("STR-014", !works_one(store, a));
    REQ("STR-014", works_one(store, slow));
    all_is_well(store);
}

/* Others took a head that was due before it came: that says nothing against it. */
TEST(a_head_from_before_its_time_is_not_held_against_an_instance)
{
    ph_store *store = open_at_epoch();
    ph_owner a = ph_owner_new(), late = ph_owner_new();
    const char *key;

    know_all(store);
    come(store, a);
    come(store, late);
    key = lane_of(store, late);
    OK(ph_instance_leave(store, PH_OWN_TX, late, 0, NULL, &t_err));
    late = ph_owner_new();
    fill_one(store, key, 1);
    t_clock_advance(store, 2 * T_SECOND);
    come(store, late);
    CHECK(works_one(store, a)); /* whosever it is */
    key = lane_of(store, late);
    fill_one(store, key, 2);
    CHECK(!works_one(store, a));
    all_is_well(store);
}

/* "once its lease ran out": its partitions are anybody's from that moment on, without a grace. */
TEST(whose_lease_ran_out_has_no_partitions)
{
    ph_store *store = open_at_epoch();
    ph_owner a = ph_owner_new(), killed = ph_owner_new();
    ph_work_batch_opts opts = a_claim(killed, 1);
    const char *key;
    char other[2] = "";

    know_all(store);
    come(store, a);
    come(store, killed);
    key = lane_of(store, killed);
    for (int i = 0; i < LANES && !*other; i++) { /* another one that is its own */
        char name[2] = { (char)('a' + i), '\0' };

        if (name[0] != key[0] &&
            same_id(see_lane(&outbox_door, store, name).affinity_owner.b, killed.b))
            other[0] = name[0];
    }
    CHECK(*other);
    opts.instance_lease_s = 10;
    fill_one(store, key, 1);
    ph_work_batch_free(work(store, &opts)); /* and is killed */
    t_clock_advance(store, 10 * T_SECOND + 1);
    fill_one(store, other, 1);
    REQ("STR-014", works_one(store, a));
    REQ("STR-014", works_one(store, a));
    all_is_well(store);
}

/* ----------------------------------------------------------- what it really claims */

static ph_work_batch_opts claims(ph_owner instance, const char *const *topic, const char *ns,
                                 unsigned flags)
{
    ph_work_batch_opts opts = a_claim(instance, 50);

    opts.topics = topic;
    opts.topic_count = topic ? 1 : 0;
    opts.ns = ns;
    opts.flags |= flags;
    return opts;
}

static void put_topic(ph_store *store, const char *topic, int stream)
{
    ph_message m = PH_MESSAGE_INIT;
    char key[2] = { (char)('a' + stream), '\0' };

    m.topic = topic;
    m.stream = key;
    m.payload = "x";
    OK(ph_enqueue(store, PH_OWN_TX, &m, 0, NULL, &t_err));
}

static size_t gets(ph_store *store, const ph_work_batch_opts *opts)
{
    ph_work_batch *batch = work(store, opts);
    size_t count = ph_batch_count(batch->outbox);

    ph_work_batch_free(batch);
    return count;
}

/* Two dispatchers of one service (the program's name) that do different work. */
TEST(instances_with_different_topics_do_not_wait_for_each_other)
{
    static const char *const mail[] = { "mail" }, *const bill[] = { "bill" };
    ph_store *store = open_at_epoch();
    ph_work_batch_opts a = claims(ph_owner_new(), mail, NULL, 0),
                       b = claims(ph_owner_new(), bill, NULL, 0);

    CHECK_INT(gets(store, &a) + gets(store, &b), 0);
    for (int i = 0; i < LANES; i++)
        put_topic(store, i % 2 ? "mail" : "bill", i);
    REQ_INT("STR-014", gets(store, &a), LANES / 2);
    REQ_INT("STR-014", gets(store, &b), LANES / 2);
    all_is_well(store);
}

/* What both claim belongs to one of them, the rest to who claims it. */
TEST(only_topics_that_both_claim_are_shared)
{
    static const char *const both[] = { "mail", "bill" }, *const bill[] = { "bill" };
    ph_store *store = open_at_epoch();
    ph_work_batch_opts a = claims(ph_owner_new(), both, NULL, 0),
                       b = claims(ph_owner_new(), bill, NULL, 0);
    size_t first, second;

    a.topic_count = 2;
    CHECK_INT(gets(store, &a) + gets(store, &b), 0);
    for (int i = 0; i < LANES; i++)
        put_topic(store, i % 2 ? "mail" : "bill", i);
    first = gets(store, &a);
    second = gets(store, &b);
    REQ("STR-014", first >= LANES / 2 && second > 0); /* all of the mail */
    REQ_INT("STR-014", first + second, LANES);
    all_is_well(store);
}

TEST(instances_of_other_namespaces_and_doors_do_not_count)
{
    ph_store *store = open_at_epoch();
    ph_work_batch_opts a = claims(ph_owner_new(), NULL, NULL, 0),
                       elsewhere = claims(ph_owner_new(), NULL, "elsewhere", 0),
                       inbox = claims(ph_owner_new(), NULL, NULL, PH_BATCH_NO_OUTBOX),
                       idle = claims(ph_owner_new(), NULL, NULL,
                                     PH_BATCH_NO_OUTBOX | PH_BATCH_NO_INBOX);

    CHECK_INT(gets(store, &a) + gets(store, &elsewhere) + gets(store, &inbox) + gets(store, &idle),
              0);
    for (int i = 0; i < LANES; i++)
        put_topic(store, "mail", i);
    REQ_INT("STR-014", gets(store, &a), LANES);
    all_is_well(store);
}

/* One that asks now for these topics, now for those, claims all of them. */
TEST(an_instance_may_ask_for_its_topics_in_turn)
{
    static const char *const mail[] = { "mail" }, *const bill[] = { "bill" };
    ph_store *store = open_at_epoch();
    ph_owner instance = ph_owner_new();
    ph_work_batch_opts a = claims(instance, mail, NULL, 0), b = claims(instance, bill, NULL, 0),
                       all = claims(ph_owner_new(), NULL, NULL, 0);
    size_t first;

    CHECK_INT(gets(store, &a) + gets(store, &b) + gets(store, &all), 0);
    for (int i = 0; i < LANES; i++)
        put_topic(store, i % 2 ? "mail" : "bill", i);
    first = gets(store, &all);
    REQ("STR-014", first > 0 && first < LANES);
    first += gets(store, &a);
    CHECK(first < LANES);
    REQ_INT("STR-014", first + gets(store, &b), LANES);
    all_is_well(store);
}
