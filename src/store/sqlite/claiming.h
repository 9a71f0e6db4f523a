/* claiming.h - a claim under way, shared by its files.
 *
 * claim.c takes rows of pending that claim_walk.c finds; claim_run.c follows the streams whose
 * heads it takes. */
#ifndef PH_STORE_SQLITE_CLAIMING_H
#define PH_STORE_SQLITE_CLAIMING_H

#include "store/sqlite/affinity.h"
#include "store/sqlite/lease_row.h"
#include "store/sqlite/queue_row.h"
#include "store/sqlite/topics.h"

/* A row of pending that the claim leaves to the dead. */
struct ph__unfit {
    int64_t id, due;
    int attempts;
    bool expired;        /* otherwise its attempts are spent */
    int64_t stream, seq; /* of which it is the head; 0: none */
    uint32_t topic;
};

/* A run that the claim takes: its messages stand together in the batch. */
struct ph__claim_run {
    int64_t stream, first_seq, last_seq;
    const char *key;
    size_t first, count;           /* in the batch */
    size_t more_first, more_count; /* of those that came later, until they stand there too */
};

struct ph__claiming {
    struct ph__sqlite_tx *tx;
    const struct ph__claim *claim;
    ph_batch *batch;
    struct ph__arena *arena; /* the batch's */
    struct ph__queue_row queue;
    struct ph__topics topics;
    bool more_columns;       /* the queue has streams or sources */
    size_t capacity;         /* of batch->items, and of … */
    int64_t *dues;           /* … where each stood in pending */
    struct ph__unfit *unfit; /* of the present level; NULL until needed */
    size_t unfit_count, buried;
    ph__deadline bury_until;
    int lost;     /* how often the worker of each of them died: that of the messages taken */
    bool alone;   /* one message was taken whose last attempt this is, and no more are */
    size_t bytes; /* of payloads and headers taken */
    bool full;    /* with the next message there would be too many */
    bool stop;
    struct ph__affinity affinity;
    struct ph__claim_run *runs; /* in the order of the batch */
    size_t run_count, run_room;
    int level;       /* the present one */
    unsigned walked; /* levels that are behind us: a bit each */
    bool again;      /* the present level has got a head that is due */
};

/* A row of pending that a claim may want: its topic, as far as the hash tells, and its stream are
 * right. */
struct ph__found {
    int64_t due, id;
    int64_t stream; /* of which it is the head; 0: none */
    uint32_t topic; /* its hash */
};

/* The due rows of a level that a claim may want, in the order of claiming. */
struct ph__stretch;
struct ph__walk {
    struct ph__claiming *c;
    int level;
    size_t rows;                   /* that are wanted, most likely */
    struct ph__query query;        /* through all rows */
    struct ph__found last;         /* the row on which it stands */
    size_t passed;                 /* rows of other topics */
    bool left_some;                /* rows that it has passed over are not taken */
    struct ph__stretch *stretches; /* of the index of topics; NULL: not there yet */
    struct ph__stretch **first;    /* those that have rows left, by their next row */
    size_t left, portion;
    struct ph__arena arena;
};

#define PH__BURY_MAX 1000    /* messages that a claim buries at most */
#define PH__LOST_GROUP_MAX 8 /* messages together whose worker died once */

/* The columns of claim_walk, of claim_walk_more and of claim_follow: each has those before. */
/* clang-format off */
enum { PH__CLAIM_DUE, PH__CLAIM_ID, PH__CLAIM_ATTEMPTS, PH__CLAIM_LOST, PH__CLAIM_SALT,
       PH__CLAIM_TOPIC, PH__CLAIM_MESSAGE_ID, PH__CLAIM_TENANT_ID, PH__CLAIM_DEDUPE_KEY,
       PH__CLAIM_CORRELATION_ID, PH__CLAIM_HEADERS, PH__CLAIM_CREATED_AT, PH__CLAIM_EXPIRES_AT,
       PH__CLAIM_MAX_ATTEMPTS, PH__CLAIM_PAYLOAD, PH__CLAIM_DUE_AT,
       PH__CLAIM_STREAM, PH__CLAIM_SEQ, PH__CLAIM_SOURCE,
       PH__CLAIM_LEVEL };
/* clang-format on */

/* claim.c: would the query's row be too many bytes for the batch? Then that is full. */
bool ph__claim_overflows(struct ph__claiming *c, const struct ph__query *query);
/* Adds the query's row to the batch. */
int ph__claim_take(struct ph__claiming *c, const struct ph__query *query, int level);

/* claim_walk.c: a walk, for so many rows most likely. */
void ph__walk_begin(struct ph__walk *walk, struct ph__claiming *c, int level, size_t rows);
/* 1, or 0 if there is no further row: then it must not go on. */
int ph__walk_next(struct ph__walk *walk, struct ph__found *ret_found);
void ph__walk_end(struct ph__walk *walk);
/* The rows of a level, through PH__SQL_claim_walk and the like. */
struct ph__query ph__level_query(struct ph__claiming *c, enum ph__sqlite_statement which,
                                 int level);

/* claim_run.c: how many more messages may go with those taken. */
size_t ph__claim_room(const struct ph__claiming *c);
/* The item that was just taken is the head of a stream; takes the messages behind it, too, unless
 * that must wait. */
int ph__claim_run(struct ph__claiming *c, const struct ph__query *query, bool alone);
/* Room that is left goes to the runs taken. */
int ph__claim_extend(struct ph__claiming *c);
/* The head of a stream was buried: buries the expired messages behind it, too. */
int ph__claim_bury_head(struct ph__claiming *c, const struct ph__unfit *unfit);
/* Buries one message. */
int ph__claim_bury(struct ph__claiming *c, const struct ph__unfit *unfit);
/* Writes the runs as the lease keeps them; places: where each item of the batch is in ids. */
void ph__claim_pack_runs(const struct ph__claiming *c, uint16_t *places, struct ph__buffer *to);

#endif
