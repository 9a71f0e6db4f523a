/* producer.c - starts joins and gives them their steps, in every way and order there is. */
#include "crowd.h"

#include <stdlib.h>

#define LATER_MAX 128
#define RECENT_MAX 256

/* What is put off until the messages may have ended. */
struct errand {
    int join; /* its number */
    bool cancels;
    ph_message_id ids[STEPS_MAX];
    size_t count;
};

struct producer {
    struct crowd *crowd;
    ph_store *store;
    struct t_conn *conn;
    struct errand later[LATER_MAX];
    size_t later_count;
    ph_message_id recent[RECENT_MAX]; /* steps of other joins */
    size_t recent_count;
};

/* A join while it is made. */
struct making {
    struct producer *by;
    int number;
    ph_tx tx;
    ph_message_id ids[STEPS_MAX]; /* its steps so far */
    size_t count;
    bool lost; /* a conflict has broken the transaction */
};

static ph_join_id id_of(const struct making *making)
{
    return making->by->crowd->made[making->number].id;
}

/* A join that was to end before its time takes no more steps. A transaction of ours that holds
 * several messages may meet a deadlock, as header and guide say. */
static bool went_well(struct making *making, int r)
{
    if (making->tx.connection && (r == PH_ECONFLICT || (making->lost && r == PH_ETXDEAD))) {
        making->lost = true;
        return false;
    }
    if (r == PH_ESTATE && making->by->crowd->made[making->number].mortal)
        return false;
    OK(r);
    return true;
}

static void remember(struct producer *by, ph_message_id id)
{
    by->recent[by->recent_count++ % RECENT_MAX] = id;
}

/* ------------------------------------------------------------------- errands */

static void do_errand(struct producer *by, size_t index)
{
    struct errand *errand = &by->later[index];
    struct making making = { .by = by, .number = errand->join };

    if (errand->cancels)
        OK(ph_join_cancel(by->store, PH_OWN_TX, id_of(&making), 0, NULL, &t_err));
    else
        (void)went_well(&making, ph_join_attach_many(by->store, PH_OWN_TX, id_of(&making),
                                                     errand->ids, errand->count, 0, &t_err));
    *errand = by->later[--by->later_count];
}

static struct errand *put_off(struct producer *by, int join)
{
    CHECK(by->later_count < LATER_MAX);
    by->later[by->later_count] = (struct errand){ .join = join };
    return &by->later[by->later_count++];
}

/* --------------------------------------------------------------------- steps */

/* Enqueues count messages, as steps of the join or not. */
static bool enqueue(struct making *making, size_t count, bool as_steps, ph_message_id *ret_ids)
{
    ph_message messages[STEPS_MAX];
    ph_enqueued enqueued[STEPS_MAX];
    ph_join_id join = id_of(making);
    int r;

    for (size_t i = 0; i < count; i++) {
        messages[i] = a_message(STEP, "x");
        messages[i].max_attempts = 3;
        messages[i].join_id = as_steps ? &join : NULL;
    }
    r = ph_enqueue_many(making->by->store, making->tx, messages, count, 0, enqueued, &t_err);
    if (!went_well(making, r))
        return false;
    for (size_t i = 0; i < count; i++)
        ret_ids[i] = enqueued[i].message_id;
    return true;
}

static void attach(struct making *making, const ph_message_id *ids, size_t count)
{
    (void)went_well(making, ph_join_attach_many(making->by->store, making->tx, id_of(making), ids,
                                                count, 0, &t_err));
}

/* Steps of other joins, which may have ended long ago. Returns how many. */
static size_t share(struct making *making, size_t count)
{
    struct producer *by = making->by;
    size_t known = by->recent_count < RECENT_MAX ? by->recent_count : RECENT_MAX, shared = 0;

    for (size_t i = 0; i < count && known > 0; i++) {
        ph_message_id id = by->recent[t_dice((unsigned)known)];
        bool already = false;

        for (size_t j = 0; j < making->count; j++)
            already = already || same_id(making->ids[j].b, id.b);
        if (already)
            continue;
        attach(making, &id, 1);
        making->ids[making->count++] = id;
        shared++;
    }
    return shared;
}

/* Gives the join up to count of its steps. */
static size_t give_steps(struct making *making, size_t count)
{
    ph_message_id *ids = making->ids + making->count;
    unsigned way = t_dice(10);
    struct errand *errand;

    if (way < 2)
        return share(making, count);
    if (!enqueue(making, count, way < 5, ids))
        return count; /* the join has ended */
    making->count += count;
    if (way >= 5 && way < 8) {
        attach(making, ids, count);
    } else if (way >= 8) {
        errand = put_off(making->by, making->number);
        memcpy(errand->ids, ids, count * sizeof(*ids));
        errand->count = count;
    }
    if (t_dice(10) == 0 && way < 8)
        attach(making, ids, count); /* once more */
    return count;
}

