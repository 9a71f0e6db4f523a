/* job.c - jobs: set, delete, trigger, pause, resume, list, and a look at what is to come. */
#include "core/job.h"

#include "core/call.h"
#include "core/error.h"
#include "core/list.h"
#include "core/log.h"
#include "core/message.h"
#include "core/options.h"
#include "schedule/fire.h"
#include "util/alloc.h"
#include "util/text.h"
#include "util/time_text.h"

#include <jansson.h>
#include <string.h>

#define LIST_LIMIT 50
#define MISFIRE_LIMIT 100

bool ph__job_of_headers(struct ph__arena *arena, ph_delivery *run)
{
    json_error_t error = { 0 };
    json_t *headers = run->headers ? json_loads(run->headers, 0, &error) : NULL;
    const char *job = json_string_value(json_object_get(headers, "job"));
    const char *at = json_string_value(json_object_get(headers, "scheduled_at"));
    bool zoned, failed;

    if (job)
        run->job = ph__arena_copy(arena, job, strlen(job));
    if (!at || !ph__time_parse(at, &run->scheduled_at, &zoned))
        run->scheduled_at = 0;
    failed = (job && !run->job) ||
             (run->headers && !headers && json_error_code(&error) == json_error_out_of_memory);
    json_decref(headers);
    return !failed;
}

/* Reads the expression and the zone, the only way to know that they are good. */
static int times_load(const char *cron, const char *timezone, struct ph__cron *ret_cron,
                      struct ph__zone **ret_zone, ph_error *err)
{
    int r;

    if (!cron || !*cron)
        return ph__fail(err, PH_EINVAL, "cron is empty; give an expression such as \"0 3 * * *\"");
    if (strlen(cron) > PH_CRON_MAX)
        return ph__fail(err, PH_EINVAL, "cron has %zu bytes; at most %d are allowed", strlen(cron),
                        PH_CRON_MAX);
    r = ph__cron_parse(cron, ret_cron, err);
    return r < 0 ? r : ph__zone_load(timezone, ret_zone, err);
}

static int times_check(const struct ph__job *job, ph_error *err)
{
    struct ph__zone *zone = NULL;
    struct ph__cron cron;
    int r = times_load(job->cron, job->timezone, &cron, &zone, err);

    ph__zone_free(zone);
    return r;
}

static int job_check(struct ph__job *job, ph_error *err)
{
    int r = ph__name_check(job->name, "name", false, err);

    if (r == 0)
        r = ph__name_check(job->topic, "topic", false, err);
    if (r == 0)
        r = ph__name_check(job->ns, "namespace", true, err);
    if (r == 0)
        r = ph__name_check(job->timezone, "timezone", false, err);
    if (r == 0 && job->payload && job->payload_length > PH_PAYLOAD_MAX)
        r = ph__fail(err, PH_EINVAL, "payload has %zu bytes; at most %d are allowed",
                     job->payload_length, PH_PAYLOAD_MAX);
    if (r == 0 && job->payload && !ph__text_valid(job->payload, job->payload_length, NULL))
        r = ph__fail(err, PH_EINVAL, "payload is not valid UTF-8, or holds a NUL");
    if (r == 0 && (job->misfire < PH_MISFIRE_ONCE || job->misfire > PH_MISFIRE_ALL))
        r = ph__fail(err, PH_EINVAL, "misfire %d is not a ph_misfire", (int)job->misfire);
    if (r == 0 && (job->overlap < PH_OVERLAP_ALLOW || job->overlap > PH_OVERLAP_SKIP))
        r = ph__fail(err, PH_EINVAL, "overlap %d is not a ph_overlap", (int)job->overlap);
    if (r == 0 && (job->misfire_limit < 1 || job->misfire_limit > PH_MISFIRE_LIMIT_MAX))
        r = ph__fail(err, PH_EINVAL, "misfire_limit is %d; give 1 to %d, or 0 for %d",
                     job->misfire_limit, PH_MISFIRE_LIMIT_MAX, MISFIRE_LIMIT);
    return r < 0 ? r : times_check(job, err);
}

