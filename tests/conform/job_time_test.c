/* job_time_test.c - the instants of jobs in zones and on days that have broken others: as
 * ph_job_next tells them, and as a scheduler makes them. */
#include "doors.h"

#include "util/time_text.h"

#include <stdlib.h>
#include <sys/stat.h>

#define HOUR (3600 * T_SECOND)

/* Are these the instants of the expression after `begin` (blank-separated, in UTC)? Asked for, and
 * made by a scheduler whose clock goes on in steps of so many hours. */
static void fires(const char *cron, const char *zone, const char *begin, int step_hours,
                  const char *wanted)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_job job = a_job("j", cron);
    int64_t times[20], end = 0;
    char list[1000] = "", made[1000] = "", copy[1000], *rest = NULL;
    size_t count = 0;

    printf("%s in %s\n", cron, zone);
    snprintf(copy, sizeof(copy), "%s", wanted);
    for (char *one = strtok_r(copy, " ", &rest); one; one = strtok_r(NULL, " ", &rest), count++) {
        end = instant(one);
        snprintf(made + strlen(made), sizeof(made) - strlen(made), "%s%lld", count ? " " : "",
                 (long long)end);
    }
    OK(ph_job_next(cron, zone, instant(begin), count, times, &count, &t_err));
    for (size_t i = 0; i < count; i++) {
        char text[PH__TIME_TEXT_SIZE];

        snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%.19s", i ? " " : "",
                 ph__time_text(times[i], text));
    }
    CHECK_STR(list, wanted);

    job.timezone = zone;
    job.misfire = PH_MISFIRE_ALL;
    t_clock_set(store, instant(begin));
    set_job(store, &job);
    for (int64_t now = instant(begin); now < end; t_clock_set(store, now)) {
        make_runs(store);
        now = now + step_hours * HOUR < end ? now + step_hours * HOUR : end;
    }
    make_runs(store);
    REQ_STR("JOB-009 JOB-010", runs_of(conn, "j"), made);
    t_start_over();
}

TEST(spring_gap_and_autumn_overlap)
{
    fires("30 2 * * *", "Europe/Berlin", "2024-03-30T12:00:00", 5,
          "2024-03-31T01:00:00 2024-04-01T00:30:00");
    fires("30 2 * * *", "Europe/Berlin", "2024-10-26T12:00:00", 5,
          "2024-10-27T00:30:00 2024-10-28T01:30:00");
    fires("15,30,45 2 * * *", "Europe/Berlin", "2024-03-30T12:00:00", 1,
          "2024-03-31T01:00:00 2024-04-01T00:15:00");
    fires("0 * * * *", "Europe/Berlin", "2024-03-30T23:30:00", 1,
          "2024-03-31T00:00:00 2024-03-31T01:00:00 2024-03-31T02:00:00");
    fires("*/30 * * * *", "Europe/Berlin", "2024-10-26T23:45:00", 1,
          "2024-10-27T00:00:00 2024-10-27T00:30:00 2024-10-27T01:00:00 2024-10-27T01:30:00 "
          "2024-10-27T02:00:00");
    fires("30 2 * * *", "America/New_York", "2024-03-09T12:00:00", 7,
          "2024-03-10T07:00:00 2024-03-11T06:30:00");
    fires("30 1 * * *", "Europe/Dublin", "2024-03-30T12:00:00", 7,
          "2024-03-31T01:00:00 2024-04-01T00:30:00");
    fires("30 1 * * *", "Europe/Dublin", "2024-10-26T12:00:00", 7,
          "2024-10-27T00:30:00 2024-10-28T01:30:00");
}

TEST(zones_that_change_at_midnight)
{
    fires("0 0 * * *", "America/Asuncion", "2023-09-30T12:00:00", 6,
          "2023-10-01T04:00:00 2023-10-02T03:00:00");
    fires("30 23 * * *", "America/Asuncion", "2024-03-23T12:00:00", 6,
          "2024-03-24T02:30:00 2024-03-25T03:30:00");
    fires("0 0 * * *", "Africa/Cairo", "2024-04-25T12:00:00", 6,
          "2024-04-25T22:00:00 2024-04-26T21:00:00");
    fires("30 23 * * *", "Africa/Cairo", "2024-10-31T12:00:00", 6,
          "2024-10-31T20:30:00 2024-11-01T21:30:00");
}

TEST(zones_with_half_hours_and_a_day_that_did_not_exist)
{
    fires("10 2 * * *", "Australia/Lord_Howe", "2024-10-05T00:00:00", 6,
          "2024-10-05T15:30:00 2024-10-06T15:10:00");
    fires("45 1 * * *", "Australia/Lord_Howe", "2024-04-06T00:00:00", 6,
          "2024-04-06T14:45:00 2024-04-07T15:15:00");
    fires("0 12 * * *", "Pacific/Apia", "2011-12-28T00:00:00", 9,
          "2011-12-28T22:00:00 2011-12-29T22:00:00 2011-12-30T10:00:00 2011-12-30T22:00:00");
    fires("0 6 * * *", "Asia/Kathmandu", "2024-06-01T12:00:00", 9,
          "2024-06-02T00:15:00 2024-06-03T00:15:00");
}

