#include "extension/message.h"

#include "core/error.h"
#include "core/names.h"
#include "extension/arguments.h"
#include "extension/json_text.h"
#include "util/time_text.h"

#include <math.h>
#include <string.h>

enum kind { TEXT, ID, TIME, PRIORITY, ATTEMPTS, HEADERS, FLAG };

struct key {
    const char *name;
    enum kind kind;
    size_t offset; /* of the member of the message */
};

/* The members that a message may have, in the order of the verb's arguments; those that have a
 * place of their own there come first. */
struct form {
    const struct key *keys;
    size_t count, positional;
};

static const struct key outbox_keys[] = {
    { "topic", TEXT, offsetof(ph_message, topic) },
    { "payload", TEXT, offsetof(ph_message, payload) },
    { "namespace", TEXT, offsetof(ph_message, ns) },
    { "tenant_id", ID, offsetof(ph_message, tenant_id) },
    { "dedupe_key", TEXT, offsetof(ph_message, dedupe_key) },
    { "correlation_id", TEXT, offsetof(ph_message, correlation_id) },
    { "stream", TEXT, offsetof(ph_message, stream) },
    { "priority", PRIORITY, offsetof(ph_message, priority) },
    { "due_at", TIME, offsetof(ph_message, due_at) },
    { "expires_at", TIME, offsetof(ph_message, expires_at) },
    { "headers", HEADERS, offsetof(ph_message, headers) },
    { "message_id", ID, offsetof(ph_message, message_id) },
    { "join_id", ID, offsetof(ph_message, join_id) },
    { "max_attempts", ATTEMPTS, offsetof(ph_message, max_attempts) },
};
static const struct form outbox_form = { outbox_keys, sizeof(outbox_keys) / sizeof(*outbox_keys),
                                         2 };

static const struct key inbox_keys[] = {
    { "source", TEXT, offsetof(ph_inbox_message, source) },
    { "message_id", TEXT, offsetof(ph_inbox_message, source_id) },
    { "topic", TEXT, offsetof(ph_inbox_message, topic) },
    { "payload", TEXT, offsetof(ph_inbox_message, payload) },
    { "namespace", TEXT, offsetof(ph_inbox_message, ns) },
    { "tenant_id", ID, offsetof(ph_inbox_message, tenant_id) },
    { "correlation_id", TEXT, offsetof(ph_inbox_message, correlation_id) },
    { "stream", TEXT, offsetof(ph_inbox_message, stream) },
    { "priority", PRIORITY, offsetof(ph_inbox_message, priority) },
    { "headers", HEADERS, offsetof(ph_inbox_message, headers) },
    { "handled", FLAG, offsetof(ph_inbox_message, handled) },
};
static const struct form inbox_form = { inbox_keys, sizeof(inbox_keys) / sizeof(*inbox_keys), 4 };

static void *member(void *message, const struct key *key)
{
    return (char *)message + key->offset;
}

int ph__ext_whole(struct ph__ext_call *call, const char *name, const json_t *value, int64_t least,
                  int64_t most, int64_t *ret_number)
{
    double number = json_number_value(value);

    if (!json_is_number(value) || number != floor(number))
        return ph__fail(&call->err, PH_EINVAL, "%s is not a whole number", name);
    if (number < (double)least || number > (double)most)
        return ph__fail(&call->err, PH_EINVAL, "%s is %.0f; give %lld to %lld", name, number,
                        (long long)least, (long long)most);
    *ret_number = (int64_t)number;
    return 0;
}

static int set_text(struct ph__ext_call *call, const struct key *key, const json_t *value,
                    void *message)
{
    const char *text = json_string_value(value);

    if (!text)
        return ph__fail(&call->err, PH_EINVAL, "%s is not a JSON string", key->name);
    memcpy(member(message, key), &text, sizeof(text));
    return 0;
}

static int set_id(struct ph__ext_call *call, const struct key *key, const json_t *value,
                  void *message)
{
    const char *text = json_string_value(value);
    uint8_t *id = ph__arena_alloc(&call->arena, 16);

    if (!id)
        return ph__fail_memory(&call->err);
    if (!text || ph_id_parse(text, id) < 0)
        return ph__fail(&call->err, PH_EINVAL, "%s is not a UUID", key->name);
    memcpy(member(message, key), &id, sizeof(id));
    return 0;
}

static int set_time(struct ph__ext_call *call, const struct key *key, const json_t *value,
                    void *message)
{
    const char *text = json_is_number(value) ? NULL : json_string_value(value);
    int64_t time;
    bool zoned = true;
    int r;

    if (!text && !json_is_number(value))
        text = "";                                             /* no time either */
    if (text && ph__time_parse(text, &time, &zoned) && !zoned) /* whose midnight would it be? */
        return ph__fail(&call->err, PH_EINVAL,
                        "%s has no time zone; give one such as 2030-01-31T09:30:00Z, or seconds "
                        "since 1970",
                        key->name);
    r = ph__ext_time(call, key->name, text, json_number_value(value), &time);
    if (r == 0)
        memcpy(member(message, key), &time, sizeof(time));
    return r;
}

