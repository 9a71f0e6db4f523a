/* doors.h - the doors as values, so that one test can be run on each of them, and what tests
 * of timers, jobs and schedulers share. */
#ifndef CONFORM_DOORS_H
#define CONFORM_DOORS_H

#include "common.h"

struct door {
    const char *name;
    ph_door number;
    /* Makes one that is due now, in the namespace given. */
    ph_work_id (*make)(ph_store *store, const char *ns, const char *payload);
    int (*claim)(ph_store *store, ph_tx tx, ph_owner owner, const ph_claim_opts *opts,
                 int timeout_ms, ph_batch **ret_batch, ph_error *reterr);
    int (*settle)(ph_store *store, ph_tx tx, ph_owner owner, const ph_settlement *items,
                  size_t count, int timeout_ms, ph_outcome *ret_outcomes, ph_error *reterr);
    int (*ack)(ph_store *store, ph_tx tx, ph_owner owner, const ph_lease_ref *items, size_t count,
               int timeout_ms, ph_outcome *ret_outcomes, ph_error *reterr);
    int (*abandon)(ph_store *store, ph_tx tx, ph_owner owner, const ph_lease_ref *items,
                   size_t count, const char *error, int64_t delay_ms, int timeout_ms,
                   ph_outcome *ret_outcomes, ph_error *reterr);
    int (*fail)(ph_store *store, ph_tx tx, ph_owner owner, const ph_lease_ref *items, size_t count,
                const char *error, int timeout_ms, ph_outcome *ret_outcomes, ph_error *reterr);
    int (*release)(ph_store *store, ph_tx tx, ph_owner owner, const ph_lease_ref *items,
                   size_t count, int timeout_ms, ph_outcome *ret_outcomes, ph_error *reterr);
    int (*renew)(ph_store *store, ph_tx tx, ph_owner owner, const ph_lease_ref *items, size_t count,
                 int lease_s, int timeout_ms, ph_outcome *ret_outcomes, ph_error *reterr);
    int (*reap_expired)(ph_store *store, ph_tx tx, int timeout_ms, int64_t *ret_count,
                        ph_error *reterr);
    find_function *find;
    int (*count)(ph_store *store, ph_tx tx, const char *ns, int timeout_ms,
                 ph_queue_counts *ret_counts, ph_error *reterr);
    int (*list)(ph_store *store, ph_tx tx, const ph_message_list_opts *opts, int timeout_ms,
                ph_messages **ret_list, ph_error *reterr);
};
extern const struct door outbox_door, inbox_door, timers_door, job_runs_door;

/* A test that is run on timers, on job runs and on the inbox. */
#define DOOR_TEST(name)                                                                            \
    static void name(const struct door *door);                                                     \
    TEST(timers_##name)                                                                            \
    {                                                                                              \
        name(&timers_door);                                                                        \
    }                                                                                              \
    TEST(job_runs_##name)                                                                          \
    {                                                                                              \
        name(&job_runs_door);                                                                      \
    }                                                                                              \
    TEST(inbox_##name)                                                                             \
    {                                                                                              \
        name(&inbox_door);                                                                         \
    }                                                                                              \
    static void name(const struct door *door)

/* Claims up to n of a namespace with a lease of 30 s. */
ph_batch *door_claim(const struct door *door, ph_store *store, ph_owner owner, const char *ns,
                     int n);
/* Claims one; there must be one. */
ph_lease_ref door_take_one(const struct door *door, ph_store *store, ph_owner owner);
/* How many a claim of up to 1 000 in the namespace "" gets; they stay leased. */
size_t door_claimable(const struct door *door, ph_store *store);
ph_queue_counts door_counts(const struct door *door, ph_store *store, const char *ns);

/* A timer with topic "remind" and this payload. */
ph_work_id put_timer(ph_store *store, const char *payload, int64_t due_at);

/* A job of this name and expression: topic "work", payload and all else by default. */
ph_job a_job(const char *name, const char *cron);
void set_job(ph_store *store, const ph_job *job);
void put_job(ph_store *store, const char *name, const char *cron);

/* What ph_job_list() says of a job, by value. */
struct job_seen {
    bool there;
    bool paused, has_payload, has_problem;
    char name[256], ns[64], topic[64], cron[256], timezone[64], payload[64], problem[256];
    ph_misfire misfire;
    ph_overlap overlap;
    int misfire_limit;
    int64_t next_at, last_at, skipped, created_at, updated_at;
    ph_work_id last_run;
};
struct job_seen see_job(ph_store *store, const char *name);

/* One run of a scheduler that is made for it; opts NULL: defaults. */
ph_schedule run_scheduler(ph_store *store, const ph_scheduler_opts *opts);
/* The same with keep_job_runs: runs are made, and stay runs. */
ph_schedule make_runs(ph_store *store);
/* The instants of a job's runs, ascending, from the table: microseconds, joined by blanks. */
const char *runs_of(struct t_conn *conn, const char *job);
long long run_count(struct t_conn *conn);

/* An instant from text such as "2024-03-31T01:00:00". */
int64_t instant(const char *text);

#endif
