/* affinity.h - to which instance a stream belongs, and which heads a claim leaves to others.
 *
 * A partition belongs to the live instance of a service whose score for it is the highest
 * (rendezvous hashing), among those that claim the queue and the topic of its head, and come
 * (claimer.h): when one comes or goes, only its own partitions move. */
#ifndef PH_STORE_SQLITE_AFFINITY_H
#define PH_STORE_SQLITE_AFFINITY_H

#include "store/sqlite/transaction.h"

/* The live instance of the service to which the partition belongs, if there is one. */
struct ph__partition {
    const char *service;
    int number;
    ph_door door;
    const char *ns, *topic; /* topic NULL: any */
};
int ph__partition_owner(struct ph__sqlite_tx *tx, const struct ph__partition *partition,
                        ph_owner *ret_owner, bool *ret_found);

/* Another live instance of the claimer's service that claims from the same queue. */
struct ph__rival {
    ph_owner id;
    int64_t since;
    const uint32_t *topics; /* their hashes; NULL: all that this claim may take */
    size_t topic_count;
};

/* What an instance's claim knows of the other instances, and of the runs that it holds itself. */
struct ph__affinity {
    struct ph__sqlite_tx *tx;
    const struct ph__claim *claim;
    struct ph__arena *arena;
    bool on;            /* otherwise no head is left to others */
    int64_t grace_from; /* heads that were due by then are for anyone */
    struct ph__rival *rivals;
    size_t rival_count;
    int *held; /* partitions of which it holds runs, if there is a maximum */
    size_t held_count, held_room;
    size_t passed; /* of the present level, since it holds the maximum */
};

/* A claim at its maximum looks at so many heads of other partitions in a level, not at all that
 * wait. */
#define PH__AFFINITY_PASS_MAX 1000

/* A head, as a claim meets it. */
struct ph__head {
    int64_t stream, due;
    uint32_t topic; /* its hash */
};

/* Of a claim of a queue that has streams; memory from the arena. */
int ph__affinity_load(struct ph__affinity *a, struct ph__sqlite_tx *tx,
                      const struct ph__claim *claim, int grace_ms, struct ph__arena *arena);
/* 1 if the claim passes over the stream's head. */
int ph__affinity_passes(struct ph__affinity *a, const struct ph__head *head);
/* The claim has taken the head of the stream with this hash. */
int ph__affinity_took(struct ph__affinity *a, const struct ph__head *head, int64_t hash);

#endif