static int set_number(struct ph__ext_call *call, const struct key *key, const json_t *value,
                      void *message)
{
    int64_t number = 0;
    ph_priority priority;
    int attempts, r;

    if (key->kind == ATTEMPTS) {
        r = ph__ext_whole(call, key->name, value, 1, PH_ATTEMPTS_MAX, &number);
        attempts = (int)number;
        memcpy(member(message, key), &attempts, sizeof(attempts));
        return r;
    }
    r = ph__ext_whole(call, key->name, value, 0, PH__LEVELS - 1, &number);
    priority = ph__priority_of(number);
    memcpy(member(message, key), &priority, sizeof(priority));
    return r;
}

static int set_flag(struct ph__ext_call *call, const struct key *key, const json_t *value,
                    void *message)
{
    bool flag = json_is_true(value);

    if (!json_is_boolean(value))
        return ph__fail(&call->err, PH_EINVAL, "%s is not true or false", key->name);
    memcpy(member(message, key), &flag, sizeof(flag));
    return 0;
}

/* As it was written, byte for byte. */
static int set_headers(struct ph__ext_call *call, const struct key *key, const json_t *value,
                       const char *text, void *message)
{
    size_t length;
    const char *at = ph__json_member(text, key->name, &length), *headers;

    if (!json_is_object(value) || !at)
        return ph__fail(&call->err, PH_EINVAL,
                        "headers are not a JSON object; with json_object() give json('{...}')");
    headers = ph__arena_copy(&call->arena, at, length);
    memcpy(member(message, key), &headers, sizeof(headers));
    return headers ? 0 : ph__fail_memory(&call->err);
}

static int set(struct ph__ext_call *call, const struct key *key, const json_t *value,
               const char *text, void *message)
{
    if (json_is_null(value))
        return 0;
    switch (key->kind) {
    case TEXT:
        return set_text(call, key, value, message);
    case ID:
        return set_id(call, key, value, message);
    case TIME:
        return set_time(call, key, value, message);
    case PRIORITY:
    case ATTEMPTS:
        return set_number(call, key, value, message);
    case HEADERS:
        return set_headers(call, key, value, text, message);
    case FLAG:
        return set_flag(call, key, value, message);
    }
    return 0;
}

static int load(struct ph__ext_call *call, const struct form *form, const json_t *object,
                const char *text, bool all, void *message)
{
    const char *name;
    json_t *value;

    json_object_foreach((json_t *)(uintptr_t)object, name, value)
    {
        size_t i = all ? 0 : form->positional;
        int r;

        while (i < form->count && strcmp(form->keys[i].name, name) != 0)
            i++;
        r = i < form->count ? set(call, &form->keys[i], value, text, message)
                            : ph__fail(&call->err, PH_EINVAL, "there is no option \"%s\"", name);
        if (r < 0)
            return r;
    }
    return 0;
}

int ph__ext_message_load(struct ph__ext_call *call, const json_t *object, const char *text,
                         bool all, ph_message *message)
{
    return load(call, &outbox_form, object, text, all, message);
}

int ph__ext_inbox_message_load(struct ph__ext_call *call, const json_t *object, const char *text,
                               bool all, ph_inbox_message *message)
{
    return load(call, &inbox_form, object, text, all, message);
}

/* One element of an array, with its place before an error. */
static int load_element(struct ph__ext_call *call, const struct form *form, const json_t *element,
                        const char *text, size_t index, void *message)
{
    int r = json_is_object(element) ? load(call, form, element, text, true, message)
                                    : ph__fail(&call->err, PH_EINVAL, "is not a JSON object");

    return r == 0 ? 0 : ph__item(&call->err, r, index);
}

/* A JSON array into an array of messages, each like this one. */
static int load_many(struct ph__ext_call *call, int index, const struct form *form,
                     const void *like, size_t size, void **ret_messages, size_t *ret_count)
{
    const char *text, *at;
    char *messages = NULL;
    json_t *element;
    size_t count = 0, i;
    int r = ph__arg_json(call, index, JSON_ARRAY, PH__EXT_JSON_FLAGS, &text);

    if (r == 0 && call->json)
        count = json_array_size(call->json);
    if (count > PH_BATCH_MAX)
        r = ph__fail(&call->err, PH_EINVAL, "%zu messages; at most %d are allowed", count,
                     PH_BATCH_MAX);
    if (r == 0 && count > 0) {
        messages = ph__arena_alloc(&call->arena, count * size);
        r = messages ? 0 : ph__fail_memory(&call->err);
    }
    *ret_messages = messages;
    *ret_count = count;
    if (r < 0 || count == 0)
        return r;
    at = ph__json_first(text);
    json_array_foreach(call->json, i, element)
    {
        memcpy(messages + i * size, like, size);
        r = load_element(call, form, element, at, i, messages + i * size);
        if (r < 0)
            return r;
        at = ph__json_next(at);
    }
    return 0;
}

int ph__ext_messages_load(struct ph__ext_call *call, int index, const ph_message **ret_messages,
                          size_t *ret_count)
{
    const ph_message like = PH_MESSAGE_INIT;
    void *messages;
    int r = load_many(call, index, &outbox_form, &like, sizeof(like), &messages, ret_count);

    *ret_messages = messages;
    return r;
}

int ph__ext_inbox_messages_load(struct ph__ext_call *call, int index,
                                const ph_inbox_message **ret_messages, size_t *ret_count)
{
    const ph_inbox_message like = PH_INBOX_MESSAGE_INIT;
    void *messages;
    int r = load_many(call, index, &inbox_form, &like, sizeof(like), &messages, ret_count);

    *ret_messages = messages;
    return r;
}
