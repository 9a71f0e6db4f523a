/* transaction.c - a handler whose effect and whose ack are one transaction.
 *
 * The ack comes last, since it holds the lease's row; and the commit follows only if the lease was
 * still ours: otherwise another worker has the message, and makes the effect. */
#include "dispatch/dispatch.h"

#include "core/call.h"
#include "core/error.h"
#include "core/open.h"
#include "core/settle.h"
#include "core/use.h"

#include <stdio.h>

#define NO_DATABASE_DELAY_MS 1000
#define RETRY_FIRST_US 1000000 /* doubled each time */
#define RETRY_MAX_US 15000000

/* ----------------------------------------------- where one database is not the only one */

int64_t ph__transaction_delay_ms(const struct ph_work *work)
{
    int64_t left_us;

    PH__NEEDS_LOCK(work->batch->dispatcher);
    if (!work->handler->in_transaction || !work->batch->db->tx.retry_us)
        return 0;
    left_us = work->batch->db->tx.retry_us - ph__boot_us();
    return left_us > 0 ? left_us / 1000 + 1 : 0;
}

void ph__transaction_waits(struct ph__db *db)
{
    PH__NEEDS_LOCK(db->dispatcher);
    if (db->entry && ++db->tx.waiting == ph__tx_waiting_max(db->dispatcher))
        db->tx.full_us = ph__boot_us();
}

/* failed: not for a reason of its own, but because the database could not be used. */
static void wait_ends(struct ph__db *db, bool failed)
{
    ph_dispatcher *dispatcher = db->dispatcher;

    if (!db->entry)
        return;
    ph__lock(dispatcher);
    if (--db->tx.waiting < ph__tx_waiting_max(dispatcher))
        db->tx.full_us = 0;
    db->tx.step_us = !failed ? 0 : db->tx.step_us ? db->tx.step_us * 2 : RETRY_FIRST_US;
    if (db->tx.step_us > RETRY_MAX_US)
        db->tx.step_us = RETRY_MAX_US;
    db->tx.retry_us = failed ? ph__boot_us() + db->tx.step_us : 0;
    pthread_cond_broadcast(&dispatcher->wait.work_ready);
    ph__unlock(dispatcher);
}

static bool is_outage(const ph_error *err)
{
    return err->code == PH_ECONNECT || err->code == PH_EBUSY || err->code == PH_ETIMEOUT ||
           err->code == PH_EUNKNOWN;
}

/* ------------------------------------------------------------------ the connection */

/* A handler thread has one connection less. */
static void forget_connection(ph_dispatcher *dispatcher)
{
    bool left_set;

    ph__lock(dispatcher);
    dispatcher->connections.handlers--;
    left_set = dispatcher->connections.left_set;
    ph__unlock(dispatcher);
    if (left_set)
        ph__set_give(dispatcher->set, 1);
}

/* One per thread; those of handlers that hang are taken, too. */
static int open_store(ph_dispatcher *dispatcher, const ph_store *store, ph_store **ret_store,
                      ph_error *err)
{
    bool is_left;
    int r;

    ph__lock(dispatcher);
    is_left = !dispatcher->set || (dispatcher->connections.handlers < dispatcher->opts.threads &&
                                   !dispatcher->connections.left_set);
    dispatcher->connections.handlers += is_left;
    ph__unlock(dispatcher);
    if (!is_left)
        return ph__fail(err, PH_ESTATE,
                        "handlers that hang have all connections for transactions; raise "
                        "ph_set_opts.connections and ph_dispatcher_opts.threads, or mend them");
    r = ph__store_clone(store, ret_store, err);
    if (r < 0)
        forget_connection(dispatcher);
    return r;
}

void ph__handler_store_close(ph_dispatcher *dispatcher, ph_store *store)
{
    if (!store)
        return;
    ph_close(store);
    forget_connection(dispatcher);
}

/* A thread that is not in a transaction does not touch its store. With the lock held. */
static ph_store *take_store(struct ph__thread *thread)
{
    ph_store *store = thread->store;

    if (thread->work && thread->work->handler->in_transaction) {
        thread->leave_store = true; /* it closes it itself, soon */
        return NULL;
    }
    thread->store = NULL;
    return store;
}

void ph__threads_leave(ph_dispatcher *dispatcher, uint64_t serial)
{
    struct ph__thread *thread = dispatcher->pool.threads;

    PH__NEEDS_LOCK(dispatcher);
    while (thread) {
        ph_store *store = NULL;

        if (thread->uses == serial) {
            thread->uses = 0;
            store = take_store(thread);
        }
        thread = thread->next;
        if (!store)
            continue;
        ph__unlock(dispatcher);
        ph__handler_store_close(dispatcher, store);
        ph__lock(dispatcher);
        thread = dispatcher->pool.threads; /* others may have come and gone */
    }
}

/* ------------------------------------------------------------------ the transaction */

static int begin(struct ph__thread *thread, struct ph_work *work, ph_error *err)
{
    const struct ph__db *db = work->batch->db;
    PH__CALL(call);
    int r = 0;

    if (thread->store && thread->serial != db->serial) {
        ph__handler_store_close(thread->dispatcher, thread->store);
        thread->store = NULL;
    }
    if (!thread->store)
        r = open_store(thread->dispatcher, db->store, &thread->store, err);
    thread->serial = db->serial;
    if (r == 0)
        r = ph__call_own(&call, thread->store, ph__db_limit_ms(db), err);
    if (r == 0)
        r = thread->store->backend->tx_begin(&call, &work->tx);
    if (r == 0) {
        work->store = thread->store;
        ph__use_lend(thread->store);
    }
    return r;
}

