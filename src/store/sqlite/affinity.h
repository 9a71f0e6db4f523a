/* affinity.h - to which instance a stream belongs, and which heads a claim leaves to others.
 *
 * A partition belongs to the live instance of a service whose score for it is the highest
 * (rendezvous hashing): when one comes or goes, only its own partitions move. */
#ifndef PH_STORE_SQLITE_AFFINITY_H
#define PH_STORE_SQLITE_AFFINITY_H

#include "store/sqlite/transaction.h"

/* The live instance of the service to which the partition belongs, if there is one. */
int ph__partition_owner(struct ph__sqlite_tx *tx, const char *service, int partition,
                        ph_owner *ret_owner, bool *ret_found);

/* What a claim of an instance knows of the others, and of what it holds itself. */
struct ph__affinity {
    struct ph__sqlite_tx *tx;
    const struct ph__claim *claim;
    struct ph__arena *arena;
    bool on;              /* otherwise no head is left to others */
    int64_t grace_from;   /* heads that were due by then are for anyone */
    const ph_owner *live; /* of the claimer's service; none: only the maximum counts */
    size_t live_count;
    int *held; /* partitions of which it holds runs, if there is a maximum */
    size_t held_count, held_room;
    size_t passed; /* of the present level, since it holds the maximum */
};

/* A claim at its maximum looks at so many heads of other partitions in a level, not at all that
 * wait. */
#define PH__AFFINITY_PASS_MAX 1000

/* Of a claim of a queue that has streams; memory from the arena. */
int ph__affinity_load(struct ph__affinity *a, struct ph__sqlite_tx *tx,
                      const struct ph__claim *claim, int grace_ms, struct ph__arena *arena);
/* 1 if the claim passes over the stream's head. */
int ph__affinity_passes(struct ph__affinity *a, int64_t stream, int64_t due);
/* The claim has taken a run of the stream with this hash. */
int ph__affinity_took(struct ph__affinity *a, int64_t hash);

#endif
