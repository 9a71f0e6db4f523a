/* scheduler.c - a look at what is due. The database turns timers and job runs into messages, and
 * names the jobs whose instant has come; this file computes the instants. */
#include "core/scheduler.h"

#include "core/call.h"
#include "core/error.h"
#include "core/join.h"
#include "core/log.h"
#include "core/options.h"
#include "schedule/fire.h"
#include "util/alloc.h"
#include "util/assert.h"

#include <string.h>

#define BATCH_SIZE 1000
#define MISFIRE_GRACE_US (INT64_C(60) * 1000000)
#define MOVED_MOST_US (INT64_C(4) * 3600 * 1000000) /* by a change of a zone's rules */

/* A zone, kept for as long as its file stays the same. */
struct kept_zone {
    struct kept_zone *next;
    struct ph__zone *zone;
    char name[]; /* ends with NUL */
};

struct ph_scheduler {
    ph_store *store;
    ph_scheduler_opts opts; /* filled */
    ph_owner owner;
    struct kept_zone *zones;
    bool no_zones; /* there are no zone files on this machine: said once */
};

int ph_scheduler_new(ph_store *store, const ph_scheduler_opts *opts, ph_scheduler **ret_scheduler,
                     ph_error *reterr)
{
    ph_scheduler_opts loaded = PH_SCHEDULER_OPTS_INIT;
    ph_scheduler *scheduler;
    int r = ph__ok(reterr);

    if (!store)
        return ph__fail(reterr, PH_EINVAL, "store is NULL; open one with ph_open()");
    if (!ret_scheduler)
        return ph__fail(reterr, PH_EINVAL, "ret_scheduler is NULL");
    r = ph__options_load(&loaded, sizeof(loaded), opts, "ph_scheduler_opts", reterr);
    if (r < 0)
        return r;
    if (loaded.batch_size < 0 || loaded.batch_size > PH_BATCH_MAX)
        return ph__fail(reterr, PH_EINVAL, "batch_size is %d; give 1 to %d, or 0 for %d",
                        loaded.batch_size, PH_BATCH_MAX, BATCH_SIZE);
    scheduler = ph__alloc_zero(1, sizeof(*scheduler));
    if (!scheduler)
        return ph__fail_memory(reterr);
    if (loaded.batch_size == 0)
        loaded.batch_size = BATCH_SIZE;
    scheduler->store = store;
    scheduler->opts = loaded;
    scheduler->owner = ph_owner_new();
    *ret_scheduler = scheduler;
    return 0;
}

void ph_scheduler_free(ph_scheduler *scheduler)
{
    if (!scheduler)
        return;
    while (scheduler->zones) {
        struct kept_zone *kept = scheduler->zones;

        scheduler->zones = kept->next;
        ph__zone_free(kept->zone);
        ph__dealloc(kept);
    }
    ph__dealloc(scheduler);
}

/* -------------------------------------------------------------------- zones */

static struct kept_zone *zone_find(const ph_scheduler *scheduler, const char *name)
{
    struct kept_zone *kept = scheduler->zones;

    while (kept && strcmp(kept->name, name) != 0)
        kept = kept->next;
    return kept;
}

static struct kept_zone *zone_keep(ph_scheduler *scheduler, const char *name)
{
    struct kept_zone *kept = ph__alloc_zero(1, sizeof(*kept) + strlen(name) + 1);

    if (!kept)
        return NULL;
    memcpy(kept->name, name, strlen(name));
    kept->next = scheduler->zones;
    scheduler->zones = kept;
    return kept;
}

/* A changed file that cannot be read is being written, or is damaged: the zone loaded before is
 * better. */
static int zone_get(ph_scheduler *scheduler, const char *name, const struct ph__zone **ret_zone,
                    ph_error *err)
{
    struct kept_zone *kept = zone_find(scheduler, name);
    struct ph__zone *zone = NULL;
    int r = 0;

    if (!kept || ph__zone_is_stale(kept->zone)) {
        r = ph__zone_load(name, &zone, err);
        if (r < 0 && !kept)
            return r;
    }
    if (!kept)
        kept = zone_keep(scheduler, name);
    if (!kept) {
        ph__zone_free(zone);
        return ph__fail_memory(err);
    }
    if (zone) {
        ph__zone_free(kept->zone);
        kept->zone = zone;
    }
    PH__ASSERT(kept->zone);
    *ret_zone = kept->zone;
    return 0;
}

/* --------------------------------------------------------------------- jobs */

/* How many instants may be run at once. */
static size_t runs_limit(const struct ph__due_job *job)
{
    return job->misfire == PH_MISFIRE_ALL && job->misfire_limit > 0 ? (size_t)job->misfire_limit
                                                                    : 1;
}

