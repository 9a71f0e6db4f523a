/* claim_test.c - who gets which messages, in which order, and what the lease says. */
#include "common.h"

#include <time.h>

TEST(an_empty_queue_answers_with_an_empty_batch)
{
    ph_store *store = t_open(NULL);
    ph_batch *batch = t_claim(store, ph_owner_new(), 10);

    REQ("OBX-023", batch != NULL);
    REQ_INT("OBX-023", ph_batch_count(batch), 0);
    CHECK(ph_batch_at(batch, 0) == NULL);
    ph_batch_free(batch);
}

TEST(polling_an_empty_queue_changes_nothing)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_owner owner = ph_owner_new();
    const char *version = "PRAGMA data_version";
    ph_lease_ref ref;
    long long before;

    t_enqueue(store, "orders", "x");
    ref = take_one(store, owner);
    CHECK_INT(ack(store, owner, ref), PH_OUTCOME_ACKED);
    before = t_is_pg() ? 0 : t_number(conn, version);
    for (int i = 0; i < 40; i++)
        CHECK_INT(claimable(store, 10), 0);
    if (!t_is_pg())
        CHECK_INT(t_number(conn, version), before);
    t_enqueue(store, "orders", "y");
    CHECK_INT(take_one(store, owner).fence, ref.fence + 1); /* empty claims use up no fence */
    t_disconnect(conn);
}

TEST(a_claim_takes_no_more_than_it_asked_for)
{
    ph_store *store = t_open(NULL);
    ph_enqueued e[10];
    ph_lease_ref refs[10];

    put_many(store, "orders", 10, e);
    REQ_INT("OBX-026", take(store, ph_owner_new(), 4, refs), 4);
    for (int i = 0; i < 4; i++)
        REQ("OBX-017 OBX-022", same_id(refs[i].work_id.b, e[i].work_id.b));
    REQ_INT("OBX-017 OBX-022", take(store, ph_owner_new(), 10, refs), 6);
    for (int i = 0; i < 6; i++)
        REQ("OBX-022", same_id(refs[i].work_id.b, e[4 + i].work_id.b));
    CHECK_INT(claimable(store, 10), 0);
}

TEST(a_full_batch_does_not_mean_more)
{
    ph_store *store = t_open(NULL);

    put_many(store, "orders", 4, NULL);
    CHECK_INT(claimable(store, 4), 4);
    CHECK_INT(claimable(store, 4), 0);
}

TEST(the_lease_says_who_and_how_long)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_claim_opts opts = PH_CLAIM_OPTS_INIT;
    ph_owner owner = ph_owner_new();
    char text[PH_ID_TEXT_SIZE];
    ph_enqueued e;
    ph_batch *batch;
    struct seen s;

    t_clock_set(store, T_EPOCH);
    e = t_enqueue(store, "orders", "x");
    t_clock_advance(store, 5 * T_SECOND);
    opts.lease_s = 77;
    batch = claim_with(store, owner, &opts);
    s = see(store, e.work_id);
    CHECK_INT(s.status, PH_IN_PROGRESS);
    REQ_INT("OBX-020", s.locked_until, T_EPOCH + 82 * T_SECOND);
    REQ("OBX-021", same_id(s.owner.b, owner.b));
    CHECK_INT(s.fence, ph_batch_at(batch, 0)->fence);
    CHECK_INT(s.attempts, 1);
    CHECK_INT(s.updated_at, T_EPOCH + 5 * T_SECOND);
    CHECK_INT(s.next_attempt_at, 0);
    REQ_STR("OBX-021", t_view(conn, e.work_id, "owner_token"), ph_id_text(owner.b, text));
    CHECK_STR(t_view(conn, e.work_id, "status"), "in_progress");
    CHECK_STR(t_view(conn, e.work_id, "status_code"), "1");
    CHECK_STR(t_view(conn, e.work_id, "attempts"), "1");
    t_check_places(conn);
    ph_batch_free(batch);
    t_disconnect(conn);
}

