/* coordination.h - several workers and one queue: instances, ordered streams,
 * receptors, checkpoints, and the one call that does it all.
 *
 * SPDX-License-Identifier: MIT
 *
 * Included by posthorn.h. A dispatcher does all of this by itself. To write a
 * worker of your own, use ph_process_work_batch().
 *
 * STREAMS
 *   A stream is an ordered lane, named by a key, of the outbox or the inbox of a
 *   namespace. Its messages are numbered from 1 (seq) in the order in which
 *   their transactions commit, without gaps. The worker that has claimed the
 *   head holds the stream: no other worker gets a later message of it, across
 *   crashes, retries and changes of instances. A claim takes a run: the head and
 *   the due messages behind it. A worker settles a run from its front:
 *     - an ack is PH_OUTCOME_STALE, and changes nothing, unless all messages of
 *       the run before it are settled, or are acked in the same call;
 *     - an abandon, fail or release of a message gives back the rest of the run
 *       behind it, untouched. A release is also allowed in the middle; an
 *       abandon or fail there is PH_OUTCOME_STALE;
 *     - when a lease runs out, only the first message counts as lost.
 *   So after a crash a stream comes again, in order, from the first message that
 *   is not done in the database. Messages that a worker has handled but not
 *   settled come again, even if it has begun with later ones: a dispatcher
 *   settles in batches, unless the handler is in_transaction.
 *   A head that waits for its retry, is not due yet, or has a topic that nobody
 *   claims holds up its own stream and no other. A dead head is passed over, or
 *   blocks its stream: ph_queue_settings.dead_head.
 *   A producer locks its stream's row until it commits: other producers of the
 *   same stream wait. To enqueue into several streams in one transaction, use
 *   ph_enqueue_many(), which locks them in order; single calls in opposite order
 *   can deadlock (PH_ECONFLICT).
 *
 * INSTANCES, PARTITIONS
 *   An instance is a running worker. Its first call registers it, under an id
 *   that is fresh at every start; each further call is a heartbeat. If an
 *   instance was silent for its own stale_threshold_s, the next call of any other
 *   removes it, and takes back its leases as if they had run out. When it wakes
 *   up, its calls fail with PH_EEVICTED: it must take a fresh id and forget the
 *   messages that it had claimed.
 *   A stream's partition is the number in the first 15 hex digits of SHA-256 of
 *   its key, modulo partition_count. Among the live instances of a service that
 *   claim the queue and the topic of the head, each partition belongs to one (by
 *   rendezvous hashing): for affinity_grace_ms the others leave a due head to that
 *   one, then any of them may take it. An instance that did not come for a head, or
 *   let a lease run out, has no partitions until its next claim: nobody waits for
 *   it. Instances of other services, and workers that are not instances, do not wait.
 *   Affinity keeps caches warm; the order does not depend on it. */
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
    PH_INSTANCE_EVICTED = 3 /* its heartbeats had stopped */
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
    const char *service; /* only instances of this service; NULL: of every */
    bool ended_too;      /* also instances of the last day that have left or were evicted */
} ph_instance_list_opts;
#define PH_INSTANCE_LIST_OPTS_INIT                                                                 \
    {                                                                                              \
        sizeof(ph_instance_list_opts), NULL, false                                                 \
    }

typedef struct ph_instances ph_instances;

/* Lists instances, by service, then start. Errors: PH_EINVAL, … */
PH_API PH_MUST_CHECK int ph_instance_list(ph_store *store, ph_tx tx,
                                          const ph_instance_list_opts *opts, int timeout_ms,
                                          ph_instances **ret_list, ph_error *reterr);
PH_API size_t ph_instances_count(const ph_instances *list);
PH_API const ph_instance_info *ph_instances_at(const ph_instances *list, size_t index);
PH_API void ph_instances_free(ph_instances *list);

