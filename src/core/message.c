#include "core/message.h"

#include "core/error.h"
#include "core/names.h"
#include "core/options.h"
#include "util/assert.h"
#include "util/text.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define NUMBER_MAX 300 /* characters of a number in headers, and its exponent */

int ph__name_check(const char *name, const char *what, bool may_be_empty, ph_error *err)
{
    size_t code_points;

    if (!name)
        return ph__fail(err, PH_EINVAL, "%s is NULL; it is required", what);
    if (!*name && !may_be_empty)
        return ph__fail(err, PH_EINVAL, "%s is empty; it is required", what);
    if (!ph__text_valid(name, strlen(name), &code_points))
        return ph__fail(err, PH_EINVAL, "%s is not valid UTF-8", what);
    if (code_points > PH_NAME_MAX)
        return ph__fail(err, PH_EINVAL, "%s has %zu characters; at most %d are allowed", what,
                        code_points, PH_NAME_MAX);
    return 0;
}

/* For a key that may be left out. */
static int key_check(const char *key, const char *what, ph_error *err)
{
    if (!key)
        return 0;
    if (!*key)
        return ph__fail(err, PH_EINVAL, "%s is empty; leave it out, or name one", what);
    return ph__name_check(key, what, false, err);
}

static int payload_check(struct ph__message *m, ph_error *err)
{
    if (!m->payload)
        return ph__fail(err, PH_EINVAL, "payload is NULL; it is required, but may be empty");
    if (m->payload_length == PH_TEXT_LENGTH)
        m->payload_length = strlen(m->payload);
    if (m->payload_length > PH_PAYLOAD_MAX)
        return ph__fail(err, PH_EINVAL,
                        "payload has %zu bytes; at most %d are possible: store it elsewhere and "
                        "send a reference",
                        m->payload_length, PH_PAYLOAD_MAX);
    if (memchr(m->payload, 0, m->payload_length))
        return ph__fail(err, PH_EINVAL, "payload holds a NUL byte; encode binary data as text");
    if (!ph__text_valid(m->payload, m->payload_length, NULL))
        return ph__fail(err, PH_EINVAL, "payload is not valid UTF-8; encode binary data as text");
    return 0;
}

/* PostgreSQL's JSON cannot hold every number that JSON can write, and finding
 * that out there would break the caller's transaction. json is well-formed. */
static bool numbers_fit(const char *json)
{
    bool in_text = false;

    for (; *json; json++) {
        size_t length = in_text ? 0 : strspn(json, "+-.eE0123456789");
        size_t mantissa = length ? strspn(json, "+-.0123456789") : 0;
        long exponent = mantissa < length ? strtol(json + mantissa + 1, NULL, 10) : 0;

        if (*json == '"')
            in_text = !in_text;
        else if (in_text && *json == '\\')
            json++;
        if (length > NUMBER_MAX || exponent > NUMBER_MAX || exponent < -NUMBER_MAX)
            return false;
        json += length ? length - 1 : 0;
    }
    return true;
}

int ph__object_check(const char *object, const char *what, bool are_many, ph_error *err)
{
    json_error_t where;
    json_t *json;

    if (!object)
        return 0;
    if (strlen(object) > PH_HEADERS_MAX)
        return ph__fail(err, PH_EINVAL, "%s %s %zu bytes; at most %d are allowed", what,
                        are_many ? "have" : "has", strlen(object), PH_HEADERS_MAX);
    json = json_loads(object, JSON_DECODE_INT_AS_REAL, &where);
    if (!json)
        return ph__fail(err, PH_EINVAL, "%s %s not a JSON object; the error is at byte %d", what,
                        are_many ? "are" : "is", where.position);
    if (!json_is_object(json)) {
        json_decref(json);
        return ph__fail(err, PH_EINVAL, "%s %s not a JSON object", what, are_many ? "are" : "is");
    }
    json_decref(json);
    if (!numbers_fit(object))
        return ph__fail(err, PH_EINVAL,
                        "%s hold%s a number of more than %d digits; write it as text", what,
                        are_many ? "" : "s", NUMBER_MAX);
    return 0;
}

/* A key that belongs to a tenant says so: "<tenant in hex>/…". */
static int tenant_check(const struct ph__message *m, ph_error *err)
{
    char with[PH_ID_TEXT_SIZE], without[33], *to = without;

    if (!m->tenant_id || !m->dedupe_key || m->source)
        return 0;
    ph_id_text(m->tenant_id->b, with);
    for (const char *from = with; *from; from++) {
        if (*from != '-')
            *to++ = *from;
    }
    *to = '\0';
    if (strncasecmp(m->dedupe_key, with, 36) == 0 && m->dedupe_key[36] == '/')
        return 0;
    if (strncasecmp(m->dedupe_key, without, 32) == 0 && m->dedupe_key[32] == '/')
        return 0;
    return ph__fail(err, PH_EINVAL,
                    "dedupe_key does not begin with the tenant id; with a tenant it must read "
                    "\"%s/…\"",
                    with);
}

static int times_check(const struct ph__message *m, ph_error *err)
{
    if (m->due_at < PH_TIME_MIN || m->due_at > PH_TIME_MAX)
        return ph__fail(err, PH_EINVAL, "due_at lies outside the years 1 to 9999");
    if (m->expires_at < PH_TIME_MIN || m->expires_at > PH_TIME_MAX)
        return ph__fail(err, PH_EINVAL, "expires_at lies outside the years 1 to 9999");
    if (m->expires_at && m->due_at && m->expires_at <= m->due_at)
        return ph__fail(err, PH_EINVAL,
                        "expires_at is not after due_at; the message could never be claimed");
    return 0;
}