TEST(only_what_is_due_is_claimed)
{
    ph_store *store = t_open(NULL);
    ph_message m = a_message("orders", "later");

    t_clock_set(store, T_EPOCH);
    m.due_at = T_EPOCH + 1;
    put(store, &m);
    m = a_message("orders", "now");
    m.due_at = T_EPOCH;
    put(store, &m);
    REQ_STR("OBX-018", claimed_payloads(store, ph_owner_new(), 10), "now");
    t_clock_advance(store, 1);
    REQ_STR("OBX-018", claimed_payloads(store, ph_owner_new(), 10), "later");
}

TEST(a_live_lease_is_never_handed_to_another)
{
    ph_store *store = t_open(NULL);

    t_clock_set(store, T_EPOCH);
    t_enqueue(store, "orders", "x");
    CHECK_INT(claimable(store, 1), 1);
    REQ("OBX-019 OBX-101", claimable(store, 1) == 0);
    t_clock_set(store, T_EPOCH + 30 * T_SECOND); /* the last moment of the lease */
    REQ("OBX-019 OBX-101", claimable(store, 1) == 0);
    t_clock_advance(store, 1);
    REQ("OBX-019 OBX-053", claimable(store, 1) == 1);
}

TEST(settled_messages_are_not_claimed)
{
    ph_store *store = t_open(NULL);
    ph_owner owner = ph_owner_new();

    t_clock_set(store, T_EPOCH);
    t_enqueue(store, "orders", "done");
    CHECK_INT(ack(store, owner, take_one(store, owner)), PH_OUTCOME_ACKED);
    t_enqueue(store, "orders", "dead");
    CHECK_INT(settle(store, owner, take_one(store, owner), PH_FAIL, NULL, 0), PH_OUTCOME_FAILED);
    t_clock_advance(store, 1000 * T_SECOND);
    REQ_INT("OBX-024 OBX-025", claimable(store, 10), 0);
}

/* --------------------------------------------------------------------- the order */

static void put_ordered(ph_store *store, const char *payload, ph_priority priority, int64_t due_at)
{
    ph_message m = a_message("orders", payload);

    m.priority = priority;
    m.due_at = due_at;
    put(store, &m);
}

TEST(the_order_is_priority_then_due_time_then_age)
{
    ph_store *store = t_open(NULL);

    t_clock_set(store, T_EPOCH);
    put_ordered(store, "bulk", PH_PRIORITY_BULK, 0);
    put_ordered(store, "low", PH_PRIORITY_LOW, 0);
    put_ordered(store, "normal-late", PH_PRIORITY_NORMAL, T_EPOCH + 2);
    put_ordered(store, "normal-early", PH_PRIORITY_NORMAL, T_EPOCH + 1);
    put_ordered(store, "normal-early-younger", (ph_priority)0, T_EPOCH + 1);
    put_ordered(store, "urgent-last", PH_PRIORITY_URGENT, T_EPOCH + 3);
    t_clock_advance(store, 10);
    CHECK_STR(claimed_payloads(store, ph_owner_new(), 10),
              "urgent-last normal-early normal-early-younger normal-late low bulk");
}

TEST(every_sixteenth_claim_reads_the_priorities_in_reverse)
{
    ph_store *store = t_open(NULL);
    ph_owner owner = ph_owner_new();

    for (int fence = 1; fence <= 33; fence++) {
        bool reversed = fence % 16 == 0;
        ph_batch *batch;

        put_ordered(store, "urgent", PH_PRIORITY_URGENT, 0);
        put_ordered(store, "bulk", PH_PRIORITY_BULK, 0);
        batch = t_claim(store, owner, 2);
        CHECK_INT(ph_batch_at(batch, 0)->fence, fence);
        CHECK_STR(payloads(batch), reversed ? "bulk urgent" : "urgent bulk");
        CHECK_INT(t_ack_all(store, owner, batch), 2);
    }
}

