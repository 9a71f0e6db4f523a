/* sources.c - the sources of a set, and what they answer. */
#include "core/error.h"
#include "set/inner.h"
#include "set/sources.h"
#include "util/alloc.h"
#include "util/buffer.h"

#include <stdio.h>

/* ------------------------------------------------------------ what is found */

/* Would the database be fine without its key, which another one has? */
static bool has_place(ph_found *found, const struct ph__checked *checked)
{
    struct ph__addition addition;
    ph_error ignored;

    return ph__roster_prepare(found->roster, &checked->place, NULL, &addition, &ignored) == 0;
}

/* key NULL: it is not the key that makes no sense. */
static void complain(ph_found *found, const char *id, const char *key, const ph_error *err)
{
    char reason[sizeof(err->message) + 24];

    if (!found->line) {
        ph__complaints_add(&found->complaints, id, key, err->message);
        return;
    }
    snprintf(reason, sizeof(reason), "line %d: %s", found->line, err->message);
    ph__complaints_add(&found->complaints, id, key, reason);
}

int ph_found_add(ph_found *found, const ph_database *database, ph_error *reterr)
{
    struct ph__checked checked;
    ph_error spare, *err = reterr ? reterr : &spare;
    int r;

    ph__ok(err);
    if (!found)
        return ph__fail(err, PH_EINVAL, "found is NULL");
    r = ph__check_begin(found->set, database, &checked, err);
    if (r == 0) {
        r = ph__roster_add(found->roster, &checked.place, checked.key, err);
        if (r == PH_EINVAL && !has_place(found, &checked))
            checked.key = NULL;
        ph__check_end(&checked);
    }
    if (r == PH_ENOMEM)
        found->no_memory = true;
    else if (r < 0)
        complain(found, checked.database.id, checked.key, err);
    return r;
}

/* ------------------------------------------------------------------- sources */

struct ph__source *ph__source_new(const char *kind, const char *where, ph_error *err)
{
    struct ph__source *source = ph__alloc_zero(1, sizeof(*source));
    struct ph__buffer name = { 0 };

    ph__buffer_text(&name, kind);
    if (where)
        ph__buffer_printf(&name, " %s", where);
    if (source && !name.failed) {
        source->name = name.data;
        return source;
    }
    ph__buffer_free(&name);
    ph__dealloc(source);
    ph__fail_memory(err);
    return NULL;
}

void ph__source_free(struct ph__source *source)
{
    ph__dealloc(source->name);
    ph__dealloc(source->url);
    ph__dealloc(source->sql);
    ph__dealloc(source->path);
    ph__dealloc(source->pattern);
    ph__roster_free(source->list);
    ph__roster_free(source->fresh);
    ph__complaints_free(&source->complaints);
    ph__dealloc(source);
}

void ph__source_add(ph_set *set, struct ph__source *source)
{
    pthread_mutex_lock(&set->lock);
    *set->last_source = source;
    set->last_source = &source->next;
    set->due = true;
    pthread_mutex_unlock(&set->lock);
    ph__set_tell(set);
}

/* ------------------------------------------------------------------ callbacks */

static int ask(struct ph__source *source, ph_found *found, ph_error *err)
{
    int r = source->discover(source->context, found, err);

    err->message[sizeof(err->message) - 1] = '\0';
    if (r < 0 && !err->message[0])
        return ph__fail(err, r, "the callback returned %d: %s", r, ph_status_text(r));
    if (r < 0)
        err->code = r;
    return r < 0 ? r : 0;
}

int ph_set_add_discovery(ph_set *set, ph_discover_fn discover, void *context, ph_error *reterr)
{
    struct ph__source *source;

    ph__ok(reterr);
    if (!set || !discover)
        return ph__fail(reterr, PH_EINVAL, "%s is NULL", set ? "discover" : "set");
    source = ph__source_new("callback", NULL, reterr);
    if (!source)
        return PH_ENOMEM;
    source->ask = ask;
    source->discover = discover;
    source->context = context;
    ph__source_add(set, source);
    return 0;
}
