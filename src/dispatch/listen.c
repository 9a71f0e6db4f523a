/* listen.c - the bell of one station: asked for, heard, and what follows from it. */
#include "dispatch/dispatch.h"

#include "core/call.h"

#define FALSE_ALARM_US 500 /* after one that a bell had called for in vain; more each time */
#define WARM_US 5000000    /* so long a store without work is taken for a busy one */

/* Others may have rung for others, or been quicker: where many share a database, they do not all
 * come running at every bell. */
void ph__station_rung(struct ph__station *s)
{
    PH__NEEDS_LOCK(s->dispatcher);
    s->rung = true;
    s->rung_us = ph__boot_us();
    s->empty[PH__OUTBOX] = s->empty[PH__INBOX] = false; /* it may be for either door */
    s->dispatcher->stats.doorbells++;
    s->next_claim_us =
        ph__earlier(s->next_claim_us, s->claim_us + s->false_alarms * FALSE_ALARM_US);
}

void ph__station_call(struct ph__station *s)
{
    PH__NEEDS_LOCK(s->dispatcher);
    s->called = s->busy; /* then when that is over: the claim under way may have come too early */
    if (s->called)
        return;
    s->backoff_us = 0;
    s->schedule_us = s->bell_name ? 0 : s->schedule_us; /* somebody may have planned something */
    ph__station_rung(s);
}

bool ph__station_rang(struct ph__station *s)
{
    ph_dispatcher *dispatcher = s->dispatcher;

    s->heard_us = ph__boot_us();
    if (s->doorbell_fd < 0 || !s->store->own ||
        !s->store->backend->doorbell_taken(s->store, dispatcher->opts.ns))
        return false;
    ph__lock(dispatcher);
    ph__station_rung(s);
    ph__unlock(dispatcher);
    return true;
}

/* Where there are more stores than connections, one that has had nothing to do for a while will lose
 * its own soon: it need not ask to be woken. */
static bool keeps_connection(struct ph__station *s)
{
    ph_dispatcher *dispatcher = s->dispatcher;
    bool enough;

    if (!s->entry)
        return true;
    ph__lock(dispatcher);
    enough = dispatcher->station_count <= (size_t)dispatcher->links_max;
    ph__unlock(dispatcher);
    return enough || (s->worked_us && ph__boot_us() - s->worked_us < WARM_US);
}

/* Makes sure that the bell is on; a new bell may have missed a message. */
static void listen_again(struct ph__station *s)
{
    ph_dispatcher *dispatcher = s->dispatcher;
    int before = s->doorbell_fd, r;
    PH__CALL(call);
    ph_error err, spare;

    /* Who listens goes on, or what comes would pile up unheard. */
    if (dispatcher->opts.doorbell == PH_DOORBELL_OFF || s->bell_name || s->retry_us ||
        (before < 0 && !keeps_connection(s))) {
        s->doorbell_fd = -1; /* it may be another's by now */
        return;
    }
    r = ph__call_begin(&call, s->store, PH_OWN_TX, s->limit_ms, &err, &spare);
    if (r == 0)
        r = s->store->backend->doorbell_listen(&call, dispatcher->opts.ns, &s->doorbell_fd);
    if (r < 0)
        s->doorbell_fd = -1;
    if (r > 0 || (s->doorbell_fd >= 0 && before < 0)) {
        ph__lock(dispatcher);
        s->next_claim_us = 0;
        ph__unlock(dispatcher);
    }
}

/* The file, or its folder, may not have been there before. A new watch may have missed a message. */
static void watch_again(struct ph__station *s)
{
    ph__lock(s->dispatcher);
    if (s->bell_lost)
        ph__bell_unwatch(s);
    ph__unlock(s->dispatcher);
    if (s->bell_name)
        return;
    ph__bell_watch(s);
    ph__lock(s->dispatcher);
    if (s->bell_name)
        s->next_claim_us = 0;
    ph__unlock(s->dispatcher);
}

/* One that has heard the bell and is about to claim need not hear it again. */
void ph__station_rest(struct ph__station *s)
{
    bool is_called;
    long ignored;

    if (s->entry)
        watch_again(s);
    listen_again(s);
    ph__lock(s->dispatcher);
    is_called = s->rung && ph__room(s->dispatcher, &ignored) > 0;
    ph__unlock(s->dispatcher);
    if (!is_called && !ph__station_rang(s) && !s->retry_us)
        ph__bell_arm(s);
}
