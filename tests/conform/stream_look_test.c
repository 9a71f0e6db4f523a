/* stream_look_test.c - streams as operators see them: lists, counts, lookups, reading a stream. What
 * is checked is the text of coordination.h, inspect.h and posthorn.h. */
#include "lanes.h"

/* One message in every state of the list of ph_stream_state. */
LANE_TEST_LONG(the_list_says_how_each_stream_stands)
{
    ph_store *store = open_at_epoch();
    ph_owner owner = ph_owner_new(), other = ph_owner_new();
    ph_batch *batch;
    struct lane_seen s;

    set_dead_head(door, store, PH_DEAD_HEAD_BLOCK);
    fill(door, store, "a1 b1 b2 c1 d1 d2 d3");
    t_clock_advance(store, T_SECOND);
    batch = door_claim(door, store, owner, NULL, 4);
    CHECK_STR(payloads(batch), "a1 b1 c1 d1");
    CHECK_STR(settled(door, store, owner, batch, "ack a1, abandon+5000 b1, fail c1"),
              "acked abandoned failed");
    ph_batch_free(batch);
    fill(door, store, "e1");
    s = see_lane(door, store, "a");
    REQ_INT("STR-018", s.state, PH_STREAM_IDLE);
    CHECK_INT(s.last_seq, 1);
    CHECK_INT(s.next_seq, 2);
    CHECK_INT(s.unsettled, 0);
    CHECK_INT(s.created_at, T_EPOCH);
    CHECK(ph_id_is_zero(s.head.b));
    s = see_lane(door, store, "b");
    REQ_INT("STR-018", s.state, PH_STREAM_SCHEDULED);
    CHECK_INT(s.next_seq, 1);
    CHECK_INT(s.unsettled, 2);
    CHECK_INT(s.head_due_at, T_EPOCH + 6 * T_SECOND);
    CHECK_INT(s.head_attempts, 1);
    CHECK(same_id(s.head.b, named(door, store, "b1").b));
    CHECK(ph_id_is_zero(s.owner.b));
    CHECK_INT(s.locked_until, 0);
    s = see_lane(door, store, "c");
    REQ_INT("STR-018", s.state, PH_STREAM_BLOCKED);
    CHECK_INT(s.unsettled, 0);
    CHECK(same_id(s.head.b, named(door, store, "c1").b));
    s = see_lane(door, store, "d");
    REQ_INT("STR-018", s.state, PH_STREAM_IN_PROGRESS);
    CHECK_INT(s.last_seq, 3);
    CHECK_INT(s.next_seq, 1);
    CHECK_INT(s.unsettled, 3);
    CHECK_INT(s.head_attempts, 1);
    CHECK_INT(s.head_due_at, 0);
    CHECK(same_id(s.owner.b, owner.b));
    CHECK_INT(s.locked_until, T_EPOCH + 31 * T_SECOND);
    s = see_lane(door, store, "e");
    REQ_INT("STR-018", s.state, PH_STREAM_READY);
    CHECK_INT(s.head_due_at, T_EPOCH + T_SECOND);
    CHECK_INT(s.head_attempts, 0);
    CHECK_STR(s.affinity_service, ""); /* there is no instance */
    CHECK(ph_id_is_zero(s.affinity_owner.b));
    CHECK(!see_lane(door, store, "f").there);
    t_clock_advance(store, 5 * T_SECOND);
    CHECK_INT(see_lane(door, store, "b").state, PH_STREAM_READY);
    CHECK_STR(worked(door, store, other, 50), "e1 b1 b2");
    CHECK_INT(see_lane(door, store, "b").state, PH_STREAM_IDLE);
    all_is_well(store);
}

/* In the middle of a run the head is the first that is not settled. */
LANE_TEST_LONG(the_head_of_a_run_is_its_first_unsettled_message)
{
    ph_store *store = open_at_epoch();
    ph_owner owner = ph_owner_new();
    struct lane_seen s;
    ph_batch *batch;

    fill(door, store, "a1 a2 a3 a4");
    batch = door_claim(door, store, owner, NULL, 3);
    CHECK_STR(settled(door, store, owner, batch, "ack a1"), "acked");
    s = see_lane(door, store, "a");
    CHECK_INT(s.state, PH_STREAM_IN_PROGRESS);
    CHECK_INT(s.next_seq, 2);
    CHECK_INT(s.unsettled, 3);
    CHECK_INT(s.last_seq, 4);
    CHECK(same_id(s.head.b, named(door, store, "a2").b));
    ph_batch_free(batch);
    all_is_well(store);
}

