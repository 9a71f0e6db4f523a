/* schedule.c - the scheduler, where one was asked for: due timers, job runs and joins. */
#include "dispatch/poll/poll.h"

#define SCHEDULE_MIN_US 1000 /* between two runs, unless there is more */

static int64_t due_us(const struct ph__chore_look *look)
{
    const struct ph__db *db = look->db;

    return db->schedule.scheduler && !db->leaving ? db->schedule.due_us : INT64_MAX;
}

/* When the scheduler is to run again: as soon as something is due, but others may have planned
 * something in the meantime, so no later than the poll. */
static int64_t pause_us(const struct ph__db *db, const ph_schedule *schedule)
{
    int64_t us = (int64_t)db->dispatcher->opts.poll_ms * 1000;

    if (schedule->more)
        return 0;
    if (schedule->next_at)
        us = ph__earlier(us, schedule->next_at - schedule->now);
    return us > SCHEDULE_MIN_US ? us : SCHEDULE_MIN_US;
}

static void run(struct ph__db *db, int64_t now_us)
{
    ph_dispatcher *dispatcher = db->dispatcher;
    ph_schedule schedule = PH_SCHEDULE_INIT;
    ph_error err;

    if (ph_scheduler_run(db->schedule.scheduler, db->health.chore_ms, &schedule, &err) < 0) {
        ph__db_extend(db, &err, &db->health.chore_ms);
        db->schedule.due_us = now_us + (int64_t)dispatcher->opts.poll_ms * 1000;
        if (err.code != PH_EPERM) {
            ph__db_failed(db, &err);
            return;
        }
        ph__say(db, PH_LOG_WARN, "the scheduler may not run here", NULL, "error", err.message);
        ph_scheduler_free(db->schedule.scheduler);
        db->schedule.scheduler = NULL;
        return;
    }
    now_us = ph__boot_us();
    db->schedule.due_us = now_us + pause_us(db, &schedule);
    db->schedule.next_us = schedule.next_at ? now_us + schedule.next_at - schedule.now : INT64_MAX;
    if (schedule.timers + schedule.job_runs + schedule.joins > 0) { /* there are new messages */
        ph__lock(dispatcher);
        db->claim.next_us = 0;
        ph__unlock(dispatcher);
    }
}

const struct ph__chore ph__chore_schedule = { .apart = true, .due_us = due_us, .run = run };
