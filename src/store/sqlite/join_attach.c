/* join_attach.c - makes messages steps of joins. Several steps of one join in a row are one change
 * of its row, which writes their counts, too. */
#include "core/error.h"
#include "core/id.h"
#include "store/sqlite/joins.h"

#include <string.h>

/* The state of a message as a step; one more than in enum ph__step: it is or was a wait. */
#define IS_WAIT 3

struct step {
    int64_t number;
    uint64_t salt;
    int shown; /* enum ph__step, or IS_WAIT */
};

static int fail(struct ph__attaching *a, enum ph__join_problem problem,
                const ph_message_id *message)
{
    return ph__join_problem(a->tx->call->err, problem, a->join, message);
}

static int turn_to(struct ph__attaching *a, ph_join_id join)
{
    int r;

    if (memcmp(a->join.b, join.b, sizeof(join.b)) == 0)
        return 0;
    r = ph__attach_end(a);
    if (r == 0)
        r = ph__join_head_find(a->tx, join, &a->head);
    if (r == 0)
        a->join = join;
    return r;
}

/* 1 if it is a step of the present join already. */
static int is_step(struct ph__attaching *a, const ph_message_id *message)
{
    struct ph__query query = ph__query(a->tx, PH__SQL_member_status);
    int r;

    ph__query_int(&query, a->head.number);
    ph__query_id(&query, message->b);
    r = ph__query_row(&query);
    if (r > 0)
        ph__query_end(&query);
    return r;
}

/* 1 if there is a message with that id that was given by its producer, or by a retry. */
static int find_given(struct ph__attaching *a, const ph_message_id *message, struct step *ret)
{
    struct ph__query query = ph__query(a->tx, PH__SQL_message_newest);
    int r;

    ph__query_id(&query, message->b);
    r = ph__query_row(&query);
    if (r <= 0)
        return r;
    ret->number = ph__column_int(&query, 0);
    ret->salt = (uint64_t)ph__column_int(&query, 1);
    ph__query_end(&query);
    return 1;
}

/* 1 if there is a message with this work id; it is older than any that a retry gave the id. */
static int find_named(struct ph__attaching *a, const ph_message_id *message, struct step *ret)
{
    struct ph__query query;
    ph_work_id id;
    int r;

    memcpy(id.b, message->b, sizeof(id.b));
    if (!ph__id_split(id, &ret->number, &ret->salt) || (ret->salt >> 60 & 3) != PH_OUTBOX)
        return 0;
    query = ph__query(a->tx, PH__SQL_message_named);
    ph__query_int(&query, ret->number);
    ph__query_int(&query, (int64_t)ret->salt);
    r = ph__query_row(&query);
    if (r > 0)
        ph__query_end(&query);
    return r;
}

/* The newest of both: a producer may give a message the work id of a later one, in theory. */
static int find_newest(struct ph__attaching *a, const ph_message_id *message, struct step *ret)
{
    struct step named;
    int given = find_given(a, message, ret), r;

    if (given < 0)
        return given;
    r = find_named(a, message, &named);
    if (r > 0 && (!given || named.number > ret->number))
        *ret = named;
    return r < 0 ? r : given || r;
}

/* One that is no more, but is known to be completed. */
static int find_acked(struct ph__attaching *a, const ph_message_id *message, struct step *ret)
{
    struct ph__query query = ph__query(a->tx, PH__SQL_message_acked);
    int64_t number = 0;
    uint64_t salt = 0;
    ph_work_id id;
    int r;

    memcpy(id.b, message->b, sizeof(id.b));
    (void)ph__id_split(id, &number, &salt);
    ph__query_id(&query, message->b);
    ph__query_int(&query, number);
    ph__query_int(&query, (int64_t)salt);
    r = ph__query_row(&query);
    if (r <= 0)
        return r < 0 ? r : fail(a, PH__JOIN_MESSAGE_UNKNOWN, message);
    *ret = (struct step){ ph__column_int(&query, 0), (uint64_t)ph__column_int(&query, 1),
                          PH__STEP_COMPLETED };
    ph__query_end(&query);
    return 0;
}

static int look_at(struct ph__attaching *a, struct step *step)
{
    struct ph__query query = ph__query(a->tx, PH__SQL_message_as_step);
    int64_t shown;
    int r;

    ph__query_int(&query, step->number);
    r = ph__query_one(&query, &shown, PH__STEP_PENDING);
    step->shown = (int)shown;
    return r;
}

static int insert(struct ph__attaching *a, const uint8_t message_id[16], const struct step *step)
{
    struct ph__query query = ph__query(a->tx, PH__SQL_member_insert);
    ph_work_id own = ph__id_make(step->number, step->salt);

    ph__query_int(&query, a->head.number);
    ph__query_id(&query, message_id);
    ph__query_int(&query, step->number);
    ph__query_int(&query, (int64_t)step->salt);
    ph__query_int(&query, ++a->head.attached);
    ph__query_int_or_null(&query, step->shown); /* pending: as the message */
    ph__query_int(&query, a->tx->now);
    ph__query_int(&query, memcmp(message_id, own.b, sizeof(own.b)) != 0);
    a->head.completed += step->shown == PH__STEP_COMPLETED;
    a->head.failed += step->shown == PH__STEP_FAILED;
    if (step->shown != PH__STEP_PENDING)
        a->head.updated_at = a->tx->now;
    a->changed = true;
    return ph__query_run(&query);
}

/* May the present join take one more? */
static int check(struct ph__attaching *a)
{
    const struct ph__join_head *head = &a->head;

    if (head->status != PH_JOIN_PENDING && !ph__join_head_complete(head))
        return fail(a, PH__JOIN_CLOSED, NULL);
    if (head->attached == head->expected)
        return fail(a, PH__JOIN_FULL, NULL);
    return 0;
}

int ph__attach(struct ph__attaching *a, ph_join_id join, const ph_message_id *message)
{
    struct step step = { 0 };
    int r = turn_to(a, join);

    if (r == 0)
        r = is_step(a, message);
    if (r > 0)
        return ph__join_ends_add_repeated(&a->tx->call->ends, a->index)
                   ? 0
                   : ph__fail_memory(a->tx->call->err);
    if (r < 0)
        return r;
    r = find_newest(a, message, &step);
    if (r > 0)
        r = look_at(a, &step);
    else if (r == 0)
        r = find_acked(a, message, &step);
    if (r == 0 && step.shown == IS_WAIT)
        r = fail(a, PH__JOIN_IS_WAIT, message);
    if (r == 0)
        r = check(a);
    return r < 0 ? r : insert(a, message->b, &step);
}

int ph__attach_new(struct ph__attaching *a, ph_join_id join, ph_work_id message)
{
    struct step step = { .shown = PH__STEP_PENDING };
    int r = turn_to(a, join);

    if (r == 0)
        r = check(a);
    (void)ph__id_split(message, &step.number, &step.salt);
    return r < 0 ? r : insert(a, message.b, &step);
}

int ph__attach_end(struct ph__attaching *a)
{
    if (!a->changed)
        return 0;
    a->changed = false;
    return ph__join_write(a->tx, &a->head);
}
