/* schedule.h - timers, jobs that run by the clock, and the scheduler.
 *
 * SPDX-License-Identifier: MIT
 *
 * Included by posthorn.h. A timer is a message for later that can be
 * cancelled. A job is a cron expression in a time zone; each of its instants
 * makes one job run, exactly one, however many schedulers there are. Timers
 * and job runs live like outbox messages (claim, settle, dead letters, queue
 * settings), each behind a door of its own.
 *
 * There are two ways to handle them:
 *   1. Let a scheduler turn each due timer and job run into an outbox message
 *      with the same topic, payload, namespace, correlation id and headers, in
 *      one transaction; handlers then get them like any message. Its message id
 *      is the id of the timer or run. That is the usual way: ph_scheduler_run()
 *      in a loop of yours, ph_dispatcher_opts.schedule, or the command
 *      "posthorn schedule".
 *   2. Claim and settle them yourself with ph_timers_claim() and
 *      ph_job_runs_claim(). Then tell the scheduler to keep its hands off
 *      (keep_timers, keep_job_runs); jobs need one in any case, to make runs.
 *
 * By the database's clock nothing comes early; it comes when a scheduler or a claim
 * next looks. */
#include <posthorn/posthorn.h> /* first: it includes all of them, in order */

#ifndef POSTHORN_SCHEDULE_H
#define POSTHORN_SCHEDULE_H