/* "Streams by namespace, then key (byte for byte)", in pages, with or without idle ones. */
TEST(the_list_comes_in_order_and_in_pages)
{
    ph_store *store = open_at_epoch();
    ph_stream_list_opts opts = PH_STREAM_LIST_OPTS_INIT;
    ph_owner owner = ph_owner_new();
    ph_streams *list = NULL;

    fill(&outbox_door, store, "b1 a1 B1 c1 -x");
    fill_in(&outbox_door, store, "ns", "a1 z1");
    fill(&inbox_door, store, "i1");
    CHECK_STR(listed(store, NULL), "B a b c a z");
    opts.ns = "";
    CHECK_STR(listed(store, &opts), "B a b c");
    opts.ns = "ns";
    CHECK_STR(listed(store, &opts), "a z");
    opts.ns = NULL;
    opts.stream = "a"; /* of every namespace */
    OK(ph_stream_list(store, PH_OWN_TX, &opts, 0, &list, &t_err));
    CHECK_INT(ph_streams_count(list), 2);
    CHECK_STR(ph_streams_at(list, 0)->ns, "");
    CHECK_STR(ph_streams_at(list, 1)->ns, "ns");
    CHECK(ph_streams_at(list, 2) == NULL);
    ph_streams_free(list);
    opts.stream = NULL;
    opts.limit = 4;
    CHECK_STR(listed(store, &opts), "B a b c");
    opts.after_ns = "";
    opts.after_stream = "c";
    CHECK_STR(listed(store, &opts), "a z");
    opts.after_ns = "ns";
    opts.after_stream = "a";
    CHECK_STR(listed(store, &opts), "z");
    opts.after_stream = "z";
    CHECK_STR(listed(store, &opts), "");
    opts = (ph_stream_list_opts)PH_STREAM_LIST_OPTS_INIT;
    opts.door = PH_INBOX;
    CHECK_STR(listed(store, &opts), "i");
    /* "otherwise only streams with something to do" */
    opts.door = PH_OUTBOX;
    CHECK_STR(worked(&outbox_door, store, owner, 2), "b1 a1");
    REQ_STR("STR-018", listed(store, &opts), "B c a z");
    opts.idle_too = true;
    REQ_STR("STR-018", listed(store, &opts), "B a b c a z");
    ph_streams_free(NULL);
    CHECK_INT(ph_streams_count(NULL), 0);
    all_is_well(store);
}

TEST(a_page_of_streams_holds_fifty_by_default)
{
    ph_store *store = open_at_epoch();
    ph_message m[60];
    char keys[60][8];
    ph_streams *list = NULL;

    for (int i = 0; i < 60; i++) {
        snprintf(keys[i], sizeof(keys[i]), "s%02d", i);
        m[i] = in_stream(keys[i], "x");
    }
    OK(ph_enqueue_many(store, PH_OWN_TX, m, 60, 0, NULL, &t_err));
    OK(ph_stream_list(store, PH_OWN_TX, NULL, 0, &list, &t_err));
    CHECK_INT(ph_streams_count(list), 50);
    CHECK_STR(ph_streams_at(list, 49)->stream, "s49");
    ph_streams_free(list);
}

