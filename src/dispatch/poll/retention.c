/* retention.c - deletes old rows: in an idle moment, or else after twice the time. */
#include "dispatch/poll/poll.h"

#define RETENTION_LIMIT 1000
#define MORE_US 10000 /* until the next run, where there is more to delete */

static int64_t every_us(const struct ph__db *db)
{
    return (int64_t)db->dispatcher->opts.retention_ms * 1000;
}

/* Is there time for work that can wait? */
static bool is_idle(const struct ph__db *db)
{
    return !db->claim.found || db->dispatcher->room.short_of_it;
}

static int64_t due_us(const struct ph__chore_look *look)
{
    const struct ph__db *db = look->db;

    if (!db->retention_us || db->leaving)
        return INT64_MAX;
    return is_idle(db) ? db->retention_us : db->retention_us + every_us(db);
}

/* Without a connection it waits for another reason to come, for long. */
static int64_t visit_us(const struct ph__chore_look *look)
{
    return due_us(look) + (look->db->has_connection ? 0 : 2 * every_us(look->db));
}

static void run(struct ph__db *db, int64_t now_us)
{
    int64_t count = 0;
    ph_error err;

    db->retention_us = now_us + every_us(db);
    if (ph_retention_run(db->store, PH_OWN_TX, RETENTION_LIMIT, db->health.chore_ms, &count,
                         &err) == 0) {
        if (count >= RETENTION_LIMIT)
            db->retention_us = now_us + MORE_US;
        return;
    }
    ph__db_extend(db, &err, &db->health.chore_ms);
    ph__say(db, PH_LOG_WARN, "old messages could not be deleted", NULL, "error", err.message);
    if (err.code == PH_EPERM)
        db->retention_us = 0;
}

const struct ph__chore ph__chore_retention = {
    .apart = true, .due_us = due_us, .visit_us = visit_us, .run = run
};
