/* join.c - the verbs that change joins. */
#include "core/error.h"
#include "core/id.h"
#include "store/sqlite/joins.h"
#include "store/sqlite/store_message.h"
#include "store/sqlite/verbs.h"
#include "util/random.h"

#include <string.h>

static int insert_head(struct ph__sqlite_tx *tx, const struct ph__join *join, ph_join_id *ret_id)
{
    struct ph__join_head head = { .salt = ph__id_salt(PH_OUTBOX, tx->store_id,
                                                      (uint32_t)ph__random_u64()) };
    struct ph__query query = ph__query(tx, PH__SQL_join_insert);
    int r;

    ph__query_int(&query, (int64_t)head.salt);
    ph__query_int(&query, join->expected_steps);
    ph__query_int(&query, tx->now);
    ph__query_int_or_null(&query, join->deadline);
    ph__query_text(&query, join->grouping_key);
    ph__query_text(&query, join->metadata);
    r = ph__query_run(&query);
    if (r < 0)
        return r;
    head.number = sqlite3_last_insert_rowid(tx->db);
    if (head.number > PH__NUMBER_MAX)
        return ph__fail(tx->call->err, PH_EDATABASE, "the numbers for joins are used up");
    *ret_id = ph__join_head_id(&head);
    return 0;
}

int ph__sqlite_join_start(struct ph__call *call, const struct ph__join *join, ph_join_id *ret_id)
{
    struct ph__sqlite_tx tx;
    ph_join_id id = { { 0 } };
    int r = ph__sqlite_begin_write(&tx, call);

    if (r < 0)
        return r;
    if (join->deadline && join->deadline <= tx.now)
        r = ph__join_problem(call->err, PH__JOIN_DEADLINE, id, NULL);
    else
        r = insert_head(&tx, join, &id);
    r = ph__sqlite_end(&tx, r);
    if (r == 0)
        *ret_id = id;
    return r;
}

int ph__sqlite_join_attach(struct ph__call *call, ph_join_id join, const ph_message_id *messages,
                           size_t count)
{
    struct ph__sqlite_tx tx;
    struct ph__attaching attaching = { .tx = &tx };
    int r = ph__sqlite_begin_write(&tx, call);

    if (r < 0)
        return r;
    for (size_t i = 0; r == 0 && i < count; i++) {
        attaching.index = i;
        r = ph__attach(&attaching, join, &messages[i]);
    }
    if (r == 0)
        r = ph__attach_end(&attaching);
    return ph__sqlite_end(&tx, r);
}

/* -------------------------------------------------------------------- report */

static int give_status(struct ph__sqlite_tx *tx, const struct ph__join_head *head,
                       const ph_message_id *message, enum ph__step status)
{
    struct ph__query query = ph__query(tx, PH__SQL_member_report);
    int r;

    ph__query_int(&query, head->number);
    ph__query_id(&query, message->b);
    ph__query_int(&query, status);
    r = ph__query_run(&query);
    if (r < 0)
        return r;
    return ph__steps_count_in(tx, head->number, status == PH__STEP_COMPLETED,
                              status == PH__STEP_FAILED);
}

static int report(struct ph__sqlite_tx *tx, ph_join_id join, const ph_message_id *message,
                  enum ph__step status)
{
    struct ph__join_head head;
    struct ph__query query;
    int64_t shown;
    int r = ph__join_head_find(tx, join, &head);

    if (r < 0)
        return r;
    query = ph__query(tx, PH__SQL_member_status);
    ph__query_int(&query, head.number);
    ph__query_id(&query, message->b);
    r = ph__query_one(&query, &shown, -1);
    if (r < 0)
        return r;
    if (shown < 0)
        return ph__join_problem(tx->call->err, PH__JOIN_NO_MEMBER, join, message);
    if (head.status != PH_JOIN_PENDING || shown != PH__STEP_PENDING)
        return 0;
    return give_status(tx, &head, message, status);
}

int ph__sqlite_join_report(struct ph__call *call, ph_join_id join, ph_message_id message,
                           bool completed)
{
    struct ph__sqlite_tx tx;
    int r = ph__sqlite_begin_write(&tx, call);

    if (r < 0)
        return r;
    return ph__sqlite_end(
        &tx, report(&tx, join, &message, completed ? PH__STEP_COMPLETED : PH__STEP_FAILED));
}