/* Says good-bye: the instance's leases are released, their attempts refunded, and
 * the instance is gone. *ret_left, if not NULL: false if it was not live. */
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
    int partition;         /* by the partition count of the options, or that of the service */
    int64_t last_seq;      /* of the newest message */
    int64_t next_seq;      /* of the first message that is not settled; last_seq + 1: idle */
    int64_t unsettled;     /* how many messages are not settled */
    ph_work_id head;       /* the first of these, or the dead one that blocks; zero: idle */
    int64_t head_due_at;   /* ready, scheduled; otherwise 0 */
    int head_attempts;     /* ready, scheduled, in progress */
    ph_owner owner;        /* in progress: that of the lease */
    int64_t locked_until;
    const char *affinity_service; /* that of the options; NULL: none, or none of its live instances
                                   * is claiming the head's queue and topic */
    ph_owner affinity_owner; /* the instance of that service that owns the partition */
    int64_t created_at;
} ph_stream_info;

typedef struct {
    size_t size;         /* set by PH_STREAM_LIST_OPTS_INIT; new members are only appended */
    ph_door door;        /* PH_OUTBOX or PH_INBOX */
    const char *ns;      /* NULL: every namespace */
    const char *stream;  /* only this one; NULL: every */
    bool idle_too;       /* otherwise only streams with something to do */
    const char *service; /* name its instance that owns the partition; NULL: name no owner */
    int partition_count; /* 0: that of the service's live instances (the first to start, if they
                            differ), or else PH_PARTITIONS */
    int limit;           /* 0: 50; at most PH_BATCH_MAX */
    const char *after_ns, *after_stream; /* the last of the page before; NULL: from the beginning */
} ph_stream_list_opts;
#define PH_STREAM_LIST_OPTS_INIT                                                                   \
    {                                                                                              \
        sizeof(ph_stream_list_opts), PH_OUTBOX, NULL, NULL, false, NULL, 0, 0, NULL, NULL          \
    }

typedef struct ph_streams ph_streams;

/* Lists streams by namespace, then key (byte for byte). Errors: PH_EINVAL, … */
PH_API PH_MUST_CHECK int ph_stream_list(ph_store *store, ph_tx tx, const ph_stream_list_opts *opts,
                                        int timeout_ms, ph_streams **ret_list, ph_error *reterr);
PH_API size_t ph_streams_count(const ph_streams *list);
PH_API const ph_stream_info *ph_streams_at(const ph_streams *list, size_t index);
PH_API void ph_streams_free(ph_streams *list);

/* The partition of a key; partition_count 0: PH_PARTITIONS. -1: not a key. */
PH_API int ph_stream_partition(const char *stream, int partition_count);

/* Reads the messages of a stream with a seq above after_seq, in order, in any
 * state, as long as retention keeps them, and changes nothing. A consumer with a
 * checkpoint follows a stream this way. If an operator has retried a dead head in
 * its place, the call returns the retry instead. limit 0: 50. Each message has
 * message->seq and its payload. The answer ends before payloads and headers exceed
 * PH_CLAIM_BYTES_MAX: only an empty one means that nothing follows. A stream that
 * does not exist is empty. */
PH_API PH_MUST_CHECK int ph_stream_read(ph_store *store, ph_tx tx, ph_door door, const char *ns,
                                        const char *stream, int64_t after_seq, int limit,
                                        int timeout_ms, ph_messages **ret_list,
                                        ph_error *reterr);

/* ----------------------------------------------------------------- receptors */

/* A receptor is one of several parties that a message concerns; each succeeds,
 * fails and retries for itself. The record belongs to the message, and survives its
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

/* Reports 1 … PH_BATCH_MAX results, in order, all or none. A completed receptor
 * stays completed: a later report changes nothing.
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

/* Lists the receptors of a message that have reported, by name. A message that
 * does not exist has none. Errors: PH_EINVAL (no work_id), … */
PH_API PH_MUST_CHECK int ph_receptor_list(ph_store *store, ph_tx tx,
                                          const ph_receptor_list_opts *opts, int timeout_ms,
                                          ph_receptors **ret_list, ph_error *reterr);