TEST(days_that_do_not_come_every_month)
{
    fires("0 12 29 2 *", "UTC", "2023-01-01T00:00:00", 24 * 100,
          "2024-02-29T12:00:00 2028-02-29T12:00:00 2032-02-29T12:00:00");
    fires("0 0 31 * *", "UTC", "2024-01-15T00:00:00", 24 * 9,
          "2024-01-31T00:00:00 2024-03-31T00:00:00 2024-05-31T00:00:00");
    fires("0 0 30 * *", "Europe/Berlin", "2024-01-15T00:00:00", 24 * 9,
          "2024-01-29T23:00:00 2024-03-29T23:00:00 2024-04-29T22:00:00");
    fires("59 23 28-31 2 *", "UTC", "2023-02-01T00:00:00", 24 * 20,
          "2023-02-28T23:59:00 2024-02-28T23:59:00 2024-02-29T23:59:00");
    fires("@monthly", "America/New_York", "2024-01-15T00:00:00", 24 * 9,
          "2024-02-01T05:00:00 2024-03-01T05:00:00 2024-04-01T04:00:00");
}

/* Both restricted: either is enough. */
TEST(day_of_month_and_day_of_week_together)
{
    fires("0 0 13 * FRI", "UTC", "2024-09-02T00:00:00", 30,
          "2024-09-06T00:00:00 2024-09-13T00:00:00 2024-09-20T00:00:00 2024-09-27T00:00:00 "
          "2024-10-04T00:00:00 2024-10-11T00:00:00 2024-10-13T00:00:00");
    fires("0 0 1,15 * 3", "UTC", "2024-05-01T00:00:00", 30,
          "2024-05-08T00:00:00 2024-05-15T00:00:00 2024-05-22T00:00:00 2024-05-29T00:00:00 "
          "2024-06-01T00:00:00");
}

/* ---------------------------------------------------------------- ph_job_next */

TEST(the_next_instants_need_no_store)
{
    int64_t times[5] = { 7, 7, 7, 7, 7 };
    size_t count = 99;

    OK(ph_job_next("*/10 * * * *", NULL, instant("2024-05-01T00:05:00"), 3, times, &count, &t_err));
    CHECK_INT(count, 3);
    CHECK_INT(times[0], instant("2024-05-01T00:10:00"));
    CHECK_INT(times[2], instant("2024-05-01T00:30:00"));
    CHECK_INT(times[3], 7);
    OK(ph_job_next("0 0 1 1 *", "UTC", instant("9997-06-01"), 5, times, &count, &t_err));
    CHECK_INT(count, 2); /* then the years end */
    CHECK_INT(times[1], instant("9999-01-01"));
    OK(ph_job_next("@daily", "UTC", PH_TIME_MAX, 5, times, &count, &t_err));
    CHECK_INT(count, 0);
    OK(ph_job_next("@daily", "UTC", PH_TIME_MIN, 1, times, &count, &t_err));
    CHECK_INT(times[0], instant("0001-01-02"));
    OK(ph_job_next("@daily", "UTC", 0, 0, NULL, &count, NULL));
    CHECK_INT(count, 0);
}

TEST(arguments_of_the_next_instants)
{
    int64_t time = 7;
    size_t count = 99;

    CHECK_INT(ph_job_next(NULL, NULL, 0, 1, &time, &count, &t_err), PH_EINVAL);
    CHECK_STR(t_err.message, "cron is empty; give an expression such as \"0 3 * * *\"");
    CHECK_INT(ph_job_next("0 0 30 2 *", NULL, 0, 1, &time, &count, &t_err), PH_EINVAL);
    CHECK_STR(t_err.message, "cron: \"0 0 30 2 *\" never fires; no date matches it");
    CHECK_INT(ph_job_next("@daily", "Nowhere", 0, 1, &time, &count, &t_err), PH_EINVAL);
    CHECK_INT(ph_job_next("@daily", "", 0, 1, &time, &count, &t_err), PH_EINVAL);
    CHECK_INT(ph_job_next("@daily", NULL, PH_TIME_MIN - 1, 1, &time, &count, &t_err), PH_EINVAL);
    CHECK_STR(t_err.message, "after lies outside the years 1 to 9999");
    CHECK_INT(ph_job_next("@daily", NULL, PH_TIME_MAX + 1, 1, &time, &count, &t_err), PH_EINVAL);
    CHECK_INT(ph_job_next("@daily", NULL, 0, 1, NULL, &count, &t_err), PH_EINVAL);
    CHECK_STR(t_err.message, "ret_times or ret_count is NULL");
    CHECK_INT(ph_job_next("@daily", NULL, 0, 1, &time, NULL, &t_err), PH_EINVAL);
    CHECK_INT(time, 7);
    CHECK_INT(count, 99);
}

