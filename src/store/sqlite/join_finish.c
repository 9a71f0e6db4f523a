/* join_finish.c - the end of a join: complete, cancelled or past its deadline. Its waits fire in
 * the same transaction. */
#include "core/error.h"
#include "core/id.h"
#include "store/sqlite/done_row.h"
#include "store/sqlite/joins.h"
#include "store/sqlite/store_message.h"

#include <stdio.h>
#include <string.h>

#define HEADERS_SIZE 120

/* A wait that fires, and its continuation. */
struct firing {
    int64_t number;
    uint64_t salt;
    bool failure;
    const char *ns;
    const char *topic, *payload; /* topic NULL: nothing is sent */
    size_t payload_length;
};

/* The columns of wait_next. */
enum { ID, SALT, NAMESPACE, STRICT, COMPLETE_TOPIC, COMPLETE_PAYLOAD, FAIL_TOPIC, FAIL_PAYLOAD };

/* The way of failure is also that of joins that were cancelled or ended by their deadline. */
static bool is_failure(const struct ph__join_head *head, bool strict)
{
    return !ph__join_head_complete(head) || (strict && head->failed > 0);
}

/* 1 if there is one; texts in the arena. */
static int load_next(struct ph__sqlite_tx *tx, const struct ph__join_head *head,
                     struct ph__arena *arena, struct firing *ret)
{
    struct ph__query query = ph__query(tx, PH__SQL_wait_next);
    bool failure;
    int r;

    ph__query_int(&query, head->number);
    r = ph__query_row(&query);
    if (r <= 0)
        return r;
    failure = is_failure(head, ph__column_int(&query, STRICT) != 0);
    *ret = (struct firing){ .number = ph__column_int(&query, ID),
                            .salt = (uint64_t)ph__column_int(&query, SALT),
                            .failure = failure };
    r = ph__column_text(&query, NAMESPACE, arena, &ret->ns, NULL);
    if (r == 0)
        r = ph__column_text(&query, failure ? FAIL_TOPIC : COMPLETE_TOPIC, arena, &ret->topic,
                            NULL);
    if (r == 0)
        r = ph__column_text(&query, failure ? FAIL_PAYLOAD : COMPLETE_PAYLOAD, arena, &ret->payload,
                            &ret->payload_length);
    ph__query_end(&query);
    return r < 0 ? r : 1;
}

static int send(struct ph__message_writer *storing, const struct ph__join_head *head,
                const struct firing *firing, ph_work_id *ret_sent)
{
    char headers[HEADERS_SIZE], id[PH_ID_TEXT_SIZE];
    struct ph__message message = { .topic = firing->topic,
                                   .payload = firing->payload ? firing->payload : "",
                                   .payload_length = firing->payload_length,
                                   .ns = firing->ns,
                                   .headers = headers,
                                   .level = PH__LEVEL_DEFAULT };

    if (!firing->topic)
        return 0;
    snprintf(headers, sizeof(headers), "{\"join_id\": \"%s\", \"join_status\": \"%s\"}",
             ph_id_text(ph__join_head_id(head).b, id), ph_join_state_text(head->status));
    return ph__store_message(storing, &message, ret_sent);
}

/* The wait moves to done, with the zero owner. */
static int settle(struct ph__message_writer *storing, const struct firing *firing)
{
    static const ph_owner nobody;
    struct ph__query query = ph__query(storing->tx, PH__SQL_wait_delete);
    int r;

    ph__query_int(&query, firing->number);
    r = ph__query_run(&query);
    return r < 0 ? r : ph__put_done(storing->tx, &storing->queue, &nobody, 0, &firing->number, 1);
}

static int report(struct ph__sqlite_tx *tx, const struct ph__join_head *head,
                  const struct firing *firing, ph_work_id sent)
{
    struct ph__join_ends *ends = &tx->call->ends;
    struct ph__wait_end *end = ph__join_ends_add_wait(ends);
    const char *topic = firing->topic, *ns = firing->ns;

    if (topic) {
        topic = ph__arena_copy(&ends->arena, topic, strlen(topic));
        ns = ph__arena_copy(&ends->arena, ns, strlen(ns));
    }
    if (!end || (firing->topic && !(topic && ns)))
        return ph__fail_memory(tx->call->err);
    *end = (struct ph__wait_end){ .wait = ph__id_make(firing->number, firing->salt),
                                  .continuation = sent,
                                  .join = ph__join_head_id(head),
                                  .failure = firing->failure,
                                  .topic = topic,
                                  .ns = topic ? ns : NULL };
    return 0;
}

