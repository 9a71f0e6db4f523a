/* layout.c - what programs that were built against an older or a newer header rely on; checked by the
 * compiler, no code. */
#include "core/options.h"
#include "store/store.h"

#include <stddef.h>

/* Structs that begin with their size: ph__options_load() reads it there, and takes a size that is no
 * number of words for one that was not set. */
#define SIZED(type)                                                                                \
    _Static_assert(offsetof(type, size) == 0 && sizeof(((type *)0)->size) == sizeof(size_t) &&     \
                       sizeof(type) % sizeof(size_t) == 0 && sizeof(type) <= PH__OPTIONS_SIZE_MAX, \
                   #type " begins with its size, and is a number of words")

SIZED(ph_instance_list_opts);
SIZED(ph_stream_list_opts);
SIZED(ph_receptor_list_opts);
SIZED(ph_checkpoint_list_opts);
SIZED(ph_work_batch_opts);
SIZED(ph_handler);
SIZED(ph_dispatcher_opts);
SIZED(ph_dispatcher_stats);
SIZED(ph_served_store_list_opts);
SIZED(ph_inbox_message);
SIZED(ph_message_list_opts);
SIZED(ph_queue_list_opts);
SIZED(ph_doctor_opts);
SIZED(ph_join_opts);
SIZED(ph_wait);
SIZED(ph_join_list_opts);
SIZED(ph_store_opts);
SIZED(ph_schema_status);
SIZED(ph_message);
SIZED(ph_claim_opts);
SIZED(ph_queue_counts);
SIZED(ph_queue_settings);
SIZED(ph_timer);
SIZED(ph_job);
SIZED(ph_job_list_opts);
SIZED(ph_scheduler_opts);
SIZED(ph_schedule);
SIZED(ph_set_opts);
SIZED(ph_database);
SIZED(ph_database_list_opts);
SIZED(ph_router_opts);

/* Frozen: programs have them on their stack, without a size. */
_Static_assert(offsetof(ph_error, code) == 0 && offsetof(ph_error, native) == 4 &&
                   offsetof(ph_error, flags) == 8 && offsetof(ph_error, sqlstate) == 12 &&
                   offsetof(ph_error, message) == 18 && sizeof(ph_error) == 268,
               "the layout of ph_error is frozen");
_Static_assert(sizeof(ph_work_id) == 16 && sizeof(ph_message_id) == 16 &&
                   sizeof(ph_join_id) == 16 && sizeof(ph_tenant_id) == 16 && sizeof(ph_owner) == 16,
               "an id is 16 bytes, whatever it is of");
_Static_assert(offsetof(ph_settlement, lease) == 0 && offsetof(ph_lease_ref, work_id) == 0,
               "lists of settlements and of leases are walked as lists of leases, and of ids");

_Static_assert(offsetof(ph_delivery, work_id) == 0 && offsetof(ph_delivery, message_id) == 16 &&
                   offsetof(ph_delivery, fence) == 32,
               "members of ph_delivery are only appended");

/* What a caller gets, and gives back to be freed: the whole begins with it. */
_Static_assert(offsetof(struct ph__info, info) == 0, "ph_message_info_free() casts it back");
_Static_assert(offsetof(struct ph__join_found, info) == 0, "ph_join_info_free() casts it back");

/* Stored numbers. */
_Static_assert(PH_OUTBOX == 0 && PH_INBOX == 1 && PH_TIMERS == 2 && PH_JOB_RUNS == 3,
               "the number of a door is part of every work id");
_Static_assert(PH_PRIORITY_URGENT < PH_PRIORITY_NORMAL && PH_PRIORITY_NORMAL == 0 &&
                   PH_PRIORITY_NORMAL < PH_PRIORITY_LOW && PH_PRIORITY_LOW < PH_PRIORITY_BULK,
               "what is more urgent comes first, and a priority that is not set is the normal one");