/* PH_PARKED in find, lists, counts and the view. */
LANE_TEST(parked_messages_are_seen_counted_and_listed)
{
    ph_store *store = open_at_epoch();
    struct t_conn *conn = t_connect();
    ph_message_list_opts opts = PH_MESSAGE_LIST_OPTS_INIT;
    ph_messages *list = NULL;
    ph_queue_counts counts;
    char sql[200], id[PH_ID_TEXT_SIZE];
    struct seen s;

    fill(door, store, "a1 a2 a3 -x");
    fill_in(door, store, "other", "a1 a2");
    t_clock_advance(store, 3 * T_SECOND);
    counts = door_counts(door, store, "");
    REQ_INT("STR-018", counts.parked, 2);
    CHECK_INT(counts.ready, 2);
    CHECK_INT(counts.scheduled, 0);
    CHECK_INT(counts.oldest_ready_ms, 3000);
    CHECK_INT(door_counts(door, store, NULL).parked, 3);
    s = see_named(door, store, "a3");
    REQ_INT("STR-018", s.status, PH_PARKED);
    CHECK_INT(s.attempts, 0);
    CHECK_INT(s.next_attempt_at, 0);
    CHECK_INT(s.locked_until, 0);
    CHECK_INT(s.fence, 0);
    CHECK_INT(s.created_at, T_EPOCH);
    CHECK(ph_id_is_zero(s.owner.b));
    opts.state = PH_LIST_PARKED;
    opts.ns = "";
    opts.oldest_first = opts.with_payload = true;
    OK(door->list(store, PH_OWN_TX, &opts, 0, &list, &t_err));
    REQ_INT("STR-018", ph_messages_count(list), 2);
    CHECK_STR(ph_messages_at(list, 0)->message->payload, "a2");
    CHECK_STR(ph_messages_at(list, 0)->message->stream, "a");
    CHECK_INT(ph_messages_at(list, 1)->message->seq, 3);
    CHECK_INT(ph_messages_at(list, 1)->state, PH_PARKED);
    ph_messages_free(list);
    opts.state = PH_LIST_READY;
    OK(door->list(store, PH_OWN_TX, &opts, 0, &list, &t_err));
    CHECK_INT(ph_messages_count(list), 2);
    ph_messages_free(list);
    opts.state = PH_LIST_ALL;
    opts.ns = NULL;
    OK(door->list(store, PH_OWN_TX, &opts, 0, &list, &t_err));
    CHECK_INT(ph_messages_count(list), 6);
    ph_messages_free(list);
    snprintf(sql, sizeof(sql), "SELECT status FROM {t}%s WHERE id = '%s'", door->name,
             ph_id_text(named(door, store, "a2").b, id));
    CHECK_STR(t_value(conn, sql), "parked");
    snprintf(sql, sizeof(sql), "SELECT status_code FROM {t}%s WHERE id = '%s'", door->name,
             ph_id_text(named(door, store, "a2").b, id));
    CHECK_STR(t_value(conn, sql), "5");
    t_disconnect(conn);
    all_is_well(store);
}

/* The counts follow a message through its life in a stream. */
LANE_TEST_LONG(the_counts_of_a_queue_with_streams_add_up)
{
    ph_store *store = open_at_epoch();
    ph_owner owner = ph_owner_new();
    ph_queue_counts c;
    ph_batch *batch;

    fill(door, store, "a1 a2 a3 b1 b2");
    batch = door_claim(door, store, owner, NULL, 4);
    CHECK_STR(payloads(batch), "a1 a2 a3 b1");
    c = door_counts(door, store, NULL);
    CHECK_INT(c.in_progress, 4);
    CHECK_INT(c.parked, 1);
    CHECK_INT(c.ready, 0);
    CHECK_STR(settled(door, store, owner, batch, "ack a1, abandon+5000 a2, fail b1"),
              "acked abandoned failed");
    ph_batch_free(batch);
    c = door_counts(door, store, NULL);
    CHECK_INT(c.in_progress, 0);
    CHECK_INT(c.scheduled, 1);
    CHECK_INT(c.parked, 1);
    CHECK_INT(c.ready, 1);
    CHECK_INT(c.dead, 1);
    t_clock_advance(store, 5 * T_SECOND);
    CHECK_STR(claimed(door, store, owner, 50), "b2 a2 a3");
    t_clock_advance(store, 31 * T_SECOND);
    c = door_counts(door, store, NULL);
    CHECK_INT(c.in_progress, 3);
    CHECK_INT(c.expired_leases, 3);
    worked(door, store, owner, 50);
    worked(door, store, owner, 50);
    worked(door, store, owner, 50);
    c = door_counts(door, store, NULL); /* everything settled: nothing is left to count */
    CHECK_INT(c.ready + c.scheduled + c.in_progress + c.parked, 0);
    CHECK_INT(c.oldest_ready_ms, 0);
    all_is_well(store);
}

/* ---------------------------------------------------------------- reading a stream */

/* "Reads the messages of a stream with a seq above after_seq in order, whatever state they are in …
 * It changes nothing." */