static int fire(struct ph__sqlite_tx *tx, const struct ph__join_head *head,
                const struct firing *firing)
{
    struct ph__message_writer storing = { .tx = tx, .door = PH_OUTBOX };
    ph_work_id sent = { { 0 } };
    int r = ph__store_queue(&storing, firing->ns);

    if (r == 0)
        r = send(&storing, head, firing, &sent);
    if (r == 0)
        r = settle(&storing, firing);
    return r < 0 ? r : report(tx, head, firing, sent);
}

int ph__join_fire(struct ph__sqlite_tx *tx, const struct ph__join_head *head, int *ret_count)
{
    int r = 1;

    *ret_count = 0;
    while (r > 0) {
        struct ph__arena arena = { 0 }; /* of one wait: its payload may be large */
        struct firing firing;

        r = load_next(tx, head, &arena, &firing);
        if (r > 0) {
            r = fire(tx, head, &firing);
            r = r < 0 ? r : 1;
            ++*ret_count;
        }
        ph__arena_free(&arena);
    }
    return r;
}

static struct ph__query head_query(struct ph__sqlite_tx *tx, enum ph__sqlite_statement which,
                                   const struct ph__join_head *head)
{
    struct ph__query query = ph__query(tx, which);

    ph__query_int(&query, head->number);
    ph__query_int(&query, head->attached);
    ph__query_int(&query, head->completed);
    ph__query_int(&query, head->failed);
    ph__query_int(&query, head->updated_at);
    return query;
}

static int finish(struct ph__sqlite_tx *tx, struct ph__join_head *head, ph_join_state status)
{
    struct ph__query query;
    ph_join_end *end;
    int waits = 0, r;

    head->status = status;
    head->updated_at = tx->now;
    query = head_query(tx, PH__SQL_join_finish, head);
    ph__query_int(&query, status);
    r = ph__query_run(&query);
    if (r == 0)
        r = ph__join_fire(tx, head, &waits);
    if (r < 0)
        return r;
    end = ph__join_ends_add(&tx->call->ends);
    if (!end)
        return ph__fail_memory(tx->call->err);
    *end = (ph_join_end){ .id = ph__join_head_id(head),
                          .state = status,
                          .expected_steps = head->expected,
                          .completed_steps = head->completed,
                          .failed_steps = head->failed,
                          .waits = waits };
    return 0;
}

int ph__join_write(struct ph__sqlite_tx *tx, struct ph__join_head *head)
{
    struct ph__query query;

    if (ph__join_head_complete(head))
        return finish(tx, head, head->failed ? PH_JOIN_FAILED : PH_JOIN_COMPLETED);
    query = head_query(tx, PH__SQL_join_update, head);
    return ph__query_run(&query);
}

int ph__join_close(struct ph__sqlite_tx *tx, struct ph__join_head *head, ph_join_state status)
{
    struct ph__query query = ph__query(tx, PH__SQL_steps_keep);
    int r;

    ph__query_int(&query, head->number);
    r = ph__query_run(&query);
    return r < 0 ? r : finish(tx, head, status);
}

/* 1 if there is one. */
static int find_overdue(struct ph__sqlite_tx *tx, struct ph__join_head *ret_head)
{
    struct ph__query query = ph__query(tx, PH__SQL_join_overdue);

    ph__query_int(&query, tx->now);
    return ph__join_head_one(&query, ret_head);
}

int ph__joins_expire(struct ph__sqlite_tx *tx, long most, int64_t *ret_count)
{
    struct ph__join_head head;
    int r = 0;

    *ret_count = 0;
    while (most-- > 0 && (r = find_overdue(tx, &head)) > 0) {
        r = ph__join_close(tx, &head, PH_JOIN_FAILED);
        if (r < 0)
            break;
        ++*ret_count;
    }
    return r < 0 ? r : 0;
}

int ph__joins_expire_needed(struct ph__sqlite_tx *tx)
{
    struct ph__join_head head;

    return find_overdue(tx, &head);
}
