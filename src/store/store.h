/* store.h - the seam between the core and a database.
 *
 * One coarse verb per operation. The core has checked the arguments and the
 * transaction before it calls; a backend does one transaction (its own, or a
 * part of the caller's) and hands out results only on success. */
#ifndef PH_STORE_STORE_H
#define PH_STORE_STORE_H

#include "util/arena.h"
#include "util/deadline.h"

#include <posthorn/posthorn.h>

#include <stdatomic.h>

/* The version of the schema that this library brings, and the oldest library
 * version that a schema of this version still serves. To change the schema:
 *   1. add migrations/NNNN_what.sql for every backend;
 *   2. raise PH__SCHEMA_VERSION to NNNN;
 *   3. leave PH__SCHEMA_SERVES_FROM if the functions and tables that version
 *      NNNN-1 uses still work, which is the rule; raise it otherwise, and say
 *      so at the top of the changelog.
 * Views, and on PostgreSQL functions, have no migrations: every migration
 * replaces them as a whole. But they are a part of the schema: once released,
 * changing one is a change of the schema (the migration may hold a comment
 * only). Otherwise an older library of the same version, with deployment on,
 * would put its own back. */
#define PH__SCHEMA_VERSION 6
#define PH__SCHEMA_SERVES_FROM 6 /* nothing is released yet: older libraries go with it */

#define PH__TIMEOUT_MS 30000 /* of a call, unless the store's options say otherwise */
#define PH__LEVELS 4         /* of priority: 0 urgent … 3 bulk (core/names.h) */
#define PH__LEVEL_DEFAULT 1

struct ph_store {
    const struct ph__backend *backend;
    char *url;          /* as given; may hold a password: never shown */
    char *id;           /* shown in the log */
    char *schema;       /* allow-listed, not quoted */
    char *prefix;       /* allow-listed */
    ph_store_opts opts; /* strings inside are not valid after open: use the copies above */
    int timeout_ms;
    bool lends;  /* to handlers: then one thread has both the store and its transaction */
    void *own;   /* the backend's connection; NULL until it is needed */
    bool begun;  /* the transaction of the present call was begun for it (the extension) */
    bool deploy; /* bring the schema up before the first call on that connection */
    /* Asked before each call on that connection, also before it is made; may be NULL. */
    int (*admit)(void *context, ph_error *err);
    void *admit_context;
    /* The state of that connection (core/use.c): own_use, or one that all stores of a router
     * share. */
    _Atomic unsigned own_use, *use;
    _Atomic(const void *) keeper; /* the dispatcher that it belongs to */
};

/* The effects of a call besides its answer, mostly on joins (core/join.c logs them and tells the
 * caller). */
struct ph__wait_end {
    ph_work_id wait, continuation; /* continuation zero: nothing was sent */
    ph_join_id join;
    bool failure;           /* the way it took */
    const char *topic, *ns; /* of the continuation; from the arena */
};
struct ph__join_ends {
    struct ph__arena arena;
    ph_join_end *joins;         /* from the arena */
    struct ph__wait_end *waits; /* from the arena */
    size_t *repeated; /* from the arena: which messages of the call, ascending, were steps before */
    size_t join_count, join_room, wait_count, wait_room, repeated_count, repeated_room;
    int64_t reaped; /* messages whose leases were taken back, unless the call is a reap */
};
/* Room for one more, zeroed; NULL when memory is out. */
ph_join_end *ph__join_ends_add(struct ph__join_ends *ends);
struct ph__wait_end *ph__join_ends_add_wait(struct ph__join_ends *ends);
/* The message with that index was a step of its join before. False when memory is out. */
bool ph__join_ends_add_repeated(struct ph__join_ends *ends, size_t index);

/* One call: where it happens and how long it may take. */
struct ph__call {
    ph_store *store;
    void *connection; /* the caller's, in an open transaction; NULL: the store's own */
    ph__deadline deadline;
    ph_error *err;             /* never NULL */
    ph_error spare;            /* err points to it if the caller wants none */
    bool commit_follows;       /* in a lent transaction: at once, or it may be given up */
    bool uses_own;             /* the store's own connection is in use by this call */
    struct ph__join_ends ends; /* the backend's report of joins; freed when the call ends */
};

