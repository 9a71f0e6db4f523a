/* inbox_test.c - messages from elsewhere, each taken in once (inbox.h; docs/states.md, Inbox;
 * scenarios 39 to 42). What inbox messages have in common with all others is in doors_test.c, their
 * streams in stream_*_test.c. */
#include "lanes.h"

#include <stdatomic.h>

static ph_inbox_message a_letter(const char *source, const char *id)
{
    ph_inbox_message m = PH_INBOX_MESSAGE_INIT;

    m.source = source;
    m.source_id = id;
    m.topic = TOPIC;
    m.payload = id;
    return m;
}

static ph_received receive(ph_store *store, const char *source, const char *id)
{
    ph_inbox_message m = a_letter(source, id);
    ph_received received = { 0 };

    OK(ph_inbox_receive(store, PH_OWN_TX, &m, 0, &received, &t_err));
    return received;
}

/* Everything that is given comes back. */
TEST(a_received_message_is_delivered_with_all_that_was_given)
{
    static const ph_tenant_id tenant = { { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
                                           16 } };
    ph_store *store = open_at_epoch();
    ph_inbox_message m = a_letter("billing", "in\xc3\xa4/4711 '\"");
    ph_received received = { 0 };
    ph_batch *batch = NULL;
    ph_claim_opts opts = PH_CLAIM_OPTS_INIT;
    const ph_delivery *d;

    m.payload = "{\"a\": 1}\n";
    m.ns = "ns";
    m.tenant_id = &tenant; /* the id at the source need not begin with it */
    m.correlation_id = "corr";
    m.stream = "s";
    m.priority = PH_PRIORITY_URGENT;
    m.headers = "{\"h\": \"x\"}";
    OK(ph_inbox_receive(store, PH_OWN_TX, &m, 0, &received, &t_err));
    REQ("INB-001", received.is_new && !ph_id_is_zero(received.work_id.b));
    opts.ns = "ns";
    OK(ph_inbox_claim(store, PH_OWN_TX, ph_owner_new(), &opts, 0, &batch, &t_err));
    CHECK_INT(ph_batch_count(batch), 1);
    d = ph_batch_at(batch, 0);
    CHECK(same_id(d->work_id.b, received.work_id.b));
    CHECK(!ph_id_is_zero(d->message_id.b));
    CHECK_STR(d->source, "billing");
    CHECK_STR(d->source_id, "in\xc3\xa4/4711 '\"");
    CHECK_STR(d->topic, TOPIC);
    CHECK_STR(d->payload, "{\"a\": 1}\n");
    CHECK_INT(d->payload_length, 9);
    CHECK_STR(d->ns, "ns");
    CHECK(d->tenant_id && memcmp(d->tenant_id, &tenant, 16) == 0);
    CHECK_STR(d->correlation_id, "corr");
    CHECK_STR(d->headers, "{\"h\": \"x\"}");
    CHECK_INT(d->priority, PH_PRIORITY_URGENT);
    CHECK_STR(d->stream, "s");
    CHECK_INT(d->seq, 1);
    CHECK_INT(d->attempts, 1);
    CHECK_INT(d->created_at, T_EPOCH);
    ph_batch_free(batch);
    all_is_well(store);
}

/* Scenario 39: "every further time the answer is is_new = false, also when it was handled long ago". */
TEST(a_duplicate_is_dropped_whatever_became_of_the_first)
{
    ph_store *store = open_at_epoch();
    ph_owner owner = ph_owner_new();
    ph_received first = receive(store, "s", "1"), again;
    ph_batch *batch;

    again = receive(store, "s", "1"); /* waiting */
    REQ("INB-001", !again.is_new && same_id(again.work_id.b, first.work_id.b));
    batch = door_claim(&inbox_door, store, owner, NULL, 10);
    CHECK_INT(ph_batch_count(batch), 1);
    CHECK(!receive(store, "s", "1").is_new); /* in progress */
    CHECK_STR(settled(&inbox_door, store, owner, batch, "abandon 1"), "abandoned");
    ph_batch_free(batch);
    CHECK(!receive(store, "s", "1").is_new);
    CHECK_STR(worked(&inbox_door, store, owner, 10), "1");
    t_clock_advance(store, 86400 * T_SECOND);
    again = receive(store, "s", "1"); /* done */
    REQ("INB-001", !again.is_new && same_id(again.work_id.b, first.work_id.b));
    REQ_STR("INB-001", claimed(&inbox_door, store, owner, 10), "");
    receive(store, "s", "2");
    batch = door_claim(&inbox_door, store, owner, NULL, 10);
    CHECK_STR(settled(&inbox_door, store, owner, batch, "fail 2"), "failed");
    ph_batch_free(batch);
    REQ("INB-001", !receive(store, "s", "2").is_new); /* dead */
    all_is_well(store);
}