#ifdef __cplusplus
extern "C" {
#endif

/* -------------------------------------------------------------------- timers */

#define PH_TIMER_MIN 946684800000000LL /* 2000-01-01T00:00:00Z: earlier times are in a wrong unit */

/* A message for later. Zero means default; everything is borrowed. */
typedef struct {
    size_t size;                /* set by PH_TIMER_INIT; new members are only appended */
    const char *topic;          /* required, not empty */
    const char *payload;        /* required, may be empty */
    size_t payload_length;      /* PH_TEXT_LENGTH (the default of PH_TIMER_INIT): strlen(payload) */
    int64_t due_at;             /* required: PH_TIMER_MIN … PH_TIME_MAX; past: at once */
    const char *ns;             /* namespace; NULL: "" */
    const char *correlation_id; /* NULL or "": none */
    const char *headers;        /* a JSON object, or NULL */
} ph_timer;
#define PH_TIMER_INIT                                                                              \
    {                                                                                              \
        sizeof(ph_timer), NULL, NULL, PH_TEXT_LENGTH, 0, NULL, NULL, NULL                          \
    }

/* Schedules a timer. *ret_timer, if not NULL: its id.
 * Errors: PH_EINVAL (says which member), … */
PH_API PH_MUST_CHECK int ph_timer_schedule(ph_store *store, ph_tx tx, const ph_timer *timer,
                                           int timeout_ms, ph_work_id *ret_timer, ph_error *reterr);

/* Cancels a timer that nobody has claimed (and no scheduler turned into a
 * message) yet; it is gone then. *ret_cancelled, if not NULL: false if it was
 * too late, or there is no such timer. If another call is claiming it, this one
 * waits for the outcome: exactly one wins, and both know.
 * Errors: PH_EINVAL (the id is zero), … */
PH_API PH_MUST_CHECK int ph_timer_cancel(ph_store *store, ph_tx tx, ph_work_id timer,
                                         int timeout_ms, bool *ret_cancelled, ph_error *reterr);

/* To handle timers yourself. Each does what its namesake with ph_outbox_ does; only the door
 * differs. */
PH_API PH_MUST_CHECK int ph_timers_claim(ph_store *store, ph_tx tx, ph_owner owner,
                                         const ph_claim_opts *opts, int timeout_ms,
                                         ph_batch **ret_batch, ph_error *reterr);
PH_API PH_MUST_CHECK int ph_timers_settle(ph_store *store, ph_tx tx, ph_owner owner,
                                          const ph_settlement *items, size_t count, int timeout_ms,
                                          ph_outcome *ret_outcomes, ph_error *reterr);
PH_API PH_MUST_CHECK int ph_timers_ack(ph_store *store, ph_tx tx, ph_owner owner,
                                       const ph_lease_ref *items, size_t count, int timeout_ms,
                                       ph_outcome *ret_outcomes, ph_error *reterr);
PH_API PH_MUST_CHECK int ph_timers_abandon(ph_store *store, ph_tx tx, ph_owner owner,
                                           const ph_lease_ref *items, size_t count,
                                           const char *error, int64_t delay_ms, int timeout_ms,
                                           ph_outcome *ret_outcomes, ph_error *reterr);
PH_API PH_MUST_CHECK int ph_timers_fail(ph_store *store, ph_tx tx, ph_owner owner,
                                        const ph_lease_ref *items, size_t count, const char *error,
                                        int timeout_ms, ph_outcome *ret_outcomes, ph_error *reterr);
PH_API PH_MUST_CHECK int ph_timers_release(ph_store *store, ph_tx tx, ph_owner owner,
                                           const ph_lease_ref *items, size_t count, int timeout_ms,
                                           ph_outcome *ret_outcomes, ph_error *reterr);
PH_API PH_MUST_CHECK int ph_timers_renew(ph_store *store, ph_tx tx, ph_owner owner,
                                         const ph_lease_ref *items, size_t count, int lease_s,
                                         int timeout_ms, ph_outcome *ret_outcomes,
                                         ph_error *reterr);
PH_API PH_MUST_CHECK int ph_timers_reap_expired(ph_store *store, ph_tx tx, int timeout_ms,
                                                int64_t *ret_count, ph_error *reterr);

/* To look at timers, as with the outbox. */
PH_API PH_MUST_CHECK int ph_timers_find(ph_store *store, ph_tx tx, ph_work_id id, int timeout_ms,
                                        ph_message_info **ret_info, ph_error *reterr);
PH_API PH_MUST_CHECK int ph_timers_count(ph_store *store, ph_tx tx, const char *ns, int timeout_ms,
                                         ph_queue_counts *ret_counts, ph_error *reterr);
PH_API PH_MUST_CHECK int ph_timers_list(ph_store *store, ph_tx tx, const ph_message_list_opts *opts,
                                        int timeout_ms, ph_messages **ret_list, ph_error *reterr);

/* ---------------------------------------------------------------------- jobs */

#define PH_CRON_MAX 255 /* bytes of an expression */
#define PH_MISFIRE_LIMIT_MAX 10000

/* The treatment of instants that passed while no scheduler ran. Up to a minute
 * late is not a misfire: then the latest instant runs (with PH_MISFIRE_ALL
 * each of them). */
typedef enum {
    PH_MISFIRE_DEFAULT = 0,
    PH_MISFIRE_ONCE = 1, /* one run, for the latest of them (default) */
    PH_MISFIRE_SKIP = 2, /* none */
    PH_MISFIRE_ALL = 3   /* all, but at most the latest misfire_limit of them */
} ph_misfire;

/* The treatment of an instant while an earlier run of the job has not ended. */
typedef enum {
    PH_OVERLAP_DEFAULT = 0,
    PH_OVERLAP_ALLOW = 1, /* it runs as well (default) */
    PH_OVERLAP_SKIP = 2   /* it is left out, and counted */
} ph_overlap;

/* A job. Zero means default; everything is borrowed. */
typedef struct {
    size_t size;           /* set by PH_JOB_INIT; new members are only appended */
    const char *name;      /* required; unique in the store */
    const char *topic;     /* required: of its runs */
    const char *cron;      /* required: 5 fields (minute hour day month weekday), 6 (second first),
                              or @yearly @monthly @weekly @daily @hourly; names, ranges, lists,
                              steps */
    const char *payload;   /* of its runs; NULL: "" */
    size_t payload_length; /* PH_TEXT_LENGTH (the default of PH_JOB_INIT): strlen(payload) */
    const char *timezone;  /* an IANA name such as "Europe/Berlin"; NULL: "UTC" */
    ph_misfire misfire;
    int misfire_limit; /* 0: 100 */
    ph_overlap overlap;
    const char *ns; /* of its runs; NULL: "" */
} ph_job;
#define PH_JOB_INIT                                                                                \
    {                                                                                              \
        sizeof(ph_job), NULL, NULL, NULL, NULL, PH_TEXT_LENGTH, NULL, PH_MISFIRE_DEFAULT, 0,       \
            PH_OVERLAP_DEFAULT, NULL                                                               \
    }

/* Creates a job, or changes every member of the job with this name. An identical job
 * changes nothing, so declare your jobs at every start. Existing runs stay as they
 * are, and a paused job stays paused. A new expression or zone counts from now on;
 * instants of the old one that were due by now, and that no scheduler has made
 * yet, are still made, by the misfire policy, as runs of the job as it is now. A
 * job with a problem has nothing due; setting it again, even unchanged, makes the
 * schedulers try again. *ret_is_new, if not NULL: whether it was created.
 * Errors: PH_EINVAL (says which member; also an expression that never fires,
 * and an unknown zone), PH_EUNSUPPORTED (this machine has no zone files), … */
PH_API PH_MUST_CHECK int ph_job_set(ph_store *store, ph_tx tx, const ph_job *job, int timeout_ms,
                                    bool *ret_is_new, ph_error *reterr);

/* Deletes a job and those of its runs that nobody has claimed (or turned into
 * messages) yet. *ret_deleted, if not NULL: false if there is none. */
PH_API PH_MUST_CHECK int ph_job_delete(ph_store *store, ph_tx tx, const char *name, int timeout_ms,
                                       bool *ret_deleted, ph_error *reterr);

/* Makes a run for now, also of a paused job, whatever its overlap policy; its
 * cadence stays as it is. *ret_run, if not NULL: the run's id.
 * Errors: PH_ENOTFOUND, … */
PH_API PH_MUST_CHECK int ph_job_trigger(ph_store *store, ph_tx tx, const char *name, int timeout_ms,
                                        ph_work_id *ret_run, ph_error *reterr);

/* A paused job makes no runs. Resumed, it goes on with the next instant from
 * now; instants that passed meanwhile are lost. Resuming a job with a problem
 * makes the schedulers try again.
 * Errors: PH_ENOTFOUND, … */
PH_API PH_MUST_CHECK int ph_job_pause(ph_store *store, ph_tx tx, const char *name, int timeout_ms,
                                      ph_error *reterr);
PH_API PH_MUST_CHECK int ph_job_resume(ph_store *store, ph_tx tx, const char *name, int timeout_ms,
                                       ph_error *reterr);

/* We allocate it, and it owns everything it points to; new members are only appended. */
typedef struct {
    const char *name, *ns, *topic, *cron, *timezone;
    const char *payload; /* NULL: none was given */
    ph_misfire misfire;
    int misfire_limit;
    ph_overlap overlap;
    bool paused;
    const char *problem; /* why a scheduler cannot run it; NULL: nothing is wrong */
    int64_t next_at;     /* its next instant; 0: not computed yet, or paused */
    int64_t last_at;     /* the instant of its last run; 0: none */
    ph_work_id last_run; /* zero: none */
    int64_t skipped;     /* instants left out by the overlap policy */
    int64_t created_at, updated_at;
} ph_job_info;

typedef struct {
    size_t size;       /* set by PH_JOB_LIST_OPTS_INIT; new members are only appended */
    const char *name;  /* only this one; NULL: all */
    const char *ns;    /* NULL: every namespace */
    int limit;         /* 0: 50; at most PH_BATCH_MAX */
    const char *after; /* the last name of the page before; NULL: from the beginning */
} ph_job_list_opts;
#define PH_JOB_LIST_OPTS_INIT                                                                      \
    {                                                                                              \
        sizeof(ph_job_list_opts), NULL, NULL, 0, NULL                                              \
    }

typedef struct ph_jobs ph_jobs;

/* Lists jobs by name. Errors: PH_EINVAL, … */
PH_API PH_MUST_CHECK int ph_job_list(ph_store *store, ph_tx tx, const ph_job_list_opts *opts,
                                     int timeout_ms, ph_jobs **ret_list, ph_error *reterr);
PH_API size_t ph_jobs_count(const ph_jobs *list);
PH_API const ph_job_info *ph_jobs_at(const ph_jobs *list, size_t index);
PH_API void ph_jobs_free(ph_jobs *list);

/* Computes the next count instants of an expression in a zone (NULL: "UTC") after
 * an instant; needs no store. *ret_count: how many of them there are before the
 * year 10000.
 * Errors: PH_EINVAL (says why the expression or the zone is wrong), PH_ENOMEM. */
PH_API PH_MUST_CHECK int ph_job_next(const char *cron, const char *timezone, int64_t after,
                                     size_t count, int64_t *ret_times, size_t *ret_count,
                                     ph_error *reterr);

/* ------------------------------------------------------------------ job runs */

/* To handle job runs yourself. Each does what its namesake with ph_outbox_ does; only the door
 * differs. */
PH_API PH_MUST_CHECK int ph_job_runs_claim(ph_store *store, ph_tx tx, ph_owner owner,
                                           const ph_claim_opts *opts, int timeout_ms,
                                           ph_batch **ret_batch, ph_error *reterr);
PH_API PH_MUST_CHECK int ph_job_runs_settle(ph_store *store, ph_tx tx, ph_owner owner,
                                            const ph_settlement *items, size_t count,
                                            int timeout_ms, ph_outcome *ret_outcomes,
                                            ph_error *reterr);
PH_API PH_MUST_CHECK int ph_job_runs_ack(ph_store *store, ph_tx tx, ph_owner owner,
                                         const ph_lease_ref *items, size_t count, int timeout_ms,
                                         ph_outcome *ret_outcomes, ph_error *reterr);
PH_API PH_MUST_CHECK int ph_job_runs_abandon(ph_store *store, ph_tx tx, ph_owner owner,
                                             const ph_lease_ref *items, size_t count,
                                             const char *error, int64_t delay_ms, int timeout_ms,
                                             ph_outcome *ret_outcomes, ph_error *reterr);
PH_API PH_MUST_CHECK int ph_job_runs_fail(ph_store *store, ph_tx tx, ph_owner owner,
                                          const ph_lease_ref *items, size_t count,
                                          const char *error, int timeout_ms,
                                          ph_outcome *ret_outcomes, ph_error *reterr);
PH_API PH_MUST_CHECK int ph_job_runs_release(ph_store *store, ph_tx tx, ph_owner owner,
                                             const ph_lease_ref *items, size_t count,
                                             int timeout_ms, ph_outcome *ret_outcomes,
                                             ph_error *reterr);
PH_API PH_MUST_CHECK int ph_job_runs_renew(ph_store *store, ph_tx tx, ph_owner owner,
                                           const ph_lease_ref *items, size_t count, int lease_s,
                                           int timeout_ms, ph_outcome *ret_outcomes,
                                           ph_error *reterr);
PH_API PH_MUST_CHECK int ph_job_runs_reap_expired(ph_store *store, ph_tx tx, int timeout_ms,
                                                  int64_t *ret_count, ph_error *reterr);

/* To look at job runs, as with the outbox. */
PH_API PH_MUST_CHECK int ph_job_runs_find(ph_store *store, ph_tx tx, ph_work_id id, int timeout_ms,
                                          ph_message_info **ret_info, ph_error *reterr);
PH_API PH_MUST_CHECK int ph_job_runs_count(ph_store *store, ph_tx tx, const char *ns,
                                           int timeout_ms, ph_queue_counts *ret_counts,
                                           ph_error *reterr);
PH_API PH_MUST_CHECK int ph_job_runs_list(ph_store *store, ph_tx tx,
                                          const ph_message_list_opts *opts, int timeout_ms,
                                          ph_messages **ret_list, ph_error *reterr);

/* ----------------------------------------------------------------- scheduler */

typedef struct ph_scheduler ph_scheduler;

typedef struct {
    size_t size;        /* set by PH_SCHEDULER_OPTS_INIT; new members are only appended */
    bool keep_timers;   /* leave timers to workers that claim them */
    bool keep_job_runs; /* likewise for job runs; they are made all the same */
    int batch_size;     /* the most of each kind per call: 0: 1 000; at most PH_BATCH_MAX */
} ph_scheduler_opts;
#define PH_SCHEDULER_OPTS_INIT                                                                     \
    {                                                                                              \
        sizeof(ph_scheduler_opts), false, false, 0                                                 \
    }

/* Makes a scheduler for all namespaces of a store, which is borrowed until
 * ph_scheduler_free(). It starts no thread and touches no database. Any number
 * of schedulers may run on one database; there is no leader.
 * Errors: PH_EINVAL, PH_ENOMEM. */
PH_API PH_MUST_CHECK int ph_scheduler_new(ph_store *store, const ph_scheduler_opts *opts,
                                          ph_scheduler **ret_scheduler, ph_error *reterr);

typedef struct {
    size_t size;      /* set by PH_SCHEDULE_INIT */
    int64_t timers;   /* turned into messages */
    int64_t runs;     /* job runs made */
    int64_t job_runs; /* job runs turned into messages */
    int64_t joins;    /* joins whose deadline had passed */
    int64_t problems; /* jobs found that cannot run; each is logged and marked */
    int64_t now;      /* the database's clock */
    int64_t next_at;  /* when something is due next, as far as known; 0: nothing is planned */
    bool more;        /* the batch was full: run again at once */
} ph_schedule;
#define PH_SCHEDULE_INIT                                                                           \
    {                                                                                              \
        sizeof(ph_schedule), 0, 0, 0, 0, 0, 0, 0, false                                            \
    }

/* Does all due work: makes job runs, turns due timers and job runs into messages,
 * and ends joins whose deadline has passed. With nothing due it looks once, and
 * writes nothing. *ret_schedule, if not NULL, is filled. A job that cannot run
 * (this machine lacks its time zone, say) is marked with its problem and
 * does not hold up the others.
 * Errors: those of the database; work done before the error stays done. */
PH_API PH_MUST_CHECK int ph_scheduler_run(ph_scheduler *scheduler, int timeout_ms,
                                          ph_schedule *ret_schedule, ph_error *reterr);

/* NULL is fine. */
PH_API void ph_scheduler_free(ph_scheduler *scheduler);

/* -------------------------------------------------------------------- queues */

/* Settings of a queue behind any door; see ph_outbox_queue_set() and so on, and
 * ph_queue_list() (inspect.h). */
PH_API PH_MUST_CHECK int ph_queue_set(ph_store *store, ph_tx tx, ph_door door, const char *ns,
                                      const ph_queue_settings *settings, int timeout_ms,
                                      ph_error *reterr);
PH_API PH_MUST_CHECK int ph_queue_pause(ph_store *store, ph_tx tx, ph_door door, const char *ns,
                                        int timeout_ms, ph_error *reterr);
PH_API PH_MUST_CHECK int ph_queue_resume(ph_store *store, ph_tx tx, ph_door door, const char *ns,
                                         int timeout_ms, ph_error *reterr);
PH_API PH_MUST_CHECK int ph_queue_delete(ph_store *store, ph_tx tx, ph_door door, const char *ns,
                                         int timeout_ms, bool *ret_deleted, ph_error *reterr);

#ifdef __cplusplus
}
#endif

#endif /* POSTHORN_SCHEDULE_H */