/* A checked message: every text is valid, optional ones are NULL. */
struct ph__message {
    const char *topic, *payload, *ns, *dedupe_key, *correlation_id, *headers;
    size_t payload_length;
    const ph_tenant_id *tenant_id;
    const ph_message_id *message_id;
    int level; /* 0 … PH__LEVELS - 1 */
    int64_t due_at, expires_at;
    int max_attempts;          /* 0: the queue's */
    const ph_join_id *join_id; /* NULL: none */
    const char *stream;
    const char *source; /* inbox: set, and dedupe_key is the id that the message has there */
    bool handled;       /* inbox: it is stored as done */
};

/* How a claim takes messages whose attempt would be their last. */
enum ph__last {
    PH__LAST_ANY,   /* like others */
    PH__LAST_ALONE, /* one comes alone, and is begun at once */
    PH__LAST_NOT    /* not now: it waits, and so do those behind it */
};

struct ph__claim {
    ph_door door;
    ph_owner owner;
    int lease_s, batch_size;
    const char *ns;
    const char *const *topics;
    size_t topic_count;
    int partition_count; /* above 0: the owner is an instance, and has affinity; 0: takes any stream */
    int max_partitions; /* 0: any number */
    enum ph__last last; /* the dispatcher's; in ph__work_batch() without results and messages */
};

/* The batch that a claim fills; becomes the caller's. */
struct ph_batch {
    struct ph__arena arena;
    ph_delivery *items; /* from the arena */
    size_t count;
    bool more;       /* the claim stopped before it had looked at everything that is due */
    bool last_waits; /* … before a last attempt, with PH__LAST_NOT */
    bool last;       /* the one that came is a last attempt, with PH__LAST_ALONE */
};

/* The answer that a lookup fills; becomes the caller's. */
struct ph__info {
    ph_message_info info; /* first: the public pointer is cast back */
    struct ph__arena arena;
};

/* The contents of a queue, and the messages that will come into it by themselves. */
struct ph__queue_contents {
    int64_t messages; /* in any state */
    int64_t keys, streams;
    int64_t coming; /* timers and job runs that will be messages of this queue */
    int64_t jobs;
};

static inline bool ph__queue_is_empty(const struct ph__queue_contents *contents)
{
    return contents->messages + contents->keys + contents->streams + contents->coming +
               contents->jobs ==
           0;
}

/* A checked request for a list. */
struct ph__list {
    ph_door door;
    const char *ns, *topic; /* NULL: all */
    ph_list_state state;
    bool oldest_first, with_payload;
    int limit;
    ph_work_id after; /* zero: from the beginning */
};

struct ph_messages {
    struct ph__arena arena;
    ph_message_info *items; /* from the arena */
    size_t count;
};

struct ph_queues {
    struct ph__arena arena;
    ph_queue_info *items; /* from the arena */
    size_t count;
};

/* A checked join to start. */
struct ph__join {
    int expected_steps;
    const char *grouping_key, *metadata; /* NULL: none */
    int64_t deadline;                    /* 0: none */
};

/* A checked wait. */
struct ph__wait {
    bool fail_if_any_step_failed;
    const char *on_complete_topic, *on_complete_payload;
    const char *on_fail_topic;   /* NULL: nothing is sent */
    const char *on_fail_payload; /* never NULL */
    const char *ns;
};

/* The answer that a look at a join fills; becomes the caller's. */
struct ph__join_found {
    ph_join_info info; /* first: the public pointer is cast back */
    struct ph__arena arena;
};

struct ph__join_query {
    const char *grouping_key; /* NULL: all */
    int state;                /* a ph_join_state */
    int limit;
    ph_join_id after; /* zero: from the beginning */
    bool oldest_first;
    ph_message_id step; /* zero: all */
};

struct ph_joins {
    struct ph__arena arena;
    ph_join_info *items; /* from the arena */
    size_t count;
};

/* A checked job. */
struct ph__job {
    const char *name, *topic, *cron, *timezone, *ns;
    const char *payload; /* NULL: none */
    size_t payload_length;
    ph_misfire misfire;
    ph_overlap overlap;
    int misfire_limit;
};

struct ph__job_query {
    const char *name, *ns, *after; /* NULL: all; all; from the beginning */
    int limit;
};

struct ph_jobs {
    struct ph__arena arena;
    ph_job_info *items; /* from the arena */
    size_t count;
};

/* A scheduler's request. */
struct ph__tick {
    ph_owner owner;        /* the owner recorded for settled timers and job runs */
    int limit;             /* of each kind */
    bool timers, job_runs; /* turn them into messages */
};

