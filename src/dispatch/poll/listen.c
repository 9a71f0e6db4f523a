/* listen.c - the doorbell of one database: asked for, heard, and what follows from it. */
#include "dispatch/poll/poll.h"

#include "core/call.h"

/* A producer that has rung does not ring again for 5 ms: what it stores then is found by a look. */
#define RING_GAP_US 5500
#define FALSE_ALARM_US 500 /* after one that a doorbell had called for in vain; more each time */
#define WARM_US 5000000    /* so long a store without work is taken for a busy one */

int64_t ph__ring_us(const struct ph__db *s)
{
    return s->claim.at_us + s->doorbell.false_alarms * FALSE_ALARM_US;
}

int64_t ph__unrung_us(const struct ph__db *s, int64_t now_us)
{
    int64_t until_us = s->doorbell.rung_us + RING_GAP_US;

    PH__NEEDS_LOCK(s->dispatcher);
    return s->doorbell.rung_us && now_us < until_us && !s->store->backend->file ? until_us
                                                                                : INT64_MAX;
}

void ph__db_rung(struct ph__db *s)
{
    PH__NEEDS_LOCK(s->dispatcher);
    s->doorbell.rung = true;
    s->doorbell.rung_us = ph__boot_us();
    s->claim.empty[PH_OUTBOX] = s->claim.empty[PH_INBOX] = false; /* it may be for either door */
    s->dispatcher->stats.doorbells++;
    s->claim.next_us = ph__earlier(s->claim.next_us, ph__ring_us(s));
}

void ph__db_wake(struct ph__db *s)
{
    PH__NEEDS_LOCK(s->dispatcher);
    s->visit.woken =
        s->visit.busy; /* then when that is over: the claim under way may have come too early */
    if (s->visit.woken)
        return;
    s->claim.backoff_us = 0;
    s->schedule.due_us =
        s->watch.name ? 0 : s->schedule.due_us; /* somebody may have planned something */
    ph__db_rung(s);
}

bool ph__db_rang(struct ph__db *s)
{
    ph_dispatcher *dispatcher = s->dispatcher;

    s->doorbell.heard_us = ph__boot_us();
    if (s->doorbell.fd < 0 || !s->store->own ||
        !s->store->backend->doorbell_taken(s->store, dispatcher->opts.ns))
        return false;
    ph__lock(dispatcher);
    ph__db_rung(s);
    ph__unlock(dispatcher);
    return true;
}

/* Where there are more stores than connections, one that has had nothing to do for a while will lose
 * its own soon: it need not ask to be woken. */
static bool keeps_connection(struct ph__db *s)
{
    ph_dispatcher *dispatcher = s->dispatcher;
    bool enough;

    if (!s->entry)
        return true;
    ph__lock(dispatcher);
    enough = dispatcher->dbs.count <= (size_t)dispatcher->connections.max;
    ph__unlock(dispatcher);
    return enough || (s->visit.worked_us && ph__boot_us() - s->visit.worked_us < WARM_US);
}

/* Makes sure that the doorbell is on; a new doorbell may have missed a message. */
static void listen_again(struct ph__db *s)
{
    ph_dispatcher *dispatcher = s->dispatcher;
    int before = s->doorbell.fd, r;
    PH__CALL(call);
    ph_error err, spare;

    /* Who listens goes on, or what comes would pile up unheard. */
    if (dispatcher->opts.doorbell == PH_DOORBELL_OFF || s->watch.name || s->health.retry_us ||
        (before < 0 && !keeps_connection(s))) {
        s->doorbell.fd = -1; /* it may be another's by now */
        return;
    }
    r = ph__call_begin(&call, s->store, PH_OWN_TX, s->health.limit_ms, &err, &spare);
    if (r == 0)
        r = s->store->backend->doorbell_listen(&call, dispatcher->opts.ns, &s->doorbell.fd);
    if (r < 0)
        s->doorbell.fd = -1;
    if (r > 0 || (s->doorbell.fd >= 0 && before < 0)) {
        ph__lock(dispatcher);
        s->claim.next_us = 0;
        ph__unlock(dispatcher);
    }
}

/* The file, or its folder, may not have been there before. A new watch may have missed a message. */
static void watch_again(struct ph__db *s)
{
    ph__lock(s->dispatcher);
    if (s->watch.lost)
        ph__file_unwatch(s);
    ph__unlock(s->dispatcher);
    if (s->watch.name)
        return;
    ph__file_watch(s);
    ph__lock(s->dispatcher);
    if (s->watch.name)
        s->claim.next_us = 0;
    ph__unlock(s->dispatcher);
}

/* One that has heard the doorbell and is about to claim need not hear it again. */
void ph__db_rest(struct ph__db *s)
{
    bool is_called;
    long ignored;

    if (s->entry)
        watch_again(s);
    listen_again(s);
    ph__lock(s->dispatcher);
    is_called = s->doorbell.rung && ph__room(s->dispatcher, &ignored) > 0;
    ph__unlock(s->dispatcher);
    if (!is_called && !ph__db_rang(s) && !s->health.retry_us)
        ph__doorbell_arm(s);
}
