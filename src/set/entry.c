/* entry.c - one database of a set, which lives until its last holder lets go. */
#include "core/error.h"
#include "set/inner.h"
#include "util/alloc.h"
#include "util/assert.h"

#include <string.h>

static const char *put(char **at, const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = memcpy(*at, text, size);

    *at += size;
    return copy;
}

struct ph__entry *ph__entry_new(const struct ph__place *place)
{
    size_t size =
        strlen(place->id) + strlen(place->url) + strlen(place->schema) + strlen(place->prefix) + 4;
    struct ph__entry *entry = ph__alloc(sizeof(*entry) + size);
    char *at;

    if (!entry)
        return NULL;
    at = entry->texts;
    entry->refs = 1;
    entry->place.id = put(&at, place->id);
    entry->place.url = put(&at, place->url);
    entry->place.schema = put(&at, place->schema);
    entry->place.prefix = put(&at, place->prefix);
    return entry;
}

void ph__entry_drop(struct ph__entry *entry)
{
    PH__ASSERT(!entry || entry->refs > 0);
    if (entry && --entry->refs == 0)
        ph__dealloc(entry);
}

void ph__entry_unref(ph_set *set, struct ph__entry *entry)
{
    pthread_mutex_lock(&set->lock);
    ph__entry_drop(entry);
    pthread_mutex_unlock(&set->lock);
}

const char *ph__entry_id(const struct ph__entry *entry)
{
    return entry->place.id;
}

int ph__entry_open(ph_set *set, const struct ph__entry *entry, ph_store **ret_store, ph_error *err)
{
    ph_store_opts opts = set->stores;
    int r;

    opts.store_id = entry->place.id;
    opts.schema = entry->place.schema;
    opts.table_prefix = entry->place.prefix;
    r = ph_open_lazy(entry->place.url, &opts, ret_store, err);
    if (r == 0)
        (*ret_store)->deploy = opts.deploy_schema;
    return r;
}
