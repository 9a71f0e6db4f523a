/* bytes_test.c - claims and calls that store are bounded in bytes as well as in number. */
#include "lanes.h"

#include <stdlib.h>
#include <string.h>

#define MIB ((size_t)1024 * 1024)
#define SIZE_MIB 22 /* of two in a batch, for which a third is too much */

/* A store whose queues take payloads of any size. */
static ph_store *open_wide(void)
{
    ph_queue_settings settings = PH_QUEUE_SETTINGS_INIT;
    ph_store *store = open_at_epoch();

    settings.max_payload_bytes = PH_PAYLOAD_MAX;
    set_queue(store, &settings);
    OK(ph_queue_set(store, PH_OWN_TX, PH_INBOX, "", &settings, 0, &t_err));
    return store;
}

/* So many bytes of text: the end of one that is there once. Not a static array: the leak checker
 * would read all of it at the end of every test of the program. */
static const char *text_of(size_t size)
{
    static char *all;

    if (!all) {
        all = calloc(1, PH_PAYLOAD_MAX + 1);
        CHECK(all != NULL);
        memset(all, 'x', PH_PAYLOAD_MAX);
    }
    return all + PH_PAYLOAD_MAX - size;
}

static ph_message large(const char *name, const char *stream, size_t mib)
{
    ph_message m = a_message(TOPIC, text_of(mib * MIB));

    m.correlation_id = name;
    m.stream = stream;
    return m;
}

static ph_inbox_message large_letter(const char *name, size_t mib)
{
    ph_inbox_message m = PH_INBOX_MESSAGE_INIT;

    m.source = "elsewhere";
    m.source_id = m.correlation_id = name;
    m.topic = TOPIC;
    m.payload = text_of(mib * MIB);
    return m;
}

/* Enqueues one message for each letter; each is called by it. */
static void put_large(ph_store *store, const char *names, const char *stream, size_t mib,
                      ph_enqueued *ret)
{
    for (size_t i = 0; names[i]; i++) {
        char name[2] = { names[i], 0 };
        ph_message m = a_message(TOPIC, text_of(mib * MIB));
        ph_enqueued e;

        m.correlation_id = name;
        m.stream = stream;
        e = put(store, &m);
        if (ret)
            ret[i] = e;
    }
}

/* The names of a batch's messages; valid until the next call. */
static const char *names(const ph_batch *batch)
{
    static char text[64];

    memset(text, 0, sizeof(text));
    for (size_t i = 0; i < ph_batch_count(batch); i++)
        text[i] = *ph_batch_at(batch, i)->correlation_id;
    return text;
}

static void check_untouched(ph_store *store, ph_work_id id)
{
    struct seen s = see(store, id);

    CHECK_INT(s.status, PH_READY);
    CHECK_INT(s.attempts, 0);
    CHECK_INT(s.fence, 0);
    CHECK_INT(s.history_count, 0);
    CHECK_INT(s.next_attempt_at, T_EPOCH);
}

TEST(a_claim_ends_before_it_is_too_many_bytes_and_the_rest_stays_as_it_was)
{
    ph_store *store = open_wide();
    ph_owner owner = ph_owner_new();
    struct t_conn *conn = t_connect();
    ph_enqueued e[3];
    ph_batch *batch;

    put_large(store, "abc", NULL, SIZE_MIB, e);
    batch = t_claim(store, owner, 50);
    CHECK_STR(names(batch), "ab");
    check_untouched(store, e[2].work_id);
    t_check_places(conn);
    CHECK_INT(t_ack_all(store, owner, batch), 2);
    batch = t_claim(store, owner, 3);
    CHECK_STR(names(batch), "c");
    CHECK_INT(ph_batch_at(batch, 0)->attempts, 1);
    CHECK_INT(t_ack_all(store, owner, batch), 1);
    t_check_places(conn);
}

/* Small ones behind a large one must not overtake it. */
TEST(what_would_fit_does_not_overtake_what_does_not)
{
    ph_store *store = open_wide();
    ph_owner owner = ph_owner_new();
    ph_batch *batch;

    put_large(store, "ab", NULL, 33, NULL);
    put_large(store, "c", NULL, 0, NULL);
    batch = t_claim(store, owner, 50);
    CHECK_STR(names(batch), "a");
    ph_batch_free(batch);
    batch = t_claim(store, owner, 50);
    CHECK_STR(names(batch), "bc");
    ph_batch_free(batch);
}

