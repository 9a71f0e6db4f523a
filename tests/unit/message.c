/* message.c - every member of a ph_message at its edges. */
#include "harness.h"

#include "core/enqueue.h"
#include "core/message.h"
#include "core/names.h"
#include "util/text.h"

#include <stdlib.h>

static const ph_tenant_id tenant = { { 0xab, 0xcd, 0xef, 0x01, 0x23, 0x45, 0x46, 0x89, 0x8a, 0xbc,
                                       0xde, 0xf0, 0x12, 0x34, 0x56, 0x78 } };

static ph_message good(void)
{
    ph_message message = PH_MESSAGE_INIT;

    message.topic = "order.created";
    message.payload = "{}";
    return message;
}

static int load(const ph_message *message)
{
    struct ph__message loaded;

    return ph__message_load(&loaded, message, -1, &t_err);
}

/* PH_EINVAL with exactly this text. */
static void refused(const ph_message *message, const char *why)
{
    CHECK_INT(load(message), PH_EINVAL);
    CHECK_STR(t_err.message, why);
    CHECK_INT(t_err.code, PH_EINVAL);
    CHECK_INT(t_err.flags, 0);
}

/* count times piece; valid until the next call but three. */
static const char *repeat(const char *piece, size_t count)
{
    static char texts[4][2000];
    static int next;
    char *text = texts[next++ % 4], *to = text;

    for (size_t i = 0; i < count; i++)
        to = stpcpy(to, piece);
    *to = '\0';
    return text;
}

TEST(defaults)
{
    ph_message message = good();
    struct ph__message m;

    OK(ph__message_load(&m, &message, -1, &t_err));
    CHECK_STR(m.topic, "order.created");
    CHECK_STR(m.payload, "{}");
    CHECK_INT(m.payload_length, 2);
    CHECK_STR(m.ns, "");
    CHECK(!m.dedupe_key && !m.correlation_id && !m.headers && !m.tenant_id && !m.message_id);
    CHECK_INT(m.level, 1);
    CHECK_INT(m.due_at, 0);
    CHECK_INT(m.expires_at, 0);
    CHECK_INT(m.max_attempts, 0);
}

TEST(a_message_is_required)
{
    CHECK_INT(load(NULL), PH_EINVAL);
    CHECK_STR(t_err.message, "message is NULL");
}

TEST(size_must_be_set)
{
    ph_message message = { 0 };

    refused(&message,
            "ph_message: the member size is not set; initialise the struct with its _INIT macro");
}

/* topic, namespace, dedupe key and correlation id share their limits. */
TEST(names_hold_255_code_points)
{
    static const char *const pieces[] = { "x", "\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x93\xaf" };

    for (int i = 0; i < 4; i++) {
        for (int which = 0; which < 4; which++) {
            static const char *const names[] = { "topic", "namespace", "dedupe_key",
                                                 "correlation_id" };
            ph_message message = good();
            const char **members[] = { &message.topic, &message.ns, &message.dedupe_key,
                                       &message.correlation_id };
            char why[200];

            *members[which] = repeat(pieces[i], 255);
            CHECK_INT(load(&message), 0);
            *members[which] = repeat(pieces[i], 256);
            snprintf(why, sizeof(why), "%s has 256 characters; at most 255 are allowed",
                     names[which]);
            refused(&message, why);
            *members[which] = "a\xff";
            snprintf(why, sizeof(why), "%s is not valid UTF-8", names[which]);
            refused(&message, why);
        }
    }
}

TEST(which_names_may_be_empty_or_absent)
{
    ph_message message = good();
    struct ph__message m;

    message.topic = NULL;
    refused(&message, "topic is NULL; it is required");
    message.topic = "";
    refused(&message, "topic is empty; it is required");
    message = good();
    message.dedupe_key = "";
    refused(&message, "dedupe_key is empty; leave it out, or name one");
    message = good();
    message.ns = "";
    message.correlation_id = "";
    OK(ph__message_load(&m, &message, -1, &t_err));
    CHECK_STR(m.ns, "");
    CHECK_STR(m.correlation_id, NULL);
}