PH_API size_t ph_receptors_count(const ph_receptors *list);
PH_API const ph_receptor_info *ph_receptors_at(const ph_receptors *list, size_t index);
PH_API void ph_receptors_free(ph_receptors *list);

/* --------------------------------------------------------------- checkpoints */

#define PH_CHECKPOINT_AHEAD_MAX 1000 /* gaps that a checkpoint remembers */

/* A consumer's report on one message of a stream. */
typedef struct {
    ph_door door;         /* PH_OUTBOX or PH_INBOX */
    const char *ns;       /* NULL: "" */
    const char *stream;
    const char *consumer; /* a name */
    int64_t seq;          /* of the message */
    bool failed;          /* otherwise it is completed */
    const char *error;    /* failed: kept; NULL: none */
} ph_checkpoint_result;

/* We allocate it; new members are only appended. */
typedef struct {
    const char *consumer;
    int64_t seq;          /* everything up to here is completed: there is no gap below */
    int64_t ahead;        /* how many messages above a gap are completed */
    int64_t lag;          /* messages of the stream above seq */
    const char *error;    /* of the last failure above seq; NULL: none */
    int64_t error_seq, error_at;
    int64_t updated_at;
    int64_t rewound_at;   /* 0: never */
} ph_checkpoint_info;

/* Reports 1 … PH_BATCH_MAX results, in order, all or none. A completion above a
 * gap is remembered; when the gap closes, the checkpoint moves up to the next gap.
 * Messages that retention has deleted leave no gap. A completion at or below the
 * checkpoint changes nothing. A failure above it moves nothing, and is kept until
 * that message is completed or the checkpoint passes it; one at or below it is not
 * recorded.
 * Errors: PH_ENOTFOUND (no such stream, or seq above its last one), PH_EINVAL,
 * PH_ESTATE (more than PH_CHECKPOINT_AHEAD_MAX gaps), … */
PH_API PH_MUST_CHECK int ph_checkpoint_report(ph_store *store, ph_tx tx,
                                              const ph_checkpoint_result *results, size_t count,
                                              int timeout_ms, ph_error *reterr);

/* Sets a checkpoint back (or, on purpose, ahead) to seq: the next message to
 * handle is seq + 1. The checkpoint forgets the completions and the failure that it
 * remembered. The log and rewound_at record it. *ret_old, if not NULL: where it
 * was.
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

/* Lists the checkpoints of a stream, by consumer. A consumer that has never
 * reported has none: it begins at 0. Errors: PH_EINVAL (no stream), … */
PH_API PH_MUST_CHECK int ph_checkpoint_list(ph_store *store, ph_tx tx,
                                            const ph_checkpoint_list_opts *opts, int timeout_ms,
                                            ph_checkpoints **ret_list, ph_error *reterr);
PH_API size_t ph_checkpoints_count(const ph_checkpoints *list);
PH_API const ph_checkpoint_info *ph_checkpoints_at(const ph_checkpoints *list, size_t index);
PH_API void ph_checkpoints_free(ph_checkpoints *list);

/* ---------------------------------------------------------------- work batch */

/* Flags of a call (ph_work_batch_opts.flags). */
#define PH_BATCH_KEEP_COMPLETED 1u /* for debugging: keep acked messages, despite delete_on_ack */
#define PH_BATCH_NO_OUTBOX 2u      /* do not claim outbox messages */
#define PH_BATCH_NO_INBOX 4u       /* do not claim inbox messages */

/* Flags of a delivery (ph_delivery.flags). */
#define PH_WORK_NEW 1u    /* stored in this very call */
#define PH_WORK_ORPHAN 2u /* taken over: its last worker lost it */
#define PH_WORK_RETRY 4u  /* it was abandoned before */

/* The parts of one exchange. Zero means default, or that a part has nothing to do;
 * everything is borrowed. */
