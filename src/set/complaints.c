#include "set/complaints.h"

#include "set/inner.h"
#include "util/text.h"

#include <stdio.h>
#include <string.h>

static const char *keep(struct ph__complaints *complaints, const char *text)
{
    struct ph__buffer mended = { 0 };
    const char *kept = NULL;

    ph__buffer_text(&mended, "");
    ph__text_mend(&mended, text, PH_ERROR_TEXT_MAX);
    if (!mended.failed)
        kept = ph__arena_copy(&complaints->arena, mended.data, mended.length);
    ph__buffer_free(&mended);
    return kept;
}

/* A query that mixes up its columns gives a URL as the id. */
static const char *keep_name(struct ph__complaints *complaints, const char *name)
{
    char shown[PH__SHOWN_SIZE];

    if (strstr(name, "://") || strstr(name, "password"))
        name = ph__url_shown(name, shown);
    return keep(complaints, name);
}

/* Without memory for it, it is one of those that are only counted. */
void ph__complaints_add(struct ph__complaints *complaints, const char *id, const char *key,
                        const char *reason)
{
    struct ph__complaint complaint = { 0 }, *added = NULL;

    if (complaints->count < PH__COMPLAINTS_MAX) {
        complaint.id = id ? keep_name(complaints, id) : "(none)";
        complaint.key = key ? keep_name(complaints, key) : NULL;
        complaint.reason = keep(complaints, reason);
    }
    if (complaint.id && complaint.reason && (complaint.key || !key))
        added = PH__ARENA_ADD(&complaints->arena, complaints->items, complaints->count,
                              complaints->room);
    if (added)
        *added = complaint;
    else
        complaints->more++;
}

void ph__complaints_settle(struct ph__complaints *complaints, const struct ph__roster *answer)
{
    for (size_t i = 0; i < complaints->count; i++) {
        if (!ph__map_get(&answer->ids, complaints->items[i].id))
            complaints->items[i].key = NULL;
    }
}

static bool is_same(const struct ph__complaint *one, const struct ph__complaint *other)
{
    return strcmp(one->id, other->id) == 0 && strcmp(one->reason, other->reason) == 0 &&
           strcmp(one->key ? one->key : "", other->key ? other->key : "") == 0;
}

static bool has(const struct ph__complaints *complaints, const struct ph__complaint *wanted)
{
    for (size_t i = 0; i < complaints->count; i++) {
        if (is_same(&complaints->items[i], wanted))
            return true;
    }
    return false;
}

struct ph__complaints ph__complaints_news(const struct ph__complaints *before,
                                          const struct ph__complaints *now)
{
    struct ph__complaints news = { 0 };

    for (size_t i = 0; i < now->count; i++) {
        if (!has(before, &now->items[i]))
            ph__complaints_add(&news, now->items[i].id, now->items[i].key, now->items[i].reason);
    }
    if (now->more != before->more)
        news.more += now->more;
    return news;
}

void ph__complaints_say(const struct ph__complaints *complaints, const ph_set *set,
                        const char *source)
{
    char more[24];

    for (size_t i = 0; i < complaints->count; i++) {
        const struct ph__complaint *item = &complaints->items[i];
        ph_log_field fields[] = { { "id", item->id },
                                  { "key", item->key },
                                  { "source", source },
                                  { "reason", item->reason } };

        ph__set_say(set, PH_LOG_WARN, item->key ? "a key is left out" : "left out", fields, 4);
    }
    if (complaints->more) {
        ph_log_field fields[] = { { "count", more }, { "source", source } };

        snprintf(more, sizeof(more), "%zu", complaints->more);
        ph__set_say(set, PH_LOG_WARN, "more are left out", fields, 2);
    }
}

void ph__complaints_free(struct ph__complaints *complaints)
{
    ph__arena_free(&complaints->arena);
    *complaints = (struct ph__complaints){ 0 };
}
