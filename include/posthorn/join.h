/* join.h - joins: one message when all messages of a group have ended.
 *
 * SPDX-License-Identifier: MIT
 *
 * Included by posthorn.h. A join expects a number of steps. Its steps are
 * outbox messages, attached to it; each counts once, as completed when it is
 * acked and as failed when it becomes a dead letter (fail, attempts spent,
 * expired, lost on the last attempt), in the same transaction. When all
 * expected steps have ended the join is complete, and each wait on it sends
 * one message, in that transaction too.
 *
 *     ph_join_start(store, tx, 3, NULL, 0, &join, &err);
 *     for (int i = 0; i < 3; i++) {
 *         messages[i].join_id = &join;
 *     }
 *     ph_enqueue_many(store, tx, messages, 3, 0, NULL, &err);
 *     wait.on_complete_topic = "etl.transform";
 *     wait.on_complete_payload = "{}";
 *     ph_join_wait(store, tx, join, &wait, 0, NULL, &err);
 *
 * Handlers know nothing of joins. A join lives in one database, and so do its
 * steps.
 *
 * IN TRANSACTIONS OF YOURS
 *   A call that attaches, reports or settles a step, waits for a join or cancels
 *   one locks the join's row until you commit, and such calls for the same join
 *   wait for you: do it last, and commit soon. On PostgreSQL,
 *   settling a step does not wait for that lock: the next claim counts the
 *   step, which shows as pending until then. Attaching in the transaction that
 *   started the join disturbs nobody. */
#include <posthorn/posthorn.h> /* first: it includes all of them, in order */

#ifndef POSTHORN_JOIN_H
#define POSTHORN_JOIN_H

