/* inspect.h - for operators: lists of messages and queues, and the doctor.
 *
 * SPDX-License-Identifier: MIT
 *
 * Included by posthorn.h. Nothing here changes the database.
 *
 * LISTS
 *   Every list of this library has the same form:
 *
 *     ph_queues *queues = NULL;
 *     ph_queue_list_opts opts = PH_QUEUE_LIST_OPTS_INIT;
 *     opts.door = PH_INBOX;
 *     r = ph_queue_list(store, PH_OWN_TX, &opts, 0, &queues, &err);
 *     for (size_t i = 0; i < ph_queues_count(queues); i++)
 *         puts(ph_queues_at(queues, i)->ns);
 *     ph_queues_free(queues);
 *
 *   ph_X_list() takes its options (NULL: all default, where none is required)
 *   and returns a copy that the caller owns, even after the store, the set or the
 *   dispatcher is gone: ph_Xs_free(). ph_Xs_at() lends an item until then; it
 *   returns NULL if index is out of range. A list that is NULL counts as empty,
 *   and is fine to free. The lists of messages are named after their doors,
 *   ph_outbox_list() and so on, and return ph_messages. */
#include <posthorn/posthorn.h> /* first: it includes all of them, in order */

#ifndef POSTHORN_INSPECT_H
#define POSTHORN_INSPECT_H

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------ messages */

typedef enum {
    PH_LIST_ALL = 0,
    PH_LIST_READY = 1,       /* due now */
    PH_LIST_SCHEDULED = 2,   /* due later */
    PH_LIST_IN_PROGRESS = 3, /* leased */
    PH_LIST_DONE = 4,
    PH_LIST_DEAD = 5,        /* not yet retried */
    PH_LIST_WAITING = 6,     /* waits for open joins */
    PH_LIST_PARKED = 7       /* behind the heads of their streams */
} ph_list_state;

typedef struct {
    size_t size;         /* set by PH_MESSAGE_LIST_OPTS_INIT; new members are only appended */
    const char *ns;      /* NULL: every namespace */
    const char *topic;   /* NULL: every topic */
    ph_list_state state;
    bool oldest_first;   /* otherwise the newest first; the order is that of enqueueing */
    int limit;           /* 0: 50; at most PH_BATCH_MAX */
    ph_work_id after;    /* the last id of the page before; zero: from the beginning */
    bool with_payload;   /* otherwise payload and headers are NULL; payload_length is set */
} ph_message_list_opts;
#define PH_MESSAGE_LIST_OPTS_INIT                                              \
    { sizeof(ph_message_list_opts), NULL, NULL, PH_LIST_ALL, false, 0, { { 0 } }, false }

typedef struct ph_messages ph_messages;

/* Lists messages, without their histories. With payload, a page ends before its
 * payloads and headers exceed PH_CLAIM_BYTES_MAX, unless it has one message only: so
 * only an empty page means that none follow (for job runs, whose headers are always
 * read, also without payload). *ret_list is owned by the caller.
 * Errors: PH_EINVAL, … */
PH_API PH_MUST_CHECK int ph_outbox_list(ph_store *store, ph_tx tx, const ph_message_list_opts *opts,
                                        int timeout_ms, ph_messages **ret_list, ph_error *reterr);
PH_API size_t ph_messages_count(const ph_messages *list);
PH_API const ph_message_info *ph_messages_at(const ph_messages *list, size_t index);
PH_API void ph_messages_free(ph_messages *list);

/* -------------------------------------------------------------------- queues */

/* We allocate it; new members are only appended. */
typedef struct {
    const char *ns;
    bool paused;
    ph_queue_settings settings; /* every member set */
    ph_queue_counts counts;
} ph_queue_info;

typedef struct {
    size_t size;    /* set by PH_QUEUE_LIST_OPTS_INIT; new members are only appended */
    ph_door door;   /* the queues behind it; 0: PH_OUTBOX */
    const char *ns; /* only the queue of this namespace; NULL: of every namespace */
} ph_queue_list_opts;
#define PH_QUEUE_LIST_OPTS_INIT { sizeof(ph_queue_list_opts), PH_OUTBOX, NULL }

typedef struct ph_queues ph_queues;

/* Lists all queues of a door by namespace, with settings and counts.
 * Errors: PH_EINVAL, … */
PH_API PH_MUST_CHECK int ph_queue_list(ph_store *store, ph_tx tx, const ph_queue_list_opts *opts,
                                       int timeout_ms, ph_queues **ret_list, ph_error *reterr);
PH_API size_t ph_queues_count(const ph_queues *list);
PH_API const ph_queue_info *ph_queues_at(const ph_queues *list, size_t index);
PH_API void ph_queues_free(ph_queues *list);

/* -------------------------------------------------------------------- doctor */

typedef enum {
    PH_FINDING_OK = 0,
    PH_FINDING_INFO = 1,    /* worth knowing */
    PH_FINDING_WARNING = 2, /* works, but will hurt */
    PH_FINDING_ERROR = 3    /* does not work, or may lose messages */
} ph_finding_level;

/* We allocate it; new members are only appended. */
typedef struct {
    const char *check;  /* a stable name: "schema", "clock", "durability", "version", "vacuum",
                           "oldest-ready", "expired-leases", "dead", "timers", "places", "joins", … */
    ph_finding_level level;
    const char *text;    /* the finding, for people */
    const char *advice;  /* the cure, for people; NULL: none is needed */
    ph_cure cure;        /* the cure, for programs; PH_CURE_NONE: none is needed */
    ph_door door;        /* of the queues in question; PH_OUTBOX also where no queue is */
    const char *subject; /* the id of an example to look at; NULL: none. Of "identity" the
                            number in all ids of the database: two databases with the same number
                            are one, or a copy */
} ph_finding;

typedef struct ph_report ph_report;

typedef struct {
    size_t size; /* set by PH_DOCTOR_OPTS_INIT */
    bool deep;   /* also check that every message is in exactly one place, and that the counters of
                    joins match their steps: reads everything */
    /* Called now and then during a deep check, with its progress; total is 0 while it is unknown. */
    void (*progress)(void *context, int64_t done, int64_t total);
    void *progress_context;
} ph_doctor_opts;
#define PH_DOCTOR_OPTS_INIT { sizeof(ph_doctor_opts), false, NULL, NULL }

/* Examines database and schema. Every problem, even a missing schema, is a finding
 * and not an error: the call fails only if it cannot look (PH_ECONNECT, PH_EAUTH,
 * PH_ETIMEOUT …). */
PH_API PH_MUST_CHECK int ph_doctor(ph_store *store, const ph_doctor_opts *opts, int timeout_ms,
                                   ph_report **ret_report, ph_error *reterr);
PH_API size_t ph_report_count(const ph_report *report);
PH_API const ph_finding *ph_report_at(const ph_report *report, size_t index);
/* The worst level in the report. */
PH_API ph_finding_level ph_report_worst(const ph_report *report);
PH_API void ph_report_free(ph_report *report);

#ifdef __cplusplus
}
#endif

#endif /* POSTHORN_INSPECT_H */
