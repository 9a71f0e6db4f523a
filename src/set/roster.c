#include "set/roster.h"

#include "core/error.h"
#include "store/store.h"
#include "util/alloc.h"
#include "util/assert.h"
#include "util/text.h"

#include <stdio.h>
#include <string.h>

bool ph__place_same(const struct ph__place *one, const struct ph__place *other)
{
    return strcmp(one->id, other->id) == 0 && strcmp(one->url, other->url) == 0 &&
           strcmp(one->schema, other->schema) == 0 && strcmp(one->prefix, other->prefix) == 0;
}

const char *ph__key_canonical(const char *key, char space[PH_ID_TEXT_SIZE])
{
    uint8_t id[16];

    return ph_id_parse(key, id) == 0 ? ph_id_text(id, space) : key;
}

const char *ph__url_shown(const char *url, char space[PH__SHOWN_SIZE])
{
    struct ph__buffer mended = { 0 };
    ph_store *store = NULL;
    ph_error ignored;

    if (ph_open_lazy(url, NULL, &store, &ignored) == 0)
        ph__text_mend(&mended, store->id, PH__SHOWN_SIZE - 1); /* without its password */
    snprintf(space, PH__SHOWN_SIZE, "%s", mended.data && !mended.failed ? mended.data : "?");
    ph__buffer_free(&mended);
    ph_close(store);
    return space;
}

struct ph__roster *ph__roster_new(void)
{
    struct ph__roster *roster = ph__alloc_zero(1, sizeof(*roster));

    if (roster)
        roster->last = &roster->first;
    return roster;
}

void ph__roster_free(struct ph__roster *roster)
{
    if (!roster)
        return;
    ph__map_free(&roster->ids);
    ph__map_free(&roster->keys);
    ph__arena_free(&roster->arena);
    ph__dealloc(roster);
}

static const char *copy(struct ph__roster *roster, const char *text)
{
    return ph__arena_copy(&roster->arena, text, strlen(text));
}

static struct ph__node *node_new(struct ph__roster *roster, const struct ph__place *place)
{
    struct ph__node *node = ph__arena_alloc(&roster->arena, sizeof(*node));

    if (!node)
        return NULL;
    node->place = (struct ph__place){ copy(roster, place->id), copy(roster, place->url),
                                      copy(roster, place->schema), copy(roster, place->prefix) };
    node->last_key = &node->keys;
    if (node->place.id && node->place.url && node->place.schema && node->place.prefix &&
        ph__map_reserve(&roster->ids))
        return node;
    return NULL;
}

static struct ph__key *key_new(struct ph__roster *roster, const char *text, const char *canonical)
{
    struct ph__key *key = ph__arena_alloc(&roster->arena, sizeof(*key));

    if (!key)
        return NULL;
    key->text = copy(roster, text);
    key->canonical = copy(roster, canonical);
    return key->text && key->canonical && ph__map_reserve(&roster->keys) ? key : NULL;
}

static int check_node(const struct ph__node *node, const struct ph__place *place, ph_error *err)
{
    char shown[PH__SHOWN_SIZE];

    if (!node || ph__place_same(&node->place, place))
        return 0;
    ph__fail(err, PH_EINVAL,
             "this id is that of another database; give each an id of its own. The other: %s",
             ph__url_shown(node->place.url, shown));
    return ph__cure_in_message(err, PH_EINVAL, PH_CURE_RENAME);
}

int ph__roster_prepare(struct ph__roster *roster, const struct ph__place *place, const char *key,
                       struct ph__addition *ret_addition, ph_error *err)
{
    char space[PH_ID_TEXT_SIZE];
    const char *canonical = key ? ph__key_canonical(key, space) : NULL;
    struct ph__key *taken = key ? ph__map_get(&roster->keys, canonical) : NULL;
    struct ph__addition addition = { .node = ph__map_get(&roster->ids, place->id) };
    int r = check_node(addition.node, place, err);

    if (r < 0)
        return r;
    if (taken && taken->node != addition.node) {
        ph__fail(err, PH_EINVAL,
                 "this key belongs to another id; give each database keys of its own. The other: "
                 "%s",
                 taken->node->place.id);
        return ph__cure_in_message(err, PH_EINVAL, PH_CURE_RENAME);
    }
    if (!addition.node) {
        addition.node = node_new(roster, place);
        addition.is_new = true;
    }
    if (key && !taken)
        addition.key = key_new(roster, key, canonical);
    if (!addition.node || (key && !taken && !addition.key))
        return ph__fail_memory(err);
    *ret_addition = addition;
    return 0;
}

bool ph__roster_commit(struct ph__roster *roster, const struct ph__addition *addition)
{
    struct ph__node *node = addition->node;

    if (addition->is_new) {
        PH__ASSERT(!*roster->last); /* the end of the list */
        *roster->last = node;
        roster->last = &node->next;
        ph__map_put(&roster->ids, node->place.id, node);
    }
    if (addition->key) {
        addition->key->node = node;
        PH__ASSERT(!*node->last_key);
        *node->last_key = addition->key;
        node->last_key = &addition->key->next;
        ph__map_put(&roster->keys, addition->key->canonical, addition->key);
    }
    return addition->is_new || addition->key;
}

int ph__roster_add(struct ph__roster *roster, const struct ph__place *place, const char *key,
                   ph_error *err)
{
    struct ph__addition addition;
    int r = ph__roster_prepare(roster, place, key, &addition, err);

    if (r == 0)
        (void)ph__roster_commit(roster, &addition);
    return r;
}
