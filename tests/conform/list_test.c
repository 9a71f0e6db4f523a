/* list_test.c - lists of messages and queues: order, pages, states, filters. */
#include "common.h"

#define MANY 25

static ph_message_list_opts of_state(ph_list_state state)
{
    ph_message_list_opts opts = PH_MESSAGE_LIST_OPTS_INIT;

    opts.state = state;
    return opts;
}

static ph_messages *list_in(ph_store *store, ph_tx tx, const ph_message_list_opts *opts)
{
    ph_messages *list = NULL;

    OK(ph_outbox_list(store, tx, opts, 0, &list, &t_err));
    CHECK(list != NULL);
    return list;
}

static ph_messages *list(ph_store *store, const ph_message_list_opts *opts)
{
    return list_in(store, PH_OWN_TX, opts);
}

/* The payloads of what is listed, joined by blanks; valid until the next call. */
static const char *listed_in(ph_store *store, ph_tx tx, ph_message_list_opts opts)
{
    static char text[4000];
    ph_messages *found;
    size_t used = 0;

    opts.with_payload = true;
    found = list_in(store, tx, &opts);
    text[0] = '\0';
    for (size_t i = 0; i < ph_messages_count(found); i++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s", i ? " " : "",
                                 ph_messages_at(found, i)->message->payload);
    ph_messages_free(found);
    return text;
}

static const char *listed(ph_store *store, ph_message_list_opts opts)
{
    return listed_in(store, PH_OWN_TX, opts);
}

static const char *in_state(ph_store *store, ph_list_state state)
{
    return listed(store, of_state(state));
}

/* The same page by page, oldest first or newest first. */
static const char *paged(ph_store *store, ph_message_list_opts opts)
{
    static char text[4000];
    ph_messages *found;
    size_t used = 0, count;

    opts.with_payload = true;
    text[0] = '\0';
    do {
        found = list(store, &opts);
        count = ph_messages_count(found);
        CHECK(count <= (size_t)opts.limit);
        for (size_t i = 0; i < count; i++) {
            const ph_message_info *info = ph_messages_at(found, i);

            used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s", used ? " " : "",
                                     info->message->payload);
            opts.after = info->message->work_id;
        }
        ph_messages_free(found);
    } while (count == (size_t)opts.limit);
    return text;
}

/* "0 1 2 …" or its reverse. */
static const char *counted(int from, int to)
{
    static char text[4000];
    size_t used = 0;
    int step = from <= to ? 1 : -1;

    for (int i = from; i != to + step; i += step)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%d", used ? " " : "", i);
    return text;
}

static void put_in(ph_store *store, const char *ns, const char *topic, const char *payload)
{
    ph_message m = a_message(topic, payload);

    m.ns = ns;
    put(store, &m);
}

TEST(an_empty_store_has_an_empty_list)
{
    ph_store *store = t_open(NULL);

    for (int state = PH_LIST_ALL; state <= PH_LIST_DEAD; state++)
        CHECK_STR(in_state(store, (ph_list_state)state), "");
}

TEST(messages_are_listed_newest_first_or_oldest_first)
{
    ph_store *store = t_open(NULL);
    ph_message_list_opts opts = PH_MESSAGE_LIST_OPTS_INIT;

    put_many(store, "topic", 4, NULL);
    CHECK_STR(listed(store, opts), "3 2 1 0");
    opts.oldest_first = true;
    CHECK_STR(listed(store, opts), "0 1 2 3");
    CHECK_STR(listed(store, (ph_message_list_opts)PH_MESSAGE_LIST_OPTS_INIT), "3 2 1 0");
}