/* The outcome of setting a job. */
enum ph__job_was { PH__JOB_MISSING, PH__JOB_OTHER, PH__JOB_SAME };

/* A job that must be looked at: its next instant is due, or not known. */
struct ph__due_job {
    const char *name, *cron, *timezone;
    int64_t generation; /* rises with every change of the job */
    int64_t next_at;    /* 0: to be computed, from anchor_at on */
    int64_t anchor_at;
    ph_misfire misfire;
    int misfire_limit;
    int64_t owed_from; /* not 0: instants of another expression up to anchor_at are due as well */
    const char *owed_cron, *owed_timezone;
};

struct ph__ticked {
    struct ph__arena arena;
    int64_t now, timers, job_runs, joins;
    int64_t
        next_at; /* the earliest due time ahead of joins, jobs, and timers and job runs that are to be
                        worked here; 0: none */
    bool more;   /* a limit was reached */
    struct ph__due_job *jobs; /* at most limit of them; from the arena */
    size_t job_count;
};

/* A scheduler's plan for a due job. */
struct ph__job_step {
    const char *name;
    int64_t generation, old_next_at; /* as seen: if they differ by now, the step is left out */
    int64_t next_at;                 /* 0: never again */
    const char *problem;             /* not NULL: mark the job with it; no runs */
    const int64_t *instants;         /* to run, ascending */
    size_t instant_count;
};

/* A checked instance, as it registers. */
struct ph__instance {
    ph_owner id;
    const char *service, *host, *metadata; /* metadata NULL: none */
    int process_id, lease_s, stale_s, partition_count;
};

struct ph_instances {
    struct ph__arena arena;
    ph_instance_info *items; /* from the arena */
    size_t count;
};

/* A stream by name; door PH_OUTBOX or PH_INBOX. */
struct ph__stream {
    ph_door door;
    const char *ns, *key;
};

struct ph__stream_query {
    ph_door door;
    const char *ns, *key, *service;   /* NULL: all; all; no owners are named */
    const char *after_ns, *after_key; /* both or neither */
    bool idle_too;
    int partition_count, limit;
};

struct ph_streams {
    struct ph__arena arena;
    ph_stream_info *items; /* from the arena */
    size_t count;
};

struct ph_receptors {
    struct ph__arena arena;
    ph_receptor_info *items; /* from the arena */
    size_t count;
};

/* A checked result of a consumer. */
struct ph__checkpoint {
    struct ph__stream stream;
    const char *consumer;
    int64_t seq;
    bool failed;
    const char *error; /* fit to store; NULL: none */
};

struct ph_checkpoints {
    struct ph__arena arena;
    ph_checkpoint_info *items; /* from the arena */
    size_t count;
};

/* The problem of a result, of a receptor or a checkpoint (core/consumer.c has the words). */
enum ph__result_problem {
    PH__RESULT_OK = 0,
    PH__RESULT_NO_MESSAGE = 1, /* a receptor's message does not exist */
    PH__RESULT_NO_STREAM = 2,
    PH__RESULT_BEYOND = 3,  /* seq is above the stream's last one */
    PH__RESULT_TOO_MANY = 4 /* gaps */
};
/* Reports a problem of one of count results. */
int ph__result_problem(ph_error *err, enum ph__result_problem problem, size_t index, size_t count);

/* Of a renewal: as PH_OUTCOME_RENEWED, but the lease ends earlier than was asked for, at the
 * queue's max_lease_s. The dispatcher, which counts on it, must know; callers of the library see
 * "renewed". */
#define PH__OUTCOME_CAPPED ((ph_outcome)8)

/* One door's part of an exchange. Counts may be 0. */
struct ph__work_part {
    const ph_settlement *settle;
    size_t settle_count;
    ph_outcome *ret_settled;
    const ph_lease_ref *renew;
    size_t renew_count;
    ph_outcome *ret_renewed;
    const struct ph__message *messages;
    size_t message_count;
    ph_enqueued *ret_enqueued;
    const struct ph__claim *claim; /* NULL: none */
    ph_batch *batch;
};