/* --------------------------------------------------------------------- joins */

static void wait_for_it(struct making *making)
{
    ph_wait wait = PH_WAIT_INIT;
    char payload[40];

    wait.fail_if_any_step_failed = t_dice(2);
    snprintf(payload, sizeof(payload), "%d %d %c", making->number,
             making->by->crowd->made[making->number].waits++,
             wait.fail_if_any_step_failed ? 'f' : 'n');
    wait.on_complete_topic = GOOD;
    wait.on_fail_topic = BAD;
    wait.on_complete_payload = wait.on_fail_payload = payload;
    (void)went_well(
        making, ph_join_wait(making->by->store, making->tx, id_of(making), &wait, 0, NULL, &t_err));
}

static void report_one(struct making *making)
{
    ph_message_id id = making->ids[t_dice((unsigned)making->count)];
    int r =
        t_dice(2)
            ? ph_join_report_completed(making->by->store, making->tx, id_of(making), id, 0, &t_err)
            : ph_join_report_failed(making->by->store, making->tx, id_of(making), id, 0, &t_err);

    if (r != PH_ENOTFOUND) /* it is attached later, or the join was closed before */
        (void)went_well(making, r);
}

static void start(struct making *making, int steps)
{
    struct producer *by = making->by;
    ph_join_opts opts = PH_JOIN_OPTS_INIT;
    bool dies = t_dice(30) == 0, cancelled = t_dice(30) == 0;

    if (dies)
        opts.deadline = t_clock(by->store) + (1 + t_dice(30)) * T_SECOND;
    by->crowd->made[making->number].mortal = dies || cancelled;
    if (ph_join_start(by->store, making->tx, steps, &opts, 0, &by->crowd->made[making->number].id,
                      &t_err) < 0) {
        opts.deadline = 0; /* the clock has overtaken it */
        OK(ph_join_start(by->store, making->tx, steps, &opts, 0,
                         &by->crowd->made[making->number].id, &t_err));
    }
    if (cancelled)
        put_off(by, making->number)->cancels = true;
}

/* In one transaction of the caller, or each call in its own. False: it must be made again. */
static bool make(struct producer *by, int number, bool in_tx)
{
    size_t steps = 3 + t_dice(t_dice(20) ? 6 : STEPS_MAX - 2), later = by->later_count;
    struct making making = { .by = by, .number = number };

    by->crowd->made[number].waits = 0;
    if (in_tx)
        t_begin(by->conn);
    making.tx = in_tx ? t_tx(by->conn) : PH_OWN_TX;
    start(&making, (int)steps);
    for (size_t left = steps; left > 0 && !making.lost;) {
        if (t_dice(3) == 0)
            wait_for_it(&making);
        left -= give_steps(&making, 1 + t_dice((unsigned)left));
        if (making.count > 0 && t_dice(20) == 0)
            report_one(&making);
    }
    if (making.lost) {
        t_rollback(by->conn);
        by->later_count = later;
        return false;
    }
    if (in_tx)
        t_commit(by->conn);
    making.tx = PH_OWN_TX;
    if (t_dice(2))
        wait_for_it(&making);
    for (size_t i = 0; i < making.count; i++)
        remember(by, making.ids[i]);
    return true;
}

/* Something that is taken back, and leaves no trace. */
static void change_ones_mind(struct producer *by)
{
    ph_message message = a_message(STEP, "taken back");
    ph_join_id join;

    t_begin(by->conn);
    OK(ph_join_start(by->store, t_tx(by->conn), 3, NULL, 0, &join, &t_err));
    message.join_id = &join;
    OK(ph_enqueue(by->store, t_tx(by->conn), &message, 0, NULL, &t_err));
    t_rollback(by->conn);
}

void produce(struct crowd *crowd, int number)
{
    struct producer *by = calloc(1, sizeof(*by));

    CHECK(by != NULL);
    by->crowd = crowd;
    by->store = t_open(NULL);
    by->conn = t_connect();
    for (int i = number; i < crowd->joins; i += PRODUCERS) {
        while (!make(by, i, t_dice(4) == 0))
            printf("join %d is made again after a conflict\n", i);
        if (t_dice(20) == 0)
            change_ones_mind(by);
        while (by->later_count > 0 &&
               (t_dice(3) == 0 || by->later_count > LATER_MAX - STEPS_MAX - 1))
            do_errand(by, t_dice((unsigned)by->later_count));
    }
    while (by->later_count > 0)
        do_errand(by, by->later_count - 1);
    t_disconnect(by->conn);
    ph_close(by->store);
    free(by);
}
