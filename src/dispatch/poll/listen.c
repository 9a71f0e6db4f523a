/* listen.c - the doorbell of one database: how it is asked for and heard, and what follows from a
 * ring. */
#include "dispatch/poll/poll.h"

#include "core/call.h"

/* A producer that has rung does not ring again for 5 ms: a look finds the messages that it stores
 * then. */
#define RING_GAP_US 5500
#define FALSE_ALARM_US 500 /* after one that a doorbell had called for in vain; more each time */
#define WARM_US 5000000    /* so long a store without work is taken for a busy one */

/* The visit looks whether it has, before the exchange. */
static int64_t hear_us(const struct ph__chore_look *look)
{
    return look->db->doorbell.hear ? 0 : INT64_MAX;
}

const struct ph__chore ph__chore_listen = { .apart = true, .in_outage = true, .due_us = hear_us };

int64_t ph__ring_us(const struct ph__db *db)
{
    return db->claim.at_us + db->doorbell.false_alarms * FALSE_ALARM_US;
}

int64_t ph__unrung_us(const struct ph__db *db, int64_t now_us)
{
    int64_t until_us = db->doorbell.rung_us + RING_GAP_US;

    PH__NEEDS_LOCK(db->dispatcher);
    return db->doorbell.rung_us && now_us < until_us && !db->store->backend->file ? until_us
                                                                                  : INT64_MAX;
}

void ph__db_rung(struct ph__db *db)
{
    PH__NEEDS_LOCK(db->dispatcher);
    db->doorbell.rung = true;
    db->doorbell.rung_us = ph__boot_us();
    db->claim.empty[PH_OUTBOX] = db->claim.empty[PH_INBOX] = false; /* it may be for either door */
    db->dispatcher->stats.doorbells++;
    db->claim.next_us = ph__earlier(db->claim.next_us, ph__ring_us(db));
}

void ph__db_wake(struct ph__db *db)
{
    PH__NEEDS_LOCK(db->dispatcher);
    db->visit.woken =
        db->visit.busy; /* then when that is over: the claim under way may have come too early */
    if (db->visit.woken)
        return;
    db->claim.backoff_us = 0;
    db->schedule.due_us =
        db->watch.name ? 0 : db->schedule.due_us; /* a producer may have planned something */
    ph__db_rung(db);
}

bool ph__db_rang(struct ph__db *db)
{
    ph_dispatcher *dispatcher = db->dispatcher;

    db->doorbell.heard_us = ph__boot_us();
    if (db->doorbell.fd < 0 || !db->store->own ||
        !db->store->backend->doorbell_taken(db->store, dispatcher->opts.ns))
        return false;
    ph__lock(dispatcher);
    ph__db_rung(db);
    ph__unlock(dispatcher);
    return true;
}

/* Where there are more stores than connections, one that has had nothing to do for a while will lose
 * its own soon: it need not ask to be woken. */
static bool keeps_connection(struct ph__db *db)
{
    ph_dispatcher *dispatcher = db->dispatcher;
    bool enough;

    if (!db->entry)
        return true;
    ph__lock(dispatcher);
    enough = dispatcher->dbs.count <= (size_t)dispatcher->connections.max;
    ph__unlock(dispatcher);
    return enough || (db->visit.worked_us && ph__boot_us() - db->visit.worked_us < WARM_US);
}

/* Makes sure that the doorbell is on; a new doorbell may have missed a message. */
static void listen_again(struct ph__db *db)
{
    ph_dispatcher *dispatcher = db->dispatcher;
    int before = db->doorbell.fd, r;
    PH__CALL(call);
    ph_error err;

    /* A connection that listens goes on, or its notifications would pile up unheard. */
    if (dispatcher->opts.doorbell == PH_DOORBELL_OFF || db->watch.name || db->health.retry_us ||
        (before < 0 && !keeps_connection(db))) {
        db->doorbell.fd = -1; /* it may be another's by now */
        return;
    }
    r = ph__call_own(&call, db->store, db->health.limit_ms, &err);
    if (r == 0)
        r = db->store->backend->doorbell_listen(&call, dispatcher->opts.ns, &db->doorbell.fd);
    if (r < 0)
        db->doorbell.fd = -1;
    if (r > 0 || (db->doorbell.fd >= 0 && before < 0)) {
        ph__lock(dispatcher);
        db->claim.next_us = 0;
        ph__unlock(dispatcher);
    }
}

/* The file, or its folder, may not have been there before. A new watch may have missed a message. */
static void watch_again(struct ph__db *db)
{
    ph__lock(db->dispatcher);
    if (db->watch.lost)
        ph__file_unwatch(db);
    ph__unlock(db->dispatcher);
    if (db->watch.name)
        return;
    ph__file_watch(db);
    ph__lock(db->dispatcher);
    if (db->watch.name)
        db->claim.next_us = 0;
    ph__unlock(db->dispatcher);
}

/* One that has heard the doorbell and is about to claim need not hear it again. */
void ph__db_rest(struct ph__db *db)
{
    bool is_called;
    long ignored;

    if (db->entry)
        watch_again(db);
    listen_again(db);
    ph__lock(db->dispatcher);
    is_called = db->doorbell.rung && ph__room(db->dispatcher, &ignored) > 0;
    ph__unlock(db->dispatcher);
    if (!is_called && !ph__db_rang(db) && !db->health.retry_us)
        ph__doorbell_arm(db);
}
