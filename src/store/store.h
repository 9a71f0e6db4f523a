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

/* The version of the schema that this library brings, and the oldest library
 * version that a schema of this version still serves. To change the schema:
 *   1. add migrations/NNNN_what.sql for every backend;
 *   2. raise PH__SCHEMA_VERSION to NNNN;
 *   3. leave PH__SCHEMA_SERVES_FROM if the functions and tables that version
 *      NNNN-1 uses still work, which is the rule; raise it otherwise, and say
 *      so at the top of the changelog.
 * On PostgreSQL functions and views are a part of the schema: once released,
 * changing one is a change of the schema (the migration may hold a comment
 * only). Otherwise an older library of the same version, with deployment on,
 * would put its own back. */
#define PH__SCHEMA_VERSION 2
#define PH__SCHEMA_SERVES_FROM 1

/* Doors: the number is part of every work id and of the stored queues. */
enum ph__door { PH__OUTBOX = 0, PH__INBOX = 1, PH__TIMERS = 2, PH__JOB_RUNS = 3 };

#define PH__LEVELS 4 /* priorities 0 urgent … 3 bulk */
#define PH__LEVEL_DEFAULT 1

struct ph_store {
    const struct ph__backend *backend;
    char *url;          /* as given; may hold a password: never shown */
    char *id;           /* shown in the log */
    char *schema;       /* allow-listed, not quoted */
    char *prefix;       /* allow-listed */
    ph_store_opts opts; /* strings inside are not valid after open: use the copies above */
    int timeout_ms;
    bool lends; /* to handlers: then one thread has both the store and its transaction */
    void *own;  /* the backend's connection; NULL until it is needed */
};

/* One call: where it happens and how long it may take. */
struct ph__call {
    ph_store *store;
    void *connection; /* the caller's, in an open transaction; NULL: the store's own */
    ph__deadline deadline;
    ph_error *err;       /* never NULL */
    bool commit_follows; /* in a lent transaction: at once, or it may be given up */
};

/* A checked message: every text is valid, optional ones are NULL. */
struct ph__message {
    const char *topic, *payload, *ns, *dedupe_key, *correlation_id, *headers;
    size_t payload_length;
    const ph_tenant_id *tenant_id;
    const ph_message_id *message_id;
    int level; /* 0 … PH__LEVELS - 1 */
    int64_t due_at, expires_at;
    int max_attempts; /* 0: the queue's */
};

struct ph__claim {
    enum ph__door door;
    ph_owner owner;
    int lease_s, batch_size;
    const char *ns;
    const char *const *topics;
    size_t topic_count;
};

/* What a claim collects into; becomes the caller's. */
struct ph_batch {
    struct ph__arena arena;
    ph_delivery *items; /* from the arena */
    size_t count;
    bool more; /* the claim stopped before it had looked at everything that is due */
};

/* What a lookup collects into; becomes the caller's. */
struct ph__info {
    ph_message_info info; /* first: the public pointer is cast back */
    struct ph__arena arena;
};

/* A checked request for a list. */
struct ph__list {
    enum ph__door door;
    const char *ns, *topic; /* NULL: all */
    ph_list_state state;
    bool oldest_first, with_payload;
    int limit;
    ph_work_id after; /* zero: from the beginning */
};

struct ph_message_list {
    struct ph__arena arena;
    ph_message_info *items; /* from the arena */
    size_t count;
};

struct ph_queue_list {
    struct ph__arena arena;
    ph_queue_info *items; /* from the arena */
    size_t count;
};

/* What the doctor collects into (core/doctor.c). */
struct ph__examination {
    bool deep;
    bool usable; /* the schema can be worked with: only then are its tables looked at */
    void (*progress)(void *context, int64_t done, int64_t total); /* never NULL */
    void *progress_context;
    ph_report *report;
};
/* Adds a finding. check and advice are literals (advice NULL: none). */
void ph__finding(struct ph__examination *examination, const char *check, ph_finding_level level,
                 const char *advice, const char *format, ...) __attribute__((format(printf, 5, 6)));

struct ph__backend {
    const char *name; /* "sqlite", "postgresql" */
    const char *default_prefix;

    /* Is url ours? */
    bool (*matches)(const char *url);
    /* A name for the log from the URL, without secrets; malloc'd by ph__alloc. */
    char *(*describe)(const char *url);