static int job_load(const ph_job *from, struct ph__job *to, ph_error *err)
{
    ph_job job = PH_JOB_INIT;
    int r;

    if (!from)
        return ph__fail(err, PH_EINVAL, "job is NULL");
    r = ph__options_load(&job, sizeof(job), from, "ph_job", err);
    if (r < 0)
        return r;
    if (job.payload && job.payload_length == PH_TEXT_LENGTH)
        job.payload_length = strlen(job.payload);
    *to = (struct ph__job){
        .name = job.name,
        .topic = job.topic,
        .cron = job.cron,
        .timezone = job.timezone ? job.timezone : "UTC",
        .ns = job.ns ? job.ns : "",
        .payload = job.payload,
        .payload_length = job.payload_length,
        .misfire = job.misfire ? job.misfire : PH_MISFIRE_ONCE,
        .overlap = job.overlap ? job.overlap : PH_OVERLAP_ALLOW,
        .misfire_limit = job.misfire_limit ? job.misfire_limit : MISFIRE_LIMIT,
    };
    return job_check(to, err);
}

static void log_job(const ph_store *store, const char *what, const char *name,
                    const struct ph__job *job)
{
    ph_log_field fields[] = { { "job", name },
                              { "cron", job ? job->cron : NULL },
                              { "timezone", job ? job->timezone : NULL },
                              { "topic", job ? job->topic : NULL } };

    ph__log(store, PH_LOG_INFO, "job", what, fields, 4);
}

int ph_job_set(ph_store *store, ph_tx tx, const ph_job *job, int timeout_ms, bool *ret_is_new,
               ph_error *reterr)
{
    enum ph__job_was was = PH__JOB_MISSING;
    struct ph__job loaded;
    PH__CALL(call);
    int r = ph__call_begin(&call, store, tx, timeout_ms, reterr);

    if (r == 0)
        r = job_load(job, &loaded, call.err);
    r = ph__call_connect(&call, r);
    if (r == 0)
        r = store->backend->job_set(&call, &loaded, &was);
    if (r < 0)
        return r;
    if (was != PH__JOB_SAME)
        log_job(store, was == PH__JOB_MISSING ? "created" : "changed", loaded.name, &loaded);
    if (ret_is_new)
        *ret_is_new = was == PH__JOB_MISSING;
    return 0;
}

/* Begins a call about one job by name. */
static int named_begin(struct ph__call *call, ph_store *store, ph_tx tx, const char *name,
                       int timeout_ms, ph_error *reterr)
{
    int r = ph__call_begin(call, store, tx, timeout_ms, reterr);

    return r < 0 ? r : ph__name_check(name, "name", false, call->err);
}

static int missing(struct ph__call *call, int r)
{
    if (r == PH_ENOTFOUND)
        ph__cure(call->err, ph__fail(call->err, r, "there is no job of this name"),
                 PH_CURE_LIST_JOBS);
    return r;
}

int ph_job_delete(ph_store *store, ph_tx tx, const char *name, int timeout_ms, bool *ret_deleted,
                  ph_error *reterr)
{
    bool deleted = false;
    PH__CALL(call);
    int r = named_begin(&call, store, tx, name, timeout_ms, reterr);

    r = ph__call_connect(&call, r);
    if (r == 0)
        r = store->backend->job_delete(&call, name, &deleted);
    if (r < 0)
        return r;
    if (deleted)
        log_job(store, "deleted", name, NULL);
    if (ret_deleted)
        *ret_deleted = deleted;
    return 0;
}

