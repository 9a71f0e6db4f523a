/* list.c - the databases of a set, one by one and all of them. */
#include "core/error.h"
#include "core/list.h"
#include "core/options.h"
#include "set/inner.h"
#include "util/alloc.h"

#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------- add, remove */

/* With the lock. All that can fail comes first. */
static int add(ph_set *set, const struct ph__checked *checked, bool *ret_changed, ph_error *err)
{
    struct ph__addition to_added, to_known;
    struct ph__entry *entry = NULL;
    int r = ph__roster_prepare(set->known, &checked->place, checked->key, &to_known, err);

    if (r == 0)
        r = ph__roster_prepare(set->added, &checked->place, checked->key, &to_added, err);
    if (r == 0 && to_known.is_new) {
        entry = ph__entry_new(&checked->place);
        if (!entry)
            r = ph__fail_memory(err);
    }
    if (r < 0)
        return r;
    if (to_known.is_new)
        to_known.node->entry = entry;
    (void)ph__roster_commit(set->added, &to_added);
    *ret_changed = ph__roster_commit(set->known, &to_known);
    set->version += *ret_changed;
    return 0;
}

int ph_set_add(ph_set *set, const ph_database *database, ph_error *reterr)
{
    struct ph__checked checked;
    bool changed = false;
    int r;

    ph__ok(reterr);
    if (!set)
        return ph__fail(reterr, PH_EINVAL, "set is NULL");
    r = ph__check_begin(set, database, &checked, reterr);
    if (r < 0)
        return r;
    pthread_mutex_lock(&set->lock);
    r = add(set, &checked, &changed, reterr);
    pthread_mutex_unlock(&set->lock);
    ph__check_end(&checked);
    if (changed)
        ph__set_tell(set);
    return r;
}

static int copy_without(const struct ph__roster *from, const char *id,
                        struct ph__roster **ret_roster, ph_error *err)
{
    struct ph__roster *roster = ph__roster_new();
    int r = roster ? 0 : ph__fail_memory(err);

    for (const struct ph__node *node = from->first; r == 0 && node; node = node->next) {
        if (strcmp(node->place.id, id) == 0)
            continue;
        for (const struct ph__key *key = node->keys; r == 0 && key; key = key->next)
            r = ph__roster_add(roster, &node->place, key->text, err);
    }
    if (r == 0)
        *ret_roster = roster;
    else
        ph__roster_free(roster);
    return r;
}

/* With the lock. */
static int take_out(ph_set *set, const char *id, struct ph__merged *ret_merged, ph_error *err)
{
    struct ph__roster *before = set->added;
    int r;

    if (!ph__map_get(&before->ids, id))
        return ph__fail(err, PH_ENOTFOUND, "no database with this id was added: %s", id);
    r = copy_without(before, id, &set->added, err);
    if (r < 0)
        return r;
    r = ph__set_merge(set, NULL, ret_merged, err);
    if (r < 0) {
        ph__roster_free(set->added);
        set->added = before;
        return r;
    }
    ph__roster_free(before);
    return 0;
}

int ph_set_remove(ph_set *set, const char *id, ph_error *reterr)
{
    struct ph__merged merged = { 0 };
    int r;

    ph__ok(reterr);
    if (!set || !id)
        return ph__fail(reterr, PH_EINVAL, "%s is NULL", set ? "id" : "set");
    pthread_mutex_lock(&set->lock);
    r = take_out(set, id, &merged, reterr);
    pthread_mutex_unlock(&set->lock);
    if (r == 0)
        ph__set_merged(set, &merged);
    return r;
}

/* -------------------------------------------------------------------- look */

struct ph__entry *ph__set_find(ph_set *set, const char *canonical)
{
    struct ph__entry *entry = NULL;
    const struct ph__key *key;

    pthread_mutex_lock(&set->lock);
    key = ph__map_get(&set->known->keys, canonical);
    if (key) {
        entry = key->node->entry;
        entry->refs++;
    }
    pthread_mutex_unlock(&set->lock);
    return entry;
}

