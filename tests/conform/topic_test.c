/* topic_test.c - claims that name topics, with many messages of other topics ahead: SQLite then
 * finds them in an index of their own, and must find them all, in the order of all. */
#include "common.h"

#include <stdlib.h>

/* Messages of other topics that are due before all others, on every level. */
static void crowd(ph_store *store, int count)
{
    static const ph_priority priorities[] = { PH_PRIORITY_URGENT, PH_PRIORITY_NORMAL,
                                              PH_PRIORITY_LOW, PH_PRIORITY_BULK };
    ph_message *messages = calloc((size_t)count + 1, sizeof(*messages));

    CHECK(messages != NULL);
    for (int i = 0; i < count; i++) {
        messages[i] = a_message(i % 8 < 4 ? "crowd" : "throng", "not wanted");
        messages[i].priority = priorities[i % 4];
    }
    if (count)
        OK(ph_enqueue_many(store, PH_OWN_TX, messages, (size_t)count, 0, NULL, &t_err));
    free(messages);
}

static ph_batch *claim_topics(ph_store *store, ph_owner owner, int size, const char *const *topics,
                              size_t count)
{
    ph_claim_opts opts = PH_CLAIM_OPTS_INIT;

    opts.batch_size = size;
    opts.topics = topics;
    opts.topic_count = count;
    return claim_with(store, owner, &opts);
}

/* What a claim of one topic gets; it stays leased. */
static const char *found(ph_store *store, const char *topic)
{
    ph_batch *batch = claim_topics(store, ph_owner_new(), 10, &topic, 1);
    const char *text = payloads(batch);

    ph_batch_free(batch);
    return text;
}

/* The only message of a topic, claimed. */
static ph_lease_ref take_topic(ph_store *store, ph_owner owner, const char *topic)
{
    ph_batch *batch = claim_topics(store, owner, 10, &topic, 1);
    ph_lease_ref ref;

    CHECK_INT(ph_batch_count(batch), 1);
    ref = ph_lease_ref_of(ph_batch_at(batch, 0));
    ph_batch_free(batch);
    return ref;
}

struct wanted {
    int number;
    ph_message message;
    char payload[8];
};

/* urgent, normal, low, bulk */
static int rank(ph_priority priority)
{
    return priority == PH_PRIORITY_URGENT   ? 0
           : priority == PH_PRIORITY_NORMAL ? 1
           : priority == PH_PRIORITY_LOW    ? 2
                                            : 3;
}

static int by_claim(const void *one, const void *other)
{
    const struct wanted *a = one, *b = other;
    int64_t order = rank(a->message.priority) - rank(b->message.priority);

    if (order == 0)
        order = a->message.due_at - b->message.due_at;
    if (order == 0)
        order = a->number - b->number;
    return order < 0 ? -1 : 1;
}

static void check_order(ph_store *store, struct wanted *wanted, size_t count, int size,
                        const char *const *topics, size_t topic_count)
{
    size_t at = 0;

    qsort(wanted, count, sizeof(*wanted), by_claim);
    while (at < count) {
        ph_batch *batch = claim_topics(store, ph_owner_new(), size, topics, topic_count);

        CHECK(ph_batch_count(batch) > 0);
        for (size_t i = 0; i < ph_batch_count(batch); i++, at++)
            CHECK_STR(ph_batch_at(batch, i)->payload, wanted[at].payload);
        ph_batch_free(batch);
    }
    CHECK_INT(at, count);
}

/* Due times and priorities repeat across topics; batches are smaller and larger than a topic. */
static void order_over_topics(int size, int ahead)
{
    static const char *const topics[] = { "a", "b", "c", "d", "absent" };
    static const ph_priority priorities[] = { PH_PRIORITY_NORMAL, PH_PRIORITY_URGENT,
                                              PH_PRIORITY_NORMAL };
    ph_store *store = t_open(NULL);
    struct wanted wanted[90];
    struct t_conn *conn;

    t_clock_set(store, T_EPOCH);
    CHECK_STR(found(store, "absent"), "");
    crowd(store, ahead);
    for (int i = 0; i < 90; i++) {
        struct wanted *w = &wanted[i];

        *w = (struct wanted){ .number = i };
        snprintf(w->payload, sizeof(w->payload), "%d", i);
        w->message = a_message(topics[i * i % 11 % 4], w->payload);
        w->message.priority = priorities[i % 3];
        w->message.due_at = T_EPOCH + 1 + i * 37 % 23;
        put(store, &w->message);
    }
    t_clock_advance(store, T_SECOND);
    check_order(store, wanted, 90, size, topics, 5);
    for (int i = 0; i < 5; i++)
        CHECK_STR(found(store, topics[i]), "");
    conn = t_connect();
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}outbox WHERE status_code = 0"), ahead);
    t_check_places(conn);
    t_disconnect(conn);
    ph_close(store);
    t_start_over();
}