TEST(a_list_has_fifty_messages_unless_asked_otherwise)
{
    ph_store *store = t_open(NULL);
    ph_message_list_opts opts = PH_MESSAGE_LIST_OPTS_INIT;
    ph_messages *found = NULL;

    put_many(store, "topic", 60, NULL);
    OK(ph_outbox_list(store, PH_OWN_TX, NULL, 0, &found, &t_err));
    CHECK_INT(ph_messages_count(found), 50);
    CHECK(ph_messages_at(found, 49) != NULL);
    CHECK(ph_messages_at(found, 50) == NULL);
    ph_messages_free(found);
    opts.limit = 7;
    found = list(store, &opts);
    CHECK_INT(ph_messages_count(found), 7);
    ph_messages_free(found);
    opts.limit = PH_BATCH_MAX;
    found = list(store, &opts);
    CHECK_INT(ph_messages_count(found), 60);
    ph_messages_free(found);
}

/* MANY messages of each state, enqueued in turns, so that no state is a range of numbers: the
 * even ones end as done (in several batches that interleave), the odd ones dead, and so on. */
static void one_of_each_state(ph_store *store)
{
    ph_owner owner = ph_owner_new();
    ph_lease_ref refs[5 * MANY];
    char text[16];

    t_clock_set(store, T_EPOCH);
    for (int i = 0; i < MANY; i++) {
        snprintf(text, sizeof(text), "%d", i);
        for (int state = 0; state < 5; state++) {
            ph_message m = a_message("topic", text);

            m.due_at = state == 4 ? T_EPOCH + 3600 * T_SECOND : 0;
            m.priority = state == 3 ? PH_PRIORITY_BULK : PH_PRIORITY_URGENT;
            put(store, &m);
        }
    }
    CHECK_INT(take(store, owner, 3 * MANY, refs), 3 * MANY);
    for (int step = 0; step < 3; step++) { /* every third of them in a row of its own */
        ph_lease_ref some[MANY];
        size_t count = 0;

        for (int i = step; i < MANY; i += 3)
            some[count++] = refs[3 * i];
        OK(ph_outbox_ack(store, PH_OWN_TX, owner, some, count, 0, NULL, &t_err));
    }
    for (int i = 0; i < MANY; i++)
        CHECK_INT(settle(store, owner, refs[3 * i + 1], PH_FAIL, "why", 0), PH_OUTCOME_FAILED);
}

TEST(each_state_lists_its_own_messages)
{
    static const ph_list_state states[] = { PH_LIST_READY, PH_LIST_SCHEDULED, PH_LIST_IN_PROGRESS,
                                            PH_LIST_DONE, PH_LIST_DEAD };
    static const ph_message_state statuses[] = { PH_READY, PH_READY, PH_IN_PROGRESS, PH_DONE,
                                                 PH_FAILED };
    ph_store *store = t_open(NULL);

    one_of_each_state(store);
    for (size_t i = 0; i < 5; i++) {
        ph_message_list_opts opts = of_state(states[i]);
        ph_messages *found = list(store, &opts);

        CHECK_INT(ph_messages_count(found), MANY);
        for (size_t n = 0; n < MANY; n++)
            CHECK_INT(ph_messages_at(found, n)->state, statuses[i]);
        ph_messages_free(found);
        CHECK_STR(in_state(store, states[i]), counted(MANY - 1, 0));
        opts.oldest_first = true;
        CHECK_STR(listed(store, opts), counted(0, MANY - 1));
    }
}

TEST(pages_follow_each_other_without_gap_or_overlap)
{
    static const int limits[] = { 1, 2, 7, MANY - 1, MANY, MANY + 1 };
    ph_store *store = t_open(NULL);

    one_of_each_state(store);
    for (int state = PH_LIST_READY; state <= PH_LIST_DEAD; state++) {
        for (size_t i = 0; i < sizeof(limits) / sizeof(*limits); i++) {
            ph_message_list_opts opts = of_state((ph_list_state)state);

            opts.limit = limits[i];
            CHECK_STR(paged(store, opts), counted(MANY - 1, 0));
            opts.oldest_first = true;
            CHECK_STR(paged(store, opts), counted(0, MANY - 1));
            opts.topic = "topic";
            CHECK_STR(paged(store, opts), counted(0, MANY - 1));
        }
    }
}