/* The record of (source, id) is per queue: "Each has records of its own." */
TEST(source_id_and_namespace_together_make_a_message_the_same)
{
    ph_store *store = open_at_epoch();
    ph_inbox_message m = a_letter("a", "1");
    ph_received received = { 0 };

    CHECK(receive(store, "a", "1").is_new);
    CHECK(receive(store, "b", "1").is_new);
    CHECK(receive(store, "a", "1 ").is_new);
    CHECK(receive(store, "A", "1").is_new);
    CHECK(receive(store, "a", "\xc3\xa4").is_new);
    CHECK(receive(store, "a", "a\xcc\x88").is_new);
    m.ns = "other";
    OK(ph_inbox_receive(store, PH_OWN_TX, &m, 0, &received, &t_err));
    CHECK(received.is_new);
    m.ns = NULL;
    m.topic = "another topic"; /* not a part of it */
    m.payload = "another payload";
    m.stream = "s";
    OK(ph_inbox_receive(store, PH_OWN_TX, &m, 0, &received, &t_err));
    REQ("INB-001", !received.is_new);
    CHECK(!see_lane(&inbox_door, store, "s").there);
    /* how source and id are put together must not matter */
    CHECK(receive(store, "a/b", "c").is_new);
    CHECK(receive(store, "a", "b/c").is_new);
    CHECK(receive(store, "ab", "c").is_new);
    CHECK(receive(store, "a", "bc").is_new);
    /* nor a dedupe key of the outbox that looks alike */
    {
        ph_message out = a_message(TOPIC, "x");

        out.dedupe_key = "1";
        CHECK(put(store, &out).is_new);
    }
    all_is_well(store);
}

/* Scenario 39, inside one batch: "Of one that occurs twice among them the later one is the
 * duplicate." */
TEST(a_duplicate_inside_one_call_is_the_later_one)
{
    ph_store *store = open_at_epoch();
    ph_inbox_message m[4] = { a_letter("s", "1"), a_letter("s", "2"), a_letter("s", "1"),
                              a_letter("s", "3") };
    ph_received r[4] = { 0 };

    m[2].payload = "twice";
    CHECK(receive(store, "s", "3").is_new);
    OK(ph_inbox_receive_many(store, PH_OWN_TX, m, 4, 0, r, &t_err));
    REQ("INB-002", r[0].is_new && r[1].is_new && !r[2].is_new && !r[3].is_new);
    REQ("INB-002", same_id(r[2].work_id.b, r[0].work_id.b));
    CHECK(memcmp(&r[1].work_id, &r[0].work_id, 16) > 0);
    CHECK_STR(worked(&inbox_door, store, ph_owner_new(), 10), "3 1 2");
    OK(ph_inbox_receive_many(store, PH_OWN_TX, m, 4, 0, NULL, &t_err));
    CHECK_STR(claimed(&inbox_door, store, ph_owner_new(), 10), "");
    all_is_well(store);
}

/* In a stream: no number is given to what was there before. */
TEST(duplicates_leave_no_gap_in_a_stream)
{
    ph_store *store = open_at_epoch();

    fill(&inbox_door, store, "a1 a2");
    fill(&inbox_door, store, "a1 a3 a2 a4");
    REQ_STR("INB-002", numbers(&inbox_door, store, "a"), "1 2 3 4");
    CHECK_STR(worked(&inbox_door, store, ph_owner_new(), 50), "a1 a2 a3 a4");
    all_is_well(store);
}