TEST(nothing_starves_behind_urgent_messages)
{
    ph_store *store = t_open(NULL);
    ph_owner owner = ph_owner_new();
    int bulk_at = 0;

    put_ordered(store, "bulk", PH_PRIORITY_BULK, 0);
    for (int i = 1; i <= 20 && !bulk_at; i++) {
        ph_batch *batch;

        put_ordered(store, "urgent", PH_PRIORITY_URGENT, 0);
        batch = t_claim(store, owner, 1);
        if (strcmp(ph_batch_at(batch, 0)->payload, "bulk") == 0)
            bulk_at = i;
        CHECK_INT(t_ack_all(store, owner, batch), 1);
    }
    CHECK_INT(bulk_at, 16);
}

/* ---------------------------------------------------------------- topics, pausing */

static const char *with_topics(ph_store *store, const char *const *topics, size_t count)
{
    ph_claim_opts opts = PH_CLAIM_OPTS_INIT;
    ph_batch *batch;
    const char *text;

    opts.topics = topics;
    opts.topic_count = count;
    batch = claim_with(store, ph_owner_new(), &opts);
    text = payloads(batch);
    ph_batch_free(batch);
    return text;
}

TEST(a_claim_can_name_its_topics)
{
    static const char *const ab[] = { "b", "a", "b" }, *const none[] = { "d" },
                             *const c[] = { "c" };
    ph_store *store = t_open(NULL);

    t_enqueue(store, "a", "a1");
    t_enqueue(store, "c", "c1");
    t_enqueue(store, "b", "b1");
    t_enqueue(store, "a", "a2");
    CHECK_STR(with_topics(store, none, 1), "");
    CHECK_STR(with_topics(store, ab, 3), "a1 b1 a2");
    CHECK_STR(with_topics(store, c, 1), "c1");
    CHECK_STR(with_topics(store, ab, 3), "");
}

TEST(a_topic_filter_finds_one_message_behind_many_others)
{
    static const char *const wanted[] = { "rare" };
    ph_store *store = t_open(NULL);

    put_many(store, "common", 3000, NULL);
    t_enqueue(store, "rare", "found");
    CHECK_STR(with_topics(store, wanted, 1), "found");
}

/* Two topics of which the stored hash is the same. */
struct twins {
    char topics[2][32];
};

static struct twins find_twins(void)
{
    struct twins twins = { { "costarring", "liquid" } }; /* FNV-1a, as SQLite's */
    struct t_conn *conn;
    const char *found;

    if (!t_is_pg())
        return twins;
    conn = t_connect();
    found = t_value(conn, "SELECT min(x) || ' ' || max(x) FROM "
                          "(SELECT 'twin' || i AS x FROM generate_series(1, 200000) i) t "
                          "GROUP BY hashtext(x) HAVING count(*) > 1 ORDER BY 1 LIMIT 1");
    CHECK_INT(sscanf(found, "%31s %31s", twins.topics[0], twins.topics[1]), 2);
    t_disconnect(conn);
    return twins;
}

static void put_in(ph_store *store, const char *topic, const char *stream, const char *payload,
                   int64_t expires_at)
{
    ph_message m = PH_MESSAGE_INIT;

    m.topic = topic;
    m.stream = stream;
    m.payload = payload;
    m.expires_at = expires_at;
    OK(ph_enqueue(store, PH_OWN_TX, &m, 0, NULL, &t_err));
}

/* Messages of the topic that were never claimed nor buried. */
static long long waiting_in(const char *topic)
{
    struct t_conn *conn = t_connect();
    long long count;
    char sql[200];

    snprintf(sql, sizeof(sql),
             "SELECT count(*) FROM {t}outbox WHERE topic = '%s' AND attempts = 0 "
             "AND status_code IN (0, 5)",
             topic);
    count = t_number(conn, sql);
    t_disconnect(conn);
    return count;
}

