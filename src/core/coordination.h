/* coordination.h - what the one exchange has in common with the calls that do a part of it. */
#ifndef PH_CORE_COORDINATION_H
#define PH_CORE_COORDINATION_H

#include "store/store.h"

/* A stream by name, checked. */
int ph__stream_load(struct ph__stream *to, ph_door door, const char *ns, const char *key,
                    ph_error *err);
/* Begins a call about one stream. */
int ph__stream_begin(struct ph__call *call, ph_store *store, ph_tx tx, ph_door door, const char *ns,
                     const char *key, int timeout_ms, ph_error *reterr, struct ph__stream *ret);

/* Results of receptors and consumers, checked, their errors fit to store; from the arena. */
int ph__receptors_load(const ph_receptor_result *from, size_t count, struct ph__arena *arena,
                       ph_receptor_result **ret_to, ph_error *err);
int ph__checkpoints_load(const ph_checkpoint_result *from, size_t count, struct ph__arena *arena,
                         struct ph__checkpoint **ret_to, ph_error *err);

/* The backend has refused the instance. */
int ph__fail_evicted(ph_error *err, ph_owner instance);

#endif