/* "all or none" */
TEST(one_bad_message_rejects_all_of_the_call)
{
    ph_store *store = open_at_epoch();
    ph_inbox_message m[3] = { a_letter("s", "1"), a_letter("s", "2"), a_letter("s", "3") };
    struct t_conn *conn = t_connect();

    m[1].headers = "[]";
    CHECK_INT(ph_inbox_receive_many(store, PH_OWN_TX, m, 3, 0, NULL, &t_err), PH_EINVAL);
    CHECK(strstr(t_err.message, "message 1: headers") != NULL);
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}message"), 0);
    CHECK(receive(store, "s", "1").is_new); /* nor is its record there */
    t_disconnect(conn);
    all_is_well(store);
}

/* ------------------------------------------------------------------ many at once */

#define BRINGERS 4
#define LETTERS 25

struct meeting {
    atomic_int is_new[LETTERS];
    ph_work_id ids[BRINGERS][LETTERS];
};

static void bring(int index, void *argument)
{
    struct meeting *meeting = argument;
    ph_store *store = t_open(NULL);

    for (int i = 0; i < LETTERS; i++) {
        char id[8];
        ph_received received;

        snprintf(id, sizeof(id), "%d", i);
        received = receive(store, "s", id);
        atomic_fetch_add(&meeting->is_new[i], received.is_new);
        meeting->ids[index][i] = received.work_id;
    }
}

/* Scenario 40. */
TEST(concurrent_first_sightings_yield_one)
{
    struct meeting *meeting = shared_memory(sizeof(*meeting));
    ph_store *store = t_open(NULL);

    ph_close(store);
    in_processes(BRINGERS, bring, meeting);
    store = t_open(NULL);
    for (int i = 0; i < LETTERS; i++) {
        REQ_INT("INB-003", atomic_load(&meeting->is_new[i]), 1);
        for (int n = 1; n < BRINGERS; n++)
            REQ("INB-003", same_id(meeting->ids[n][i].b, meeting->ids[0][i].b));
    }
    CHECK_INT(door_claimable(&inbox_door, store), LETTERS);
    all_is_well(store);
}

/* "… and stores it if that rolls back." */
TEST(a_first_sighting_that_is_rolled_back_was_none)
{
    ph_store *store = open_at_epoch();
    struct t_conn *conn = t_connect();
    ph_inbox_message m = a_letter("s", "1");
    ph_received received = { 0 };

    t_begin(conn);
    OK(ph_inbox_receive(store, t_tx(conn), &m, 0, &received, &t_err));
    CHECK(received.is_new);
    OK(ph_inbox_receive(store, t_tx(conn), &m, 0, &received, &t_err));
    CHECK(!received.is_new); /* it sees its own */
    t_rollback(conn);
    REQ("INB-003", receive(store, "s", "1").is_new);
    t_disconnect(conn);
    all_is_well(store);
}

/* -------------------------------------------------------------------- lifetimes */

static void retain(ph_store *store)
{
    int64_t count = 1;

    while (count > 0)
        OK(ph_retention_run(store, PH_OWN_TX, 0, 0, &count, &t_err));
}

/* "The record of (source, id) outlives the message: for ever, unless the queue's dedupe_retention_s
 * says otherwise". */
TEST(the_record_outlives_the_message_for_ever)
{
    ph_store *store = open_at_epoch();
    struct t_conn *conn = t_connect();
    ph_received first = receive(store, "s", "1"), again;

    CHECK_STR(worked(&inbox_door, store, ph_owner_new(), 10), "1");
    t_clock_advance(store, 400 * 86400 * T_SECOND);
    retain(store);
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}message"), 0);
    again = receive(store, "s", "1");
    REQ("INB-004", !again.is_new && same_id(again.work_id.b, first.work_id.b));
    t_disconnect(conn);
    all_is_well(store);
}

/* Scenario 41: "never shorter than that", and not before the message has gone. */
TEST(records_are_purged_at_their_time_and_not_before)
{
    ph_store *store = open_at_epoch();
    ph_queue_settings settings = PH_QUEUE_SETTINGS_INIT;

    settings.retention_s = 10;
    settings.dedupe_retention_s = 100;
    set_door_queue(&inbox_door, store, &settings);
    receive(store, "s", "1");
    receive(store, "s", "waits");
    {
        ph_owner owner = ph_owner_new();
        ph_batch *batch = door_claim(&inbox_door, store, owner, NULL, 10);

        CHECK_STR(settled(&inbox_door, store, owner, batch, "ack 1, release waits"),
                  "acked released");
        ph_batch_free(batch);
    }
    t_clock_advance(store, 100 * T_SECOND - 1);
    retain(store);
    REQ("INB-004", !receive(store, "s", "1").is_new); /* gone, but remembered */
    t_clock_advance(store, 1);
    retain(store);
    REQ("INB-004", receive(store, "s", "1").is_new);
    t_clock_advance(store, 1000 * T_SECOND);
    retain(store);
    REQ("INB-004", !receive(store, "s", "waits").is_new); /* it is still to be done */
    all_is_well(store);
}