typedef struct {
    size_t size;               /* set by PH_WORK_BATCH_OPTS_INIT; new members are only appended */
    ph_owner instance_id;      /* required: ph_owner_new() at the start of the program */
    const char *service_name;  /* required */
    const char *host_name;     /* NULL: this machine's */
    int process_id;            /* 0: this process's */
    const char *metadata;      /* a JSON object, or NULL */
    const ph_settlement *outbox; /* how to settle claimed messages */
    size_t outbox_count;
    const ph_settlement *inbox;
    size_t inbox_count;
    const ph_receptor_result *receptors;
    size_t receptor_count;
    const ph_checkpoint_result *checkpoints;
    size_t checkpoint_count;
    const ph_message *new_outbox; /* an array of structs of equal size; at most
                                     PH_ENQUEUE_BYTES_MAX, and as much for new_inbox */
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
    int batch_size;            /* per door: 0: 50; at most PH_BATCH_MAX, and PH_CLAIM_BYTES_MAX */
    int partition_count;       /* 0: PH_PARTITIONS; the same in all instances of a service */
    int max_partitions;        /* whose streams it works on at the same time; 0: any number */
    int instance_lease_s;      /* of every claim and renewal: 0: PH_INSTANCE_LEASE_S, which is
                                  longer than PH_LEASE_S, since a worker makes this one call for
                                  everything between handlers */
    int stale_threshold_s;     /* 0: PH_STALE_THRESHOLD_S; at least 1; twice the lease is advised */
} ph_work_batch_opts;
#define PH_WORK_BATCH_OPTS_INIT                                                                    \
    {                                                                                              \
        sizeof(ph_work_batch_opts), { { 0 } }, NULL, NULL, 0, NULL, NULL, 0, NULL, 0, NULL, 0,     \
            NULL, 0, NULL, 0, NULL, 0, NULL, 0, NULL, 0, 0, NULL, NULL, 0, 0, 0, 0, 0, 0           \
    }

/* The results of one exchange. We allocate it; new members are only appended. */
typedef struct {
    ph_batch *outbox, *inbox;           /* claimed; never NULL, may be empty; freed with this */
    const ph_outcome *outbox_outcomes;  /* one per item of opts.outbox, and so on */
    const ph_outcome *inbox_outcomes;
    const ph_outcome *renew_outbox_outcomes;
    const ph_outcome *renew_inbox_outcomes;
    const ph_enqueued *new_outbox;
    const ph_received *new_inbox;
    bool registered;                    /* the instance was not known before */
    int evicted;                        /* how many stale instances this call has removed */
} ph_work_batch;

/* One transaction, one round trip: registration or heartbeat (written when the
 * stored one is older than a tenth of the threshold, or the instance has changed
 * otherwise); removal of stale instances; receptor and checkpoint results; then
 * settlements, renewals, new messages; then claims of outbox and inbox.
 * The instance settles and renews its own leases only: an item under another's is
 * PH_OUTCOME_STALE, and disturbs nothing. A part that is invalid (bad JSON,
 * no such stream) fails the whole call, and nothing is done. The claims can return
 * messages that the same call has stored. An idle call writes nothing. For a
 * heartbeat alone, pass PH_BATCH_NO_OUTBOX | PH_BATCH_NO_INBOX.
 * *ret_batch is owned by the caller: ph_work_batch_free().
 * Errors: PH_EINVAL (says what), PH_EEVICTED (take a fresh id), PH_ENOTFOUND, … */
PH_API PH_MUST_CHECK int ph_process_work_batch(ph_store *store, ph_tx tx,
                                               const ph_work_batch_opts *opts, int timeout_ms,
                                               ph_work_batch **ret_batch, ph_error *reterr);
/* Frees it with its two batches. NULL is fine. */
PH_API void ph_work_batch_free(ph_work_batch *batch);

#ifdef __cplusplus
}
#endif

#endif /* POSTHORN_COORDINATION_H */