/* Its last instant has passed: it is looked at no more. */
TEST(a_job_that_has_run_for_the_last_time)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_schedule s;

    t_clock_set(store, instant("9999-12-30T12:00:00"));
    put_job(store, "j", "0 0 31 12 *");
    run_scheduler(store, NULL);
    CHECK_INT(see_job(store, "j").next_at, instant("9999-12-31"));
    t_clock_set(store, instant("9999-12-31T00:00:01"));
    CHECK_INT(run_scheduler(store, NULL).runs, 1);
    s = run_scheduler(store, NULL);
    CHECK_INT(s.runs, 0);
    CHECK_INT(s.next_at, 0);
    CHECK_INT(see_job(store, "j").next_at, 0);
    CHECK(!see_job(store, "j").has_problem);
    CHECK_INT(run_count(conn), 1);
}

/* ---------------------------------------------------------------- zone files */

static void copy_zone(const char *from, const char *to)
{
    char command[700];

    snprintf(command, sizeof(command),
             "cp '/usr/share/zoneinfo/%s' '%s/zones/new' && "
             "mv '%s/zones/new' '%s/zones/%s'",
             from, t_dir(), t_dir(), t_dir(), to);
    CHECK_INT(system(command), 0);
}

static void zones_here(void)
{
    char path[400];

    snprintf(path, sizeof(path), "%s/zones", t_dir());
    CHECK(mkdir(path, 0755) == 0);
    CHECK(setenv("TZDIR", path, 1) == 0);
}

TEST(a_zone_file_that_changes_under_way_is_used)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_scheduler *scheduler = NULL;
    ph_job job = a_job("j", "0 12 * * *");

    zones_here();
    copy_zone("Europe/Berlin", "Zone");
    t_clock_set(store, instant("2024-01-10T00:00:00"));
    job.timezone = "Zone";
    set_job(store, &job);
    OK(ph_scheduler_new(store, NULL, &scheduler, &t_err));
    OK(ph_scheduler_run(scheduler, 0, NULL, &t_err));
    CHECK_INT(see_job(store, "j").next_at, instant("2024-01-10T11:00:00"));
    copy_zone("America/New_York", "Zone"); /* the law changes */
    t_clock_set(store, instant("2024-01-10T11:00:00"));
    OK(ph_scheduler_run(scheduler, 0, NULL, &t_err)); /* it is not noon any more */
    CHECK_INT(run_count(conn), 0);
    REQ_INT("JOB-010", see_job(store, "j").next_at, instant("2024-01-10T17:00:00"));
    t_clock_set(store, instant("2024-01-10T17:00:00"));
    OK(ph_scheduler_run(scheduler, 0, NULL, &t_err));
    CHECK_INT(see_job(store, "j").last_at, instant("2024-01-10T17:00:00"));
    CHECK_INT(run_count(conn), 1);
    ph_scheduler_free(scheduler);
}

/* A scheduler on a machine without zone files leaves such jobs to the others. */
TEST(a_machine_without_zone_files_breaks_no_job)
{
    ph_store *store = t_open(NULL);
    ph_job job = a_job("zoned", "0 12 * * *");
    ph_schedule s;

    t_clock_set(store, instant("2024-01-10T00:00:00"));
    job.timezone = "Europe/Berlin";
    set_job(store, &job);
    put_job(store, "utc", "0 12 * * *");
    CHECK(setenv("TZDIR", "/nowhere/at/all", 1) == 0);
    CHECK_INT(ph_job_set(store, PH_OWN_TX, &job, 0, NULL, &t_err), PH_EUNSUPPORTED);
    CHECK(strstr(t_err.message, "tzdata") != NULL);
    s = run_scheduler(store, NULL);
    CHECK_INT(s.problems, 0);
    CHECK(!s.more);
    CHECK(!see_job(store, "zoned").has_problem);
    CHECK_INT(see_job(store, "utc").next_at, instant("2024-01-10T12:00:00"));
    CHECK(unsetenv("TZDIR") == 0);
    run_scheduler(store, NULL);
    CHECK_INT(see_job(store, "zoned").next_at, instant("2024-01-10T11:00:00"));
}

