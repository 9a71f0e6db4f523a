/* room.c - how many messages may be claimed now: for threads that are idle, and ahead. */
#include "dispatch/dispatch.h"

/* Messages that the handlers, at their present speed, will not get to within half a lease are
 * better left to other dispatchers. */
static long useful_prefetch(const ph_dispatcher *dispatcher)
{
    int64_t prefetch = dispatcher->opts.prefetch > 0 ? dispatcher->opts.prefetch : 0;

    if (dispatcher->room.usual_run_us > 0)
        prefetch =
            ph__earlier(prefetch, dispatcher->opts.threads * (dispatcher->times.lease_us / 2) /
                                      dispatcher->room.usual_run_us);
    return (long)prefetch;
}

/* A store in trouble, or a slow one, may take long: others need not wait for its messages. */
static long claiming(const ph_dispatcher *dispatcher)
{
    return dispatcher->room.claiming - dispatcher->room.doubtful;
}

int ph__tx_waiting_max(const ph_dispatcher *dispatcher)
{
    return dispatcher->opts.threads > 1 ? dispatcher->opts.threads / 2 : 1;
}

bool ph__db_is_held_up(const struct ph__db *db, int64_t now_us)
{
    PH__NEEDS_LOCK(db->dispatcher);
    return db->works.waiting > 0 && db->tx.full_us && now_us - db->tx.full_us >= PH__HELD_UP_US;
}

long ph__waiting_count(const ph_dispatcher *dispatcher)
{
    long count = (long)dispatcher->works.waiting.count - (long)dispatcher->room.held_up;

    return count > 0 ? count : 0;
}

void ph__claim_begin(struct ph__db *db, int room)
{
    ph_dispatcher *dispatcher = db->dispatcher;

    PH__NEEDS_LOCK(db->dispatcher);
    db->claim.under_way = room;
    dispatcher->room.claiming += room;
    if (db->visit.share != PH__SHARE_ALL)
        dispatcher->room.doubtful += room;
}

void ph__claim_end(struct ph__db *db)
{
    ph_dispatcher *dispatcher = db->dispatcher;

    PH__NEEDS_LOCK(db->dispatcher);
    dispatcher->room.claiming -= db->claim.under_way;
    if (db->visit.share != PH__SHARE_ALL)
        dispatcher->room.doubtful -= db->claim.under_way;
    db->claim.under_way = 0;
}

/* So many more may be in flight. */
static long left_in_flight(const ph_dispatcher *dispatcher)
{
    const ph_dispatcher_opts *opts = &dispatcher->opts;
    long left =
        (long)opts->in_flight_max - (long)dispatcher->works.in_flight - dispatcher->room.claiming;
    int64_t wanted = opts->message_limit - dispatcher->stats.claimed - dispatcher->room.claiming;

    if (dispatcher->phase.stopping || dispatcher->pool.hung > opts->threads ||
        dispatcher->handlers.count == 0)
        return 0;
    return opts->message_limit > 0 && wanted < (int64_t)left ? (long)wanted : left;
}

bool ph__claim_allowed(const ph_dispatcher *dispatcher)
{
    PH__NEEDS_LOCK(dispatcher);
    return left_in_flight(dispatcher) > 0;
}

/* A work behind others of its stream counts as prefetched, but keeps no thread from its work. */
int ph__room(const ph_dispatcher *dispatcher, long *ret_wake_at)
{
    const ph_dispatcher_opts *opts = &dispatcher->opts;
    long prefetch = useful_prefetch(dispatcher);
    long busy = (long)dispatcher->works.running - dispatcher->pool.hung;
    long idle = opts->threads - busy - dispatcher->pool.missing;
    long ahead = prefetch - (long)dispatcher->works.behind;
    long queued = ph__waiting_count(dispatcher) + claiming(dispatcher);
    long room = (ahead > 0 ? ahead : 0) + idle - queued;
    long least = prefetch > 0 && prefetch < opts->batch_size ? prefetch : opts->batch_size;
    long in_flight = left_in_flight(dispatcher);

    PH__NEEDS_LOCK(dispatcher);
    if (prefetch == 0)
        least = 1;
    *ret_wake_at = -1;
    if (in_flight <= 0)
        return 0;
    if (dispatcher->works.bytes >= PH_CLAIM_BYTES_MAX &&
        queued > 0) { /* enough waits for the memory */
        *ret_wake_at = (long)(dispatcher->works.waiting.count + dispatcher->works.behind) - 1;
        if (*ret_wake_at < 0)
            *ret_wake_at = 0;
        return 0;
    }
    if (room < least && queued > 0) {
        *ret_wake_at =
            (long)(dispatcher->works.waiting.count + dispatcher->works.behind) - (least - room);
        if (*ret_wake_at < 0)
            *ret_wake_at = 0;
        return 0;
    }
    room = room < in_flight ? room : in_flight;
    room = room < opts->batch_size ? room : opts->batch_size;
    return room > 0 ? (int)room : 0;
}