TEST(done_batches_that_lie_far_apart_are_listed_in_order)
{
    enum { COUNT = 3000 };
    static ph_enqueued all[COUNT];
    ph_store *store = t_open(NULL);
    ph_owner owner = ph_owner_new();
    static ph_lease_ref refs[COUNT];
    ph_message_list_opts opts = of_state(PH_LIST_DONE);

    put_many(store, "topic", COUNT, all);
    CHECK_INT(take(store, owner, COUNT, refs), COUNT);
    for (int step = 0; step < 4; step++) { /* four batches, each over the whole range */
        static ph_lease_ref some[COUNT];
        size_t count = 0;

        for (int i = step; i < COUNT; i += 4)
            some[count++] = refs[i];
        OK(ph_outbox_ack(store, PH_OWN_TX, owner, some, count, 0, NULL, &t_err));
    }
    opts.limit = 5;
    CHECK_STR(listed(store, opts), "2999 2998 2997 2996 2995");
    opts.after = all[1500].work_id;
    CHECK_STR(listed(store, opts), "1499 1498 1497 1496 1495");
    opts.oldest_first = true;
    CHECK_STR(listed(store, opts), "1501 1502 1503 1504 1505");
    opts.after = (ph_work_id){ { 0 } };
    CHECK_STR(listed(store, opts), "0 1 2 3 4");
}

TEST(a_dead_message_that_was_retried_is_no_longer_listed_as_dead)
{
    ph_store *store = t_open(NULL);
    ph_owner owner = ph_owner_new();
    ph_lease_ref refs[3];

    put_many(store, "topic", 3, NULL);
    take(store, owner, 3, refs);
    for (int i = 0; i < 3; i++)
        settle(store, owner, refs[i], PH_FAIL, "why", 0);
    CHECK_STR(in_state(store, PH_LIST_DEAD), "2 1 0");
    OK(ph_dead_retry(store, PH_OWN_TX, &refs[1].work_id, 1, 0, NULL, &t_err));
    CHECK_STR(in_state(store, PH_LIST_DEAD), "2 0");
    CHECK_STR(in_state(store, PH_LIST_READY), "1");
    CHECK_STR(in_state(store, PH_LIST_ALL), "1 2 1 0"); /* the old row is still there */
}

TEST(ready_and_scheduled_go_by_the_clock)
{
    ph_store *store = t_open(NULL);
    ph_message m = a_message("topic", "later");

    t_clock_set(store, T_EPOCH);
    m.due_at = T_EPOCH + 60 * T_SECOND;
    put(store, &m);
    t_enqueue(store, "topic", "now");
    CHECK_STR(in_state(store, PH_LIST_READY), "now");
    CHECK_STR(in_state(store, PH_LIST_SCHEDULED), "later");
    t_clock_advance(store, 60 * T_SECOND);
    CHECK_STR(in_state(store, PH_LIST_READY), "now later");
    CHECK_STR(in_state(store, PH_LIST_SCHEDULED), "");
}

TEST(a_settled_part_of_a_batch_is_not_in_progress)
{
    ph_store *store = t_open(NULL);
    ph_owner owner = ph_owner_new();
    ph_lease_ref refs[4];

    put_many(store, "topic", 4, NULL);
    take(store, owner, 4, refs);
    ack(store, owner, refs[1]);
    settle(store, owner, refs[2], PH_RELEASE, NULL, 0);
    CHECK_STR(in_state(store, PH_LIST_IN_PROGRESS), "3 0");
    CHECK_STR(in_state(store, PH_LIST_DONE), "1");
    CHECK_STR(in_state(store, PH_LIST_READY), "2");
}

