/* schedule.c - the scheduler, where one was asked for: due timers, job runs and joins. */
#include "dispatch/poll/poll.h"

#define SCHEDULE_MIN_US 1000 /* between two runs, unless there is more */

int64_t ph__schedule_us(const struct ph__chore_look *look)
{
    const struct ph__db *db = look->db;

    return db->schedule.scheduler && !db->leaving ? db->schedule.due_us : INT64_MAX;
}

/* When the scheduler is to run again: as soon as something is due, but others may have planned
 * something in the meantime, so no later than the poll. */
static int64_t schedule_pause_us(const struct ph__db *s, const ph_schedule *schedule)
{
    int64_t pause_us = (int64_t)s->dispatcher->opts.poll_ms * 1000;

    if (schedule->more)
        return 0;
    if (schedule->next_at)
        pause_us = ph__earlier(pause_us, schedule->next_at - schedule->now);
    return pause_us > SCHEDULE_MIN_US ? pause_us : SCHEDULE_MIN_US;
}

void ph__schedule_run(struct ph__db *s, int64_t now_us)
{
    ph_dispatcher *dispatcher = s->dispatcher;
    ph_schedule schedule = PH_SCHEDULE_INIT;
    ph_error err;

    if (ph_scheduler_run(s->schedule.scheduler, s->health.chore_ms, &schedule, &err) < 0) {
        ph__db_extend(s, &err, &s->health.chore_ms);
        s->schedule.due_us = now_us + (int64_t)dispatcher->opts.poll_ms * 1000;
        if (err.code != PH_EPERM) {
            ph__db_failed(s, &err);
            return;
        }
        ph__say(s, PH_LOG_WARN, "the scheduler may not run here", NULL, "error", err.message);
        ph_scheduler_free(s->schedule.scheduler);
        s->schedule.scheduler = NULL;
        return;
    }
    now_us = ph__boot_us();
    s->schedule.due_us = now_us + schedule_pause_us(s, &schedule);
    s->schedule.next_us = schedule.next_at ? now_us + schedule.next_at - schedule.now : INT64_MAX;
    if (schedule.timers + schedule.job_runs + schedule.joins > 0) { /* there are new messages */
        ph__lock(dispatcher);
        s->claim.next_us = 0;
        ph__unlock(dispatcher);
    }
}
