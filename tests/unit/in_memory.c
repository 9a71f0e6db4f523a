/* in_memory.c - see in_memory.h. */
#include "in_memory.h"

#include "harness.h"

#define DBS_MAX 8

int64_t __real_ph__boot_us(void);
int64_t __wrap_ph__boot_us(void);

int64_t m_now_us;
static ph_dispatcher dispatcher_made;
static struct ph__db dbs[DBS_MAX];
static struct ph__db *items[DBS_MAX];
static char ids[DBS_MAX][2];

/* The other tests of this program have the real clock. */
int64_t __wrap_ph__boot_us(void)
{
    return m_now_us ? m_now_us : __real_ph__boot_us();
}

ph_dispatcher *m_dispatcher(void)
{
    ph_dispatcher *dispatcher = &dispatcher_made;

    m_now_us = M_START;
    dispatcher->opts = (ph_dispatcher_opts)PH_DISPATCHER_OPTS_INIT;
    dispatcher->opts.threads = 4;
    dispatcher->opts.prefetch = dispatcher->opts.batch_size = 10;
    dispatcher->opts.in_flight_max = 100;
    dispatcher->opts.poll_ms = 5000;
    dispatcher->opts.retention_ms = 1000;
    dispatcher->times.lease_us = 30 * M_SECOND;
    dispatcher->times.call_timeout_ms = 30000;
    dispatcher->handlers.count = 1;
    dispatcher->pollers.count = 4;
    dispatcher->connections.max = DBS_MAX;
    dispatcher->dbs.items = items;
    CHECK_INT(ph__lock_init(&dispatcher->lock), 0);
    ph__lock(dispatcher);
    return dispatcher;
}

struct ph__db *m_db(ph_dispatcher *dispatcher)
{
    size_t at = dispatcher->dbs.count;
    struct ph__db *db = &dbs[at];

    CHECK(at < DBS_MAX);
    items[at] = db;
    dispatcher->dbs.count++;
    ids[at][0] = (char)('a' + at);
    db->id = ids[at];
    db->dispatcher = dispatcher;
    db->serial = ++dispatcher->dbs.last_serial;
    db->has_connection = db->health.connected = db->heart.registered = db->turn.met = true;
    dispatcher->connections.used++;
    db->health.state = PH__WELL;
    db->doorbell.fd = -1;
    db->claim.max = PH__CLAIM_MAX;
    db->claim.through = true;
    db->claim.at_us = M_START - M_SECOND;
    db->claim.next_us = M_START + 30 * M_SECOND;
    db->heart.beat_us = M_START + 10 * M_SECOND;
    db->leases.renew_us = M_START + 15 * M_SECOND;
    db->unclaimed_us = M_START + 60 * M_SECOND;
    return db;
}

struct ph__db *m_db_of_set(ph_dispatcher *dispatcher)
{
    struct ph__db *db = m_db(dispatcher);
    void *some = db; /* nobody looks into them: it only matters that they are there */

    dispatcher->set = some;
    db->entry = some;
    return db;
}

void m_decide(struct ph__db *db, size_t count)
{
    ph_dispatcher *dispatcher = db->dispatcher;

    if (db->settle.decided.count == 0)
        db->settle.since_us = m_now_us;
    db->settle.decided.count += count;
    db->works.in_flight += count;
    dispatcher->works.decided += count;
    dispatcher->works.in_flight += count;
}
