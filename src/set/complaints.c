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

/* Who mixes up the columns of a query gives a URL as the id. */
static const char *keep_id(struct ph__complaints *complaints, const char *id)
{
    char shown[PH__SHOWN_SIZE];

    if (!id)
        return "(none)";
    if (strstr(id, "://") || strstr(id, "password"))
        id = ph__url_shown(id, shown);
    return keep(complaints, id);
}

/* Without memory for it, it is one of those that are only counted. */
void ph__complaints_add(struct ph__complaints *complaints, const char *id, const char *reason)
{
    struct ph__complaint complaint = { 0 }, *items = NULL;

    if (complaints->count < PH__COMPLAINTS_MAX) {
        items = ph__arena_grow(&complaints->arena, complaints->items, complaints->count,
                               &complaints->room, sizeof(*items));
        complaint.id = keep_id(complaints, id);
        complaint.reason = keep(complaints, reason);
    }
    if (items)
        complaints->items = items;
    if (items && complaint.id && complaint.reason)
        complaints->items[complaints->count++] = complaint;
    else
        complaints->more++;
}

static bool has(const struct ph__complaints *complaints, const struct ph__complaint *wanted)
{
    for (size_t i = 0; i < complaints->count; i++) {
        if (strcmp(complaints->items[i].id, wanted->id) == 0 &&
            strcmp(complaints->items[i].reason, wanted->reason) == 0)
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
            ph__complaints_add(&news, now->items[i].id, now->items[i].reason);
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
        ph_log_field fields[] = { { "id", complaints->items[i].id },
                                  { "source", source },
                                  { "reason", complaints->items[i].reason } };

        ph__set_say(set, PH_LOG_WARN, "left out", fields, 3);
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