int ph_job_trigger(ph_store *store, ph_tx tx, const char *name, int timeout_ms, ph_work_id *ret_run,
                   ph_error *reterr)
{
    PH__CALL(call);
    ph_work_id run;
    int r = named_begin(&call, store, tx, name, timeout_ms, reterr);

    r = ph__call_connect(&call, r);
    if (r == 0)
        r = missing(&call, store->backend->job_trigger(&call, name, &run));
    if (r < 0)
        return r;
    log_job(store, "triggered", name, NULL);
    if (ret_run)
        *ret_run = run;
    return 0;
}

static int set_paused(ph_store *store, ph_tx tx, const char *name, bool paused, int timeout_ms,
                      ph_error *reterr)
{
    PH__CALL(call);
    int r = named_begin(&call, store, tx, name, timeout_ms, reterr);

    r = ph__call_connect(&call, r);
    if (r == 0)
        r = missing(&call, store->backend->job_pause(&call, name, paused));
    if (r == 0)
        log_job(store, paused ? "paused" : "resumed", name, NULL);
    return r;
}

int ph_job_pause(ph_store *store, ph_tx tx, const char *name, int timeout_ms, ph_error *reterr)
{
    return set_paused(store, tx, name, true, timeout_ms, reterr);
}

int ph_job_resume(ph_store *store, ph_tx tx, const char *name, int timeout_ms, ph_error *reterr)
{
    return set_paused(store, tx, name, false, timeout_ms, reterr);
}

static int query_load(const ph_job_list_opts *from, struct ph__job_query *to, ph_error *err)
{
    ph_job_list_opts opts = PH_JOB_LIST_OPTS_INIT;
    int r = ph__options_load(&opts, sizeof(opts), from, "ph_job_list_opts", err);

    *to = (struct ph__job_query){ .name = opts.name,
                                  .ns = opts.ns,
                                  .after = opts.after,
                                  .limit = opts.limit ? opts.limit : LIST_LIMIT };
    if (r == 0 && (to->limit < 0 || to->limit > PH_BATCH_MAX))
        r = ph__fail(err, PH_EINVAL, "limit is %d; give 1 to %d, or 0 for %d", to->limit,
                     PH_BATCH_MAX, LIST_LIMIT);
    if (r == 0 && to->name)
        r = ph__name_check(to->name, "name", false, err);
    if (r == 0 && to->after)
        r = ph__name_check(to->after, "after", true, err);
    return r < 0 || !to->ns ? r : ph__name_check(to->ns, "namespace", true, err);
}

int ph_job_list(ph_store *store, ph_tx tx, const ph_job_list_opts *opts, int timeout_ms,
                ph_jobs **ret_list, ph_error *reterr)
{
    struct ph__job_query query;
    PH__CALL(call);
    int r = ph__call_begin(&call, store, tx, timeout_ms, reterr);

    r = ph__call_wants(&call, r, ret_list, "ret_list");
    if (r == 0)
        r = query_load(opts, &query, call.err);
    PH__LIST_RETURN(jobs, &call, r, ret_list, store->backend->job_list(&call, &query, list));
}

PH__LIST_FUNCTIONS(jobs, ph_job_info)

int ph_job_next(const char *cron, const char *timezone, int64_t after, size_t count,
                int64_t *ret_times, size_t *ret_count, ph_error *reterr)
{
    struct ph__zone *zone = NULL;
    struct ph__cron parsed;
    size_t found = 0;
    int r = ph__ok(reterr);

    if (!ret_count || (!ret_times && count > 0))
        return ph__fail(reterr, PH_EINVAL, "ret_times or ret_count is NULL");
    if (after < PH_TIME_MIN || after > PH_TIME_MAX)
        return ph__fail(reterr, PH_EINVAL, "after lies outside the years 1 to 9999");
    r = times_load(cron, timezone, &parsed, &zone, reterr);
    if (r < 0)
        return r;
    while (found < count && ph__fire_next(&parsed, zone, after, &after))
        ret_times[found++] = after;
    *ret_count = found;
    ph__zone_free(zone);
    return 0;
}
