#include "store/sqlite/store_message.h"

#include "core/error.h"
#include "core/id.h"
#include "store/sqlite/done_row.h"
#include "store/sqlite/topics.h"
#include "util/random.h"

#include <string.h>

static uint32_t next_nonce(struct ph__message_writer *s)
{
    if (s->nonces_left == 0) {
        ph__random_bytes(s->nonces, sizeof(s->nonces));
        s->nonces_left = sizeof(s->nonces) / sizeof(*s->nonces);
    }
    return s->nonces[--s->nonces_left];
}

static int write_stream(struct ph__message_writer *s)
{
    bool changed = s->stream_changed;

    s->stream_changed = false;
    return changed ? ph__stream_write(s->tx, &s->stream) : 0;
}

static int write_handled(struct ph__message_writer *s)
{
    static const ph_owner nobody = { { 0 } };
    size_t count = s->handled_count;

    s->handled_count = 0;
    return count ? ph__put_done(s->tx, &s->queue, &nobody, 0, s->handled, count) : 0;
}

int ph__store_end(struct ph__message_writer *s)
{
    int r = write_stream(s);

    s->stream_key = NULL;
    return r < 0 ? r : write_handled(s);
}

int ph__store_queue(struct ph__message_writer *s, const char *ns)
{
    int r;

    if (s->ns && strcmp(s->ns, ns) == 0)
        return 0;
    r = ph__store_end(s);
    if (r == 0)
        r = ph__queue_obtain(s->tx, s->door, ns, &s->queue);
    s->ns = ns;
    return r;
}

/* The stream of a message: into s->stream, with the message's number as its last. */
static int enter_stream(struct ph__message_writer *s, const char *key)
{
    int r = 0;

    if (!s->stream_key || strcmp(s->stream_key, key) != 0) {
        r = write_stream(s);
        if (r == 0)
            r = ph__stream_obtain(s->tx, &s->queue, key, &s->stream);
        s->stream_key = key;
    }
    s->stream.last_seq++;
    s->stream_changed = true;
    return r;
}

static int insert_body(struct ph__message_writer *s, const struct ph__message *m, uint64_t salt)
{
    bool more = m->stream || m->source;
    struct ph__query query =
        ph__query(s->tx, more ? PH__SQL_message_insert_more : PH__SQL_message_insert);

    ph__query_int(&query, (int64_t)salt);
    ph__query_int(&query, s->queue.id);
    ph__query_int(&query, m->level);
    ph__query_text(&query, m->topic);
    ph__query_id(&query, m->message_id ? m->message_id->b : NULL);
    ph__query_id(&query, m->tenant_id ? m->tenant_id->b : NULL);
    ph__query_text(&query, m->dedupe_key);
    ph__query_text(&query, m->correlation_id);
    ph__query_text(&query, m->headers);
    ph__query_int(&query, s->tx->now);
    ph__query_int_or_null(&query, m->due_at);
    ph__query_int_or_null(&query, m->expires_at);
    ph__query_int_or_null(&query, m->max_attempts);
    ph__query_bytes(&query, m->payload, m->payload_length);
    if (more) {
        ph__query_int_or_null(&query, m->stream ? s->stream.id : 0);
        ph__query_int_or_null(&query, m->stream ? s->stream.last_seq : 0);
        ph__query_text(&query, m->source);
    }
    return ph__query_run(&query);
}

int ph__store_body(struct ph__message_writer *s, const struct ph__message *m, int64_t *ret_number,
                   uint64_t *ret_salt)
{
    int r;

    *ret_salt = ph__id_salt(s->door, s->tx->store_id, next_nonce(s));
    r = insert_body(s, m, *ret_salt);
    if (r < 0)
        return r;
    *ret_number = sqlite3_last_insert_rowid(s->tx->db);
    if (*ret_number > PH__NUMBER_MAX)
        return ph__fail(s->tx->call->err, PH_EDATABASE, "the numbers for messages are used up");
    return 0;
}

static int insert_key(struct ph__message_writer *s, const struct ph__message *m, int64_t id,
                      uint64_t salt)
{
    struct ph__query query = ph__query(s->tx, PH__SQL_dedupe_insert);

    s->tx->any.keys = true;
    ph__query_int(&query, s->queue.id);
    ph__query_text(&query, m->source ? m->source : m->topic);
    ph__query_text(&query, m->dedupe_key);
    ph__query_int(&query, id);
    ph__query_int(&query, (int64_t)salt);
    ph__query_id(&query, m->message_id ? m->message_id->b : NULL);
    ph__query_int(&query, s->tx->now);
    return ph__query_run(&query);
}

/* Where a new message goes. */
static int put(struct ph__message_writer *s, const struct ph__message *m,
               struct ph__pending_row *row)
{
    if (m->handled) {
        s->handled[s->handled_count++] = row->id;
        return s->handled_count == PH__HANDLED_AT_ONCE ? write_handled(s) : 0;
    }
    if (m->stream) {
        if (s->stream.busy) /* it is parked, and its number says so */
            return 0;
        s->stream.busy = true;
        row->stream = s->stream.id;
    }
    row->queue = s->queue.id;
    row->due = m->due_at && m->due_at > s->tx->now ? m->due_at : s->tx->now;
    return ph__put_pending(s->tx, row);
}

int ph__store_message(struct ph__message_writer *s, const struct ph__message *m, ph_work_id *ret_id)
{
    struct ph__pending_row row = { .level = m->level, .topic = ph__topic_hash(m->topic) };
    uint64_t salt;
    int r = m->stream ? enter_stream(s, m->stream) : 0;

    if (r == 0)
        r = ph__store_body(s, m, &row.id, &salt);
    if (r < 0)
        return r;
    if (m->dedupe_key) /* first: a handled message may be deleted where it is put */
        r = insert_key(s, m, row.id, salt);
    if (r == 0)
        r = put(s, m, &row);
    if (r == 0)
        *ret_id = ph__id_make(row.id, salt);
    return r;
}
