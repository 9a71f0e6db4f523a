/* delivery.c - a message for itself: one that a handler keeps for long must not hold a large batch
 * in memory. */
#include "dispatch/dispatch.h"

#include "util/alloc.h"

#include <string.h>

static size_t size_of(const char *text)
{
    return text ? strlen(text) + 1 : 0;
}

static void move(const char **text, size_t size, char **at)
{
    if (!*text)
        return;
    memcpy(*at, *text, size);
    *text = *at;
    *at += size;
}

ph_delivery *ph__delivery_copy(const ph_delivery *delivery)
{
    const ph_delivery *d = delivery;
    size_t payload_size = d->payload_length + 1;
    size_t tenant_size = d->tenant_id ? sizeof(*d->tenant_id) : 0;
    ph_delivery *copy = ph__alloc(
        sizeof(*copy) + tenant_size + payload_size + size_of(d->topic) + size_of(d->ns) +
        size_of(d->dedupe_key) + size_of(d->correlation_id) + size_of(d->headers) +
        size_of(d->last_error) + size_of(d->stream) + size_of(d->source) + size_of(d->source_id));
    char *at;

    if (!copy)
        return NULL;
    *copy = *d;
    at = (char *)(copy + 1);
    if (d->tenant_id) {
        copy->tenant_id = memcpy(at, d->tenant_id, tenant_size);
        at += tenant_size;
    }
    move(&copy->payload, payload_size, &at);
    move(&copy->topic, size_of(d->topic), &at);
    move(&copy->ns, size_of(d->ns), &at);
    move(&copy->dedupe_key, size_of(d->dedupe_key), &at);
    move(&copy->correlation_id, size_of(d->correlation_id), &at);
    move(&copy->headers, size_of(d->headers), &at);
    move(&copy->last_error, size_of(d->last_error), &at);
    move(&copy->stream, size_of(d->stream), &at);
    move(&copy->source, size_of(d->source), &at);
    move(&copy->source_id, size_of(d->source_id), &at);
    return copy;
}