/* How many of the instants that are due since `from` are run. There is at most one a second. */
static size_t runs_most(const struct ph__due_job *job, int64_t from, int64_t now)
{
    size_t seconds = (size_t)((now - from) / 1000000 + 1), limit = runs_limit(job);

    if (job->misfire == PH_MISFIRE_SKIP && now - from > MISFIRE_GRACE_US)
        return 0;
    return limit < seconds ? limit : seconds;
}

/* The rules of the zone have changed, and the planned instant is no longer one. If its replacement
 * has passed, it runs now; if it is yet to come, it runs then. */
static size_t find_moved(const struct ph__due_job *job, const struct ph__cron *cron,
                         const struct ph__zone *zone, int64_t *instants)
{
    int64_t from = job->next_at - MOVED_MOST_US;

    if (job->misfire == PH_MISFIRE_SKIP)
        return 0;
    if (from <= job->anchor_at)
        from = job->anchor_at + 1;
    return ph__fire_latest(cron, zone, from, job->next_at, 1, instants);
}

/* An expression in its zone; while instants of it are due. */
struct span {
    const struct ph__cron *cron;
    const struct ph__zone *zone;
    int64_t from, to;
};

/* Adds the instants of a span to those to run, as many as the job's policy wants. */
static int add_instants(const struct ph__due_job *job, const struct span *span, int64_t now,
                        struct ph__arena *arena, struct ph__job_step *step, ph_error *err)
{
    size_t most = runs_most(job, span->from, now), had = step->instant_count;
    size_t limit = runs_limit(job), found;
    int64_t *instants;

    if (most == 0)
        return 0;
    instants = ph__arena_alloc(arena, (had + most) * sizeof(*instants));
    if (!instants)
        return ph__fail_memory(err);
    if (had > 0)
        memcpy(instants, step->instants, had * sizeof(*instants));
    found = ph__fire_latest(span->cron, span->zone, span->from, span->to, most, instants + had);
    if (found == 0 && span->from == job->next_at)
        found = find_moved(job, span->cron, span->zone, instants + had);
    PH__ASSERT(found <= most);
    found += had;
    step->instant_count = found < limit ? found : limit;
    PH__ASSERT(step->instant_count <= had + most);
    step->instants = instants + (found - step->instant_count);
    return 0;
}

/* The instants to run and the next one, once expression and zone are known to be good. */
static int plan_instants(const struct ph__due_job *job, const struct ph__cron *cron,
                         const struct ph__zone *zone, int64_t now, struct ph__arena *arena,
                         struct ph__job_step *step, ph_error *err)
{
    struct span span = { cron, zone, job->next_at, now };
    int r;

    if (span.from == 0 && !ph__fire_next(cron, zone, job->anchor_at, &span.from))
        return 0;
    if (span.from > now) {
        step->next_at = span.from;
        return 0;
    }
    r = add_instants(job, &span, now, arena, step, err);
    if (!ph__fire_next(cron, zone, now, &step->next_at))
        step->next_at = 0;
    PH__ASSERT(step->next_at == 0 || step->next_at > now);
    return r;
}

/* Adds the instants that were due when the job got another expression. If the old one cannot be
 * read, they are unknown. */
static int plan_owed(ph_scheduler *scheduler, const struct ph__due_job *job, int64_t now,
                     struct ph__arena *arena, struct ph__job_step *step, ph_error *err)
{
    const struct ph__zone *zone = NULL;
    struct ph__cron cron;
    struct span span = { .to = job->anchor_at < now ? job->anchor_at : now };
    int r = ph__cron_parse(job->owed_cron, &cron, err);

    if (r == 0)
        r = zone_get(scheduler, job->owed_timezone, &zone, err);
    if (r < 0)
        return r == PH_ENOMEM || r == PH_EUNSUPPORTED ? r : 0;
    span.cron = &cron;
    span.zone = zone;
    if (!ph__fire_next(&cron, zone, job->owed_from - 1, &span.from) || span.from > span.to)
        return 0;
    return add_instants(job, &span, now, arena, step, err);
}

static void log_no_zones(const ph_store *store, const struct ph__due_job *job, const ph_error *why)
{
    ph_log_field fields[] = { { "job", job->name }, { "error", why->message } };

    ph__log(store, PH_LOG_ERROR, "job", "jobs in time zones are left to other schedulers", fields,
            2);
}

/* 1: the job is left to others. */
static int plan(ph_scheduler *scheduler, const struct ph__due_job *job, int64_t now,
                struct ph__arena *arena, struct ph__job_step *step, ph_error *err)
{
    const struct ph__zone *zone = NULL;
    struct ph__cron cron;
    ph_error problem;
    int r = ph__cron_parse(job->cron, &cron, &problem);