TEST(a_queue_may_delete_what_was_acked_and_still_remembers_it)
{
    ph_store *store = open_at_epoch();
    struct t_conn *conn = t_connect();
    ph_queue_settings settings = PH_QUEUE_SETTINGS_INIT;
    ph_received first;

    settings.delete_on_ack = 1;
    set_door_queue(&inbox_door, store, &settings);
    first = receive(store, "s", "1");
    CHECK_STR(worked(&inbox_door, store, ph_owner_new(), 10), "1");
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}message"), 0);
    CHECK(same_id(receive(store, "s", "1").work_id.b, first.work_id.b));
    REQ("INB-004", !receive(store, "s", "1").is_new);
    t_disconnect(conn);
    all_is_well(store);
}

/* -------------------------------------------------------------------- exactly once */

/* Scenario 42, first way: completion, own writes and emitted messages are one transaction; a second
 * delivery emits none again. */
TEST(the_completion_and_what_a_handler_emits_are_one_transaction)
{
    ph_store *store = open_at_epoch();
    struct t_conn *conn = t_connect();
    ph_owner owner = ph_owner_new();
    ph_message emitted = a_message("effect", "e");
    ph_outcome out = PH_OUTCOME_UNKNOWN;
    ph_lease_ref ref;

    t_sql(conn, "CREATE TABLE {t}mine (n int)");
    receive(store, "s", "1");
    ref = door_take_one(&inbox_door, store, owner);
    t_begin(conn); /* it crashes before the commit */
    t_sql(conn, "INSERT INTO {t}mine VALUES (1)");
    OK(try_put(store, t_tx(conn), &emitted));
    OK(ph_inbox_ack(store, t_tx(conn), owner, &ref, 1, 0, &out, &t_err));
    CHECK_INT(out, PH_OUTCOME_ACKED);
    t_rollback(conn);
    REQ_INT("INB-005", t_number(conn, "SELECT count(*) FROM {t}mine"), 0);
    REQ_INT("INB-005", claimable(store, 10), 0);
    t_clock_advance(store, 31 * T_SECOND);
    ref = door_take_one(&inbox_door, store, owner); /* delivered again */
    t_begin(conn);
    t_sql(conn, "INSERT INTO {t}mine VALUES (1)");
    OK(try_put(store, t_tx(conn), &emitted));
    OK(ph_inbox_ack(store, t_tx(conn), owner, &ref, 1, 0, &out, &t_err));
    t_commit(conn);
    REQ_INT("INB-005", t_number(conn, "SELECT count(*) FROM {t}mine"), 1);
    REQ_INT("INB-005", claimable(store, 10), 1);
    CHECK(!receive(store, "s", "1").is_new); /* the source delivers it again: nothing */
    CHECK_INT(door_claimable(&inbox_door, store), 0);
    t_sql(conn, "DROP TABLE {t}mine");
    t_disconnect(conn);
    all_is_well(store);
}

/* Scenario 42, second way: handled. "the message is stored as done, by nobody". */
TEST(a_message_that_is_handled_at_once_is_stored_as_done)
{
    ph_store *store = open_at_epoch();
    struct t_conn *conn = t_connect();
    ph_inbox_message m = a_letter("s", "1");
    ph_message emitted = a_message("effect", "e");
    ph_received received = { 0 };
    struct seen s;

    m.handled = true;
    for (int i = 0; i < 3; i++) { /* the first is rolled back, the third is a duplicate */
        t_begin(conn);
        OK(ph_inbox_receive(store, t_tx(conn), &m, 0, &received, &t_err));
        REQ_INT("INB-005", received.is_new, i < 2);
        if (received.is_new)
            OK(try_put(store, t_tx(conn), &emitted));
        if (i == 0)
            t_rollback(conn);
        else
            t_commit(conn);
    }
    REQ_INT("INB-005", claimable(store, 10), 1);
    CHECK_INT(door_claimable(&inbox_door, store), 0);
    s = see_by(ph_inbox_find, store, received.work_id);
    CHECK(s.there);
    CHECK_INT(s.status, PH_DONE);
    CHECK_INT(s.processed_at, T_EPOCH);
    CHECK(ph_id_is_zero(s.owner.b));
    CHECK_INT(door_counts(&inbox_door, store, NULL).ready, 0);
    t_disconnect(conn);
    all_is_well(store);
}