/* The one call: everything in it happens in one transaction, in the order of the members. */
struct ph__work_batch {
    /* Heartbeat, written if the stored one is old; stale instances removed. service NULL: the id is
     * that of an owner that is no instance. Then there are only settlements and a claim, of the
     * outbox. */
    struct ph__instance instance;
    bool keep;                           /* acked messages stay, even if their queue deletes them */
    const ph_receptor_result *receptors; /* errors are fit to store */
    size_t receptor_count;
    const struct ph__checkpoint *checkpoints;
    size_t checkpoint_count;
    struct ph__work_part outbox, inbox; /* settle both, renew both, store both, claim both */
    bool ret_registered;
    int ret_evicted;
    ph_owner ret_evicted_one; /* one of them */
};

/* Topics of a queue of which messages have been due for PH__UNCLAIMED_S, and which no live instance
 * claims. The first ones found, among as many messages as can be looked at in a moment. */
#define PH__UNCLAIMED_S 60
#define PH__UNCLAIMED_MAX 50
struct ph__unclaimed {
    struct ph__arena arena;
    struct {
        const char *topic; /* from the arena */
        int64_t count;     /* as far as was looked */
        int64_t oldest;    /* since when */
    } items[PH__UNCLAIMED_MAX];
    size_t count;
    bool worked; /* some live instance claims from the queue */
    int64_t now;
};

/* The report that the doctor fills (core/doctor.c). */
struct ph__examination {
    bool deep;
    bool usable; /* the schema can be worked with: only then are its tables looked at */
    void (*progress)(void *context, int64_t done, int64_t total); /* never NULL */
    void *progress_context;
    ph_report *report;
};
/* The cure for a finding, and its subject. */
struct ph__remedy {
    ph_cure cure;
    const char *advice; /* a literal; NULL: the cure's text */
    ph_door door;
    const char *subject; /* copied; NULL: none */
};
/* As an argument: nothing is to be done; a cure in its own words; one in these words. */
#define PH__FINE ((struct ph__remedy){ .cure = PH_CURE_NONE })
#define PH__REMEDY(name) ((struct ph__remedy){ .cure = PH_CURE_##name })
#define PH__ADVISE(name, text) ((struct ph__remedy){ .cure = PH_CURE_##name, .advice = (text) })
/* Adds a finding. check is a literal. */
void ph__finding(struct ph__examination *examination, const char *check, ph_finding_level level,
                 struct ph__remedy remedy, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* The id that the database got with its schema; a copy has the same. */
void ph__finding_identity(struct ph__examination *examination, int64_t store_id);
/* How many joins there are, how many are wrong, and one of those. */
void ph__finding_joins(struct ph__examination *examination, int64_t joins, int64_t wrong,
                       ph_join_id example);

/* The reader of a query's rows. A negative answer ends the query, and is the call's; err is filled
 * then. */
struct ph__reader {
    int (*columns)(void *context, int count, ph_error *err); /* first, also if there are no rows */
    int (*row)(void *context, const char *const *texts, ph_error *err); /* NULL: null */
    void *context;
};

struct ph__backend {
    const char *name; /* "sqlite", "postgresql" */
    const char *default_prefix;

    /* Is url ours? */
    bool (*matches)(const char *url);
    /* Can it be read? NULL: any that is ours. The error shows nothing of it. */
    int (*check_url)(const char *url, ph_error *err);
    /* A name for the log from the URL, without secrets; malloc'd by ph__alloc. */
    char *(*describe)(const char *url);

    /* The file that a commit writes to, or to whose log, as a path; NULL: the member, or the answer,
     * where there is none. */
    const char *(*file)(const ph_store *store);

    /* 0 if the caller's connection is in a healthy open transaction. */
    int (*check_tx)(void *connection, ph_error *err);

    /* The work that time alone will bring to these doors (1 << PH_OUTBOX, 1 << PH_INBOX) of ns.
     * *ret_in_us: how long until a message comes due, a lease runs out or a join is overdue
     * (INT64_MAX: never). *ret_due: one of these has happened already, and a claim may have left it;
     * or a write is under way. Only where there is a file. */
    int (*outlook)(struct ph__call *call, const char *ns, unsigned doors, int64_t *ret_in_us,
                   bool *ret_due);

    /* The verbs, which every backend has. */
#define PH__VERB(type, name, arguments) type(*name) arguments;
#include "store/verbs.def"
};

#ifdef PH_WITH_SQLITE
extern const struct ph__backend ph__sqlite_backend;
#endif
#ifdef PH_WITH_POSTGRESQL
extern const struct ph__backend ph__postgres_backend;
#endif

#endif