LANE_TEST(a_stream_is_read_in_order_whatever_state_its_messages_are_in)
{
    ph_store *store = open_at_epoch();
    ph_owner owner = ph_owner_new();
    ph_messages *list = NULL;
    const ph_message_info *info;
    ph_batch *batch;

    fill(door, store, "a1 a2 b1 a3 a4 a5");
    batch = door_claim(door, store, owner, NULL, 4);
    CHECK_STR(payloads(batch), "a1 a2 a3 b1");
    CHECK_STR(settled(door, store, owner, batch, "ack a1, fail a2"), "acked failed");
    ph_batch_free(batch);
    CHECK_STR(claimed(door, store, owner, 1), "a3");
    REQ_STR("STR-018", lane(door, store, "a"), "a1=done a2=dead a3=leased a4=parked a5=parked");
    OK(ph_stream_read(store, PH_OWN_TX, door->number, NULL, "a", 2, 2, 0, &list, &t_err));
    CHECK_INT(ph_messages_count(list), 2);
    info = ph_messages_at(list, 0);
    CHECK_STR(info->message->payload, "a3");
    CHECK_INT(info->message->payload_length, 2);
    CHECK_INT(info->message->seq, 3);
    CHECK_STR(info->message->topic, TOPIC);
    CHECK_INT(info->state, PH_IN_PROGRESS);
    if (door == &inbox_door) {
        CHECK_STR(info->message->source, "elsewhere");
        CHECK_STR(info->message->source_id, "a3");
    }
    CHECK_INT(ph_messages_at(list, 1)->message->seq, 4);
    ph_messages_free(list);
    OK(ph_stream_read(store, PH_OWN_TX, door->number, "", "a", 5, 0, 0, &list, &t_err));
    CHECK_INT(ph_messages_count(list), 0);
    ph_messages_free(list);
    OK(ph_stream_read(store, PH_OWN_TX, door->number, "ns", "a", 0, 0, 0, &list, &t_err));
    CHECK_INT(ph_messages_count(list), 0); /* one that does not exist is empty */
    ph_messages_free(list);
    all_is_well(store);
}

TEST(reading_a_stream_gives_fifty_by_default_and_in_the_callers_transaction_what_that_has_stored)
{
    ph_store *store = open_at_epoch();
    struct t_conn *conn = t_connect();
    ph_message m[60];
    ph_messages *list = NULL;

    for (int i = 0; i < 60; i++)
        m[i] = in_stream("a", "x");
    t_begin(conn);
    OK(ph_enqueue_many(store, t_tx(conn), m, 60, 0, NULL, &t_err));
    OK(ph_stream_read(store, t_tx(conn), PH_OUTBOX, NULL, "a", 0, 0, 0, &list, &t_err));
    CHECK_INT(ph_messages_count(list), 50);
    CHECK_INT(ph_messages_at(list, 49)->message->seq, 50);
    ph_messages_free(list);
    t_rollback(conn);
    OK(ph_stream_read(store, PH_OWN_TX, PH_OUTBOX, NULL, "a", 0, 0, 0, &list, &t_err));
    CHECK_INT(ph_messages_count(list), 0);
    ph_messages_free(list);
}

/* ------------------------------------------------------------------- arguments */

TEST(bad_arguments_of_lists_of_streams_are_refused)
{
    ph_store *store = t_open(NULL);
    ph_stream_list_opts opts = PH_STREAM_LIST_OPTS_INIT;
    ph_streams *list = NULL;

#define REFUSED(text)                                                                              \
    do {                                                                                           \
        CHECK_INT(ph_stream_list(store, PH_OWN_TX, &opts, 0, &list, &t_err), PH_EINVAL);           \
        CHECK_STR(t_err.message, text);                                                            \
        CHECK(list == NULL);                                                                       \
        opts = (ph_stream_list_opts)PH_STREAM_LIST_OPTS_INIT;                                      \
    } while (0)
    opts.door = PH_TIMERS;
    REFUSED("only outbox and inbox have streams");
    opts.limit = -1;
    REFUSED("limit is -1; give 1 to 10000, or 0 for 50");
    opts.limit = PH_BATCH_MAX + 1;
    REFUSED("limit is 10001; give 1 to 10000, or 0 for 50");
    opts.partition_count = -1;
    REFUSED("partition_count is -1; give 1 to 1000000, or 0 for the service's");
    opts.partition_count = PH_PARTITIONS_MAX + 1;
    REFUSED("partition_count is 1000001; give 1 to 1000000, or 0 for the service's");
    opts.after_ns = "";
    REFUSED("after_ns is given without after_stream; give both");
    opts.after_stream = "\xff";
    REFUSED("after_stream is not valid UTF-8");
    opts.after_ns = "\xff";
    opts.after_stream = "a";
    REFUSED("after_ns is not valid UTF-8");
#undef REFUSED
    opts.stream = "";
    CHECK_INT(ph_stream_list(store, PH_OWN_TX, &opts, 0, &list, &t_err), PH_EINVAL);
    opts.stream = NULL;
    opts.ns = "\xff";
    CHECK_INT(ph_stream_list(store, PH_OWN_TX, &opts, 0, &list, &t_err), PH_EINVAL);
    opts.ns = NULL;
    opts.service = "";
    CHECK_INT(ph_stream_list(store, PH_OWN_TX, &opts, 0, &list, &t_err), PH_EINVAL);
    CHECK_INT(ph_stream_list(NULL, PH_OWN_TX, NULL, 0, &list, &t_err), PH_EINVAL);
    CHECK_INT(ph_stream_list(store, PH_OWN_TX, NULL, -1, &list, &t_err), PH_EINVAL);
    CHECK_INT(ph_stream_list(store, PH_OWN_TX, NULL, 0, NULL, &t_err), PH_EINVAL);
    CHECK(list == NULL);
}