uint64_t ph__set_version(ph_set *set)
{
    uint64_t version;

    pthread_mutex_lock(&set->lock);
    version = set->version;
    pthread_mutex_unlock(&set->lock);
    return version;
}

static int by_id(const void *one, const void *other)
{
    const struct ph__entry *const *a = one, *const *b = other;

    return strcmp((*a)->place.id, (*b)->place.id);
}

int ph__set_entries(ph_set *set, struct ph__entry ***ret_entries, size_t *ret_count,
                    uint64_t *ret_version, ph_error *err)
{
    struct ph__entry **entries;
    size_t count = 0;

    pthread_mutex_lock(&set->lock);
    entries = ph__alloc_zero(set->known->ids.count, sizeof(struct ph__entry *));
    for (struct ph__node *node = set->known->first; entries && node; node = node->next) {
        entries[count++] = node->entry;
        node->entry->refs++;
    }
    *ret_version = set->version;
    pthread_mutex_unlock(&set->lock);
    if (!entries)
        return ph__fail_memory(err);
    qsort(entries, count, sizeof(struct ph__entry *), by_id);
    *ret_entries = entries;
    *ret_count = count;
    return 0;
}

/* ------------------------------------------------------------ for everybody */

struct ph_databases {
    struct ph__arena arena;
    ph_database *items; /* from the arena */
    size_t count;
};

static bool copy(struct ph__arena *arena, const char *text, const char **ret_copy)
{
    *ret_copy = ph__arena_copy(arena, text, strlen(text));
    return *ret_copy != NULL;
}

static bool copy_node(ph_databases *list, const struct ph__node *node, ph_database *to)
{
    struct ph__arena *arena = &list->arena;

    to->size = sizeof(*to);
    return copy(arena, node->place.id, &to->id) && copy(arena, node->place.url, &to->url) &&
           copy(arena, node->place.schema, &to->schema) &&
           copy(arena, node->place.prefix, &to->table_prefix) &&
           (!node->keys || copy(arena, node->keys->text, &to->key));
}

/* With the lock; of all databases, or of the one with an id. */
static bool copy_all(ph_databases *list, const struct ph__roster *known, const char *id)
{
    list->items = ph__arena_alloc(&list->arena, known->ids.count * sizeof(*list->items));
    for (const struct ph__node *node = known->first; list->items && node; node = node->next) {
        if (id && strcmp(node->place.id, id) != 0)
            continue;
        if (!copy_node(list, node, &list->items[list->count++]))
            return false;
    }
    return list->items != NULL;
}

static int by_database_id(const void *one, const void *other)
{
    const ph_database *a = one, *b = other;

    return strcmp(a->id, b->id);
}

int ph_database_list(ph_set *set, const ph_database_list_opts *opts, ph_databases **ret_list,
                     ph_error *reterr)
{
    ph_database_list_opts wanted = PH_DATABASE_LIST_OPTS_INIT;
    ph_databases *list;
    bool copied;
    int r;

    ph__ok(reterr);
    if (!set || !ret_list)
        return ph__fail(reterr, PH_EINVAL, "%s is NULL", set ? "ret_list" : "set");
    r = ph__options_load(&wanted, sizeof(wanted), opts, "ph_database_list_opts", reterr);
    if (r < 0)
        return r;
    list = ph__alloc_zero(1, sizeof(*list));
    if (!list)
        return ph__fail_memory(reterr);
    pthread_mutex_lock(&set->lock);
    copied = copy_all(list, set->known, wanted.id);
    pthread_mutex_unlock(&set->lock);
    if (!copied) {
        ph_databases_free(list);
        return ph__fail_memory(reterr);
    }
    qsort(list->items, list->count, sizeof(*list->items), by_database_id);
    *ret_list = list;
    return 0;
}

PH__LIST_FUNCTIONS(databases, ph_database)