/* Several in one call, and a message that is waiting already: it stays, to be worked by others. */
TEST(handled_concerns_new_messages_only)
{
    ph_store *store = open_at_epoch();
    struct t_conn *conn = t_connect();
    ph_inbox_message m[3] = { a_letter("s", "1"), a_letter("s", "2"), a_letter("s", "3") };
    ph_received r[3] = { 0 };
    ph_received waiting = receive(store, "s", "2");

    m[0].handled = m[1].handled = true;
    t_begin(conn);
    OK(ph_inbox_receive_many(store, t_tx(conn), m, 3, 0, r, &t_err));
    t_commit(conn);
    CHECK(r[0].is_new && !r[1].is_new && r[2].is_new);
    CHECK_INT(see_by(ph_inbox_find, store, r[0].work_id).status, PH_DONE);
    CHECK_INT(see_by(ph_inbox_find, store, waiting.work_id).status, PH_READY);
    CHECK_INT(see_by(ph_inbox_find, store, r[2].work_id).status, PH_READY);
    CHECK_STR(worked(&inbox_door, store, ph_owner_new(), 10), "2 3");
    t_disconnect(conn);
    all_is_well(store);
}

/* What was handled at once is kept as long as any other that is done; its record for longer. */
TEST(a_handled_message_goes_by_the_retention_of_its_queue)
{
    ph_store *store = open_at_epoch();
    struct t_conn *conn = t_connect();
    ph_queue_settings settings = PH_QUEUE_SETTINGS_INIT;
    ph_inbox_message m = a_letter("s", "1");
    ph_received received = { 0 };

    settings.retention_s = 10;
    set_door_queue(&inbox_door, store, &settings);
    m.handled = true;
    t_begin(conn);
    OK(ph_inbox_receive(store, t_tx(conn), &m, 0, &received, &t_err));
    t_commit(conn);
    t_clock_advance(store, 10 * T_SECOND);
    retain(store);
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}message"), 0);
    CHECK(!receive(store, "s", "1").is_new);
    t_disconnect(conn);
    all_is_well(store);
}

/* Many at once, where each is forgotten as it is stored: the records go when their time is over. */
TEST(records_of_many_that_are_handled_and_deleted_at_once_go_too)
{
    enum { MANY = 130 };
    static char ids[MANY][8];
    static ph_inbox_message m[MANY];
    ph_store *store = open_at_epoch();
    struct t_conn *conn = t_connect();
    ph_queue_settings settings = PH_QUEUE_SETTINGS_INIT;

    settings.delete_on_ack = 1;
    settings.dedupe_retention_s = 10;
    set_door_queue(&inbox_door, store, &settings);
    for (int i = 0; i < MANY; i++) {
        snprintf(ids[i], sizeof(ids[i]), "%d", i);
        m[i] = a_letter("s", ids[i]);
        m[i].handled = true;
    }
    t_begin(conn);
    OK(ph_inbox_receive_many(store, t_tx(conn), m, MANY, 0, NULL, &t_err));
    t_commit(conn);
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}message"), 0);
    retain(store);
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}dedupe"), MANY);
    t_clock_advance(store, 11 * T_SECOND);
    retain(store);
    REQ_INT("INB-004", t_number(conn, "SELECT count(*) FROM {t}dedupe"), 0);
    t_disconnect(conn);
    all_is_well(store);
}

/* ------------------------------------------------------------------- dead letters */