TEST(one_message_comes_however_large)
{
    ph_store *store = open_wide();
    ph_owner owner = ph_owner_new();
    ph_message m = large("a", NULL, PH_PAYLOAD_MAX / MIB);
    ph_batch *batch;

    m.headers = "{\"k\": \"v\"}";
    put(store, &m);
    put_large(store, "b", NULL, 0, NULL);
    batch = t_claim(store, owner, 50);
    CHECK_STR(names(batch), "a");
    CHECK_INT(ph_batch_at(batch, 0)->payload_length, PH_PAYLOAD_MAX);
    ph_batch_free(batch);
    batch = t_claim(store, owner, 50);
    CHECK_STR(names(batch), "b");
    ph_batch_free(batch);
}

TEST(a_run_is_cut_and_the_head_behind_it_stays)
{
    ph_store *store = open_wide();
    ph_owner owner = ph_owner_new();
    ph_enqueued e;
    ph_batch *batch;

    put_large(store, "abc", "s", SIZE_MIB, NULL);
    put_large(store, "x", "t", 0, &e);
    batch = t_claim(store, owner, 50);
    CHECK_STR(names(batch), "ab");
    check_untouched(store, e.work_id);
    all_is_well(store);
    CHECK_INT(t_ack_all(store, owner, batch), 2);
    batch = t_claim(store, owner, 50);
    CHECK_STR(names(batch), "cx");
    CHECK_INT(t_ack_all(store, owner, batch), 2);
    all_is_well(store);
}

/* Room that is left goes to the runs taken, but not beyond the bytes. */
TEST(a_run_that_is_extended_is_cut)
{
    ph_store *store = open_wide();
    ph_owner owner = ph_owner_new();
    ph_batch *batch;

    put_large(store, "abc", "s", SIZE_MIB, NULL);
    batch = t_claim(store, owner, 5); /* runs of one, at first */
    CHECK_STR(names(batch), "ab");
    all_is_well(store);
    CHECK_INT(t_ack_all(store, owner, batch), 2);
    batch = t_claim(store, owner, 5);
    CHECK_STR(names(batch), "c");
    CHECK_INT(t_ack_all(store, owner, batch), 1);
    all_is_well(store);
}

TEST(a_group_of_lost_messages_is_cut)
{
    ph_store *store = open_wide();
    ph_owner owner = ph_owner_new();
    struct t_conn *conn = t_connect();
    ph_enqueued e[3];
    struct seen s;
    ph_batch *batch;

    put_large(store, "abc", NULL, SIZE_MIB, e);
    ph_batch_free(t_claim(store, owner, 50));
    ph_batch_free(t_claim(store, owner, 50));
    t_clock_advance(store, 31 * T_SECOND);
    batch = t_claim(store, owner, 50);
    CHECK_STR(names(batch), "ab");
    s = see(store, e[2].work_id);
    CHECK_INT(s.attempts, 1);
    CHECK_STR(s.kinds, "lost");
    t_check_places(conn);
    CHECK_INT(t_ack_all(store, owner, batch), 2);
    batch = t_claim(store, owner, 50);
    CHECK_STR(names(batch), "c");
    CHECK_INT(ph_batch_at(batch, 0)->attempts, 2);
    CHECK_INT(t_ack_all(store, owner, batch), 1);
    t_check_places(conn);
}

TEST(each_door_of_a_work_batch_is_bounded)
{
    ph_store *store = open_wide();
    ph_work_batch_opts opts = a_claim(ph_owner_new(), 50);
    ph_message out[3];
    ph_inbox_message in[3];
    ph_work_batch *batch;

    for (int i = 0; i < 3; i++) {
        const char *name = i == 0 ? "a" : i == 1 ? "b" : "c";

        out[i] = large(name, NULL, SIZE_MIB);
        in[i] = large_letter(name, SIZE_MIB);
    }
    opts.new_outbox = out;
    opts.new_outbox_count = 3;
    opts.new_inbox = in;
    opts.new_inbox_count = 3;
    batch = work(store, &opts);
    CHECK_STR(names(batch->outbox), "ab");
    CHECK_STR(names(batch->inbox), "ab");
    ph_work_batch_free(batch);
    opts.new_outbox_count = opts.new_inbox_count = 0;
    batch = work(store, &opts);
    CHECK_STR(names(batch->outbox), "c");
    CHECK_STR(names(batch->inbox), "c");
    ph_work_batch_free(batch);
}

