/* year_test.c - a year of two hundred jobs in ten zones under the fake clock: the runs that a
 * scheduler makes are the instants that an independent implementation names. The clock goes on in
 * uneven steps, schedulers come and go, and each instant is made up for. */
#include "differences.h"
#include "doors.h"

#include <stdlib.h>
#include <time.h>

#define JOBS 200
#define YEAR 2024
#define LINE_MAX_BYTES 20000

struct year {
    struct {
        char cron[64], zone[64], name[16];
        int64_t *theirs; /* in seconds */
        size_t count;
    } jobs[JOBS];
    size_t instants;
    int by_gap, by_repetition;
};

static void read_job(char *line, struct year *year, size_t index)
{
    char *rest = NULL, *word;

    line[strcspn(line, "\n")] = '\0';
    snprintf(year->jobs[index].name, sizeof(year->jobs[index].name), "job %03zu", index);
    snprintf(year->jobs[index].cron, sizeof(year->jobs[index].cron), "%s",
             strtok_r(line, "\t", &rest));
    snprintf(year->jobs[index].zone, sizeof(year->jobs[index].zone), "%s",
             strtok_r(NULL, "\t", &rest));
    year->jobs[index].theirs = calloc(strlen(rest) / 2 + 1, sizeof(int64_t));
    CHECK(year->jobs[index].theirs != NULL);
    while ((word = strtok_r(NULL, "\t", &rest)))
        year->jobs[index].theirs[year->jobs[index].count++] = strtoll(word, NULL, 10);
    year->instants += year->jobs[index].count;
}

static void ask_oracle(struct year *year, unsigned seed)
{
    static char line[LINE_MAX_BYTES];
    char command[600];
    size_t count = 0;
    FILE *oracle;

    snprintf(command, sizeof(command), "exec node '%s/year.mjs' %u %d %d", SOURCE_DIR, seed, JOBS,
             YEAR);
    oracle = popen(command, "r");
    CHECK(oracle != NULL);
    for (; fgets(line, sizeof(line), oracle); count++) {
        CHECK(count < JOBS && strchr(line, '\n'));
        read_job(line, year, count);
    }
    CHECK_INT(pclose(oracle), 0);
    CHECK_INT(count, JOBS);
}

static void set_jobs(ph_store *store, const struct year *year)
{
    struct t_conn *conn = t_connect();

    t_begin(conn);
    for (size_t i = 0; i < JOBS; i++) {
        ph_job job = a_job(year->jobs[i].name, year->jobs[i].cron);

        job.timezone = year->jobs[i].zone;
        job.misfire = PH_MISFIRE_ALL;
        job.misfire_limit = PH_MISFIRE_LIMIT_MAX;
        OK(ph_job_set(store, t_tx(conn), &job, 0, NULL, &t_err));
    }
    t_commit(conn);
    t_disconnect(conn);
}

/* To the end of the year, in steps of up to half a day. */
static int64_t live(ph_store *store, int64_t from, int64_t to, unsigned seed)
{
    ph_scheduler_opts opts = PH_SCHEDULER_OPTS_INIT;
    ph_scheduler *scheduler = NULL;
    int64_t runs = 0;

    opts.keep_job_runs = true;
    for (int64_t now = from;;) {
        ph_schedule done = PH_SCHEDULE_INIT;

        t_clock_set(store, now);
        if (rand_r(&seed) % 50 == 0) {
            ph_scheduler_free(scheduler);
            scheduler = NULL;
        }
        if (!scheduler)
            OK(ph_scheduler_new(store, &opts, &scheduler, &t_err));
        OK(ph_scheduler_run(scheduler, 0, &done, &t_err));
        CHECK_INT(done.problems, 0);
        CHECK_INT(done.now, now);
        CHECK(done.next_at > now);
        runs += done.runs;
        if (now == to)
            break;
        now += (int64_t)(rand_r(&seed) % (12 * 3600)) * T_SECOND + rand_r(&seed) % 1000000;
        now = now < to ? now : to;
    }
    ph_scheduler_free(scheduler);
    return runs;
}

/* Both in order: what only one of them has must have a reason. */
static void compare(struct year *year, size_t index, const char *ours)
{
    const char *name = year->jobs[index].cron, *where = year->jobs[index].zone;
    const int64_t *theirs = year->jobs[index].theirs, *end = theirs + year->jobs[index].count;
    struct ph__zone *zone = NULL;
    struct ph__cron cron;

    OK(ph__cron_parse(name, &cron, &t_err));
    OK(ph__zone_load(where, &zone, &t_err));
    while (*ours || theirs < end) {
        char *next = NULL;
        int64_t our = *ours ? strtoll(ours, &next, 10) / T_SECOND : INT64_MAX;
        int64_t their = theirs < end ? *theirs : INT64_MAX;

        if (our != their && !(our < their ? differs_by_gap(&cron, zone, our)
                                          : differs_by_repetition(&cron, zone, their))) {
            printf("%s in %s: ours %lld, theirs %lld\n", name, where, (long long)our,
                   (long long)their);
            FAIL("a difference that no rule explains");
        }
        year->by_gap += our < their;
        year->by_repetition += their < our;
        if (our <= their)
            ours = next + (*next == ' ');
        if (their <= our)
            theirs++;
    }
    ph__zone_free(zone);
}

TEST(a_year_of_jobs_is_as_an_independent_implementation_says)
{
    unsigned seed = t_soak() ? (unsigned)time(NULL) : 1;
    struct year *year = calloc(1, sizeof(*year));
    struct t_conn *conn;
    ph_store *store;
    int64_t runs;

    if (!getenv("PH_TEST_NPM"))
        t_skip("needs npm's package croner, which ./test installs");
    CHECK(year != NULL);
    printf("seed %u\n", seed);
    ask_oracle(year, seed);
    store = t_open(NULL);
    conn = t_connect();
    t_clock_set(store, instant("2024-01-01"));
    set_jobs(store, year);
    runs = live(store, instant("2024-01-01"), instant("2025-01-01") - 1, seed);
    CHECK_INT(runs, run_count(conn));
    for (size_t i = 0; i < JOBS; i++)
        compare(year, i, runs_of(conn, year->jobs[i].name));
    printf("%zu instants, %d by gaps, %d by repeated hours\n", year->instants, year->by_gap,
           year->by_repetition);
    REQ("JOB-004 JOB-009 JOB-010", year->instants > 20000);
    CHECK(year->by_gap + year->by_repetition < 300);
    for (size_t i = 0; i < JOBS; i++)
        free(year->jobs[i].theirs);
    free(year);
}
