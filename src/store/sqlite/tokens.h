/* tokens.h - where the busy streams stand, for verbs that only look. */
#ifndef PH_STORE_SQLITE_TOKENS_H
#define PH_STORE_SQLITE_TOKENS_H

#include "store/sqlite/transaction.h"

struct ph__token {
    int64_t stream;
    int64_t seq;      /* messages behind this number are parked */
    int64_t last_seq; /* of the stream */
};

/* Visits the token of every busy stream of a door, and of a namespace (NULL: of all); a visit that
 * returns below 0 ends it. */
int ph__tokens_each(struct ph__sqlite_tx *tx, ph_door door, const char *ns,
                    int (*visit)(void *context, const struct ph__token *token), void *context);

#endif
