#include "store/sqlite/moves.h"

#include "core/id.h"
#include "store/sqlite/by_topic.h"
#include "store/sqlite/joins.h"
#include "store/sqlite/stream_row.h"
#include "store/sqlite/topics.h"
#include "util/assert.h"

#include <string.h>

int ph__message_facts(struct ph__sqlite_tx *tx, int64_t id, struct ph__message_facts *ret_facts)
{
    struct ph__query query = ph__query(tx, PH__SQL_message_facts);
    int r;

    ph__query_int(&query, id);
    r = ph__query_row(&query);
    *ret_facts = (struct ph__message_facts){ 0 };
    if (r <= 0)
        return r;
    *ret_facts = (struct ph__message_facts){
        .exists = true,
        .salt = (uint64_t)ph__column_int(&query, 0),
        .level = (int)ph__column_int(&query, 1),
        .max_attempts = (int)ph__column_int(&query, 2),
        .topic = ph__topic_hash((const char *)sqlite3_column_text(query.stmt, 3)),
    };
    ph__query_end(&query);
    return 0;
}

int ph__log_attempt(struct ph__sqlite_tx *tx, const struct ph__attempt_entry *entry)
{
    struct ph__query query = ph__query(tx, PH__SQL_attempt_log_insert);

    PH__ASSERT(tx->writes && entry->id > 0 && entry->attempt >= 0);
    tx->any.histories = true;
    ph__query_int(&query, entry->id);
    ph__query_int(&query, entry->attempt);
    ph__query_int(&query, entry->kind);
    ph__query_text(&query, entry->error);
    ph__query_int(&query, tx->now);
    ph__query_id(&query, entry->owner ? entry->owner->b : NULL);
    if (entry->next_due)
        ph__query_int(&query, *entry->next_due);
    else
        ph__query_null(&query);
    return ph__query_run(&query);
}

int ph__put_pending(struct ph__sqlite_tx *tx, const struct ph__pending_row *row)
{
    struct ph__query query;
    bool by_topic = false;
    int r;

    PH__ASSERT(tx->writes && row->queue > 0 && row->id > 0);
    PH__ASSERT(row->level >= 0 && row->level < PH__LEVELS);
    PH__ASSERT(row->attempts >= 0 && row->lost >= 0);
    r = ph__by_topic(tx, row->queue, &by_topic);
    if (r < 0)
        return r;
    query = ph__query(tx, row->stream ? PH__SQL_pending_insert_head : PH__SQL_pending_insert);
    ph__query_int(&query, row->queue);
    ph__query_int(&query, row->level);
    ph__query_int(&query, row->due);
    ph__query_int(&query, row->id);
    ph__query_int(&query, row->attempts);
    ph__query_int(&query, row->lost);
    ph__query_int(&query, ph__topic_stored(row->topic, by_topic));
    if (row->stream)
        ph__query_int(&query, row->stream);
    return ph__query_run(&query);
}

int ph__bury(struct ph__sqlite_tx *tx, int64_t id, int64_t queue, enum ph__dead_reason reason,
             const ph_owner *owner)
{
    struct ph__query query = ph__query(tx, PH__SQL_dead_insert);
    int r;

    ph__query_int(&query, id);
    ph__query_int(&query, queue);
    ph__query_int(&query, reason);
    ph__query_int(&query, tx->now);
    ph__query_id(&query, owner ? owner->b : NULL);
    r = ph__query_run(&query);
    return r < 0 ? r : ph__steps_ended(tx, &id, 1, true);
}

/* Things that outlive a message only if others belong to them, too. */
struct belongings {
    int64_t stream, seq; /* 0: none */
    ph_message_id message_id;
};

static int look_for_any(struct ph__sqlite_tx *tx)
{
    struct ph__query query;
    int r;

    if (tx->any.known)
        return 0;
    query = ph__query(tx, PH__SQL_belongings_any);
    r = ph__query_row(&query);
    if (r <= 0)
        return r;
    tx->any.known = true;
    tx->any.streams = ph__column_int(&query, 0) != 0;
    tx->any.receptors = ph__column_int(&query, 1) != 0;
    tx->any.keys = ph__column_int(&query, 2) != 0;
    tx->any.histories = ph__column_int(&query, 3) != 0;
    tx->any.job_runs = ph__column_int(&query, 4) != 0;
    ph__query_end(&query);
    return 0;
}

static int load_belongings(struct ph__sqlite_tx *tx, int64_t id, struct belongings *ret)
{
    struct ph__query query;
    ph_work_id work_id;
    int r = look_for_any(tx);

    *ret = (struct belongings){ 0 };
    if (r < 0 || (!tx->any.streams && !tx->any.receptors))
        return r;
    query = ph__query(tx, PH__SQL_message_belongs);
    ph__query_int(&query, id);
    r = ph__query_row(&query);
    if (r <= 0)
        return r;
    ret->stream = ph__column_int(&query, 0);
    ret->seq = ph__column_int(&query, 1);
    work_id = ph__id_make(id, (uint64_t)ph__column_int(&query, 3));
    if (!ph__column_id(&query, 2, ret->message_id.b))
        memcpy(ret->message_id.b, work_id.b, sizeof(ret->message_id.b));
    ph__query_end(&query);
    return 0;
}