    *step = (struct ph__job_step){ .name = job->name,
                                   .generation = job->generation,
                                   .old_next_at = job->next_at };
    if (r == 0 && job->owed_from)
        r = plan_owed(scheduler, job, now, arena, step, &problem);
    if (r == 0)
        r = zone_get(scheduler, job->timezone, &zone, &problem);
    if (r == 0)
        return plan_instants(job, &cron, zone, now, arena, step, err);
    if (r == PH_ENOMEM) { /* not the job's fault */
        *err = problem;
        return r;
    }
    if (r == PH_EUNSUPPORTED) { /* neither: other schedulers may have the zones */
        if (!scheduler->no_zones)
            log_no_zones(scheduler->store, job, &problem);
        scheduler->no_zones = true;
        return 1;
    }
    step->problem = ph__arena_copy(arena, problem.message, strlen(problem.message));
    return step->problem ? 0 : ph__fail_memory(err);
}

static void log_problem(const ph_store *store, const struct ph__job_step *step)
{
    ph_log_field fields[] = { { "job", step->name }, { "problem", step->problem } };

    ph__log(store, PH_LOG_ERROR, "job", "cannot be run; set it anew", fields, 2);
}

/* After a long downtime each job may have thousands of instants. One look handles as many jobs as
 * fill a batch, so that it ends in time; the others have their turn at the next look. */
static int advance(ph_scheduler *scheduler, struct ph__call *call, struct ph__ticked *ticked,
                   ph_schedule *done)
{
    struct ph__job_step *steps =
        ph__arena_alloc(&ticked->arena, ticked->job_count * sizeof(*steps));
    size_t seen = 0, count = 0, instants = 0;
    int64_t runs = 0;
    int r = steps ? 0 : ph__fail_memory(call->err);

    while (r >= 0 && seen < ticked->job_count && instants < (size_t)scheduler->opts.batch_size) {
        r = plan(scheduler, &ticked->jobs[seen++], ticked->now, &ticked->arena, &steps[count],
                 call->err);
        instants += r == 0 ? steps[count++].instant_count : 0;
    }
    if (r > 0)
        r = 0;
    PH__ASSERT(count <= seen && seen <= ticked->job_count);
    if (r == 0 && count > 0)
        r = call->store->backend->advance(call, steps, count, &runs);
    if (seen < ticked->job_count)
        done->more = true;
    if (count == 0) /* all of them are left to others: no need to come back at once */
        done->more = false;
    for (size_t i = 0; r == 0 && i < count; i++) {
        if (steps[i].problem) {
            log_problem(call->store, &steps[i]);
            done->problems++;
        } else if (steps[i].next_at && (!done->next_at || steps[i].next_at < done->next_at)) {
            done->next_at = steps[i].next_at;
        }
    }
    done->runs += runs;
    return r;
}

/* --------------------------------------------------------------------- run */

/* One look: a tick, then the runs of the jobs that are due. */
static int tick(ph_scheduler *scheduler, struct ph__call *call, ph_schedule *done)
{
    struct ph__tick wanted = { .owner = scheduler->owner,
                               .limit = scheduler->opts.batch_size,
                               .timers = !scheduler->opts.keep_timers,
                               .job_runs = !scheduler->opts.keep_job_runs };
    struct ph__ticked ticked = { 0 };
    int r = ph__call_joins(call, call->store->backend->tick(call, &wanted, &ticked));

    if (r == 0) {
        PH__ASSERT(ticked.job_count <= (size_t)wanted.limit);
        PH__ASSERT(ticked.timers >= 0 && ticked.job_runs >= 0 && ticked.joins >= 0);
        done->timers += ticked.timers;
        done->job_runs += ticked.job_runs;
        done->joins += ticked.joins;
        done->now = ticked.now;
        done->next_at = ticked.next_at;
        done->more = ticked.more || ticked.job_count >= (size_t)wanted.limit;
        if (ticked.job_count > 0)
            r = advance(scheduler, call, &ticked, done);
    }
    ph__arena_free(&ticked.arena);
    return r;
}

int ph__scheduler_run_in(ph_scheduler *scheduler, ph_tx tx, int timeout_ms,
                         ph_schedule *ret_schedule, ph_error *reterr)
{
    ph_schedule done = PH_SCHEDULE_INIT;
    PH__CALL(call);
    int r;

    if (!scheduler)
        return ph__fail(reterr, PH_EINVAL, "scheduler is NULL; make one with ph_scheduler_new()");
    r = ph__call_begin(&call, scheduler->store, tx, timeout_ms, reterr);
    if (r == 0 && ret_schedule)
        r = ph__options_check(ret_schedule->size, "ph_schedule", call.err);
    r = ph__call_connect(&call, r);
    if (r == 0)
        r = tick(scheduler, &call, &done);
    if (r == 0 && done.runs > 0 && !scheduler->opts.keep_job_runs)
        r = tick(scheduler, &call, &done); /* the new runs are due */
    if (r == 0 && ret_schedule)
        ph__options_store(ret_schedule, &done, sizeof(done));
    return r;
}

int ph_scheduler_run(ph_scheduler *scheduler, int timeout_ms, ph_schedule *ret_schedule,
                     ph_error *reterr)
{
    return ph__scheduler_run_in(scheduler, PH_OWN_TX, timeout_ms, ret_schedule, reterr);
}