TEST(a_topic_is_not_starved_by_another_with_the_same_hash)
{
    struct twins twins = find_twins();
    const char *wanted[] = { twins.topics[1] };
    ph_store *store = t_open(NULL);

    put_many(store, twins.topics[0], 120, NULL); /* more than a batch */
    t_enqueue(store, twins.topics[1], "found");
    CHECK_STR(with_topics(store, wanted, 1), "found");
    CHECK_STR(with_topics(store, wanted, 1), "");
    CHECK_INT(waiting_in(twins.topics[0]), 120); /* untouched */
}

/* … nor are its streams, and what has expired of it is not this claim's business. */
TEST(a_stream_is_not_held_up_by_topics_with_the_same_hash)
{
    struct twins twins = find_twins();
    const char *wanted[] = { twins.topics[1] };
    ph_store *store = t_open(NULL);
    char key[8];

    t_clock_set(store, T_EPOCH);
    for (int i = 0; i < 60; i++) {
        snprintf(key, sizeof(key), "s%d", i);
        put_in(store, twins.topics[0], key, "head", 0);
    }
    put_in(store, twins.topics[0], "late", "expired", T_EPOCH + T_SECOND);
    put_in(store, twins.topics[1], "x", "found", 0);
    put_in(store, twins.topics[1], "x", "next", 0);
    put_in(store, twins.topics[0], "x", "not", 0);
    t_clock_advance(store, 2 * T_SECOND);
    CHECK_STR(with_topics(store, wanted, 1), "found next");
    CHECK_STR(with_topics(store, wanted, 1), "");
    CHECK_INT(waiting_in(twins.topics[0]), 62); /* untouched */
}

TEST(a_claim_can_name_a_thousand_topics)
{
    static char names[1000][8];
    static const char *topics[1000];
    ph_store *store = t_open(NULL);

    for (int i = 0; i < 1000; i++) {
        snprintf(names[i], sizeof(names[i]), "t%d", i);
        topics[i] = names[i];
    }
    t_enqueue(store, "t999", "last");
    t_enqueue(store, "other", "other");
    CHECK_STR(with_topics(store, topics, 1000), "last");
}

TEST(a_paused_queue_hands_out_nothing_but_lets_leases_be_settled)
{
    ph_store *store = t_open(NULL);
    ph_owner owner = ph_owner_new();
    ph_lease_ref ref;

    t_enqueue(store, "orders", "1");
    ref = take_one(store, owner);
    OK(ph_outbox_queue_pause(store, PH_OWN_TX, NULL, 0, &t_err));
    t_enqueue(store, "orders", "2");
    CHECK_INT(claimable(store, 10), 0);
    CHECK_INT(ack(store, owner, ref), PH_OUTCOME_ACKED);
    OK(ph_outbox_queue_resume(store, PH_OWN_TX, NULL, 0, &t_err));
    CHECK_STR(claimed_payloads(store, owner, 10), "2");
}

/* ------------------------------------------------------------ buried on the way */

TEST(expired_messages_are_buried_and_the_batch_is_still_filled)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_enqueued expired[5];
    ph_message m = a_message("orders", "expired");
    struct seen s;

    t_clock_set(store, T_EPOCH);
    m.expires_at = T_EPOCH + 10;
    for (int i = 0; i < 5; i++)
        expired[i] = put(store, &m);
    t_enqueue(store, "orders", "alive-1");
    t_enqueue(store, "orders", "alive-2");
    t_clock_set(store, T_EPOCH + 10); /* expires_at itself is too late */
    CHECK_STR(claimed_payloads(store, ph_owner_new(), 2), "alive-1 alive-2");
    s = see(store, expired[0].work_id);
    CHECK_INT(s.status, PH_FAILED);
    CHECK_STR(s.dead_reason, "expired");
    CHECK_STR(s.kinds, "expired");
    CHECK_INT(s.attempts, 0);
    CHECK_STR(t_view(conn, expired[4].work_id, "status"), "failed");
    CHECK_STR(t_view(conn, expired[4].work_id, "status_code"), "3");
    t_check_places(conn);
    t_disconnect(conn);
}

