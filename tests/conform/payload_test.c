/* payload_test.c - what goes in comes out: payloads and every other member of a message. */
#include "common.h"

#include <stdlib.h>

/* Enqueues it, claims it, and compares every byte; then the same through find and the view. */
static void goes_round(ph_store *store, struct t_conn *conn, const char *payload)
{
    ph_enqueued e = t_enqueue(store, "orders", payload);
    ph_owner owner = ph_owner_new();
    ph_batch *batch = t_claim(store, owner, 1);
    const ph_delivery *d = ph_batch_at(batch, 0);
    ph_message_info *info = NULL;

    CHECK_INT(ph_batch_count(batch), 1);
    REQ_STR("OBX-011", d->payload, payload);
    CHECK_INT(d->payload_length, strlen(payload));
    CHECK_INT(d->payload[d->payload_length], 0);
    CHECK_INT(t_ack_all(store, owner, batch), 1);
    OK(ph_outbox_find(store, PH_OWN_TX, e.work_id, 0, &info, &t_err));
    CHECK_STR(info->message->payload, payload);
    ph_message_info_free(info);
    CHECK_STR(t_view(conn, e.work_id, "payload"), payload);
}

TEST(payloads_come_back_byte_for_byte)
{
    static const char *const payloads_[] = {
        "{\"id\": 7}",
        "not json {",
        "it's \"quoted\" `so`",
        "two\nlines\r\n\ttab",
        "%s%n%d%%",
        ";rm -rf /",
        "$(reboot)",
        "<script>alert('x')</script>",
        "'; DROP TABLE message; --",
        "\\x41\\000\\",
        "{t}{schema}{p}",
        " leading and trailing ",
        "\x01\x02\x1f\x7f",
        "\xc3\xa9",
        "\xe2\x82\xac",
        "\xf0\x9f\x93\xaf",
        ("\xef\xbb\xbf"
         "bom"),
        "\xef\xbf\xbf",
        "\xf4\x8f\xbf\xbf",
        "$1 :a ?1 @b",
        "NULL",
        "\\N",
        "0x00",
    };
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();

    for (size_t i = 0; i < sizeof(payloads_) / sizeof(*payloads_); i++)
        goes_round(store, conn, payloads_[i]);
    t_disconnect(conn);
}

TEST(an_empty_payload_is_a_payload)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_message m = a_message("orders", "not looked at");
    ph_batch *batch;

    m.payload_length = 0;
    put(store, &m);
    batch = t_claim(store, ph_owner_new(), 1);
    REQ_INT("OBX-006", ph_batch_count(batch), 1);
    REQ_STR("OBX-006", ph_batch_at(batch, 0)->payload, "");
    CHECK_INT(ph_batch_at(batch, 0)->payload_length, 0);
    ph_batch_free(batch);
    goes_round(store, conn, "");
    t_disconnect(conn);
}

TEST(a_payload_may_be_part_of_a_longer_text)
{
    ph_store *store = t_open(NULL);
    ph_message m = a_message("orders", "abcdef");

    m.payload_length = 3;
    put(store, &m);
    CHECK_STR(claimed_payloads(store, ph_owner_new(), 1), "abc");
}

TEST(nul_and_invalid_utf8_are_refused)
{
    static const char *const bad[] = { "\x80",     "\xff",          "a\xc3",
                                       "\xc0\xaf", "\xed\xa0\x80",  "\xf4\x90\x80\x80",
                                       "\xe2\x82", "ok\xf0\x9f\x93" };
    ph_store *store = t_open(NULL);
    ph_message m = a_message("orders", "a\0b");

    m.payload_length = 3;
    CHECK_INT(try_put(store, PH_OWN_TX, &m), PH_EINVAL);
    CHECK(strstr(t_err.message, "NUL") != NULL);
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        m = a_message("orders", bad[i]);
        CHECK_INT(try_put(store, PH_OWN_TX, &m), PH_EINVAL);
        CHECK(strstr(t_err.message, "UTF-8") != NULL);
    }
    CHECK_INT(claimable(store, 10), 0);
}

TEST(the_queues_limit_holds_to_the_byte)
{
    ph_store *store = t_open(NULL);
    char *text = repeated("a", 1024 * 1024 + 1);
    ph_message m = a_message("orders", text);

    CHECK_INT(try_put(store, PH_OWN_TX, &m), PH_EINVAL);
    CHECK(strstr(t_err.message, "1048577") != NULL && strstr(t_err.message, "1048576") != NULL);
    CHECK(strstr(t_err.message, "aaaa") == NULL);
    CHECK_INT(claimable(store, 1), 0);
    m.payload_length = 1024 * 1024;
    REQ_INT("OBX-114", try_put(store, PH_OWN_TX, &m), 0);
    CHECK_INT(claimable(store, 1), 1);
}

TEST(the_limit_counts_bytes_not_characters)
{
    ph_store *store = t_open(NULL);
    ph_queue_settings settings = PH_QUEUE_SETTINGS_INIT;
    ph_message m = a_message("orders", "\xc3\xa9\xc3\xa9");

    settings.max_payload_bytes = 4;
    set_queue(store, &settings);
    OK(try_put(store, PH_OWN_TX, &m));
    m.payload = "\xc3\xa9\xc3\xa9"
                "e";
    CHECK_INT(try_put(store, PH_OWN_TX, &m), PH_EINVAL);
}