static int delete_receptors(struct ph__sqlite_tx *tx, const ph_message_id *message_id)
{
    struct ph__query query = ph__query(tx, PH__SQL_receptors_delete);
    int64_t number = 0;
    uint64_t salt = 0;
    ph_work_id id;

    memcpy(id.b, message_id->b, sizeof(id.b));
    (void)ph__id_split(id, &number, &salt);
    ph__query_id(&query, message_id->b);
    ph__query_int(&query, number);
    ph__query_int(&query, (int64_t)salt);
    return ph__query_run(&query);
}

static int delete_belongings(struct ph__sqlite_tx *tx, const struct belongings *belongings)
{
    int r = 0;

    if (belongings->stream)
        r = ph__stream_delete_unused(tx, belongings->stream);
    if (r == 0 && tx->any.receptors)
        r = delete_receptors(tx, &belongings->message_id);
    return r;
}

/* The messages from one number to another; acked: otherwise they are dead, or were never claimed.
 * What no message has is not looked for. */
static int delete_range(struct ph__sqlite_tx *tx, int64_t first, int64_t last, bool acked)
{
    const struct {
        bool needed;
        enum ph__sqlite_statement statement;
    } steps[] = {
        { tx->any.keys, PH__SQL_dedupe_gone },
        { tx->any.histories, PH__SQL_attempt_log_delete },
        { tx->any.job_runs, PH__SQL_job_run_delete },
        { true, PH__SQL_message_delete },
    };
    int r = 0;

    PH__ASSERT(tx->any.known && first <= last);
    for (size_t i = 0; r == 0 && i < sizeof(steps) / sizeof(*steps); i++) {
        struct ph__query query;

        if (!steps[i].needed)
            continue;
        query = ph__query(tx, steps[i].statement);
        ph__query_int(&query, first);
        ph__query_int(&query, last);
        if (steps[i].statement == PH__SQL_dedupe_gone)
            ph__query_int(&query, acked);
        r = ph__query_run(&query);
    }
    return r;
}

static int delete_message(struct ph__sqlite_tx *tx, int64_t id, bool acked)
{
    struct belongings belongings;
    int r = load_belongings(tx, id, &belongings);

    if (r == 0)
        r = delete_range(tx, id, id, acked);
    return r < 0 ? r : delete_belongings(tx, &belongings);
}

/* Messages, ascending, to which nothing belongs: those without a gap between them at once. */
static int delete_bare(struct ph__sqlite_tx *tx, const int64_t *ids, size_t count, bool acked)
{
    int r = 0;

    for (size_t from = 0, to; r == 0 && from < count; from = to) {
        for (to = from + 1; to < count && ids[to] == ids[to - 1] + 1;)
            to++;
        r = delete_range(tx, ids[from], ids[to - 1], acked);
    }
    return r;
}

int ph__delete_pending(struct ph__sqlite_tx *tx, const struct ph__pending_row *row)
{
    struct ph__query query = ph__query(tx, PH__SQL_pending_delete);
    int r;

    ph__query_int(&query, row->queue);
    ph__query_int(&query, row->level);
    ph__query_int(&query, row->due);
    ph__query_int(&query, row->id);
    r = ph__query_run(&query);
    return r < 0 ? r : delete_message(tx, row->id, false);
}

int ph__delete_done(struct ph__sqlite_tx *tx, const int64_t *ids, size_t count)
{
    int r = ph__steps_keep(tx, ids, count, PH__STEP_COMPLETED);

    if (r == 0)
        r = look_for_any(tx);
    if (r < 0 || (!tx->any.streams && !tx->any.receptors))
        return r < 0 ? r : delete_bare(tx, ids, count, true);
    for (size_t i = 0; r == 0 && i < count; i++)
        r = delete_message(tx, ids[i], true);
    return r;
}

/* Is it a dead head? Then its stream goes on before it is deleted. */
static int unblock(struct ph__sqlite_tx *tx, int64_t id)
{
    struct belongings belongings;
    int r = load_belongings(tx, id, &belongings);

    if (r < 0 || !belongings.stream)
        return r;
    r = ph__stream_unblock(tx, belongings.stream, id);
    return r <= 0 ? r : ph__stream_go_on(tx, belongings.stream, belongings.seq);
}

int ph__delete_dead(struct ph__sqlite_tx *tx, int64_t id)
{
    struct ph__query query = ph__query(tx, PH__SQL_dead_delete);
    int r;

    ph__query_int(&query, id);
    r = ph__query_run(&query);
    if (r == 0)
        r = unblock(tx, id);
    if (r == 0)
        r = ph__steps_keep(tx, &id, 1, PH__STEP_FAILED);
    return r < 0 ? r : delete_message(tx, id, false);
}