/* Not through ph__call_own(): it would look at the connection, and the transaction is open. */
static int end(struct ph__thread *thread, bool commit, ph_error *err)
{
    struct ph__call call = { .store = thread->store,
                             .deadline = ph__deadline_in(thread->dispatcher->times.call_timeout_ms),
                             .err = err };
    int r;

    ph__ok(err);
    r = thread->store->backend->tx_end(&call, commit);
    ph__use_lend_end(thread->store);
    return r;
}

static void keep_error(struct ph_work *work, const char *what, const ph_error *err)
{
    char text[sizeof(err->message) + 64];

    snprintf(text, sizeof(text), "%s: %s", what, err->message);
    ph_work_error(work, text);
}

/* Has the dispatcher stopped waiting for the handler? Then the message was abandoned or released,
 * and the effect must go, too. */
static bool is_given_up(struct ph__thread *thread)
{
    bool given_up;

    ph__lock(thread->dispatcher);
    given_up = thread->given_up;
    ph__unlock(thread->dispatcher);
    return given_up;
}

/* Waiting for the transaction has taken time: is the message still ours, and does the dispatcher
 * still wait for the handler? */
static bool may_call(struct ph__thread *thread, struct ph_work *work)
{
    bool may;

    ph__lock(thread->dispatcher);
    may = ph__work_call(work);
    thread->dispatcher->pool.no_transaction = false;
    ph__unlock(thread->dispatcher);
    return may;
}

/* Said once, not for every message, until there is one again. */
static void say_no_transaction(ph_dispatcher *dispatcher, const struct ph_work *work,
                               const ph_error *err)
{
    bool said;

    ph__lock(dispatcher);
    said = dispatcher->pool.no_transaction;
    dispatcher->pool.no_transaction = true;
    ph__unlock(dispatcher);
    if (!said)
        ph__say(work->batch->db, PH_LOG_WARN,
                "no transaction for the handler; messages are put off", work, "error",
                err->message);
}

/* The handler says done: acknowledge, and commit if the message was still ours. */
static ph_verdict finish(struct ph__thread *thread, struct ph_work *work, ph_outcome *ret_outcome)
{
    ph_dispatcher *dispatcher = thread->dispatcher;
    ph_outcome outcome = PH_OUTCOME_UNKNOWN;
    ph_error err, ignored;
    int r;

    ph__lock(dispatcher);
    ph__transaction_waits(work->batch->db);
    ph__unlock(dispatcher);
    r = ph__ack_last(work->batch->door, thread->store, work->tx, work->batch->owner, &work->lease,
                     dispatcher->times.call_timeout_ms, &outcome, &err);
    wait_ends(work->batch->db, r < 0 && is_outage(&err));
    if (r < 0) {
        (void)end(thread, false, &ignored);
        keep_error(work, "the ack in the handler's transaction failed", &err);
        return PH_VERDICT_RETRY;
    }
    if (outcome != PH_OUTCOME_ACKED) {
        (void)end(thread, false, &ignored);
        *ret_outcome = PH_OUTCOME_STALE;
        return PH_VERDICT_DONE;
    }
    r = end(thread, true, &err);
    if (r == 0) {
        *ret_outcome = PH_OUTCOME_ACKED;
        return PH_VERDICT_DONE;
    }
    keep_error(work, "the commit of the handler's transaction failed", &err);
    thread->maybe_settled = err.flags & PH_UNKNOWN; /* then the abandon finds it settled */
    return PH_VERDICT_RETRY;
}

ph_verdict ph__run_in_transaction(struct ph__thread *thread, struct ph_work *work,
                                  ph_outcome *ret_outcome)
{
    ph_error err, ignored;
    ph_verdict verdict;
    int r;

    *ret_outcome = PH_OUTCOME_UNKNOWN;
    r = begin(thread, work, &err);
    wait_ends(work->batch->db, r < 0);
    if (r < 0) { /* not the handler's fault: it costs no attempt */
        say_no_transaction(thread->dispatcher, work, &err);
        ph_work_delay(work, NO_DATABASE_DELAY_MS);
        return PH_VERDICT_DEFER;
    }
    if (!may_call(thread, work)) {
        (void)end(thread, false, &ignored);
        work->tx = PH_OWN_TX;
        work->store = NULL;
        ph_work_delay(work, 0);
        return PH_VERDICT_DEFER;
    }
    verdict = ph__call_handler(work);
    if (verdict == PH_VERDICT_DONE && !is_given_up(thread)) {
        verdict = finish(thread, work, ret_outcome);
    } else {
        (void)end(thread, false, &ignored);
        if (verdict == PH_VERDICT_KEEP) {
            ph_work_error(work, "the handler kept a work that has a transaction; that cannot be");
            verdict = PH_VERDICT_RETRY;
        }
    }
    work->tx = PH_OWN_TX;
    work->store = NULL;
    return verdict;
}