TEST(lists_are_filtered_by_namespace_and_topic)
{
    ph_store *store = t_open(NULL);
    ph_owner owner = ph_owner_new();
    ph_lease_ref refs[8];

    for (int round = 0; round < 4; round++) { /* at last as ready, leased, done and dead ones */
        put_in(store, NULL, "red", "plain red");
        put_in(store, NULL, "blue", "plain blue");
        put_in(store, "a", "red", "a red");
        put_in(store, "a", "blue", "a blue");
    }
    for (int i = 0; i < 2; i++) {
        ph_claim_opts opts = PH_CLAIM_OPTS_INIT;
        ph_batch *batch;

        opts.ns = i ? "a" : "";
        opts.batch_size = 6;
        batch = claim_with(store, owner, &opts);
        CHECK_INT(ph_batch_count(batch), 6);
        for (size_t n = 0; n < 4; n++)
            refs[4 * i + (int)n] = ph_lease_ref_of(ph_batch_at(batch, n));
        ph_batch_free(batch);
        ack(store, owner, refs[4 * i]);
        ack(store, owner, refs[4 * i + 1]);
        settle(store, owner, refs[4 * i + 2], PH_FAIL, NULL, 0);
        settle(store, owner, refs[4 * i + 3], PH_FAIL, NULL, 0);
    }
    for (int state = PH_LIST_READY; state <= PH_LIST_DEAD; state++) {
        ph_message_list_opts opts = of_state((ph_list_state)state);

        if (state == PH_LIST_SCHEDULED)
            continue;
        opts.oldest_first = true;
        CHECK_STR(listed(store, opts), "plain red plain blue a red a blue");
        opts.ns = "";
        CHECK_STR(listed(store, opts), "plain red plain blue");
        opts.ns = "a";
        CHECK_STR(listed(store, opts), "a red a blue");
        opts.topic = "red";
        CHECK_STR(listed(store, opts), "a red");
        opts.ns = NULL;
        CHECK_STR(listed(store, opts), "plain red a red");
        opts.topic = "green";
        CHECK_STR(listed(store, opts), "");
        opts.topic = NULL;
        opts.ns = "nowhere";
        CHECK_STR(listed(store, opts), "");
    }
}

TEST(a_rare_topic_is_found_among_many)
{
    ph_store *store = t_open(NULL);
    ph_owner owner = ph_owner_new();
    ph_message_list_opts opts = of_state(PH_LIST_DONE);

    t_enqueue(store, "rare", "first");
    put_many(store, "common", 2500, NULL);
    t_enqueue(store, "rare", "last");
    opts.topic = "rare";
    opts.limit = 3;
    opts.state = PH_LIST_READY;
    CHECK_STR(listed(store, opts), "last first");
    for (int i = 0; i < 3; i++) {
        ph_batch *batch = t_claim(store, owner, 1000);

        opts.state = PH_LIST_IN_PROGRESS;
        CHECK_STR(listed(store, opts), i == 0 ? "first" : i == 1 ? "" : "last");
        t_ack_all(store, owner, batch);
    }
    opts.state = PH_LIST_DONE;
    CHECK_STR(listed(store, opts), "last first");
    opts.state = PH_LIST_ALL;
    CHECK_STR(listed(store, opts), "last first");
}