/* A dead inbox message that is retried keeps its source, and its record moves along. */
TEST(a_dead_letter_of_the_inbox_is_retried_with_its_source)
{
    ph_store *store = open_at_epoch();
    ph_owner owner = ph_owner_new();
    ph_received first = receive(store, "s", "1");
    ph_work_id again = { { 0 } };
    ph_batch *batch;

    batch = door_claim(&inbox_door, store, owner, NULL, 10);
    CHECK_STR(settled(&inbox_door, store, owner, batch, "fail 1"), "failed");
    ph_batch_free(batch);
    CHECK_INT(door_counts(&inbox_door, store, NULL).dead, 1);
    OK(ph_dead_retry(store, PH_OWN_TX, &first.work_id, 1, 0, &again, &t_err));
    CHECK(!ph_id_is_zero(again.b));
    batch = door_claim(&inbox_door, store, owner, NULL, 10);
    REQ_INT("INB-007", ph_batch_count(batch), 1);
    CHECK(same_id(ph_batch_at(batch, 0)->work_id.b, again.b));
    REQ_STR("INB-007", ph_batch_at(batch, 0)->source, "s");
    REQ_STR("INB-007", ph_batch_at(batch, 0)->source_id, "1");
    CHECK_INT(ph_batch_at(batch, 0)->attempts, 1);
    ph_batch_free(batch);
    REQ("INB-007", !receive(store, "s", "1").is_new);
    CHECK(same_id(receive(store, "s", "1").work_id.b, again.b));
    OK(ph_dead_discard(store, PH_OWN_TX, &first.work_id, 1, 0, NULL, &t_err));
    CHECK(!receive(store, "s", "1").is_new); /* the record stays */
    all_is_well(store);
}

TEST(dead_letters_tell_their_door_and_where_they_came_from)
{
    ph_store *store = open_at_epoch();
    struct t_conn *conn = t_connect();
    ph_owner owner = ph_owner_new();

    receive(store, "s", "1");
    for (int i = 0; i < 2; i++) {
        const struct door *door = i ? &outbox_door : &inbox_door;
        ph_batch *batch;

        if (i)
            outbox_door.make(store, NULL, "1");
        batch = door_claim(door, store, owner, NULL, 1);
        CHECK_STR(settled(door, store, owner, batch, "fail 1"), "failed");
        ph_batch_free(batch);
    }
    REQ_STR("INB-007",
            t_value(conn, t_is_pg() ? "SELECT string_agg(concat_ws(':', door, source, source_id), "
                                      "' ' ORDER BY door) FROM {t}dead_letters"
                                    : "SELECT group_concat(t, ' ') FROM (SELECT door || "
                                      "coalesce(':' || source || ':' || source_id, '') AS t "
                                      "FROM {t}dead_letters ORDER BY door)"),
            "inbox:s:1 outbox");
}

TEST(a_discarded_letter_is_still_remembered)
{
    ph_store *store = open_at_epoch();
    ph_owner owner = ph_owner_new();
    ph_received first = receive(store, "s", "1");
    ph_batch *batch = door_claim(&inbox_door, store, owner, NULL, 10);

    CHECK_STR(settled(&inbox_door, store, owner, batch, "fail 1"), "failed");
    ph_batch_free(batch);
    OK(ph_dead_discard(store, PH_OWN_TX, &first.work_id, 1, 0, NULL, &t_err));
    retain(store);
    REQ("INB-004", !receive(store, "s", "1").is_new);
    all_is_well(store);
}

/* The id of a work item of the outbox is none of the inbox, and the other way round. */
TEST(the_view_and_the_lookups_show_source_and_id)
{
    ph_store *store = open_at_epoch();
    struct t_conn *conn = t_connect();
    ph_received first = receive(store, "billing", "42");
    ph_message_info *info = NULL;

    OK(ph_inbox_find(store, PH_OWN_TX, first.work_id, 0, &info, &t_err));
    CHECK_STR(info->message->source, "billing");
    CHECK_STR(info->message->source_id, "42");
    CHECK_STR(info->message->payload, "42");
    ph_message_info_free(info);
    CHECK_STR(t_value(conn, "SELECT source FROM {t}inbox"), "billing");
    CHECK_STR(t_value(conn, "SELECT status FROM {t}inbox"), "ready");
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}outbox"), 0);
    CHECK(!see(store, first.work_id).there);
    t_disconnect(conn);
}

/* --------------------------------------------------------------------- arguments */

TEST(bad_inbox_messages_are_refused)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_inbox_message m;