TEST(a_message_is_claimed_until_it_expires)
{
    ph_store *store = t_open(NULL);
    ph_message m = a_message("orders", "x");

    t_clock_set(store, T_EPOCH);
    m.expires_at = T_EPOCH + 10;
    put(store, &m);
    t_clock_set(store, T_EPOCH + 9);
    CHECK_INT(claimable(store, 1), 1);
}

TEST(spent_messages_are_buried_when_the_maximum_was_lowered)
{
    ph_store *store = t_open(NULL);
    ph_owner owner = ph_owner_new();
    ph_enqueued e;
    struct seen s;

    e = t_enqueue(store, "orders", "spent");
    for (int i = 0; i < 3; i++)
        CHECK_INT(settle(store, owner, take_one(store, owner), PH_ABANDON, "again", 0),
                  PH_OUTCOME_ABANDONED);
    set_max_attempts(store, 3);
    t_enqueue(store, "orders", "fresh");
    CHECK_STR(claimed_payloads(store, owner, 10), "fresh");
    s = see(store, e.work_id);
    CHECK_INT(s.status, PH_FAILED);
    CHECK_STR(s.dead_reason, "attempts");
    CHECK_INT(s.attempts, 3);
    CHECK_INT(s.retry_count, 3);
    CHECK_STR(s.last_error, "again");
}

TEST(an_empty_claim_has_looked_behind_what_is_to_be_buried)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    static ph_message m[1050];
    struct timespec before, after;
    double took_s;
    size_t count;

    t_clock_set(store, T_EPOCH);
    for (int i = 0; i < 1050; i++) {
        m[i] = a_message("orders", "expired");
        m[i].expires_at = T_EPOCH + 10;
    }
    OK(ph_enqueue_many(store, PH_OWN_TX, m, 1050, 0, NULL, &t_err));
    t_enqueue(store, "orders", "alive");
    t_clock_advance(store, 10);
    do { /* on a slow machine a claim may have to stop before */
        ph_batch *batch;

        clock_gettime(CLOCK_MONOTONIC, &before);
        batch = t_claim(store, ph_owner_new(), 2);
        clock_gettime(CLOCK_MONOTONIC, &after);
        took_s =
            (double)(after.tv_sec - before.tv_sec) + (double)(after.tv_nsec - before.tv_nsec) / 1e9;
        count = ph_batch_count(batch);
        ph_batch_free(batch);
    } while (count == 0 && took_s > 0.4);
    CHECK_INT(count, 1);
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}dead"), 1050);
    t_check_places(conn);
    t_disconnect(conn);
}

TEST(a_claim_buries_no_more_than_a_thousand)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    static ph_message m[1100];

    t_clock_set(store, T_EPOCH);
    for (int i = 0; i < 1100; i++) {
        m[i] = a_message("orders", "expired");
        m[i].expires_at = T_EPOCH + 10;
    }
    OK(ph_enqueue_many(store, PH_OWN_TX, m, 1100, 0, NULL, &t_err));
    m[0] = a_message("orders", "urgent");
    m[0].priority = PH_PRIORITY_URGENT;
    put(store, &m[0]);
    t_enqueue(store, "orders", "alive");
    t_clock_advance(store, 10);
    CHECK_STR(claimed_payloads(store, ph_owner_new(), 2), "urgent");
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}dead"), 1000);
    CHECK_STR(claimed_payloads(store, ph_owner_new(), 2), "alive");
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}dead"), 1100);
    t_check_places(conn);
    t_disconnect(conn);
}