/* ------------------------------------------------------------------- in one call */

#define TOO_MANY                                                                                   \
    "the messages have 136314881 bytes of payloads and headers; at most 134217728 are "            \
    "allowed in one call: give fewer messages at once"

TEST(a_call_that_would_store_too_many_bytes_stores_nothing)
{
    ph_store *store = open_wide();
    struct t_conn *conn = t_connect();
    ph_message out[3];
    ph_inbox_message in[3];

    for (int i = 0; i < 3; i++) {
        out[i] = i == 0 ? large("a", NULL, 64) : out[0];
        in[i] = large_letter(i == 0 ? "a" : i == 1 ? "b" : "c", 0);
        in[i].payload = out[0].payload;
    }
    out[2].payload = in[2].payload = text_of(2 * MIB + 1 - 2);
    out[2].headers = in[2].headers = "{}";
    CHECK_INT(ph_enqueue_many(store, PH_OWN_TX, out, 3, 0, NULL, &t_err), PH_EINVAL);
    CHECK_STR(t_err.message, TOO_MANY);
    CHECK_INT(ph_inbox_receive_many(store, PH_OWN_TX, in, 3, 0, NULL, &t_err), PH_EINVAL);
    CHECK_STR(t_err.message, TOO_MANY);
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}message"), 0);
}

TEST(a_work_batch_that_would_store_too_many_bytes_does_nothing)
{
    ph_store *store = open_wide();
    struct t_conn *conn = t_connect();
    ph_work_batch_opts opts = a_claim(ph_owner_new(), 50);
    ph_inbox_message in[3];
    ph_work_batch *batch;

    for (int i = 0; i < 3; i++) {
        in[i] = large_letter(i == 0 ? "a" : i == 1 ? "b" : "c", i == 0 ? 50 : 0);
        in[i].payload = in[0].payload;
    }
    opts.new_inbox = in;
    opts.new_inbox_count = 3;
    CHECK_INT(ph_process_work_batch(store, PH_OWN_TX, &opts, 0, &batch, &t_err), PH_EINVAL);
    CHECK_STR(t_err.message,
              "new_inbox: the messages have 157286400 bytes of payloads and headers; at most "
              "134217728 are allowed in one call: give fewer messages at once");
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}message"), 0);
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}instance"), 0);
}

/* ------------------------------------------------------------------------ to look */

TEST(a_page_with_payloads_ends_before_it_is_too_many_bytes)
{
    ph_store *store = open_wide();
    ph_message_list_opts opts = PH_MESSAGE_LIST_OPTS_INIT;
    ph_messages *list;
    ph_enqueued e[3];

    put_large(store, "abc", "s", SIZE_MIB, e);
    opts.oldest_first = true;
    OK(ph_outbox_list(store, PH_OWN_TX, &opts, 0, &list, &t_err));
    CHECK_INT(ph_messages_count(list), 3);
    ph_messages_free(list);
    opts.with_payload = true;
    OK(ph_outbox_list(store, PH_OWN_TX, &opts, 0, &list, &t_err));
    CHECK_INT(ph_messages_count(list), 2);
    opts.after = ph_messages_at(list, 1)->message->work_id;
    ph_messages_free(list);
    OK(ph_outbox_list(store, PH_OWN_TX, &opts, 0, &list, &t_err));
    CHECK_INT(ph_messages_count(list), 1);
    CHECK(same_id(ph_messages_at(list, 0)->message->work_id.b, e[2].work_id.b));
    ph_messages_free(list);
    for (int after = 0; after < 4; after += 2) {
        OK(ph_stream_read(store, PH_OWN_TX, PH_OUTBOX, "", "s", after, 50, 0, &list, &t_err));
        CHECK_INT(ph_messages_count(list), after == 0 ? 2 : 1);
        CHECK_INT(ph_messages_at(list, 0)->message->seq, after + 1);
        ph_messages_free(list);
    }
}