TEST(the_order_over_several_topics_is_that_of_all)
{
    t_limit(120);
    order_over_topics(7, 0);
    order_over_topics(7, 600);
    order_over_topics(40, 600);
    order_over_topics(100, 600);
}

TEST(topics_are_found_when_they_begin_to_be_named_with_a_backlog)
{
    static const char *const topics[] = { "a", "b" };
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();

    crowd(store, 800);
    t_enqueue(store, "b", "1");
    t_enqueue(store, "a", "2");
    crowd(store, 1600);
    t_enqueue(store, "a", "3");
    for (int i = 1; i <= 3; i++) {
        ph_batch *batch = claim_topics(store, ph_owner_new(), 1, topics, 2);
        char expected[2] = { (char)('0' + i), '\0' };

        CHECK_STR(payloads(batch), expected);
        ph_batch_free(batch);
        t_check_places(conn);
    }
    CHECK_STR(found(store, "a"), "");
    CHECK_INT(claimable(store, 500), 500);
    t_check_places(conn);
}

TEST(what_comes_back_is_found_by_its_topic)
{
    ph_store *store = t_open(NULL);
    ph_owner owner = ph_owner_new();
    struct t_conn *conn = t_connect();
    ph_work_id dead, again;
    ph_lease_ref ref;

    t_clock_set(store, T_EPOCH);
    crowd(store, 800);
    t_enqueue(store, "mine", "payload");
    ref = take_topic(store, owner, "mine");
    CHECK_INT(settle(store, owner, ref, PH_RELEASE, NULL, 0), PH_OUTCOME_RELEASED);
    ref = take_topic(store, owner, "mine");
    CHECK_INT(settle(store, owner, ref, PH_ABANDON, "no", 1000), PH_OUTCOME_ABANDONED);
    CHECK_STR(found(store, "mine"), "");
    t_clock_advance(store, T_SECOND);
    (void)take_topic(store, owner, "mine");
    t_clock_advance(store, 31 * T_SECOND); /* its lease runs out, and the claim takes it back */
    ref = take_topic(store, owner, "mine");
    CHECK_INT(settle(store, owner, ref, PH_FAIL, "no", 0), PH_OUTCOME_FAILED);
    dead = ref.work_id;
    OK(ph_dead_retry(store, PH_OWN_TX, &dead, 1, 0, &again, &t_err));
    CHECK(same_id(take_topic(store, owner, "mine").work_id.b, again.b));
    t_check_places(conn);
}

TEST(heads_of_streams_are_found_by_their_topic)
{
    static const char *const topics[] = { "mine", "other", "mine", "mine" };
    ph_store *store = t_open(NULL);
    ph_owner owner = ph_owner_new();
    struct t_conn *conn = t_connect();
    ph_lease_ref ref;

    crowd(store, 800);
    for (int i = 0; i < 4; i++) {
        char payload[2] = { (char)('1' + i), '\0' };
        ph_message m = a_message(topics[i], payload);

        m.stream = "s";
        put(store, &m);
    }
    ref = take_topic(store, owner, "mine"); /* the run ends before the other topic */
    CHECK_STR(found(store, "other"), "");
    CHECK_INT(ack(store, owner, ref), PH_OUTCOME_ACKED);
    CHECK_STR(found(store, "mine"), "");
    ref = take_topic(store, owner, "other");
    CHECK_INT(settle(store, owner, ref, PH_FAIL, "no", 0), PH_OUTCOME_FAILED);
    CHECK_STR(found(store, "mine"), "3 4");
    t_check_places(conn);
}