TEST(bad_arguments_of_reading_a_stream_are_refused)
{
    ph_store *store = t_open(NULL);
    ph_messages *list = NULL;

#define REFUSED(door, ns, stream, after, limit)                                                    \
    CHECK_INT(ph_stream_read(store, PH_OWN_TX, (door), (ns), (stream), (after), (limit), 0, &list, \
                             &t_err),                                                              \
              PH_EINVAL)
    REFUSED(PH_JOB_RUNS, NULL, "a", 0, 0);
    CHECK_STR(t_err.message, "only outbox and inbox have streams");
    REFUSED(PH_OUTBOX, "\xff", "a", 0, 0);
    REFUSED(PH_OUTBOX, NULL, NULL, 0, 0);
    REFUSED(PH_OUTBOX, NULL, "", 0, 0);
    REFUSED(PH_OUTBOX, NULL, "a", -1, 0);
    CHECK_STR(t_err.message, "after_seq is negative; give 0 for the beginning");
    REFUSED(PH_OUTBOX, NULL, "a", 0, -1);
    REFUSED(PH_OUTBOX, NULL, "a", 0, PH_BATCH_MAX + 1);
#undef REFUSED
    CHECK_INT(ph_stream_read(store, PH_OWN_TX, PH_OUTBOX, NULL, "a", 0, 0, 0, NULL, &t_err),
              PH_EINVAL);
    CHECK(list == NULL);
}

/* Settings that belong to streams: kept, shown, refused out of range. */
TEST(queues_have_settings_for_streams)
{
    ph_store *store = t_open(NULL);
    ph_queue_settings settings = PH_QUEUE_SETTINGS_INIT;
    ph_queues *list = NULL;
    const struct door *doors[] = { &outbox_door, &inbox_door };

    for (int i = 0; i < 2; i++) {
        const ph_queue_settings *now;

        settings = (ph_queue_settings)PH_QUEUE_SETTINGS_INIT;
        settings.max_attempts = 3;
        set_door_queue(doors[i], store, &settings);
        OK(ph_queue_list(store, PH_OWN_TX, T_OPTS(ph_queue_list_opts, .door = doors[i]->number), 0,
                         &list, &t_err));
        now = &ph_queues_at(list, 0)->settings;
        CHECK_INT(now->dead_head, PH_DEAD_HEAD_SKIP); /* the defaults */
        CHECK_INT(now->affinity_grace_ms, 1000);
        CHECK_INT(now->dedupe_retention_s, i == 0 ? 7 * 86400 : PH_FOREVER);
        ph_queues_free(list);
        settings.dead_head = PH_DEAD_HEAD_BLOCK;
        settings.affinity_grace_ms = PH_NO_GRACE;
        set_door_queue(doors[i], store, &settings);
        settings = (ph_queue_settings)PH_QUEUE_SETTINGS_INIT;
        set_door_queue(doors[i], store, &settings); /* leaves all as it is */
        OK(ph_queue_list(store, PH_OWN_TX, T_OPTS(ph_queue_list_opts, .door = doors[i]->number), 0,
                         &list, &t_err));
        now = &ph_queues_at(list, 0)->settings;
        CHECK_INT(now->dead_head, PH_DEAD_HEAD_BLOCK);
        CHECK_INT(now->affinity_grace_ms, PH_NO_GRACE);
        ph_queues_free(list);
    }
    settings.affinity_grace_ms = 3600001;
    CHECK_INT(ph_queue_set(store, PH_OWN_TX, PH_OUTBOX, NULL, &settings, 0, &t_err), PH_EINVAL);
    CHECK(strstr(t_err.message, "affinity_grace_ms") != NULL);
    settings.affinity_grace_ms = -2;
    CHECK_INT(ph_queue_set(store, PH_OWN_TX, PH_OUTBOX, NULL, &settings, 0, &t_err), PH_EINVAL);
    settings.affinity_grace_ms = 0;
    settings.dead_head = (ph_dead_head)3;
    CHECK_INT(ph_queue_set(store, PH_OWN_TX, PH_OUTBOX, NULL, &settings, 0, &t_err), PH_EINVAL);
    CHECK(strstr(t_err.message, "dead_head") != NULL);
}