/* ------------------------------------------------------------------ lost messages */

TEST(messages_of_a_dead_worker_come_back_in_groups_of_up_to_eight)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_owner owner = ph_owner_new();
    ph_enqueued e[19];

    t_clock_set(store, T_EPOCH);
    put_many(store, "orders", 19, e);
    CHECK_INT(claimable(store, 19), 19);
    t_clock_advance(store, 31 * T_SECOND);
    REQ_STR("OBX-053", claimed_payloads(store, owner, 50), "0 1 2 3 4 5 6 7");
    CHECK_INT(see(store, e[0].work_id).attempts, 2);
    CHECK_STR(see(store, e[0].work_id).kinds, "lost");
    CHECK_STR(claimed_payloads(store, owner, 3), "8 9 10"); /* a smaller batch is asked for */
    CHECK_STR(claimed_payloads(store, owner, 50), "11 12 13 14 15 16 17 18");
    CHECK_STR(claimed_payloads(store, owner, 50), "");
    t_check_places(conn);
    t_disconnect(conn);
}

TEST(messages_that_were_lost_twice_come_back_one_at_a_time)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_owner owner = ph_owner_new();
    ph_enqueued e[3];

    t_clock_set(store, T_EPOCH);
    put_many(store, "orders", 2, e);
    for (int i = 0; i < 2; i++) {
        CHECK_STR(claimed_payloads(store, owner, 10), "0 1");
        t_clock_advance(store, 31 * T_SECOND);
    }
    t_enqueue(store, "orders", "new");
    CHECK_STR(claimed_payloads(store, owner, 10), "0");
    CHECK_STR(claimed_payloads(store, owner, 10), "1");
    CHECK_STR(claimed_payloads(store, owner, 10), "new");
    CHECK_STR(see(store, e[1].work_id).kinds, "lost,lost");
    t_clock_advance(store, 31 * T_SECOND);
    CHECK_STR(claimed_payloads(store, owner, 10), "0"); /* three times */
    CHECK_STR(claimed_payloads(store, owner, 10), "1");
    CHECK_STR(claimed_payloads(store, owner, 10), "new");
    t_check_places(conn);
    t_disconnect(conn);
}

/* Rows to be buried stand between them, and topics that are not wanted. */
TEST(a_group_of_lost_messages_is_filled_past_what_is_buried_or_not_wanted)
{
    ph_store *store = t_open(NULL);
    ph_claim_opts opts = PH_CLAIM_OPTS_INIT;
    const char *topics[] = { "orders" };
    ph_message m = a_message("orders", "expires");
    ph_owner owner = ph_owner_new();
    ph_batch *batch;

    t_clock_set(store, T_EPOCH);
    put_many(store, "orders", 5, NULL);
    t_enqueue(store, "bills", "b");
    m.expires_at = T_EPOCH + 20 * T_SECOND;
    put(store, &m);
    put_many(store, "orders", 5, NULL);
    CHECK_INT(claimable(store, 50), 12);
    t_clock_advance(store, 31 * T_SECOND);
    opts.topics = topics;
    opts.topic_count = 1;
    batch = claim_with(store, owner, &opts);
    CHECK_STR(payloads(batch), "0 1 2 3 4 0 1 2");
    ph_batch_free(batch);
    batch = claim_with(store, owner, &opts);
    CHECK_STR(payloads(batch), "3 4");
    ph_batch_free(batch);
    CHECK_STR(claimed_payloads(store, owner, 50), "b");
}

