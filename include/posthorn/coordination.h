/* coordination.h - several workers and one queue: instances, ordered streams,
 * receptors, checkpoints, and the one call that does it all.
 *
 * SPDX-License-Identifier: MIT
 *
 * Included by posthorn.h. A dispatcher does what is here by itself; who writes
 * a worker of his own uses ph_process_work_batch().
 *
 * STREAMS
 *   A stream is an ordered lane, named by a key, of the outbox or the inbox of a
 *   namespace. Its messages are numbered from 1 (seq) in the order in which
 *   their transactions commit, without gaps. Whoever has claimed the head holds
 *   the stream: nobody else gets a later message of it, across crashes, retries
 *   and changes of instances. A claim takes a run: the head and what follows it
 *   that is due. A run is settled from its front:
 *     - an ack of a message before which one of the run is not settled, or is
 *       not settled well in the same call, is PH_OUTCOME_STALE: nothing changes;
 *     - an abandon, fail or release of a message gives back the rest of the run
 *       behind it, untouched. A release is also allowed in the middle; an
 *       abandon or fail there is PH_OUTCOME_STALE;
 *     - when a lease runs out only the first message counts as lost.
 *   So after a crash a stream comes again from its first message on that is not
 *   done in the database, in order. What a worker has handled and not settled
 *   yet comes again, even if it has begun with later ones: a dispatcher settles
 *   in batches, unless the handler is in_transaction.
 *   A head that waits for its retry, or is not due yet, holds up its own stream
 *   and no other; so does one whose topic nobody claims. A dead head is passed
 *   over, or blocks: ph_queue_settings.dead_head.
 *   A producer holds its stream's row until it commits: other producers of the
 *   same stream wait. Enqueueing into several streams in one transaction: use
 *   ph_enqueue_many(), which locks them in order; single calls in opposite order
 *   can deadlock (PH_ECONFLICT).
 *
 * INSTANCES, PARTITIONS
 *   An instance is a running worker. It registers with its first call, under an
 *   id that is fresh at every start, and beats its heart with the following
 *   ones. One that was silent for its own stale_threshold_s is removed by the
 *   next call of any other: its leases are taken back as if they had run out.
 *   When it wakes up its calls are refused (PH_EEVICTED): it must take a fresh
 *   id and forget what it had claimed.
 *   A stream's partition is the number in the first 15 hex digits of SHA-256 of
 *   its key, modulo partition_count. Each partition belongs to one live instance
 *   of a service (by rendezvous hashing) that claims the queue and the topic of
 *   the head: for affinity_grace_ms the others of that service leave a due head to
 *   that one, then any of them may take it. Who did not come for one, or let a
 *   lease run out, has no partitions until its next claim: nobody waits for it.
 *   Who is of another service, or no instance, does not wait. Affinity is for warm
 *   caches; the order does not depend on it. */
#include <posthorn/posthorn.h> /* first: it includes all of them, in order */

#ifndef POSTHORN_COORDINATION_H
#define POSTHORN_COORDINATION_H

