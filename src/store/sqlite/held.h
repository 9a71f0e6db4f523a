/* held.h - which lease of an owner holds a message: settle and renew ask that first. */
#ifndef PH_STORE_SQLITE_HELD_H
#define PH_STORE_SQLITE_HELD_H

#include "store/sqlite/lease_row.h"
#include "store/sqlite/moves.h"

/* A lease that was read in this call. */
struct ph__held {
    struct ph__held *next;
    struct ph__lease_row lease;
    bool changed;
    size_t acked_count;
    bool *acked;        /* per message of the lease; NULL: none */
    size_t *asked;      /* settle: per message in a run the item for it, from 1; NULL: none */
    ph_outcome renewal; /* renew: the outcome; 0: not tried yet */
};

struct ph__held_set {
    struct ph__sqlite_tx *tx;
    struct ph__arena *arena;
    ph_door door;
    ph_owner owner;
    struct ph__held *first, **last; /* in the order in which they were read */
    struct ph__held *hint;          /* where the previous message was found */
    bool all;                       /* every lease of the owner has been read */
};

void ph__held_init(struct ph__held_set *set, struct ph__sqlite_tx *tx, struct ph__arena *arena,
                   ph_door door, ph_owner owner);

/* Where one message is held. */
struct ph__hold {
    struct ph__held *held; /* NULL: nowhere; then outcome says stale or unknown */
    size_t position;
    ph_outcome outcome;
    struct ph__message_facts facts;
    int64_t stream, seq; /* settle: of which stream it is the head; 0: of none */
};
int ph__held_find(struct ph__held_set *set, const ph_lease_ref *ref, struct ph__hold *ret_hold);

/* firsts[i] is the index of the first item with the same work id as item i; NULL
 * if no id occurs twice. stride: the distance of the items, each beginning with a
 * ph_lease_ref. */
int ph__held_firsts(const void *items, size_t stride, size_t count, struct ph__arena *arena,
                    ph_error *err, const size_t **ret_firsts);

#endif