TEST(a_claim_stops_before_a_lost_message)
{
    ph_store *store = t_open(NULL);
    ph_owner owner = ph_owner_new();

    t_clock_set(store, T_EPOCH);
    t_enqueue(store, "orders", "lost");
    CHECK_INT(claimable(store, 1), 1);
    t_clock_advance(store, 30 * T_SECOND);
    t_enqueue(store, "orders", "before-1");
    t_enqueue(store, "orders", "before-2");
    t_clock_advance(store, 1 * T_SECOND);
    CHECK_INT(reap(store), 1);
    t_clock_advance(store, 1 * T_SECOND);
    t_enqueue(store, "orders", "after-1");
    t_enqueue(store, "orders", "after-2");
    CHECK_STR(claimed_payloads(store, owner, 10), "before-1 before-2");
    CHECK_STR(claimed_payloads(store, owner, 10), "lost");
    CHECK_STR(claimed_payloads(store, owner, 10), "after-1 after-2");
}

TEST(an_abandoned_message_is_no_longer_suspect)
{
    ph_store *store = t_open(NULL);
    ph_owner owner = ph_owner_new();
    ph_lease_ref ref;

    t_clock_set(store, T_EPOCH);
    t_enqueue(store, "orders", "once-lost");
    CHECK_INT(claimable(store, 1), 1);
    t_clock_advance(store, 31 * T_SECOND);
    ref = take_one(store, owner);
    CHECK_INT(settle(store, owner, ref, PH_ABANDON, NULL, 0), PH_OUTCOME_ABANDONED);
    t_clock_advance(store, 1);
    t_enqueue(store, "orders", "new");
    CHECK_STR(claimed_payloads(store, owner, 10), "once-lost new");
}

TEST(a_released_message_stays_suspect)
{
    ph_store *store = t_open(NULL);
    ph_owner owner = ph_owner_new();
    ph_lease_ref ref;

    t_clock_set(store, T_EPOCH);
    t_enqueue(store, "orders", "once-lost");
    CHECK_INT(claimable(store, 1), 1);
    t_clock_advance(store, 31 * T_SECOND);
    ref = take_one(store, owner);
    CHECK_INT(settle(store, owner, ref, PH_RELEASE, NULL, 0), PH_OUTCOME_RELEASED);
    t_clock_advance(store, 1);
    t_enqueue(store, "orders", "new");
    CHECK_STR(claimed_payloads(store, owner, 10), "once-lost");
    CHECK_STR(claimed_payloads(store, owner, 10), "new");
}

TEST(a_claim_takes_back_at_most_twenty_leases)
{
    ph_store *store = t_open(NULL);
    ph_queue_counts counts = PH_QUEUE_COUNTS_INIT;
    ph_owner owner = ph_owner_new();

    t_clock_set(store, T_EPOCH);
    put_many(store, "orders", 25, NULL);
    for (int i = 0; i < 25; i++)
        CHECK_INT(claimable(store, 1), 1);
    t_clock_advance(store, 31 * T_SECOND);
    OK(ph_outbox_count(store, PH_OWN_TX, NULL, 0, &counts, &t_err));
    CHECK_INT(counts.expired_leases, 25);
    CHECK_INT(ack(store, owner, take_one(store, owner)), PH_OUTCOME_ACKED);
    OK(ph_outbox_count(store, PH_OWN_TX, NULL, 0, &counts, &t_err));
    CHECK_INT(counts.expired_leases, 5);
    CHECK_INT(counts.ready, 19);
}

TEST(a_claim_takes_back_leases_of_other_namespaces_too)
{
    ph_store *store = t_open(NULL);
    ph_claim_opts opts = PH_CLAIM_OPTS_INIT;
    ph_message m = a_message("orders", "x");
    ph_enqueued e;

    t_clock_set(store, T_EPOCH);
    m.ns = opts.ns = "other";
    e = put(store, &m);
    ph_batch_free(claim_with(store, ph_owner_new(), &opts));
    t_enqueue(store, "orders", "mine");
    t_clock_advance(store, 31 * T_SECOND);
    CHECK_INT(claimable(store, 10), 1);
    CHECK_INT(see(store, e.work_id).status, PH_READY);
    CHECK_STR(see(store, e.work_id).kinds, "lost");
}