#ifdef __cplusplus
extern "C" {
#endif

#define PH_PARTITIONS 10000         /* by default */
#define PH_PARTITIONS_MAX 1000000
#define PH_INSTANCE_LEASE_S 300     /* by default: ph_work_batch_opts.instance_lease_s */
#define PH_STALE_THRESHOLD_S 600    /* by default */
#define PH_STALE_THRESHOLD_MAX_S 604800

/* ----------------------------------------------------------------- instances */

typedef enum {
    PH_INSTANCE_LIVE = 1,
    PH_INSTANCE_LEFT = 2,   /* it has said good-bye */
    PH_INSTANCE_EVICTED = 3 /* its heart had stopped */
} ph_instance_state;

/* We allocate it; new members are only appended. */
typedef struct {
    ph_owner id;           /* also the owner of its leases */
    const char *service, *host;
    int process_id;
    const char *metadata;  /* JSON, or NULL */
    ph_instance_state state;
    int64_t started_at, last_heartbeat_at;
    int64_t ended_at;      /* 0: it is live */
    int lease_s, stale_threshold_s; /* as it registered them */
    int64_t in_progress;   /* messages that it has claimed */
    int partition_count;   /* as it registered it */
} ph_instance_info;

typedef struct {
    size_t size;         /* set by PH_INSTANCE_LIST_OPTS_INIT; new members are only appended */
    const char *service; /* only those of this service; NULL: every */
    bool ended_too;      /* also those of the last day that have left or were evicted */
} ph_instance_list_opts;
#define PH_INSTANCE_LIST_OPTS_INIT                                                                 \
    {                                                                                              \
        sizeof(ph_instance_list_opts), NULL, false                                                 \
    }

typedef struct ph_instances ph_instances;

/* Instances, by service, then start. Errors: PH_EINVAL, … */
PH_API PH_MUST_CHECK int ph_instance_list(ph_store *store, ph_tx tx,
                                          const ph_instance_list_opts *opts, int timeout_ms,
                                          ph_instances **ret_list, ph_error *reterr);
PH_API size_t ph_instances_count(const ph_instances *list);
PH_API const ph_instance_info *ph_instances_at(const ph_instances *list, size_t index);
PH_API void ph_instances_free(ph_instances *list);

/* Says good-bye: the instance's leases are released, attempts refunded, and it
 * is gone. *ret_left, if not NULL: false if it was not live. */
PH_API PH_MUST_CHECK int ph_instance_leave(ph_store *store, ph_tx tx, ph_owner instance,
                                           int timeout_ms, bool *ret_left, ph_error *reterr);

/* ------------------------------------------------------------------- streams */

typedef enum {
    PH_STREAM_IDLE = 0,        /* everything is settled */
    PH_STREAM_READY = 1,       /* its head is due */
    PH_STREAM_SCHEDULED = 2,   /* its head is due later: a retry, or as asked for */
    PH_STREAM_IN_PROGRESS = 3, /* a run of it is leased */
    PH_STREAM_BLOCKED = 4      /* by a dead head */
} ph_stream_state;

/* We allocate it; new members are only appended. */
typedef struct {
    ph_door door;
    const char *ns, *stream;
    ph_stream_state state;
    int partition;         /* for the partition count that was asked for, or the service's */
    int64_t last_seq;      /* of the newest message */
    int64_t next_seq;      /* of the first that is not settled; last_seq + 1: idle */
    int64_t unsettled;     /* how many are not settled */
    ph_work_id head;       /* the first of these, or the dead one that blocks; zero: idle */
    int64_t head_due_at;   /* ready, scheduled; otherwise 0 */
    int head_attempts;     /* ready, scheduled, in progress */
    ph_owner owner;        /* in progress: of the lease */
    int64_t locked_until;
    const char *affinity_service; /* that was asked for; NULL: none, or none of its live instances
                                   * claims the head's queue and topic, and comes */
    ph_owner affinity_owner; /* the instance of that service to which the partition belongs */
    int64_t created_at;
} ph_stream_info;

typedef struct {
    size_t size;         /* set by PH_STREAM_LIST_OPTS_INIT; new members are only appended */
    ph_door door;        /* PH_OUTBOX or PH_INBOX */
    const char *ns;      /* NULL: every namespace */
    const char *stream;  /* only this one; NULL: every */
    bool idle_too;       /* otherwise only streams with something to do */
    const char *service; /* whose instances the partitions belong to; NULL: no owner is named */
    int partition_count; /* 0: that of the service's live instances (the first to start, if they
                            differ), or else PH_PARTITIONS */
    int limit;           /* 0: 50; at most PH_BATCH_MAX */
    const char *after_ns, *after_stream; /* the last ones of the page before; NULL: from the beginning */
} ph_stream_list_opts;
#define PH_STREAM_LIST_OPTS_INIT                                                                   \
    {                                                                                              \
        sizeof(ph_stream_list_opts), PH_OUTBOX, NULL, NULL, false, NULL, 0, 0, NULL, NULL          \
    }

typedef struct ph_streams ph_streams;

/* Streams by namespace, then key (byte for byte). Errors: PH_EINVAL, … */
PH_API PH_MUST_CHECK int ph_stream_list(ph_store *store, ph_tx tx, const ph_stream_list_opts *opts,
                                        int timeout_ms, ph_streams **ret_list, ph_error *reterr);
PH_API size_t ph_streams_count(const ph_streams *list);
PH_API const ph_stream_info *ph_streams_at(const ph_streams *list, size_t index);
PH_API void ph_streams_free(ph_streams *list);

/* The partition of a key; partition_count 0: PH_PARTITIONS. -1: not a key. */
PH_API int ph_stream_partition(const char *stream, int partition_count);

/* Reads the messages of a stream with a seq above after_seq in order, whatever
 * state they are in, as long as retention keeps them: what a consumer does that
 * follows a stream with a checkpoint. It changes nothing. Instead of a dead head
 * that was put back in its place it reads what was put back. limit 0: 50. Each has
 * message->seq, with payload. There are fewer than limit if payloads and headers
 * would be more than PH_CLAIM_BYTES_MAX: only an empty answer means that nothing
 * follows. A stream that does not exist is empty. */
PH_API PH_MUST_CHECK int ph_stream_read(ph_store *store, ph_tx tx, ph_door door, const char *ns,
                                        const char *stream, int64_t after_seq, int limit,
                                        int timeout_ms, ph_messages **ret_list,
                                        ph_error *reterr);

/* ----------------------------------------------------------------- receptors */

/* One of several parties that a message concerns, each of which succeeds, fails
 * and retries for itself. The record belongs to the message, and survives its
 * retries: a handler asks which receptors are done, runs the others, and reports. */
typedef struct {
    ph_work_id work_id;   /* of an outbox or inbox message */
    const char *receptor; /* a name */
    bool failed;          /* otherwise it is completed */
    const char *error;    /* failed: kept; NULL: none */
} ph_receptor_result;

/* We allocate it; new members are only appended. */
typedef struct {
    const char *receptor;
    bool completed; /* otherwise it has failed so far */
    int attempts;   /* reports, the last one included */
    const char *error; /* of the last failure; NULL: completed, or none was given */
    int64_t first_at, last_at;
} ph_receptor_info;

/* Reports 1 … PH_BATCH_MAX results, in order, all or none. Who is completed stays
 * so: a later report changes nothing.
 * Errors: PH_ENOTFOUND (names a message that is not there), PH_EINVAL, … */
PH_API PH_MUST_CHECK int ph_receptor_report(ph_store *store, ph_tx tx,
                                            const ph_receptor_result *results, size_t count,
                                            int timeout_ms, ph_error *reterr);

typedef struct {
    size_t size;        /* set by PH_RECEPTOR_LIST_OPTS_INIT; new members are only appended */
    ph_work_id work_id; /* required: of the message */
} ph_receptor_list_opts;
#define PH_RECEPTOR_LIST_OPTS_INIT                                                                 \
    {                                                                                              \
        sizeof(ph_receptor_list_opts),                                                             \
        {                                                                                          \
            {                                                                                      \
                0                                                                                  \
            }                                                                                      \
        }                                                                                          \
    }

typedef struct ph_receptors ph_receptors;

/* The receptors of a message that have reported, by name. One that is not there
 * has none. Errors: PH_EINVAL (no work_id), … */
PH_API PH_MUST_CHECK int ph_receptor_list(ph_store *store, ph_tx tx,
                                          const ph_receptor_list_opts *opts, int timeout_ms,
                                          ph_receptors **ret_list, ph_error *reterr);
PH_API size_t ph_receptors_count(const ph_receptors *list);
PH_API const ph_receptor_info *ph_receptors_at(const ph_receptors *list, size_t index);
PH_API void ph_receptors_free(ph_receptors *list);

/* --------------------------------------------------------------- checkpoints */

#define PH_CHECKPOINT_AHEAD_MAX 1000 /* gaps that a checkpoint remembers */

/* How far a consumer has come in a stream. */
typedef struct {
    ph_door door;         /* PH_OUTBOX or PH_INBOX */
    const char *ns;       /* NULL: "" */
    const char *stream;
    const char *consumer; /* a name */
    int64_t seq;          /* which message */
    bool failed;          /* otherwise it is completed */
    const char *error;    /* failed: kept; NULL: none */
} ph_checkpoint_result;

/* We allocate it; new members are only appended. */
typedef struct {
    const char *consumer;
    int64_t seq;          /* everything up to here is completed: there is no gap below */
    int64_t ahead;        /* how many above a gap are completed */
    int64_t lag;          /* messages of the stream above seq */
    const char *error;    /* of the last failure above seq; NULL: none */
    int64_t error_seq, error_at;
    int64_t updated_at;
    int64_t rewound_at;   /* 0: never */
} ph_checkpoint_info;

/* Reports 1 … PH_BATCH_MAX results, in order, all or none. A completion above a
 * gap is remembered; when the gap closes the checkpoint moves to the end of what
 * is complete. Messages that retention has deleted are no gap. An old completion
 * changes nothing. A failure above the checkpoint is recorded and moves nothing,
 * one at or below it is not; a completion of that message clears it.
 * Errors: PH_ENOTFOUND (no such stream, or seq above its last one), PH_EINVAL,
 * PH_ESTATE (more than PH_CHECKPOINT_AHEAD_MAX gaps), … */
PH_API PH_MUST_CHECK int ph_checkpoint_report(ph_store *store, ph_tx tx,
                                              const ph_checkpoint_result *results, size_t count,
                                              int timeout_ms, ph_error *reterr);

/* Sets a checkpoint back (or, on purpose, ahead) to seq: the next message to
 * handle is seq + 1; what was remembered above is forgotten. Says so in the log,
 * and in rewound_at. *ret_old, if not NULL: where it was.
 * Errors: PH_ENOTFOUND (no such stream, or seq above its last one), PH_EINVAL, … */
PH_API PH_MUST_CHECK int ph_checkpoint_rewind(ph_store *store, ph_tx tx, ph_door door,
                                              const char *ns, const char *stream,
                                              const char *consumer, int64_t seq, int timeout_ms,
                                              int64_t *ret_old, ph_error *reterr);

typedef struct {
    size_t size;          /* set by PH_CHECKPOINT_LIST_OPTS_INIT; new members are only appended */
    ph_door door;         /* PH_OUTBOX or PH_INBOX */
    const char *ns;       /* NULL: "" */
    const char *stream;   /* required */
    const char *consumer; /* only its checkpoint; NULL: every */
} ph_checkpoint_list_opts;
#define PH_CHECKPOINT_LIST_OPTS_INIT                                                               \
    {                                                                                              \
        sizeof(ph_checkpoint_list_opts), PH_OUTBOX, NULL, NULL, NULL                               \
    }

typedef struct ph_checkpoints ph_checkpoints;

/* The checkpoints of a stream, by consumer. One that has never reported is not
 * there: it begins at 0. Errors: PH_EINVAL (no stream), … */
PH_API PH_MUST_CHECK int ph_checkpoint_list(ph_store *store, ph_tx tx,
                                            const ph_checkpoint_list_opts *opts, int timeout_ms,
                                            ph_checkpoints **ret_list, ph_error *reterr);
PH_API size_t ph_checkpoints_count(const ph_checkpoints *list);
PH_API const ph_checkpoint_info *ph_checkpoints_at(const ph_checkpoints *list, size_t index);
PH_API void ph_checkpoints_free(ph_checkpoints *list);

/* ---------------------------------------------------------------- work batch */

/* What a call may ask for. */
#define PH_BATCH_KEEP_COMPLETED 1u /* for debugging: acked messages stay, also where delete_on_ack is set */
#define PH_BATCH_NO_OUTBOX 2u      /* do not claim outbox messages */
#define PH_BATCH_NO_INBOX 4u       /* do not claim inbox messages */

/* What a delivery says of itself (ph_delivery.flags). */
#define PH_WORK_NEW 1u    /* stored in this very call */
#define PH_WORK_ORPHAN 2u /* taken over: its last worker lost it */
#define PH_WORK_RETRY 4u  /* it was abandoned before */

/* Everything of one exchange. Zero means default, and nothing to do in that
 * part; everything is borrowed. */
typedef struct {
    size_t size;               /* set by PH_WORK_BATCH_OPTS_INIT; new members are only appended */
    ph_owner instance_id;      /* required: ph_owner_new() at the start of the program */
    const char *service_name;  /* required */
    const char *host_name;     /* NULL: this machine's */
    int process_id;            /* 0: this process's */
    const char *metadata;      /* a JSON object, or NULL */
    const ph_settlement *outbox; /* what became of claimed messages */
    size_t outbox_count;
    const ph_settlement *inbox;
    size_t inbox_count;
    const ph_receptor_result *receptors;
    size_t receptor_count;
    const ph_checkpoint_result *checkpoints;
    size_t checkpoint_count;
    const ph_message *new_outbox; /* an array of structs of equal size; each list: PH_ENQUEUE_BYTES_MAX */
    size_t new_outbox_count;
    const ph_inbox_message *new_inbox;
    size_t new_inbox_count;
    const ph_lease_ref *renew_outbox; /* leases to extend to instance_lease_s from now */
    size_t renew_outbox_count;
    const ph_lease_ref *renew_inbox;
    size_t renew_inbox_count;
    unsigned flags;            /* PH_BATCH_… */
    const char *ns;            /* to claim from; NULL: "" */
    const char *const *topics; /* to claim; NULL: all */
    size_t topic_count;
    int batch_size;            /* of each door: 0: 50; at most PH_BATCH_MAX, and PH_CLAIM_BYTES_MAX */
    int partition_count;       /* 0: PH_PARTITIONS; the same in all instances of a service */
    int max_partitions;        /* of streams that the instance works on at the same time; 0: any number */
    int instance_lease_s;      /* of all that the instance claims and renews: 0: PH_INSTANCE_LEASE_S,
                                  which is longer than PH_LEASE_S, since one call does everything and
                                  a worker makes it between handlers */
    int stale_threshold_s;     /* 0: PH_STALE_THRESHOLD_S; at least 1; twice the lease is advised */
} ph_work_batch_opts;
#define PH_WORK_BATCH_OPTS_INIT                                                                    \
    {                                                                                              \
        sizeof(ph_work_batch_opts), { { 0 } }, NULL, NULL, 0, NULL, NULL, 0, NULL, 0, NULL, 0,     \
            NULL, 0, NULL, 0, NULL, 0, NULL, 0, NULL, 0, 0, NULL, NULL, 0, 0, 0, 0, 0, 0           \
    }

/* What came of it. We allocate it; new members are only appended. */
typedef struct {
    ph_batch *outbox, *inbox;           /* claimed; never NULL, may be empty; freed with this */
    const ph_outcome *outbox_outcomes;  /* one per item of opts.outbox, and so on */
    const ph_outcome *inbox_outcomes;
    const ph_outcome *renew_outbox_outcomes;
    const ph_outcome *renew_inbox_outcomes;
    const ph_enqueued *new_outbox;
    const ph_received *new_inbox;
    bool registered;                    /* the instance was not known before */
    int evicted;                        /* stale instances that this call has removed */
} ph_work_batch;

/* One transaction, one round trip: registration or heartbeat (written when the
 * stored one is older than a tenth of the threshold, or the instance has changed
 * otherwise); removal of stale instances; receptor and checkpoint results; then
 * settlements, renewals, new messages; then claims of outbox and inbox.
 * Own leases only: another's item is PH_OUTCOME_STALE, and disturbs nothing. A
 * part that is wrong in itself (bad JSON, no such stream) fails the whole call,
 * and nothing is done. New messages can come back in the same call. An idle call
 * writes nothing. To beat the heart alone: PH_BATCH_NO_OUTBOX | PH_BATCH_NO_INBOX.
 * *ret_batch is owned by the caller: ph_work_batch_free().
 * Errors: PH_EINVAL (says what), PH_EEVICTED (take a fresh id), PH_ENOTFOUND, … */
PH_API PH_MUST_CHECK int ph_process_work_batch(ph_store *store, ph_tx tx,
                                               const ph_work_batch_opts *opts, int timeout_ms,
                                               ph_work_batch **ret_batch, ph_error *reterr);
/* With its two batches. NULL is fine. */
PH_API void ph_work_batch_free(ph_work_batch *batch);

#ifdef __cplusplus
}
#endif

#endif /* POSTHORN_COORDINATION_H */
