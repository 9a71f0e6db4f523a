/* door.c - the same verbs under the name of each door. */
#include "core/door.h"

#include "core/error.h"
#include "core/message.h"

int ph__door_check(ph_door door, ph_error *err)
{
    if (door != PH_OUTBOX && door != PH_INBOX && door != PH_TIMERS && door != PH_JOB_RUNS)
        return ph__fail(err, PH_EINVAL, "door %d is not a ph_door", (int)door);
    return 0;
}

int ph__queue_check(ph_door door, const char *ns, ph_error *err)
{
    int r = ph__name_check(ns ? ns : "", "namespace", true, err);

    return r < 0 ? r : ph__door_check(door, err);
}

/* clang-format off */
#define VERBS_OF_DOOR(name, door)                                                                  \
    int ph_##name##_claim(ph_store *store, ph_tx tx, ph_owner owner, const ph_claim_opts *opts,    \
                          int timeout_ms, ph_batch **ret_batch, ph_error *reterr)                  \
    {                                                                                              \
        return ph__door_claim(door, store, tx, owner, opts, timeout_ms, ret_batch, reterr);        \
    }                                                                                              \
    int ph_##name##_settle(ph_store *store, ph_tx tx, ph_owner owner, const ph_settlement *items,  \
                           size_t count, int timeout_ms, ph_outcome *ret_outcomes,                 \
                           ph_error *reterr)                                                       \
    {                                                                                              \
        return ph__door_settle(door, store, tx, owner, items, count, timeout_ms, ret_outcomes,     \
                               reterr);                                                            \
    }                                                                                              \
    int ph_##name##_ack(ph_store *store, ph_tx tx, ph_owner owner, const ph_lease_ref *items,      \
                        size_t count, int timeout_ms, ph_outcome *ret_outcomes, ph_error *reterr)  \
    {                                                                                              \
        ph_settlement like = { .verb = PH_ACK };                                                   \
        return ph__door_settle_alike(door, store, tx, owner, items, count, &like, timeout_ms,      \
                                     ret_outcomes, reterr);                                        \
    }                                                                                              \
    int ph_##name##_abandon(ph_store *store, ph_tx tx, ph_owner owner, const ph_lease_ref *items,  \
                            size_t count, const char *error, int64_t delay_ms, int timeout_ms,     \
                            ph_outcome *ret_outcomes, ph_error *reterr)                            \
    {                                                                                              \
        ph_settlement like = { .verb = PH_ABANDON, .error = error, .delay_ms = delay_ms };         \
        return ph__door_settle_alike(door, store, tx, owner, items, count, &like, timeout_ms,      \
                                     ret_outcomes, reterr);                                        \
    }                                                                                              \
    int ph_##name##_fail(ph_store *store, ph_tx tx, ph_owner owner, const ph_lease_ref *items,     \
                         size_t count, const char *error, int timeout_ms,                          \
                         ph_outcome *ret_outcomes, ph_error *reterr)                               \
    {                                                                                              \
        ph_settlement like = { .verb = PH_FAIL, .error = error };                                  \
        return ph__door_settle_alike(door, store, tx, owner, items, count, &like, timeout_ms,      \
                                     ret_outcomes, reterr);                                        \
    }                                                                                              \
    int ph_##name##_release(ph_store *store, ph_tx tx, ph_owner owner, const ph_lease_ref *items,  \
                            size_t count, int timeout_ms, ph_outcome *ret_outcomes,                \
                            ph_error *reterr)                                                      \
    {                                                                                              \
        ph_settlement like = { .verb = PH_RELEASE };                                               \
        return ph__door_settle_alike(door, store, tx, owner, items, count, &like, timeout_ms,      \
                                     ret_outcomes, reterr);                                        \
    }                                                                                              \
    int ph_##name##_renew(ph_store *store, ph_tx tx, ph_owner owner, const ph_lease_ref *items,    \
                          size_t count, int lease_s, int timeout_ms, ph_outcome *ret_outcomes,     \
                          ph_error *reterr)                                                        \
    {                                                                                              \
        return ph__door_renew(door, store, tx, owner, items, count, lease_s, timeout_ms,           \
                              ret_outcomes, reterr);                                               \
    }                                                                                              \
    int ph_##name##_reap_expired(ph_store *store, ph_tx tx, int timeout_ms, int64_t *ret_count,    \
                                 ph_error *reterr)                                                 \
    {                                                                                              \
        return ph__door_reap_expired(door, store, tx, timeout_ms, ret_count, reterr);              \
    }                                                                                              \
    int ph_##name##_find(ph_store *store, ph_tx tx, ph_work_id id, int timeout_ms,                 \
                         ph_message_info **ret_info, ph_error *reterr)                             \
    {                                                                                              \
        return ph__door_find(door, store, tx, id, timeout_ms, ret_info, reterr);                   \
    }                                                                                              \
    int ph_##name##_count(ph_store *store, ph_tx tx, const char *ns, int timeout_ms,               \
                          ph_queue_counts *ret_counts, ph_error *reterr)                          \
    {                                                                                              \
        return ph__door_count(door, store, tx, ns, timeout_ms, ret_counts, reterr);                \
    }                                                                                              \
    int ph_##name##_list(ph_store *store, ph_tx tx, const ph_message_list_opts *opts, int timeout_ms,      \
                         ph_messages **ret_list, ph_error *reterr)                             \
    {                                                                                              \
        return ph__door_list(door, store, tx, opts, timeout_ms, ret_list, reterr);                 \
    }
/* clang-format on */

VERBS_OF_DOOR(outbox, PH_OUTBOX)
VERBS_OF_DOOR(inbox, PH_INBOX)
VERBS_OF_DOOR(timers, PH_TIMERS)
VERBS_OF_DOOR(job_runs, PH_JOB_RUNS)
