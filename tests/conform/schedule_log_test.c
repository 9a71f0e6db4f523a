/* schedule_log_test.c - what the log says of timers and jobs, and what it never does. */
#include "doors.h"
#include "journal.h"

#define SECRET "tR0ub4dor&3"

/* The newest line of the event says this, at INFO. */
static const struct line *said(const char *event, const char *what)
{
    const struct line *line = newest(event);

    CHECK(line != NULL);
    printf("%s\n", line->text);
    CHECK_INT(line->level, PH_LOG_INFO);
    CHECK_STR(line->store, "orders");
    CHECK(strstr(line->text, what) != NULL);
    return line;
}

TEST(timers_are_logged_at_info_with_their_id)
{
    ph_store *store = open_logging(PH_LOG_INFO);
    char id[PH_ID_TEXT_SIZE];
    ph_work_id timer;

    t_clock_set(store, T_EPOCH);
    timer = put_timer(store, SECRET, T_EPOCH + T_SECOND);
    said("timer", "scheduled");
    CHECK_STR(field(newest("timer"), "work_id"), ph_id_text(timer.b, id));
    CHECK_STR(field(newest("timer"), "topic"), "remind");
    CHECK_STR(field(newest("timer"), "due_at"), "2023-11-14T22:13:21.000000Z");
    OK(ph_timer_cancel(store, PH_OWN_TX, timer, 0, NULL, &t_err));
    said("timer", "cancelled");
    CHECK_STR(field(newest("timer"), "work_id"), ph_id_text(timer.b, id));
    OK(ph_timer_cancel(store, PH_OWN_TX, timer, 0, NULL, &t_err));
    said("timer", "not cancelled");
}

TEST(jobs_are_logged_at_info_with_their_name)
{
    ph_store *store = open_logging(PH_LOG_INFO);
    ph_job job = a_job("nightly", "0 3 * * *");

    job.payload = SECRET;
    job.timezone = "Europe/Berlin";
    set_job(store, &job);
    said("job", "created");
    CHECK_STR(field(newest("job"), "job"), "nightly");
    CHECK_STR(field(newest("job"), "cron"), "0 3 * * *");
    CHECK_STR(field(newest("job"), "timezone"), "Europe/Berlin");
    CHECK_STR(field(newest("job"), "topic"), "work");
    set_job(store, &job); /* the same: nothing to say */
    said("job", "created");
    job.topic = "other";
    set_job(store, &job);
    said("job", "changed");
    OK(ph_job_trigger(store, PH_OWN_TX, "nightly", 0, NULL, &t_err));
    CHECK_STR(field(said("job", "triggered"), "job"), "nightly");
    OK(ph_job_pause(store, PH_OWN_TX, "nightly", 0, &t_err));
    CHECK_STR(field(said("job", "paused"), "job"), "nightly");
    OK(ph_job_resume(store, PH_OWN_TX, "nightly", 0, &t_err));
    CHECK_STR(field(said("job", "resumed"), "job"), "nightly");
    OK(ph_job_delete(store, PH_OWN_TX, "nightly", 0, NULL, &t_err));
    CHECK_STR(field(said("job", "deleted"), "job"), "nightly");
}

TEST(payloads_and_headers_of_the_schedule_are_never_logged)
{
    ph_store *store = open_logging(PH_LOG_DEBUG);
    ph_job job = a_job("j", "* * * * *");
    ph_timer timer = PH_TIMER_INIT;
    ph_owner owner = ph_owner_new();
    ph_lease_ref ref;

    t_clock_set(store, T_EPOCH);
    timer.topic = "remind";
    timer.payload = SECRET;
    timer.headers = "{\"authorization\": \"" SECRET "\"}";
    timer.due_at = T_EPOCH;
    OK(ph_timer_schedule(store, PH_OWN_TX, &timer, 0, NULL, &t_err));
    ref = door_take_one(&timers_door, store, owner);
    OK(ph_timers_abandon(store, PH_OWN_TX, owner, &ref, 1, "e", 0, 0, NULL, &t_err));
    job.payload = SECRET;
    set_job(store, &job);
    run_scheduler(store, NULL);
    t_clock_advance(store, 60 * T_SECOND);
    CHECK_INT(run_scheduler(store, NULL).job_runs, 1);
    job.payload = "\xff" SECRET;
    CHECK_INT(ph_job_set(store, PH_OWN_TX, &job, 0, NULL, &t_err), PH_EINVAL);
    CHECK(!strstr(t_err.message, SECRET));
    CHECK(journal.count > 4);
    for (size_t i = 0; i < journal.count; i++)
        CHECK(!strstr(journal.lines[i].text, SECRET));
}