/* It is just being written: the rules that were read before go on. */
TEST(a_zone_file_that_cannot_be_read_any_more_stops_no_job)
{
    ph_store *store = t_open(NULL);
    ph_scheduler *scheduler = NULL;
    ph_job job = a_job("j", "0 12 * * *");
    char command[500];

    zones_here();
    copy_zone("Europe/Berlin", "Zone");
    t_clock_set(store, instant("2024-01-10T00:00:00"));
    job.timezone = "Zone";
    set_job(store, &job);
    OK(ph_scheduler_new(store, NULL, &scheduler, &t_err));
    OK(ph_scheduler_run(scheduler, 0, NULL, &t_err));
    snprintf(command, sizeof(command), "printf TZif2 >'%s/zones/Zone'", t_dir());
    CHECK_INT(system(command), 0);
    t_clock_set(store, instant("2024-01-10T11:00:00"));
    OK(ph_scheduler_run(scheduler, 0, NULL, &t_err));
    CHECK(!see_job(store, "j").has_problem);
    CHECK_INT(see_job(store, "j").last_at, instant("2024-01-10T11:00:00"));
    CHECK_INT(see_job(store, "j").next_at, instant("2024-01-11T11:00:00"));
    copy_zone("America/New_York", "Zone");
    t_clock_set(store, instant("2024-01-11T11:00:00"));
    OK(ph_scheduler_run(scheduler, 0, NULL, &t_err));
    CHECK_INT(see_job(store, "j").next_at, instant("2024-01-11T17:00:00"));
    ph_scheduler_free(scheduler);
}

/* The rules change, and what was planned has passed already: it is late, not lost. */
TEST(an_instant_that_a_zone_file_moves_into_the_past_runs)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_scheduler *scheduler = NULL;
    ph_job job = a_job("monthly", "0 12 1 * *");

    zones_here();
    copy_zone("Etc/GMT-1", "Zone"); /* east of Greenwich, whatever the sign says */
    t_clock_set(store, instant("2024-01-10"));
    job.timezone = "Zone";
    set_job(store, &job);
    put_job(store, "other", "0 12 1 * *");
    OK(ph_scheduler_new(store, NULL, &scheduler, &t_err));
    OK(ph_scheduler_run(scheduler, 0, NULL, &t_err));
    CHECK_INT(see_job(store, "monthly").next_at, instant("2024-02-01T11:00:00"));
    copy_zone("Etc/GMT-3", "Zone");
    t_clock_set(store, instant("2024-02-01T11:00:00"));
    OK(ph_scheduler_run(scheduler, 0, NULL, &t_err));
    REQ_INT("JOB-010", see_job(store, "monthly").last_at, instant("2024-02-01T09:00:00"));
    CHECK_INT(see_job(store, "monthly").next_at, instant("2024-03-01T09:00:00"));
    t_clock_set(store, instant("2024-03-01T09:00:00"));
    OK(ph_scheduler_run(scheduler, 0, NULL, &t_err));
    CHECK_INT(see_job(store, "monthly").last_at, instant("2024-03-01T09:00:00"));
    CHECK_INT(run_count(conn), 3);
    ph_scheduler_free(scheduler);
}

/* A scheduler that knows the zone goes on with what it knows; another one cannot. */
TEST(a_zone_file_that_disappears)
{
    ph_store *store = t_open(NULL);
    ph_scheduler *scheduler = NULL;
    ph_schedule s = PH_SCHEDULE_INIT;
    ph_job job = a_job("j", "0 * * * *");
    char path[400];

    zones_here();
    copy_zone("Europe/Berlin", "Zone");
    t_clock_set(store, instant("2024-01-10T00:00:00"));
    job.timezone = "Zone";
    set_job(store, &job);
    put_job(store, "other", "0 * * * *");
    OK(ph_scheduler_new(store, NULL, &scheduler, &t_err));
    OK(ph_scheduler_run(scheduler, 0, NULL, &t_err));
    snprintf(path, sizeof(path), "%s/zones/Zone", t_dir());
    CHECK(remove(path) == 0);
    t_clock_set(store, instant("2024-01-10T01:00:00"));
    OK(ph_scheduler_run(scheduler, 0, &s, &t_err));
    CHECK_INT(s.runs, 2);
    CHECK_INT(s.problems, 0);
    ph_scheduler_free(scheduler);
    t_clock_set(store, instant("2024-01-10T02:00:00"));
    s = run_scheduler(store, NULL);
    CHECK_INT(s.runs, 1);
    CHECK_INT(s.problems, 1);
    CHECK(strstr(see_job(store, "j").problem, "there is no time zone \"Zone\"") != NULL);
    CHECK_INT(ph_job_set(store, PH_OWN_TX, &job, 0, NULL, &t_err), PH_EINVAL);
    copy_zone("Europe/Berlin", "Zone");
    set_job(store, &job);
    CHECK_INT(run_scheduler(store, NULL).problems, 0);
    CHECK(!see_job(store, "j").has_problem);
    CHECK_INT(see_job(store, "j").next_at, instant("2024-01-10T03:00:00"));
}
