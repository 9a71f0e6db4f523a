/* door.h - the verbs that outbox, inbox, timers and job runs have in common; door.c gives them
 * their public names. posthorn.h says what each promises. */
#ifndef PH_CORE_DOOR_H
#define PH_CORE_DOOR_H

#include "store/store.h"

/* A public door: is there one? */
int ph__door_check(ph_door door, ph_error *err);
/* … and a namespace? NULL stands for "". */
int ph__queue_check(ph_door door, const char *ns, ph_error *err);

int ph__door_claim(ph_door door, ph_store *store, ph_tx tx, ph_owner owner,
                   const ph_claim_opts *opts, int timeout_ms, ph_batch **ret_batch,
                   ph_error *reterr);
int ph__door_settle(ph_door door, ph_store *store, ph_tx tx, ph_owner owner,
                    const ph_settlement *items, size_t count, int timeout_ms,
                    ph_outcome *ret_outcomes, ph_error *reterr);
/* One verb for all items; none is fine. */
int ph__door_settle_alike(ph_door door, ph_store *store, ph_tx tx, ph_owner owner,
                          const ph_lease_ref *items, size_t count, const ph_settlement *like,
                          int timeout_ms, ph_outcome *ret_outcomes, ph_error *reterr);
int ph__door_renew(ph_door door, ph_store *store, ph_tx tx, ph_owner owner,
                   const ph_lease_ref *items, size_t count, int lease_s, int timeout_ms,
                   ph_outcome *ret_outcomes, ph_error *reterr);
int ph__door_reap_expired(ph_door door, ph_store *store, ph_tx tx, int timeout_ms,
                          int64_t *ret_count, ph_error *reterr);
int ph__door_find(ph_door door, ph_store *store, ph_tx tx, ph_work_id id, int timeout_ms,
                  ph_message_info **ret_info, ph_error *reterr);
int ph__door_count(ph_door door, ph_store *store, ph_tx tx, const char *ns, int timeout_ms,
                   ph_queue_counts *ret_counts, ph_error *reterr);
int ph__door_list(ph_door door, ph_store *store, ph_tx tx, const ph_message_list_opts *opts,
                  int timeout_ms, ph_messages **ret_list, ph_error *reterr);

#endif
