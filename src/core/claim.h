/* claim.h - a claim's options, checked. */
#ifndef PH_CORE_CLAIM_H
#define PH_CORE_CLAIM_H

#include "store/store.h"

#define PH__BATCH_SIZE 50

int ph__claim_load(ph_door door, ph_owner owner, const ph_claim_opts *from, struct ph__claim *to,
                   ph_error *err);
void ph__claim_log(const ph_store *store, const struct ph__claim *claim, const ph_batch *batch);

#endif