#ifdef __cplusplus
extern "C" {
#endif

#define PH_JOIN_STEPS_MAX 1000000
#define PH_JOIN_METADATA_MAX (1024 * 1024) /* bytes */

/* "pending", "completed", "failed", "cancelled"; never NULL. */
PH_API const char *ph_join_state_text(ph_join_state state);

typedef struct {
    size_t size;              /* set by PH_JOIN_OPTS_INIT; new members are only appended */
    const char *grouping_key; /* groups joins that belong together; at most PH_NAME_MAX code points;
                                 NULL or "": none */
    const char *metadata;     /* kept and shown, never read; NULL: none */
    int64_t deadline;         /* then an unfinished join fails; 0: never */
} ph_join_opts;
#define PH_JOIN_OPTS_INIT                                                                          \
    {                                                                                              \
        sizeof(ph_join_opts), NULL, NULL, 0                                                        \
    }

/* Starts a join of expected_steps (1 … PH_JOIN_STEPS_MAX) steps, none of which
 * has ended. The next claim, reap or scheduler run after the deadline fails the
 * join and leaves its counters as they are. Until then it is open, and may still
 * be completed.
 * Errors: PH_EINVAL (steps, key, metadata, a deadline outside the years 1 to
 * 9999 or not ahead), … */
PH_API PH_MUST_CHECK int ph_join_start(ph_store *store, ph_tx tx, int expected_steps,
                                       const ph_join_opts *opts, int timeout_ms,
                                       ph_join_id *ret_join, ph_error *reterr);

/* Makes an outbox message a step of a join; attaching it again changes nothing. A
 * message that is still to be done counts when it ends; one that has ended already
 * counts now. If an operator has retried a message, its newest work id counts. A
 * message may be a step of many joins. If producers gave several messages the same
 * message id, the first to end counts, whether enqueued before or after this call;
 * but the newest counts if it has ended already. A message that was acked and
 * deleted since counts as completed while its dedupe key is known; beyond that,
 * enqueue it with the join (ph_message.join_id), which is safe at any time.
 * Errors, all of which leave your transaction sound: PH_EINVAL (an id is
 * zero), PH_ENOTFOUND (no such join or message), PH_ESTATE (the join has all
 * its steps, was cancelled or ended by its deadline, or the message is a wait), … */
PH_API PH_MUST_CHECK int ph_join_attach(ph_store *store, ph_tx tx, ph_join_id join,
                                        ph_message_id message, int timeout_ms, ph_error *reterr);

/* The same for 1 … PH_BATCH_MAX messages, all or none, in one round trip. */
PH_API PH_MUST_CHECK int ph_join_attach_many(ph_store *store, ph_tx tx, ph_join_id join,
                                             const ph_message_id *messages, size_t count,
                                             int timeout_ms, ph_error *reterr);

/* Counts a step by hand. For exceptions only: a message that will never be
 * settled because its work was done elsewhere, say. Handlers need not and
 * should not call it: ack and fail count by themselves. The first report or
 * settlement of a step counts; later ones are ignored, and so are reports on a
 * join that has ended.
 * Errors: PH_EINVAL, PH_ENOTFOUND (no such join, or the message is not a step
 * of it), … */
PH_API PH_MUST_CHECK int ph_join_report_completed(ph_store *store, ph_tx tx, ph_join_id join,
                                                  ph_message_id message, int timeout_ms,
                                                  ph_error *reterr);
PH_API PH_MUST_CHECK int ph_join_report_failed(ph_store *store, ph_tx tx, ph_join_id join,
                                               ph_message_id message, int timeout_ms,
                                               ph_error *reterr);

/* The messages to send when a join has ended. Zero means default; everything is borrowed. */
typedef struct {
    size_t size;                     /* set by PH_WAIT_INIT; new members are only appended */
    bool fail_if_any_step_failed;    /* false: steps may fail, as long as all have ended */
    const char *on_complete_topic;   /* required */
    const char *on_complete_payload; /* required, may be empty */
    const char *on_fail_topic;       /* NULL: a failure sends nothing */
    const char *on_fail_payload;     /* NULL: "" */
    const char *ns;                  /* of the wait and of its message; NULL: "" */
} ph_wait;
#define PH_WAIT_INIT                                                                               \
    {                                                                                              \
        sizeof(ph_wait), false, NULL, NULL, NULL, NULL, NULL                                       \
    }

/* Sends one message when the join has ended, or at once if it has ended already.
 * The wait itself is an outbox message (topic "join.wait", see
 * ph_queue_settings) that no claim hands out: it is PH_WAITING until
 * the join ends, and is done then, in the transaction that ends the join. A join
 * that was cancelled or ended by its deadline sends the message for failure, with
 * or without fail_if_any_step_failed. The message sent has the headers
 * {"join_id": …, "join_status": …}.
 * *ret_wait, if not NULL: the wait's work id.
 * Errors: PH_EINVAL, PH_ENOTFOUND (no such join; nothing is stored), … */
PH_API PH_MUST_CHECK int ph_join_wait(ph_store *store, ph_tx tx, ph_join_id join,
                                      const ph_wait *wait, int timeout_ms, ph_work_id *ret_wait,
                                      ph_error *reterr);

/* Ends an open join as cancelled: its counters stay as they are, nothing can be
 * attached any more, and its waits send their message for failure. Its messages
 * go on. *ret_cancelled, if not NULL: false if it had ended before.
 * Errors: PH_EINVAL, PH_ENOTFOUND, … */
PH_API PH_MUST_CHECK int ph_join_cancel(ph_store *store, ph_tx tx, ph_join_id join, int timeout_ms,
                                        bool *ret_cancelled, ph_error *reterr);

/* --------------------------------------------------------------------- look */

typedef struct {
    ph_message_id message_id;
    ph_work_id work_id;
    ph_join_state state; /* never cancelled */
    int64_t created_at;  /* when it was attached */
    const char *topic;   /* NULL: the message was deleted */
} ph_join_member;

/* We allocate it, and it owns everything it points to; new members are only appended. */
typedef struct {
    ph_join_id id;
    const char *grouping_key; /* NULL: none */
    const char *metadata;     /* NULL: none */
    ph_join_state state;
    int expected_steps, attached_steps, completed_steps, failed_steps;
    int open_waits; /* waits that are not settled */
    int64_t created_at, updated_at;
    int64_t deadline;              /* 0: none */
    int64_t finished_at;           /* 0: open */
    const ph_join_member *members; /* of ph_join_find(), in the order of attaching; members attached
                                      by one call in any order */
    size_t member_count;
} ph_join_info;

/* Finds a join, with its first member_limit (0: 1 000; at most PH_BATCH_MAX) members.
 * Errors: PH_EINVAL, PH_ENOTFOUND, … */
PH_API PH_MUST_CHECK int ph_join_find(ph_store *store, ph_tx tx, ph_join_id join, int member_limit,
                                      int timeout_ms, ph_join_info **ret_info, ph_error *reterr);
/* NULL is fine. */
PH_API void ph_join_info_free(ph_join_info *info);

typedef struct {
    size_t size;              /* set by PH_JOIN_LIST_OPTS_INIT; new members are only appended */
    const char *grouping_key; /* NULL: all */
    int state;                /* a ph_join_state; PH_JOIN_ANY (the default of the macro): all */
    int limit;                /* 0: 50; at most PH_BATCH_MAX */
    ph_join_id after;         /* the last id of the page before; zero: from the beginning */
    bool oldest_first;        /* otherwise the newest first */
    ph_message_id step;       /* only joins of which this message is a step; zero: all */
} ph_join_list_opts;
#define PH_JOIN_LIST_OPTS_INIT                                                                     \
    {                                                                                              \
        sizeof(ph_join_list_opts), NULL, PH_JOIN_ANY, 0, { { 0 } }, false,                         \
        {                                                                                          \
            {                                                                                      \
                0                                                                                  \
            }                                                                                      \
        }                                                                                          \
    }

typedef struct ph_joins ph_joins;

/* Lists joins, without their members. Errors: PH_EINVAL, … */
PH_API PH_MUST_CHECK int ph_join_list(ph_store *store, ph_tx tx, const ph_join_list_opts *opts,
                                      int timeout_ms, ph_joins **ret_list, ph_error *reterr);
PH_API size_t ph_joins_count(const ph_joins *list);
PH_API const ph_join_info *ph_joins_at(const ph_joins *list, size_t index);
PH_API void ph_joins_free(ph_joins *list);

#ifdef __cplusplus
}
#endif

#endif /* POSTHORN_JOIN_H */