TEST(a_list_item_tells_what_a_lookup_tells_but_for_the_history)
{
    ph_store *store = t_open(NULL);
    ph_owner owner = ph_owner_new();
    ph_message m = a_message("topic", "h\xc3\xa4 payload");
    ph_tenant_id tenant = { { 7 } };
    ph_message_list_opts opts = PH_MESSAGE_LIST_OPTS_INIT;
    ph_messages *found;
    const ph_message_info *info;
    ph_lease_ref ref;

    t_clock_set(store, T_EPOCH);
    m.headers = "{\"a\":1}";
    m.correlation_id = "c";
    m.tenant_id = &tenant;
    m.expires_at = T_EPOCH + 3600 * T_SECOND;
    m.max_attempts = 5;
    m.priority = PH_PRIORITY_LOW;
    put(store, &m);
    ref = take_one(store, owner);
    settle(store, owner, ref, PH_ABANDON, "because", 0);
    ref = take_one(store, owner);

    found = list(store, &opts);
    info = ph_messages_at(found, 0);
    CHECK(same_id(info->message->work_id.b, ref.work_id.b));
    CHECK(same_id(info->message->message_id.b, see(store, ref.work_id).message_id.b));
    CHECK_INT(info->state, PH_IN_PROGRESS);
    CHECK_INT(info->message->fence, ref.fence);
    CHECK(same_id(info->owner.b, owner.b));
    CHECK_INT(info->locked_until, T_EPOCH + 30 * T_SECOND);
    CHECK_INT(info->message->attempts, 2);
    CHECK_INT(info->message->retry_count, 1);
    CHECK_STR(info->message->last_error, "because");
    CHECK_STR(info->message->topic, "topic");
    CHECK_STR(info->message->ns, "");
    CHECK_STR(info->message->correlation_id, "c");
    CHECK(same_id(info->message->tenant_id->b, tenant.b));
    CHECK_INT(info->message->priority, PH_PRIORITY_LOW);
    CHECK_INT(info->max_attempts, 5);
    CHECK_INT(info->expires_at, m.expires_at);
    CHECK(info->message->payload == NULL);
    CHECK(info->message->headers == NULL);
    CHECK_INT(info->message->payload_length, strlen(m.payload));
    CHECK_INT(info->history_count, 0);
    ph_messages_free(found);

    opts.with_payload = true;
    found = list(store, &opts);
    CHECK_STR(ph_messages_at(found, 0)->message->payload, m.payload);
    CHECK(strstr(ph_messages_at(found, 0)->message->headers, "\"a\"") != NULL);
    ph_messages_free(found);
}

TEST(a_list_goes_on_after_a_message_that_was_deleted)
{
    ph_store *store = t_open(NULL);
    ph_owner owner = ph_owner_new();
    ph_queue_settings settings = PH_QUEUE_SETTINGS_INIT;
    ph_message_list_opts opts = PH_MESSAGE_LIST_OPTS_INIT;
    ph_enqueued all[5];
    ph_lease_ref refs[5];

    settings.delete_on_ack = 1;
    set_queue(store, &settings);
    put_many(store, "topic", 5, all);
    take(store, owner, 5, refs);
    ack(store, owner, refs[2]);
    CHECK(!see(store, all[2].work_id).there);
    opts.after = all[2].work_id;
    CHECK_STR(listed(store, opts), "1 0");
    opts.oldest_first = true;
    CHECK_STR(listed(store, opts), "3 4");
}

TEST(a_list_inside_a_transaction_sees_what_that_has_done)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_message m = a_message("topic", "mine");

    t_begin(conn);
    OK(try_put(store, t_tx(conn), &m));
    CHECK_STR(listed_in(store, t_tx(conn), (ph_message_list_opts)PH_MESSAGE_LIST_OPTS_INIT),
              "mine");
    CHECK_STR(in_state(store, PH_LIST_ALL), "");
    t_rollback(conn);
    CHECK_STR(in_state(store, PH_LIST_ALL), "");
}

static void refused(ph_store *store, const ph_message_list_opts *opts, const char *message)
{
    ph_messages *untouched = (ph_messages *)store;

    CHECK_INT(ph_outbox_list(store, PH_OWN_TX, opts, 0, &untouched, &t_err), PH_EINVAL);
    CHECK(untouched == (ph_messages *)store);
    CHECK_STR(t_err.message, message);
}

