/* claimer.h - from which queues, and which topics, instances claim, as their claims have told. An
 * instance that leaves its own head lying, or loses a lease, does not come: no head is left to it
 * until it claims again. */
#ifndef PH_STORE_SQLITE_CLAIMER_H
#define PH_STORE_SQLITE_CLAIMER_H

#include "store/sqlite/transaction.h"

/* 1: it is stored that this instance claims so, and comes. */
int ph__claimer_is_known(struct ph__sqlite_tx *tx, const struct ph__claim *claim);
/* The instance claims so; writes only if that is news. */
int ph__claimer_comes(struct ph__sqlite_tx *tx, const struct ph__claim *claim);
/* It did not come for this queue; queue NULL: its lease ran out. */
int ph__claimer_stays_away(struct ph__sqlite_tx *tx, ph_owner instance,
                           const struct ph__claim *queue);

/* The topics as stored (NULL: all), one after the other: false at the end. */
bool ph__claimer_topic(const char **stored, const char **ret_topic, size_t *ret_length);
/* Is this topic one of them? */
bool ph__claimer_wants(const char *stored, const char *topic);
/* Are all that the claim asks for among them? */
bool ph__claimer_covers(const char *stored, const struct ph__claim *claim);

#endif