TEST(payload_is_text_of_any_length)
{
    ph_message message = good();
    struct ph__message m;

    message.payload = NULL;
    refused(&message, "payload is NULL; it is required, but may be empty");
    message.payload = "";
    CHECK_INT(load(&message), 0);
    message.payload = "abc";
    message.payload_length = 0;
    OK(ph__message_load(&m, &message, -1, &t_err));
    CHECK_INT(m.payload_length, 0);
    message.payload_length = 2;
    OK(ph__message_load(&m, &message, -1, &t_err));
    CHECK_INT(m.payload_length, 2);
    message.payload = "a\0b";
    message.payload_length = 3;
    refused(&message, "payload holds a NUL byte; encode binary data as text");
    message.payload_length = PH_TEXT_LENGTH;
    OK(ph__message_load(&m, &message, -1, &t_err));
    CHECK_INT(m.payload_length, 1);
    message.payload = "a\xc3";
    refused(&message, "payload is not valid UTF-8; encode binary data as text");
    message.payload = "a\xc3\xa4";
    message.payload_length = 2;
    refused(&message, "payload is not valid UTF-8; encode binary data as text");
}

TEST(payload_has_an_upper_limit)
{
    size_t size = (size_t)PH_PAYLOAD_MAX + 1;
    char *large = malloc(size);
    ph_message message = good();

    CHECK(large != NULL);
    memset(large, 'x', size);
    message.payload = large;
    message.payload_length = size - 1;
    CHECK_INT(load(&message), 0);
    message.payload_length = size;
    refused(&message, "payload has 67108865 bytes; at most 67108864 are possible: store it "
                      "elsewhere and send a reference");
    free(large);
}

TEST(a_tenants_key_begins_with_the_tenant)
{
    static const char *const right[] = {
        "abcdef01-2345-4689-8abc-def012345678/x", "ABCDEF01-2345-4689-8ABC-DEF012345678/x",
        "abcdef01234546898abcdef012345678/x",     "ABCDEF01234546898ABCDEF012345678/x",
        "AbCdEf01-2345-4689-8abc-dEf012345678/",  "abcdef01234546898abcdef012345678/",
    };
    static const char *const wrong[] = {
        "x",
        "abcdef01-2345-4689-8abc-def012345678",
        "abcdef01234546898abcdef012345678",
        "abcdef01-2345-4689-8abc-def012345678x/",
        "abcdef01-2345-4689-8abc-def012345679/x",
        "abcdef01-2345-4689-8abc-def01234567/x",
        "abcdef012345-4689-8abc-def012345678/x",
        " abcdef01-2345-4689-8abc-def012345678/x",
        "/abcdef01-2345-4689-8abc-def012345678/x",
    };
    ph_message message = good();

    message.tenant_id = &tenant;
    CHECK_INT(load(&message), 0);
    for (size_t i = 0; i < sizeof(right) / sizeof(*right); i++) {
        message.dedupe_key = right[i];
        OK(load(&message));
    }
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        message.dedupe_key = wrong[i];
        refused(&message, "dedupe_key does not begin with the tenant id; with a tenant it must "
                          "read \"abcdef01-2345-4689-8abc-def012345678/\xe2\x80\xa6\"");
    }
    message.tenant_id = NULL;
    CHECK_INT(load(&message), 0);
}

TEST(ids_are_not_zero)
{
    static const ph_message_id no_message;
    static const ph_tenant_id no_tenant;
    ph_message message = good();

    message.message_id = &no_message;
    refused(&message, "message_id is all zero; pass NULL to have one made");
    message = good();
    message.tenant_id = &no_tenant;
    refused(&message, "tenant_id is all zero; pass NULL for none");
}

/* Says that the headers are wrong, and where, if they are no JSON at all. */
static bool names_the_headers(const char *message)
{
    static const char words[] = "headers are not a JSON object";
    int byte = -1;

    return strcmp(message, words) == 0 ||
           (strncmp(message, words, strlen(words)) == 0 &&
            sscanf(message + strlen(words), "; the error is at byte %d", &byte) == 1 && byte >= 0);
}

