/* merge.c - one list from several: first the databases that were added, then those of the sources
 * in their order. */
#include "core/error.h"
#include "set/inner.h"
#include "util/alloc.h"
#include "util/assert.h"

#include <stdio.h>

/* Takes a database over, and those of its keys that no database before it has. */
static int take_node(struct ph__roster *into, const struct ph__node *node,
                     struct ph__complaints *conflicts, ph_error *err)
{
    int r = ph__roster_add(into, &node->place, NULL, err);

    if (r == PH_EINVAL) {
        ph__complaints_add(conflicts, node->place.id, NULL, err->message);
        return 0;
    }
    for (const struct ph__key *key = node->keys; r == 0 && key; key = key->next) {
        r = ph__roster_add(into, &node->place, key->text, err);
        if (r == PH_EINVAL) {
            ph__complaints_add(conflicts, node->place.id, key->text, err->message);
            r = 0;
        }
    }
    return r;
}

static int take(struct ph__roster *into, const struct ph__roster *from,
                struct ph__complaints *conflicts, ph_error *err)
{
    int r = 0;

    for (const struct ph__node *node = from ? from->first : NULL; r == 0 && node; node = node->next)
        r = take_node(into, node, conflicts, err);
    return r;
}

/* A database that was there before keeps its entry. */
static int give_entries(struct ph__roster *roster, const struct ph__roster *before, ph_error *err)
{
    for (struct ph__node *node = roster->first; node; node = node->next) {
        const struct ph__node *old = ph__map_get(&before->ids, node->place.id);

        PH__ASSERT(!node->entry);
        if (old && ph__place_same(&old->place, &node->place)) {
            node->entry = old->entry;
            node->entry->refs++;
        } else {
            node->entry = ph__entry_new(&node->place);
            if (!node->entry)
                return ph__fail_memory(err);
        }
    }
    return 0;
}

static bool same_keys(const struct ph__node *node, const struct ph__roster *before)
{
    for (const struct ph__key *key = node->keys; key; key = key->next) {
        const struct ph__key *old = ph__map_get(&before->keys, key->canonical);

        if (!old || old->node->entry != node->entry)
            return false;
    }
    return true;
}

/* How many of one list are not, or at another place, in the other. */
static size_t count_missing(const struct ph__roster *of, const struct ph__roster *in,
                            ph_set_change_kind kind, ph_set_report *report)
{
    size_t missing = 0;

    for (const struct ph__node *node = of->first; node; node = node->next) {
        const struct ph__node *other = ph__map_get(&in->ids, node->place.id);

        if (other && other->entry == node->entry)
            continue;
        missing++;
        ph__report_place(report, kind, node->place.id);
    }
    return missing;
}

static void compare(const struct ph__roster *now, const struct ph__roster *before,
                    ph_set_report *report, struct ph__merged *merged)
{
    merged->databases = now->ids.count;
    merged->left = count_missing(before, now, PH_SET_REMOVED, report);
    merged->appeared = count_missing(now, before, PH_SET_ADDED, report);
    merged->changed =
        merged->appeared > 0 || merged->left > 0 || now->keys.count != before->keys.count;
    for (const struct ph__node *node = now->first; !merged->changed && node; node = node->next)
        merged->changed = !same_keys(node, before);
    PH__ASSERT(now->ids.count - merged->appeared == before->ids.count - merged->left);
}

void ph__roster_drop(struct ph__roster *roster)
{
    for (struct ph__node *node = roster ? roster->first : NULL; node; node = node->next)
        ph__entry_drop(node->entry);
    ph__roster_free(roster);
}

int ph__set_merge(ph_set *set, ph_set_report *report, struct ph__merged *ret_merged, ph_error *err)
{
    struct ph__roster *now = ph__roster_new(), *before = set->known;
    struct ph__complaints conflicts = { 0 };
    ph_error conflict;
    int r = now ? take(now, set->added, &conflicts, &conflict) : PH_ENOMEM;

    for (const struct ph__source *source = set->sources; r == 0 && source; source = source->next)
        r = take(now, source->list, &conflicts, &conflict);
    r = r < 0 ? ph__fail_memory(err) : give_entries(now, before, err);
    if (r < 0) {
        ph__roster_drop(now);
        ph__complaints_free(&conflicts);
        return r;
    }
    *ret_merged = (struct ph__merged){ 0 };
    compare(now, before, report, ret_merged);
    set->known = now;
    set->version += ret_merged->changed;
    ph__roster_drop(before);
    ret_merged->news = ph__complaints_news(&set->conflicts, &conflicts);
    ph__complaints_free(&set->conflicts);
    set->conflicts = conflicts;
    return 0;
}

void ph__set_merged(ph_set *set, struct ph__merged *merged)
{
    char databases[24], appeared[24], left[24];
    ph_log_field fields[] = { { "databases", databases }, { "new", appeared }, { "gone", left } };

    ph__complaints_say(&merged->news, set, NULL);
    ph__complaints_free(&merged->news);
    if (merged->appeared || merged->left) {
        snprintf(databases, sizeof(databases), "%zu", merged->databases);
        snprintf(appeared, sizeof(appeared), "%zu", merged->appeared);
        snprintf(left, sizeof(left), "%zu", merged->left);
        ph__set_say(set, PH_LOG_INFO, "the databases have changed", fields, 3);
    }
    if (merged->changed)
        ph__set_tell(set);
}