    /* 0 if the caller's connection is in a healthy open transaction. */
    int (*check_tx)(void *connection, ph_error *err);

    /* Connects if store->own is NULL; if check_schema, also makes sure that the
     * schema can be used. */
    int (*connect)(struct ph__call *call, bool check_schema);
    void (*disconnect)(ph_store *store);

    int (*clock)(struct ph__call *call, int64_t *ret_time);
    int (*migrate)(struct ph__call *call, int *ret_applied);
    int (*inspect)(struct ph__call *call, ph_schema_status *ret_status);
    int (*migrate_sql)(ph_store *store, bool roles, char **ret_sql, ph_error *err);

    int (*enqueue)(struct ph__call *call, enum ph__door door, const struct ph__message *messages,
                   size_t count, ph_enqueued *ret_enqueued);
    int (*claim)(struct ph__call *call, const struct ph__claim *claim, ph_batch *batch);
    int (*settle)(struct ph__call *call, enum ph__door door, ph_owner owner,
                  const ph_settlement *items, size_t count, ph_outcome *ret_outcomes);
    int (*renew)(struct ph__call *call, enum ph__door door, ph_owner owner,
                 const ph_lease_ref *items, size_t count, int lease_s, ph_outcome *ret_outcomes);
    int (*reap)(struct ph__call *call, enum ph__door door, int64_t *ret_count);
    /* Settles (count may be 0), then claims, in one transaction and one round trip. */
    int (*exchange)(struct ph__call *call, const ph_settlement *items, size_t count,
                    ph_outcome *ret_outcomes, const struct ph__claim *claim, ph_batch *batch);

    /* A transaction on the store's own connection, for a handler. Between begin and end only
     * calls with ret_tx (and those of the handler) touch that connection. commit false: rolls
     * back. A commit that turned out to be a rollback is PH_ETXDEAD; one whose answer never came
     * has PH_UNKNOWN. After end the connection is fit for the next begin, whatever the handler
     * did to it, or will be made anew. */
    int (*tx_begin)(struct ph__call *call, ph_tx *ret_tx);
    int (*tx_end)(struct ph__call *call, bool commit);

    /* The doorbell. listen: asks to be woken when messages come into ns; cheap when it is
     * already so on this connection, and 1 if it was not. *ret_fd: to be polled for input; -1:
     * there is none here.
     * taken: eats what has come, and says whether it may concern ns. ring: after a commit. */
    int (*doorbell_listen)(struct ph__call *call, const char *ns, int *ret_fd);
    bool (*doorbell_taken)(ph_store *store, const char *ns);
    int (*doorbell_ring)(struct ph__call *call, const char *ns);

    /* PH_ENOTFOUND without a message if there is none. */
    int (*find)(struct ph__call *call, enum ph__door door, ph_work_id id, struct ph__info *info);
    /* ns NULL: all namespaces. */
    int (*count)(struct ph__call *call, enum ph__door door, const char *ns,
                 ph_outbox_counts *ret_counts);
    int (*dead_retry)(struct ph__call *call, const ph_work_id *ids, size_t count,
                      ph_work_id *ret_new_ids);
    int (*dead_discard)(struct ph__call *call, const ph_work_id *ids, size_t count,
                        int64_t *ret_count);
    int (*queue_set)(struct ph__call *call, enum ph__door door, const char *ns,
                     const ph_queue_settings *settings);
    int (*queue_pause)(struct ph__call *call, enum ph__door door, const char *ns, bool paused);
    int (*retention)(struct ph__call *call, int limit, int64_t *ret_count);

    int (*list)(struct ph__call *call, const struct ph__list *list, ph_message_list *ret_list);
    int (*queue_list)(struct ph__call *call, enum ph__door door, const char *ns,
                      ph_queue_list *ret_list);
    /* The findings that only this backend can make. */
    int (*examine)(struct ph__call *call, struct ph__examination *examination);

    /* For tests only: the schema's owner replaces the clock. time NULL: back to the real one. */
    int (*test_clock)(struct ph__call *call, const int64_t *time);
};

#ifdef PH_WITH_SQLITE
extern const struct ph__backend ph__sqlite_backend;
#endif
#ifdef PH_WITH_POSTGRESQL
extern const struct ph__backend ph__postgres_backend;
#endif

#endif