/* ---------------------------------------------------------------------- wait */

static bool fits(const struct ph__queue_row *queue, const char *payload)
{
    return strlen(payload) <= (uint64_t)queue->max_payload_bytes;
}

/* The body of a wait into the queue of the storing. */
static int store_wait(struct ph__message_writer *storing, ph_join_id join,
                      const struct ph__wait *wait, ph_work_id *ret_id)
{
    struct ph__query query = ph__query(storing->tx, PH__SQL_wait_body);
    struct ph__message message = { .level = PH__LEVEL_DEFAULT };
    char id[PH_ID_TEXT_SIZE];
    int64_t number = 0;
    uint64_t salt = 0;
    int r;

    ph__query_int(&query, storing->queue.id);
    ph__query_text(&query, ph_id_text(join.b, id));
    ph__query_int(&query, wait->fail_if_any_step_failed);
    ph__query_text(&query, wait->on_complete_topic);
    ph__query_text(&query, wait->on_complete_payload);
    ph__query_text(&query, wait->on_fail_topic);
    ph__query_text(&query, wait->on_fail_payload);
    r = ph__query_row(&query);
    if (r <= 0)
        return r;
    message.topic = (const char *)sqlite3_column_text(query.stmt, 0);
    message.payload = (const char *)sqlite3_column_text(query.stmt, 1);
    message.payload_length = (size_t)sqlite3_column_bytes(query.stmt, 1);
    r = message.topic && message.payload ? ph__store_body(storing, &message, &number, &salt)
                                         : ph__fail_memory(storing->tx->call->err);
    ph__query_end(&query);
    *ret_id = ph__id_make(number, salt);
    return r;
}

static int put_wait(struct ph__sqlite_tx *tx, ph_work_id id, const struct ph__join_head *head)
{
    struct ph__query query = ph__query(tx, PH__SQL_wait_insert);
    int64_t number = 0;
    uint64_t salt;

    (void)ph__id_split(id, &number, &salt);
    ph__query_int(&query, number);
    ph__query_int(&query, head->number);
    return ph__query_run(&query);
}

static int wait_for(struct ph__sqlite_tx *tx, ph_join_id join, const struct ph__wait *wait,
                    ph_work_id *ret_id)
{
    struct ph__message_writer storing = { .tx = tx, .door = PH_OUTBOX };
    struct ph__join_head head;
    int fired, r = ph__join_head_find(tx, join, &head);

    if (r == 0)
        r = ph__store_queue(&storing, wait->ns);
    if (r == 0 && !(fits(&storing.queue, wait->on_complete_payload) &&
                    fits(&storing.queue, wait->on_fail_payload)))
        r = ph__join_problem(tx->call->err, PH__JOIN_PAYLOAD, join, NULL);
    if (r == 0)
        r = store_wait(&storing, join, wait, ret_id);
    if (r == 0)
        r = put_wait(tx, *ret_id, &head);
    if (r == 0 && head.status != PH_JOIN_PENDING)
        r = ph__join_fire(tx, &head, &fired);
    return r;
}

int ph__sqlite_join_wait(struct ph__call *call, ph_join_id join, const struct ph__wait *wait,
                         ph_work_id *ret_id)
{
    struct ph__sqlite_tx tx;
    ph_work_id id;
    int r = ph__sqlite_begin_write(&tx, call);

    if (r < 0)
        return r;
    r = ph__sqlite_end(&tx, wait_for(&tx, join, wait, &id));
    if (r == 0)
        *ret_id = id;
    return r;
}

int ph__sqlite_join_cancel(struct ph__call *call, ph_join_id join, bool *ret_cancelled)
{
    struct ph__join_head head;
    struct ph__sqlite_tx tx;
    bool open = false;
    int r = ph__sqlite_begin_write(&tx, call);

    if (r < 0)
        return r;
    r = ph__join_head_find(&tx, join, &head);
    if (r == 0)
        open = head.status == PH_JOIN_PENDING;
    if (open)
        r = ph__join_close(&tx, &head, PH_JOIN_CANCELLED);
    r = ph__sqlite_end(&tx, r);
    if (r == 0)
        *ret_cancelled = open;
    return r;
}