TEST(bad_arguments_of_a_list_are_refused)
{
    ph_store *store = t_open(NULL);
    ph_message_list_opts opts = PH_MESSAGE_LIST_OPTS_INIT;

    opts.limit = -1;
    refused(store, &opts, "limit is -1; give 1 to 10000, or 0 for 50");
    opts.limit = PH_BATCH_MAX + 1;
    refused(store, &opts, "limit is 10001; give 1 to 10000, or 0 for 50");
    opts = of_state((ph_list_state)8);
    refused(store, &opts, "state 8 is not a ph_list_state");
    opts = of_state((ph_list_state)-1);
    refused(store, &opts, "state -1 is not a ph_list_state");
    opts = of_state(PH_LIST_ALL);
    opts.topic = "";
    refused(store, &opts, "topic is empty; it is required");
    opts.topic = NULL;
    opts.after.b[3] = 1;
    refused(store, &opts, "after is not a work id; give the last one of the page before, or zero");
    CHECK_INT(ph_outbox_list(store, PH_OWN_TX, NULL, 0, NULL, &t_err), PH_EINVAL);
    CHECK_INT(ph_outbox_list(NULL, PH_OWN_TX, NULL, 0, NULL, &t_err), PH_EINVAL);
    CHECK_INT(ph_messages_count(NULL), 0);
    CHECK(ph_messages_at(NULL, 0) == NULL);
    ph_messages_free(NULL);
}

/* -------------------------------------------------------------------- queues */

static ph_queues *queues(ph_store *store, const char *ns)
{
    ph_queues *found = NULL;

    OK(ph_queue_list(store, PH_OWN_TX, T_OPTS(ph_queue_list_opts, .ns = ns), 0, &found, &t_err));
    return found;
}

TEST(a_queue_is_listed_with_every_setting)
{
    ph_store *store = t_open(NULL);
    ph_queue_settings settings = PH_QUEUE_SETTINGS_INIT;
    ph_queues *found = queues(store, "");
    const ph_queue_info *info = ph_queues_at(found, 0);

    CHECK_INT(ph_queues_count(found), 1);
    CHECK_STR(info->ns, "");
    CHECK(!info->paused);
    CHECK_INT(info->settings.max_attempts, 10);
    CHECK_INT(info->settings.backoff, PH_BACKOFF_EXPONENTIAL);
    CHECK_INT(info->settings.backoff_base_ms, 1000);
    CHECK_INT(info->settings.backoff_max_ms, 60000);
    CHECK_INT(info->settings.retention_s, 7 * 86400);
    CHECK_INT(info->settings.dead_retention_s, PH_FOREVER);
    CHECK_INT(info->settings.dedupe_retention_s, 7 * 86400);
    CHECK_INT(info->settings.max_payload_bytes, 1024 * 1024);
    CHECK_INT(info->settings.max_lease_s, PH_LEASE_MAX_S);
    CHECK_INT(info->settings.delete_on_ack, -1);
    CHECK(ph_queues_at(found, 1) == NULL);
    ph_queues_free(found);

    settings.max_attempts = 3;
    settings.backoff = PH_BACKOFF_EQUAL_JITTER;
    settings.retention_s = PH_FOREVER;
    settings.dead_retention_s = 60;
    settings.dedupe_retention_s = 61;
    settings.max_payload_bytes = 62;
    settings.max_lease_s = 63;
    settings.delete_on_ack = 1;
    OK(ph_outbox_queue_set(store, PH_OWN_TX, "other", &settings, 0, &t_err));
    OK(ph_outbox_queue_pause(store, PH_OWN_TX, "other", 0, &t_err));
    found = queues(store, "other");
    info = ph_queues_at(found, 0);
    CHECK_INT(ph_queues_count(found), 1);
    CHECK_STR(info->ns, "other");
    CHECK(info->paused);
    CHECK_INT(info->settings.max_attempts, 3);
    CHECK_INT(info->settings.backoff, PH_BACKOFF_EQUAL_JITTER);
    CHECK_INT(info->settings.backoff_base_ms, 1000);
    CHECK_INT(info->settings.backoff_max_ms, 300000);
    CHECK_INT(info->settings.retention_s, PH_FOREVER);
    CHECK_INT(info->settings.dead_retention_s, 60);
    CHECK_INT(info->settings.dedupe_retention_s, 61);
    CHECK_INT(info->settings.max_payload_bytes, 62);
    CHECK_INT(info->settings.max_lease_s, 63);
    CHECK_INT(info->settings.delete_on_ack, 1);
    ph_queues_free(found);
}

