#include "extension/message.h"

#include "core/error.h"
#include "extension/arguments.h"
#include "extension/json_text.h"

#include <math.h>
#include <string.h>

enum kind { TEXT, ID, TIME, PRIORITY, ATTEMPTS, HEADERS, LATER };

/* In the order of enqueue's arguments. */
static const struct key {
    const char *name;
    enum kind kind;
    size_t offset; /* of the member of ph_message */
} keys[] = {
    { "topic", TEXT, offsetof(ph_message, topic) },
    { "payload", TEXT, offsetof(ph_message, payload) },
    { "namespace", TEXT, offsetof(ph_message, ns) },
    { "tenant_id", ID, offsetof(ph_message, tenant_id) },
    { "dedupe_key", TEXT, offsetof(ph_message, dedupe_key) },
    { "correlation_id", TEXT, offsetof(ph_message, correlation_id) },
    { "stream", LATER, 0 },
    { "priority", PRIORITY, offsetof(ph_message, priority) },
    { "due_at", TIME, offsetof(ph_message, due_at) },
    { "expires_at", TIME, offsetof(ph_message, expires_at) },
    { "headers", HEADERS, offsetof(ph_message, headers) },
    { "message_id", ID, offsetof(ph_message, message_id) },
    { "join_id", ID, offsetof(ph_message, join_id) },
    { "max_attempts", ATTEMPTS, offsetof(ph_message, max_attempts) },
};
#define KEY_COUNT (sizeof(keys) / sizeof(*keys))
#define POSITIONAL 2 /* topic and payload */

static void *member(ph_message *message, const struct key *key)
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
        return ph__fail(&call->err, PH_EINVAL, "%s is %.0f; allowed are %lld to %lld", name, number,
                        (long long)least, (long long)most);
    *ret_number = (int64_t)number;
    return 0;
}

static int set_text(struct ph__ext_call *call, const struct key *key, const json_t *value,
                    ph_message *message)
{
    const char *text = json_string_value(value);

    if (!text)
        return ph__fail(&call->err, PH_EINVAL, "%s is not a JSON string", key->name);
    memcpy(member(message, key), &text, sizeof(text));
    return 0;
}

static int set_id(struct ph__ext_call *call, const struct key *key, const json_t *value,
                  ph_message *message)
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
                    ph_message *message)
{
    const char *text = json_is_number(value) ? NULL : json_string_value(value);
    int64_t time;
    int r;

    if (!text && !json_is_number(value))
        text = ""; /* no time either */
    r = ph__ext_time(call, key->name, text, json_number_value(value), &time);
    if (r == 0)
        memcpy(member(message, key), &time, sizeof(time));
    return r;
}

static int set_number(struct ph__ext_call *call, const struct key *key, const json_t *value,
                      ph_message *message)
{
    int64_t number = 0;
    int r;

    if (key->kind == ATTEMPTS) {
        r = ph__ext_whole(call, key->name, value, 1, PH_ATTEMPTS_MAX, &number);
        message->max_attempts = (int)number;
        return r;
    }
    r = ph__ext_whole(call, key->name, value, 0, PH_PRIORITY_BULK - PH_PRIORITY_URGENT, &number);
    message->priority = (ph_priority)(PH_PRIORITY_URGENT + number);
    return r;
}

/* As it was written, byte for byte. */
static int set_headers(struct ph__ext_call *call, const json_t *value, const char *text,
                       ph_message *message)
{
    size_t length;
    const char *at = ph__json_member(text, "headers", &length);

    if (!json_is_object(value) || !at)
        return ph__fail(&call->err, PH_EINVAL,
                        "headers are not a JSON object; with json_object() give json('{...}')");
    message->headers = ph__arena_copy(&call->arena, at, length);
    return message->headers ? 0 : ph__fail_memory(&call->err);
}

static int set(struct ph__ext_call *call, const struct key *key, const json_t *value,
               const char *text, ph_message *message)
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
        return set_headers(call, value, text, message);
    case LATER:
        break;
    }
    return ph__fail(&call->err, PH_EINVAL, "%s is not supported by this version; leave it out",
                    key->name);
}

int ph__ext_message_load(struct ph__ext_call *call, const json_t *object, const char *text,
                         bool all, ph_message *message)
{
    const char *name;
    json_t *value;

    json_object_foreach((json_t *)(uintptr_t)object, name, value)
    {
        size_t i = all ? 0 : POSITIONAL;
        int r;

        while (i < KEY_COUNT && strcmp(keys[i].name, name) != 0)
            i++;
        r = i < KEY_COUNT ? set(call, &keys[i], value, text, message)
                          : ph__fail(&call->err, PH_EINVAL, "there is no option \"%s\"", name);
        if (r < 0)
            return r;
    }
    return 0;
}