static int fields_check(struct ph__message *m, int priority, ph_error *err)
{
    int r = ph__name_check(m->topic, "topic", false, err);

    if (r == 0)
        r = payload_check(m, err);
    if (r == 0)
        r = ph__name_check(m->ns, "namespace", true, err);
    if (r == 0)
        r = key_check(m->dedupe_key, "dedupe_key", err);
    if (r == 0 && m->correlation_id)
        r = ph__name_check(m->correlation_id, "correlation_id", true, err);
    if (r == 0)
        r = key_check(m->stream, "stream", err);
    if (r == 0)
        r = ph__object_check(m->headers, "headers", true, err);
    if (r == 0)
        r = tenant_check(m, err);
    if (r == 0)
        r = times_check(m, err);
    if (r < 0)
        return r;
    if (m->message_id && ph_id_is_zero(m->message_id->b))
        return ph__fail(err, PH_EINVAL, "message_id is all zero; pass NULL to have one made");
    if (m->join_id && ph_id_is_zero(m->join_id->b))
        return ph__fail(err, PH_EINVAL, "join_id is all zero; pass NULL for none");
    if (m->tenant_id && ph_id_is_zero(m->tenant_id->b))
        return ph__fail(err, PH_EINVAL, "tenant_id is all zero; pass NULL for none");
    if (m->level < 0)
        return ph__fail(err, PH_EINVAL,
                        "priority %d is not a ph_priority; use PH_PRIORITY_URGENT and the others",
                        priority);
    if (m->max_attempts < 0 || m->max_attempts > PH_ATTEMPTS_MAX)
        return ph__fail(err, PH_EINVAL, "max_attempts is %d; give 1 to %d, or 0 for the queue's",
                        m->max_attempts, PH_ATTEMPTS_MAX);
    return 0;
}

int ph__message_load(struct ph__message *to, const ph_message *from, long index, ph_error *err)
{
    ph_message m = PH_MESSAGE_INIT;
    int r;

    if (!from)
        return ph__fail(err, PH_EINVAL, "message is NULL");
    r = ph__options_load(&m, sizeof(m), from, "ph_message", err);
    if (r == 0) {
        *to = (struct ph__message){
            .topic = m.topic,
            .payload = m.payload,
            .payload_length = m.payload_length,
            .ns = m.ns ? m.ns : "",
            .dedupe_key = m.dedupe_key,
            .correlation_id = m.correlation_id && *m.correlation_id ? m.correlation_id : NULL,
            .headers = m.headers,
            .tenant_id = m.tenant_id,
            .message_id = m.message_id,
            .level = ph__level_of(m.priority),
            .due_at = m.due_at,
            .expires_at = m.expires_at,
            .max_attempts = m.max_attempts,
            .join_id = m.join_id,
            .stream = m.stream,
        };
        r = fields_check(to, (int)m.priority, err);
    }
    PH__ASSERT(r < 0 || (to->level >= 0 && to->level < PH__LEVELS));
    PH__ASSERT(r < 0 || to->payload_length <= PH_PAYLOAD_MAX);
    return r < 0 && index >= 0 ? ph__item(err, r, (size_t)index) : r;
}

static int inbox_check(struct ph__message *m, int priority, ph_error *err)
{
    int r = ph__name_check(m->source, "source", false, err);

    if (r == 0)
        r = ph__name_check(m->dedupe_key, "source_id", false, err);
    if (r == 0)
        r = fields_check(m, priority, err);
    if (r == 0 && m->handled && m->stream)
        return ph__fail(err, PH_EINVAL,
                        "handled and stream exclude each other; a handled message waits for "
                        "nobody");
    return r;
}

int ph__inbox_load(struct ph__message *to, const ph_inbox_message *from, bool own_transaction,
                   long index, ph_error *err)
{
    ph_inbox_message m = PH_INBOX_MESSAGE_INIT;
    int r;

    if (!from)
        return ph__fail(err, PH_EINVAL, "message is NULL");
    r = ph__options_load(&m, sizeof(m), from, "ph_inbox_message", err);
    if (r == 0) {
        *to = (struct ph__message){
            .source = m.source,
            .dedupe_key = m.source_id,
            .topic = m.topic,
            .payload = m.payload,
            .payload_length = m.payload_length,
            .ns = m.ns ? m.ns : "",
            .tenant_id = m.tenant_id,
            .correlation_id = m.correlation_id && *m.correlation_id ? m.correlation_id : NULL,
            .stream = m.stream,
            .level = ph__level_of(m.priority),
            .headers = m.headers,
            .handled = m.handled,
        };
        r = inbox_check(to, (int)m.priority, err);
    }
    if (r == 0 && m.handled && own_transaction)
        r = ph__fail(err, PH_EINVAL,
                     "handled needs a transaction of yours, in which you do the work");
    PH__ASSERT(r < 0 || (to->level >= 0 && to->level < PH__LEVELS));
    PH__ASSERT(r < 0 || (to->source && to->dedupe_key));
    return r < 0 && index >= 0 ? ph__item(err, r, (size_t)index) : r;
}
