#include "store/sqlite/claimer.h"

#include "core/error.h"
#include "util/buffer.h"

#include <stdlib.h>
#include <string.h>

#define TOPICS_MAX 1000 /* kept of one instance and queue; beyond, only those of its last claim */

/* -------------------------------------------------------------------- topics */

bool ph__claimer_topic(const char **stored, const char **ret_topic, size_t *ret_length)
{
    char *colon;
    unsigned long length;

    if (!**stored)
        return false;
    length = strtoul(*stored, &colon, 10);
    if (*colon != ':' || strnlen(colon + 1, length) < length)
        return false;
    *ret_topic = colon + 1;
    *ret_length = length;
    *stored = colon + 1 + length;
    return true;
}

static bool is_same(const char *topic, const char *bytes, size_t length)
{
    return strlen(topic) == length && memcmp(topic, bytes, length) == 0;
}

bool ph__claimer_wants(const char *stored, const char *topic)
{
    const char *bytes;
    size_t length;

    if (!stored)
        return true;
    while (ph__claimer_topic(&stored, &bytes, &length)) {
        if (is_same(topic, bytes, length))
            return true;
    }
    return false;
}

/* Mostly the same ones in the same order. */
bool ph__claimer_covers(const char *stored, const struct ph__claim *claim)
{
    const char *rest = stored, *bytes;
    size_t length, same = 0;

    if (!stored)
        return true;
    if (!claim->topics)
        return false;
    while (same < claim->topic_count && ph__claimer_topic(&rest, &bytes, &length) &&
           is_same(claim->topics[same], bytes, length))
        same++;
    for (size_t i = same; i < claim->topic_count; i++) {
        if (!ph__claimer_wants(stored, claim->topics[i]))
            return false;
    }
    return true;
}

static size_t count_topics(const char *stored)
{
    size_t count = 0, length;
    const char *bytes;

    while (ph__claimer_topic(&stored, &bytes, &length))
        count++;
    return count;
}

/* The topics that it claimed already and those that it claims now. */
static void join_topics(struct ph__buffer *to, const char *stored, const struct ph__claim *claim)
{
    if (stored && count_topics(stored) + claim->topic_count > TOPICS_MAX)
        stored = NULL;
    if (stored)
        ph__buffer_text(to, stored);
    for (size_t i = 0; i < claim->topic_count; i++) {
        if (!stored || !ph__claimer_wants(stored, claim->topics[i]))
            ph__buffer_printf(to, "%zu:%s", strlen(claim->topics[i]), claim->topics[i]);
    }
}

/* ---------------------------------------------------------------------- rows */

static void bind_queue(struct ph__query *query, const struct ph__claim *claim)
{
    ph__query_int(query, claim->door);
    ph__query_text(query, claim->ns);
}

/* 1: the row says that it claims so, and comes; otherwise its topics, if it comes for others. */
static int load(struct ph__sqlite_tx *tx, const struct ph__claim *claim, struct ph__buffer *topics)
{
    struct ph__query query = ph__query(tx, PH__SQL_claimer_get);
    const char *stored;
    bool comes, known;
    int r;

    ph__query_id(&query, claim->owner.b);
    bind_queue(&query, claim);
    r = ph__query_row(&query);
    if (r < 0)
        return r;
    comes = r > 0 && ph__column_int(&query, 0);
    stored = comes ? (const char *)sqlite3_column_text(query.stmt, 1) : NULL;
    known = comes && ph__claimer_covers(stored, claim);
    if (topics && !known && claim->topics)
        join_topics(topics, stored, claim);
    if (r > 0)
        ph__query_end(&query);
    return known;
}

int ph__claimer_is_known(struct ph__sqlite_tx *tx, const struct ph__claim *claim)
{
    return load(tx, claim, NULL);
}

int ph__claimer_comes(struct ph__sqlite_tx *tx, const struct ph__claim *claim)
{
    struct ph__buffer topics = { 0 };
    struct ph__query query;
    int r = load(tx, claim, &topics);

    if (r == 0) {
        query = ph__query(tx, PH__SQL_claimer_set);
        ph__query_id(&query, claim->owner.b);
        bind_queue(&query, claim);
        ph__query_int(&query, tx->now);
        ph__query_text(&query, topics.data);
        r = topics.failed ? ph__fail_memory(tx->call->err) : ph__query_run(&query);
    }
    ph__buffer_free(&topics);
    return r < 0 ? r : 0;
}

int ph__claimer_stays_away(struct ph__sqlite_tx *tx, ph_owner instance,
                           const struct ph__claim *queue)
{
    struct ph__query query = ph__query(tx, PH__SQL_claimer_away);

    ph__query_id(&query, instance.b);
    if (queue) {
        bind_queue(&query, queue);
    } else { /* both, or what the run before has bound would still be there */
        ph__query_null(&query);
        ph__query_null(&query);
    }
    return ph__query_run(&query);
}