TEST(a_queue_can_take_large_payloads)
{
    size_t size = getenv("PH_TEST_SOAK") ? PH_PAYLOAD_MAX : 4 * 1024 * 1024;
    ph_store *store = t_open(NULL);
    ph_queue_settings settings = PH_QUEUE_SETTINGS_INIT;
    char *text = repeated("\xe2\x82\xac", size / 3);
    ph_message m = a_message("orders", text);
    ph_batch *batch;

    settings.max_payload_bytes = PH_PAYLOAD_MAX;
    set_queue(store, &settings);
    put(store, &m);
    batch = t_claim(store, ph_owner_new(), 1);
    REQ_INT("OBX-114", ph_batch_count(batch), 1);
    REQ_INT("OBX-114", ph_batch_at(batch, 0)->payload_length, size / 3 * 3);
    CHECK(memcmp(ph_batch_at(batch, 0)->payload, text, size / 3 * 3) == 0);
    ph_batch_free(batch);
}

TEST(what_no_queue_can_take_is_refused_without_reading_it)
{
    ph_store *store = t_open(NULL);
    ph_message m = a_message("orders", "short");

    m.payload_length = (size_t)PH_PAYLOAD_MAX + 1;
    CHECK_INT(try_put(store, PH_OWN_TX, &m), PH_EINVAL);
    m.payload_length = PH_TEXT_LENGTH - 1;
    CHECK_INT(try_put(store, PH_OWN_TX, &m), PH_EINVAL);
}

static const ph_tenant_id tenant = { { 0xab, 0xcd, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
                                       16 } };
static const ph_message_id message_id = { { 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2,
                                            1 } };
#define FULL_KEY "abcd0304-0506-0708-090a-0b0c0d0e0f10/turn/1"

static ph_message full_message(void)
{
    ph_message m = a_message("orders", "x");

    m.ns = "shop";
    m.tenant_id = &tenant;
    m.dedupe_key = FULL_KEY;
    m.correlation_id = "request 9";
    m.headers = "{\"trace\": \"00-ab\", \"n\": [1, 2.50]}";
    m.message_id = &message_id;
    m.priority = PH_PRIORITY_LOW;
    m.due_at = T_EPOCH - 5;
    m.expires_at = T_EPOCH + 1000 * T_SECOND;
    m.max_attempts = 3;
    return m;
}

static void check_full(const ph_delivery *d)
{
    CHECK_STR(d->topic, "orders");
    CHECK_STR(d->payload, "x");
    CHECK_STR(d->ns, "shop");
    CHECK(d->tenant_id && same_id(d->tenant_id->b, tenant.b));
    CHECK_STR(d->dedupe_key, FULL_KEY);
    CHECK_STR(d->correlation_id, "request 9");
    CHECK(d->headers && strstr(d->headers, "00-ab"));
    CHECK(same_id(d->message_id.b, message_id.b));
    CHECK_INT(d->priority, PH_PRIORITY_LOW);
    CHECK_INT(d->created_at, T_EPOCH);
    CHECK_INT(d->due_at, T_EPOCH - 5);
}

TEST(every_member_comes_back)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_message m = full_message();
    ph_claim_opts opts = PH_CLAIM_OPTS_INIT;
    ph_message_info *info = NULL;
    ph_enqueued e;
    ph_batch *batch;

    t_clock_set(store, T_EPOCH);
    e = put(store, &m);
    CHECK(same_id(e.message_id.b, message_id.b));
    opts.ns = "shop";
    batch = claim_with(store, ph_owner_new(), &opts);
    CHECK_INT(ph_batch_count(batch), 1);
    check_full(ph_batch_at(batch, 0));
    CHECK_INT(ph_batch_at(batch, 0)->attempts, 1);
    ph_batch_free(batch);
    OK(ph_outbox_find(store, PH_OWN_TX, e.work_id, 0, &info, &t_err));
    check_full(info->message);
    CHECK_INT(info->max_attempts, 3);
    CHECK_INT(info->requested_due_at, T_EPOCH - 5);
    CHECK_INT(info->expires_at, T_EPOCH + 1000 * T_SECOND);
    ph_message_info_free(info);
    CHECK_STR(t_view(conn, e.work_id, "namespace"), "shop");
    CHECK_STR(t_view(conn, e.work_id, "dedupe_key"), FULL_KEY);
    CHECK_STR(t_view(conn, e.work_id, "correlation_id"), "request 9");
    CHECK_STR(t_view(conn, e.work_id, "max_attempts"), "3");
    t_disconnect(conn);
}

TEST(what_was_not_given_is_not_there)
{
    ph_store *store = t_open(NULL);
    ph_batch *batch;
    const ph_delivery *d;

    t_enqueue(store, "orders", "x");
    batch = t_claim(store, ph_owner_new(), 1);
    d = ph_batch_at(batch, 0);
    CHECK(!d->tenant_id && !d->dedupe_key && !d->correlation_id && !d->headers && !d->last_error);
    CHECK_STR(d->ns, "");
    CHECK_INT(d->priority, PH_PRIORITY_NORMAL);
    CHECK(!ph_id_is_zero(d->message_id.b));
    ph_batch_free(batch);
}

TEST(an_empty_correlation_id_is_none)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_message m = a_message("orders", "x");
    ph_enqueued e;
    ph_batch *batch;

    m.correlation_id = "";
    e = put(store, &m);
    batch = t_claim(store, ph_owner_new(), 1);
    REQ("OBX-008", ph_batch_at(batch, 0)->correlation_id == NULL);
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}outbox WHERE correlation_id IS NULL"), 1);
    CHECK(see(store, e.work_id).there);
    ph_batch_free(batch);
    t_disconnect(conn);
}

TEST(a_message_id_may_be_used_again)
{
    ph_store *store = t_open(NULL);
    ph_message m = a_message("orders", "x");
    ph_enqueued one, two;

    m.message_id = &message_id;
    one = put(store, &m);
    two = put(store, &m);
    CHECK(one.is_new && two.is_new);
    CHECK(!same_id(one.work_id.b, two.work_id.b));
    CHECK(same_id(one.message_id.b, two.message_id.b));
}
