/* settle.h - settlements, checked and made fit to store. */
#ifndef PH_CORE_SETTLE_H
#define PH_CORE_SETTLE_H

#include "store/store.h"

/* Settlements as a backend takes them, and room for its answers; both in arena. */
struct ph__settling {
    struct ph__arena arena;
    ph_settlement *items;
    ph_outcome *outcomes;
    size_t count;
};

/* least: how many there must be. */
int ph__settling_check(ph_owner owner, const ph_settlement *items, size_t count, size_t least,
                       ph_error *err);
/* Of checked ones, in a call that is connected: the store's own backoff policy is asked.
 * ph__settling_free() in any case. */
int ph__settling_load(struct ph__settling *settling, struct ph__call *call,
                      const ph_settlement *items, size_t count);
/* After success: logs, and hands the outcomes out (ret_outcomes may be NULL). */
void ph__settling_done(struct ph__settling *settling, const ph_store *store, ph_owner owner,
                       ph_outcome *ret_outcomes);
void ph__settling_free(struct ph__settling *settling);
/* Renewals as callers of the library see them (PH__OUTCOME_CAPPED). */
void ph__renewals_plain(ph_outcome *outcomes, size_t count);
/* Are these fit to be renewed? */
int ph__leases_check(const ph_lease_ref *items, size_t count, ph_error *err);
/* Before a backend is asked: each is still to be set. After that: all are. */
void ph__outcomes_unset(ph_outcome *outcomes, size_t count);
bool ph__outcomes_set(const ph_outcome *outcomes, size_t count);
void ph__outcomes_log(const ph_store *store, const char *event, ph_owner owner,
                      const ph_outcome *outcomes, size_t count);

/* The last statement of a handler's transaction, before its commit. From here on the row of the
 * lease is locked: if the connection breaks now, the server must not keep the lock for long. */
int ph__ack_last(ph_door door, ph_store *store, ph_tx tx, ph_owner owner, const ph_lease_ref *lease,
                 int timeout_ms, ph_outcome *ret_outcome, ph_error *reterr);

#endif