TEST(headers_are_a_json_object)
{
    static const char *const right[] = { "{}",
                                         " { } ",
                                         "{\"a\":1}",
                                         "{\"a\":{\"b\":[1,2.5,null]}}",
                                         "{\"a\":1e300}",
                                         "{\"a\":123456789012345678901234567890}",
                                         "{\"\xc3\xa4\":\"\\u20ac\"}" };
    static const char *const wrong[] = { "",      " ",       "[]",          "1",
                                         "null",  "\"x\"",   "{",           "{\"a\"}",
                                         "{a:1}", "{}x",     "{\"a\":1,}",  "{\"a\":\"\xff\"}",
                                         "{}{}",  "{'a':1}", "{\"a\":NaN}", "// x\n{}" };
    ph_message message = good();

    for (size_t i = 0; i < sizeof(right) / sizeof(*right); i++) {
        message.headers = right[i];
        OK(load(&message));
    }
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        message.headers = wrong[i];
        CHECK_INT(load(&message), PH_EINVAL);
        CHECK(names_the_headers(t_err.message));
    }
    message.headers = "{\"a\":1, \"b\":SECRET}";
    refused(&message, "headers are not a JSON object; the error is at byte 18");
}

TEST(headers_have_an_upper_limit)
{
    size_t size = PH_HEADERS_MAX;
    char *text = malloc(size + 2);
    ph_message message = good();

    CHECK(text != NULL);
    memset(text, ' ', size + 1);
    text[0] = '{';
    text[1] = '}';
    text[size] = '\0';
    message.headers = text;
    CHECK_INT(load(&message), 0);
    text[size] = ' ';
    text[size + 1] = '\0';
    refused(&message, "headers have 65537 bytes; at most 65536 are allowed");
    free(text);
}

TEST(deep_headers_do_not_overflow_the_stack)
{
    char *text = malloc(PH_HEADERS_MAX + 1);
    ph_message message = good();

    CHECK(text != NULL);
    memset(text, '[', PH_HEADERS_MAX);
    memcpy(text, "{\"a\":", 5);
    text[PH_HEADERS_MAX] = '\0';
    message.headers = text;
    CHECK_INT(load(&message), PH_EINVAL);
    CHECK(names_the_headers(t_err.message));
    free(text);
}

TEST(times_lie_in_the_years_1_to_9999)
{
    ph_message message = good();

    message.due_at = PH_TIME_MIN;
    CHECK_INT(load(&message), 0);
    message.due_at = PH_TIME_MAX;
    CHECK_INT(load(&message), 0);
    message.due_at = PH_TIME_MIN - 1;
    refused(&message, "due_at lies outside the years 1 to 9999");
    message.due_at = PH_TIME_MAX + 1;
    refused(&message, "due_at lies outside the years 1 to 9999");
    message.due_at = INT64_MIN;
    refused(&message, "due_at lies outside the years 1 to 9999");
    message = good();
    message.expires_at = INT64_MAX;
    refused(&message, "expires_at lies outside the years 1 to 9999");
    message.expires_at = PH_TIME_MIN - 1;
    refused(&message, "expires_at lies outside the years 1 to 9999");
    message.expires_at = PH_TIME_MAX;
    CHECK_INT(load(&message), 0);
}

TEST(expiry_lies_after_the_due_time)
{
    ph_message message = good();

    message.due_at = T_EPOCH;
    message.expires_at = T_EPOCH + 1;
    CHECK_INT(load(&message), 0);
    message.expires_at = T_EPOCH;
    refused(&message, "expires_at is not after due_at; the message could never be claimed");
    message.due_at = 0;
    CHECK_INT(load(&message), 0);
}

