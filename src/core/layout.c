/* layout.c - the layout on which programs built against an older or a newer header rely; checked by
 * the compiler, no code. */
#include "core/options.h"
#include "store/store.h"

#include <stddef.h>

/* Structs that begin with their size: ph__options_load() reads it there, and takes a size that is no
 * number of words for one that was not set. Members are only appended: here is where the newest one
 * begins, so that the compiler notices one that was put before it. */
#define SIZED(type, newest, begins)                                                                \
    _Static_assert(offsetof(type, size) == 0 && sizeof(((type *)0)->size) == sizeof(size_t) &&     \
                       sizeof(type) % sizeof(size_t) == 0 && sizeof(type) <= PH__OPTIONS_SIZE_MAX, \
                   #type " begins with its size, and is a number of words");                       \
    _Static_assert(sizeof(void *) != 8 || offsetof(type, newest) == (begins),                      \
                   "members of " #type " are only appended, after " #newest)

SIZED(ph_instance_list_opts, ended_too, 16);
SIZED(ph_stream_list_opts, after_stream, 64);
SIZED(ph_receptor_list_opts, work_id, 8);
SIZED(ph_checkpoint_list_opts, consumer, 32);
SIZED(ph_work_batch_opts, stale_threshold_s, 232);
SIZED(ph_handler, inbox, 40);
SIZED(ph_dispatcher_opts, connections, 120);
SIZED(ph_dispatcher_stats, evictions, 672);
SIZED(ph_served_store_list_opts, id, 8);
SIZED(ph_inbox_message, handled, 96);
SIZED(ph_message_list_opts, with_payload, 52);
SIZED(ph_queue_list_opts, ns, 16);
SIZED(ph_doctor_opts, progress_context, 24);
SIZED(ph_join_opts, deadline, 24);
SIZED(ph_wait, ns, 48);
SIZED(ph_join_list_opts, step, 41);
SIZED(ph_store_opts, join_context, 96);
SIZED(ph_schema_status, pending, 21);
SIZED(ph_message, stream, 120);
SIZED(ph_claim_opts, topic_count, 32);
SIZED(ph_queue_counts, waiting, 64);
SIZED(ph_queue_settings, affinity_grace_ms, 84);
SIZED(ph_timer, headers, 56);
SIZED(ph_job, ns, 72);
SIZED(ph_job_list_opts, after, 32);
SIZED(ph_scheduler_opts, batch_size, 12);
SIZED(ph_schedule, more, 64);
SIZED(ph_set_opts, refresh_ms, 20);
SIZED(ph_database, table_prefix, 40);
SIZED(ph_database_list_opts, id, 8);
SIZED(ph_router_opts, connections, 8);

/* Frozen: programs have them on their stack, without a size. */
_Static_assert(offsetof(ph_error, code) == 0 && offsetof(ph_error, native) == 4 &&
                   offsetof(ph_error, flags) == 8 && offsetof(ph_error, sqlstate) == 12 &&
                   offsetof(ph_error, message) == 18 && offsetof(ph_error, item) == 264 &&
                   offsetof(ph_error, cure) == 267 && sizeof(ph_error) == 268,
               "the layout of ph_error is frozen");
_Static_assert(sizeof(ph_work_id) == 16 && sizeof(ph_message_id) == 16 &&
                   sizeof(ph_join_id) == 16 && sizeof(ph_tenant_id) == 16 && sizeof(ph_owner) == 16,
               "an id is 16 bytes, whatever it is of");
_Static_assert(offsetof(ph_settlement, lease) == 0 && offsetof(ph_lease_ref, work_id) == 0,
               "lists of settlements and of leases are walked as lists of leases, and of ids");

/* Structs that the library allocates: callers only read them, so that members can be appended. */
#define APPENDED(type, newest, begins)                                                             \
    _Static_assert(sizeof(void *) != 8 || offsetof(type, newest) == (begins),                      \
                   "members of " #type " are only appended, after " #newest)

APPENDED(ph_instance_info, partition_count, 96);
APPENDED(ph_stream_info, created_at, 136);
APPENDED(ph_receptor_info, last_at, 32);
APPENDED(ph_checkpoint_info, rewound_at, 64);
APPENDED(ph_work_batch, evicted, 68);
APPENDED(ph_candidate, in_flight, 24);
APPENDED(ph_served_store, last_error, 72);
APPENDED(ph_message_info, waits_for, 120);
APPENDED(ph_queue_info, counts, 104);
APPENDED(ph_finding, subject, 40);
APPENDED(ph_join_info, member_count, 96);
APPENDED(ph_delivery, flags, 192);
APPENDED(ph_job_info, updated_at, 120);
APPENDED(ph_set_change, error, 48);

/* Structs without a size that callers pass by value or have in arrays of their own: frozen. */
#define FROZEN(type, last, begins, bytes)                                                          \
    _Static_assert(sizeof(void *) != 8 ||                                                          \
                       (offsetof(type, last) == (begins) && sizeof(type) == (bytes)),              \
                   "the layout of " #type " is frozen")

FROZEN(ph_tx, connection, 8, 16);
FROZEN(ph_enqueued, is_new, 32, 33);
FROZEN(ph_lease_ref, retry_count, 28, 32);
FROZEN(ph_settlement, delay_ms, 48, 56);
FROZEN(ph_received, is_new, 16, 17);
FROZEN(ph_receptor_result, error, 32, 40);
FROZEN(ph_checkpoint_result, error, 48, 56);
FROZEN(ph_join_end, waits, 32, 36);

/* A caller gets the public struct, and gives it back to be freed: it is the first member of the
 * whole. */
_Static_assert(offsetof(struct ph__info, info) == 0, "ph_message_info_free() casts it back");
_Static_assert(offsetof(struct ph__join_found, info) == 0, "ph_join_info_free() casts it back");

/* Stored numbers. */
_Static_assert(PH_OUTBOX == 0 && PH_INBOX == 1 && PH_TIMERS == 2 && PH_JOB_RUNS == 3,
               "the number of a door is part of every work id");
_Static_assert(PH_PRIORITY_URGENT < PH_PRIORITY_NORMAL && PH_PRIORITY_NORMAL == 0 &&
                   PH_PRIORITY_NORMAL < PH_PRIORITY_LOW && PH_PRIORITY_LOW < PH_PRIORITY_BULK,
               "what is more urgent comes first, and a priority that is not set is the normal one");