#define REFUSED(member, value, text)                                                               \
    do {                                                                                           \
        m = a_letter("s", "1");                                                                    \
        m.member = (value);                                                                        \
        CHECK_INT(ph_inbox_receive(store, PH_OWN_TX, &m, 0, NULL, &t_err), PH_EINVAL);             \
        if (!strstr(t_err.message, text))                                                          \
            printf("%s\n", t_err.message);                                                         \
        CHECK(strstr(t_err.message, text) != NULL);                                                \
    } while (0)
    REFUSED(source, NULL, "source is NULL");
    REFUSED(source, "", "source is empty");
    REFUSED(source, "\xff", "source");
    REFUSED(source, repeated("x", PH_NAME_MAX + 1), "source");
    REFUSED(source_id, NULL, "source_id is NULL");
    REFUSED(source_id, "", "source_id is empty");
    REFUSED(source_id, "\xff", "source_id");
    REFUSED(source_id, repeated("\xc3\xa4", PH_NAME_MAX + 1), "source_id");
    REFUSED(topic, NULL, "topic");
    REFUSED(topic, "", "topic");
    REFUSED(payload, NULL, "payload");
    REFUSED(ns, "\xff", "namespace");
    REFUSED(stream, "", "stream");
    REFUSED(correlation_id, repeated("x", PH_NAME_MAX + 1), "correlation_id");
    REFUSED(headers, "no", "headers");
    REFUSED(priority, (ph_priority)5, "priority");
    REFUSED(handled, true, "handled needs a transaction of yours");
    REFUSED(size, 3, "size");
#undef REFUSED
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}message"), 0);
    m = a_letter("s", repeated("\xc3\xa4", PH_NAME_MAX)); /* as long as it may be */
    OK(ph_inbox_receive(store, PH_OWN_TX, &m, 0, NULL, &t_err));
    CHECK_INT(ph_inbox_receive(store, PH_OWN_TX, NULL, 0, NULL, &t_err), PH_EINVAL);
    CHECK_INT(ph_inbox_receive(NULL, PH_OWN_TX, &m, 0, NULL, &t_err), PH_EINVAL);
    CHECK_INT(ph_inbox_receive(store, PH_OWN_TX, &m, -1, NULL, &t_err), PH_EINVAL);
    CHECK_INT(ph_inbox_receive_many(store, PH_OWN_TX, &m, 0, 0, NULL, &t_err), PH_EINVAL);
    CHECK_INT(ph_inbox_receive_many(store, PH_OWN_TX, &m, PH_BATCH_MAX + 1, 0, NULL, &t_err),
              PH_EINVAL);
    CHECK_INT(ph_inbox_receive(store, t_tx(conn), &m, 0, NULL, &t_err), PH_ENOTX);
}

/* "your transaction is not harmed" */
TEST(a_bad_argument_does_not_harm_the_callers_transaction)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_inbox_message m = a_letter("s", "1");

    t_begin(conn);
    m.stream = "a";
    m.handled = true;
    CHECK_INT(ph_inbox_receive(store, t_tx(conn), &m, 0, NULL, &t_err), PH_EINVAL);
    CHECK(strstr(t_err.message, "handled and stream") != NULL);
    m.stream = NULL;
    OK(ph_inbox_receive(store, t_tx(conn), &m, 0, NULL, &t_err));
    t_commit(conn);
    CHECK(!receive(store, "s", "1").is_new);
}

/* A payload above the queue's limit is refused as in the outbox. */
TEST(the_payload_limit_is_that_of_the_inbox_queue)
{
    ph_store *store = t_open(NULL);
    ph_queue_settings settings = PH_QUEUE_SETTINGS_INIT;
    ph_inbox_message m = a_letter("s", "1");

    settings.max_payload_bytes = 10;
    set_door_queue(&inbox_door, store, &settings);
    m.payload = "12345678901";
    CHECK_INT(ph_inbox_receive(store, PH_OWN_TX, &m, 0, NULL, &t_err), PH_EINVAL);
    CHECK(strstr(t_err.message, "payload") != NULL);
    m.payload = "1234567890";
    OK(ph_inbox_receive(store, PH_OWN_TX, &m, 0, NULL, &t_err));
    t_enqueue(store, "t", "12345678901"); /* the outbox has its own */
}
