/* drained.c - whether anything is left in the databases that a drain waits for. */
#include "dispatch/poll/poll.h"

static bool is_waited_for(const struct ph__db *db)
{
    return db->health.state != PH__REFUSED && !db->leaving && db->dispatcher->handlers.count > 0;
}

/* A claim found nothing, and no message came from anywhere since: its handler might have stored
 * more. */
static bool is_dry(const struct ph__db *db)
{
    return db->claim.drained > 0 && db->claim.drained_arrivals == db->dispatcher->works.arrivals;
}

void ph__drain_look(ph_dispatcher *dispatcher)
{
    PH__NEEDS_LOCK(dispatcher);
    if (dispatcher->stop.drain_waiters == 0 || dispatcher->works.in_flight > 0)
        return;
    for (size_t i = 0; i < dispatcher->dbs.count; i++) {
        if (!dispatcher->dbs.items[i]->claim.through && is_waited_for(dispatcher->dbs.items[i]))
            return; /* there is more to come first */
    }
    for (size_t i = 0; i < dispatcher->dbs.count; i++) {
        if (!is_dry(dispatcher->dbs.items[i]))
            ph__db_wake(dispatcher->dbs.items[i]);
    }
    ph__wake_asleep(dispatcher);
}

bool ph__databases_are_drained(const ph_dispatcher *dispatcher, uint64_t before)
{
    PH__NEEDS_LOCK(dispatcher);
    for (size_t i = 0; i < dispatcher->dbs.count; i++) {
        const struct ph__db *db = dispatcher->dbs.items[i];

        if (is_waited_for(db) && (db->claim.drained <= before || !is_dry(db)))
            return false;
    }
    return !dispatcher->set || (dispatcher->discovery.done && !dispatcher->dbs.changed &&
                                !dispatcher->pollers.maintaining);
}

const ph_error *ph__drain_error(const ph_dispatcher *dispatcher)
{
    PH__NEEDS_LOCK(dispatcher);
    for (size_t i = 0; i < dispatcher->dbs.count; i++) {
        const struct ph__db *db = dispatcher->dbs.items[i];

        if (is_waited_for(db) && db->health.last_error.code)
            return &db->health.last_error;
    }
    return NULL;
}