TEST(priorities)
{
    static const struct {
        ph_priority priority;
        int level; /* as SQL numbers them */
        const char *text;
    } all[] = { { PH_PRIORITY_URGENT, 0, "urgent" },
                { PH_PRIORITY_NORMAL, 1, "normal" },
                { PH_PRIORITY_LOW, 2, "low" },
                { PH_PRIORITY_BULK, 3, "bulk" } };
    ph_message message = good();
    struct ph__message m;

    CHECK_INT(message.priority, PH_PRIORITY_NORMAL); /* zero is the default */
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
        message.priority = all[i].priority;
        OK(ph__message_load(&m, &message, -1, &t_err));
        CHECK_INT(m.level, all[i].level);
        CHECK_INT(ph__priority_of(all[i].level), all[i].priority);
        CHECK_STR(ph_priority_text(all[i].priority), all[i].text);
    }
    for (int number = 1; number < PH__LEVELS; number++) { /* SQL's numbers are none of ours */
        message.priority = (ph_priority)number;
        CHECK_INT(load(&message), PH_EINVAL);
    }
    message.priority = (ph_priority)3;
    refused(&message, "priority 3 is not a ph_priority; use PH_PRIORITY_URGENT and the others");
    CHECK_STR(ph_priority_text((ph_priority)3), "no such priority");
    message.priority = (ph_priority)-1;
    CHECK_INT(load(&message), PH_EINVAL);
    CHECK_INT(ph__priority_of(4), PH_PRIORITY_NORMAL); /* of a file that somebody has changed */
    CHECK_INT(ph__priority_of(-1), PH_PRIORITY_NORMAL);
}

TEST(attempts)
{
    ph_message message = good();

    message.max_attempts = 1;
    CHECK_INT(load(&message), 0);
    message.max_attempts = PH_ATTEMPTS_MAX;
    CHECK_INT(load(&message), 0);
    message.max_attempts = PH_ATTEMPTS_MAX + 1;
    refused(&message, "max_attempts is 30001; give 1 to 30000, or 0 for the queue's");
    message.max_attempts = -1;
    refused(&message, "max_attempts is -1; give 1 to 30000, or 0 for the queue's");
}

TEST(the_error_names_the_index)
{
    ph_message message = good();
    struct ph__message m;

    message.topic = "";
    CHECK_INT(ph__message_load(&m, &message, 3, &t_err), PH_EINVAL);
    CHECK_STR(t_err.message, "message 3: topic is empty; it is required");
}

TEST(errors_do_not_quote_a_payload_or_headers)
{
    ph_message message = good();

    message.payload = "s3cret\xff";
    CHECK_INT(load(&message), PH_EINVAL);
    CHECK(!strstr(t_err.message, "s3cret"));
    message = good();
    message.headers = "[\"s3cret\"]";
    CHECK_INT(load(&message), PH_EINVAL);
    CHECK(!strstr(t_err.message, "s3cret"));
}

TEST(doors_have_the_names_that_sql_gives_them)
{
    CHECK_STR(ph_door_text(PH_OUTBOX), "outbox");
    CHECK_STR(ph_door_text(PH_INBOX), "inbox");
    CHECK_STR(ph_door_text(PH_TIMERS), "timers");
    CHECK_STR(ph_door_text(PH_JOB_RUNS), "job_runs");
    CHECK_STR(ph_door_text((ph_door)4), "no such door");
    CHECK_STR(ph_door_text((ph_door)-1), "no such door");
}

/* A size that is too large would have the load read behind the list. */
TEST(in_a_list_no_size_is_believed_but_the_first)
{
    ph_message *messages = calloc(2, sizeof(*messages));
    ph_inbox_message *received = calloc(2, sizeof(*received));
    struct ph__message loaded[2];

    CHECK(messages && received);
    messages[0] = messages[1] = good();
    messages[1].size += 8 * sizeof(void *);
    CHECK_INT(ph__messages_load(loaded, messages, 2, &t_err), PH_EINVAL);
    CHECK(strstr(t_err.message, "message 1: its size differs from the first one's") != NULL);
    received[0] = received[1] = (ph_inbox_message)PH_INBOX_MESSAGE_INIT;
    received[0].topic = received[0].source = received[0].source_id = received[0].payload = "x";
    received[1].size += 8 * sizeof(void *);
    CHECK_INT(ph__inbox_messages_load(loaded, received, 2, true, &t_err), PH_EINVAL);
    CHECK(strstr(t_err.message, "message 1: its size differs from the first one's") != NULL);
    free(messages);
    free(received);
}