TEST(listed_settings_can_be_set_again_as_they_are)
{
    ph_store *store = t_open(NULL);
    ph_queues *before = queues(store, ""), *after;

    OK(ph_outbox_queue_set(store, PH_OWN_TX, "", &ph_queues_at(before, 0)->settings, 0, &t_err));
    after = queues(store, "");
    CHECK(memcmp(&ph_queues_at(before, 0)->settings, &ph_queues_at(after, 0)->settings,
                 offsetof(ph_queue_settings, join_wait_topic)) == 0);
    CHECK_STR(ph_queues_at(before, 0)->settings.join_wait_topic, "join.wait");
    CHECK_STR(ph_queues_at(after, 0)->settings.join_wait_topic, "join.wait");
    ph_queues_free(before);
    ph_queues_free(after);
}

TEST(queues_are_listed_by_name_each_with_its_own_counts)
{
    ph_store *store = t_open(NULL);
    ph_owner owner = ph_owner_new();
    ph_message later = a_message("topic", "later");
    ph_queues *found;
    const ph_queue_info *info;
    ph_lease_ref refs[5];

    t_clock_set(store, T_EPOCH);
    put_in(store, "b", "topic", "x");
    put_in(store, "a", "topic", "x");
    put_in(store, "a", "topic", "y");
    put_many(store, "topic", 5, NULL);
    take(store, owner, 3, refs);
    settle(store, owner, refs[0], PH_FAIL, "why", 0);
    later.due_at = T_EPOCH + 3600 * T_SECOND;
    put(store, &later);
    t_clock_advance(store, 31 * T_SECOND);

    found = queues(store, NULL);
    CHECK_INT(ph_queues_count(found), 3);
    info = ph_queues_at(found, 0);
    CHECK_STR(info->ns, "");
    CHECK_INT(info->counts.ready, 2);
    CHECK_INT(info->counts.scheduled, 1);
    CHECK_INT(info->counts.in_progress, 2);
    CHECK_INT(info->counts.expired_leases, 2);
    CHECK_INT(info->counts.dead, 1);
    CHECK_INT(info->counts.oldest_ready_ms, 31000);
    info = ph_queues_at(found, 1);
    CHECK_STR(info->ns, "a");
    CHECK_INT(info->counts.ready, 2);
    CHECK_INT(info->counts.in_progress, 0);
    CHECK_INT(info->counts.dead, 0);
    info = ph_queues_at(found, 2);
    CHECK_STR(info->ns, "b");
    CHECK_INT(info->counts.ready, 1);
    ph_queues_free(found);
}

TEST(a_queue_that_does_not_exist_is_not_listed)
{
    ph_store *store = t_open(NULL);
    ph_queues *found = queues(store, "nowhere");
    char *long_name = repeated("x", PH_NAME_MAX + 1);

    CHECK_INT(ph_queues_count(found), 0);
    ph_queues_free(found);
    CHECK_INT(ph_queue_list(store, PH_OWN_TX, NULL, 0, NULL, &t_err), PH_EINVAL);
    CHECK_INT(ph_queue_list(store, PH_OWN_TX, T_OPTS(ph_queue_list_opts, .ns = long_name), 0,
                            &found, &t_err),
              PH_EINVAL);
    CHECK_INT(ph_queues_count(NULL), 0);
    CHECK(ph_queues_at(NULL, 0) == NULL);
    ph_queues_free(NULL);
}
