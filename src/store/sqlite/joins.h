/* joins.h - joins inside the tables, for the verbs. The caller has the write lock, so that a join
 * is still as it was read when it is written. */
#ifndef PH_STORE_SQLITE_JOINS_H
#define PH_STORE_SQLITE_JOINS_H

#include "core/join.h"
#include "store/sqlite/transaction.h"

/* The status that a step shows: stored, and the same as in ph_join_member. */
enum ph__step { PH__STEP_PENDING = 0, PH__STEP_COMPLETED = 1, PH__STEP_FAILED = 2 };

struct ph__join_head {
    int64_t number;
    uint64_t salt;
    int expected, attached, completed, failed;
    ph_join_state status;
    int64_t updated_at;
};
ph_join_id ph__join_head_id(const struct ph__join_head *head);
/* Loads the present row of a query with the columns of join_get. */
void ph__join_head_load(const struct ph__query *query, struct ph__join_head *ret_head);
/* Runs a query for one, whose parameters are bound. 1 if there is one. */
int ph__join_head_one(struct ph__query *query, struct ph__join_head *ret_head);
/* PH__JOIN_UNKNOWN if there is none. */
int ph__join_head_find(struct ph__sqlite_tx *tx, ph_join_id id, struct ph__join_head *ret_head);
/* By its number: 1, or 0 if it has ended. */
int ph__join_head_open(struct ph__sqlite_tx *tx, int64_t number, struct ph__join_head *ret_head);
/* Have all expected steps ended? Not so if a deadline has ended the join. */
bool ph__join_head_complete(const struct ph__join_head *head);

/* join_steps.c: the one place where steps are counted. A function that moves messages to done or
 * dead reports them to ended; count counts all those reported since, in every join, and ends the
 * joins that are complete. */
int ph__steps_ended(struct ph__sqlite_tx *tx, const int64_t *ids, size_t count, bool failed);
int ph__steps_count(struct ph__sqlite_tx *tx);
void ph__steps_free(struct ph__ended *ended);
/* Counts in one join by hand. */
int ph__steps_count_in(struct ph__sqlite_tx *tx, int64_t join, int completed, int failed);
/* Counted messages (ascending) will be deleted: their steps keep the status that they show. */
int ph__steps_keep(struct ph__sqlite_tx *tx, const int64_t *ids, size_t count, enum ph__step shown);

/* join_finish.c: writes the counters of an open join. If it is complete with them it ends, and its
 * waits fire. */
int ph__join_write(struct ph__sqlite_tx *tx, struct ph__join_head *head);
/* Ends an open join that has open steps: they keep the status that they show. */
int ph__join_close(struct ph__sqlite_tx *tx, struct ph__join_head *head, ph_join_state status);
/* Fires the waits of a join that has ended; *ret_count: how many there were. */
int ph__join_fire(struct ph__sqlite_tx *tx, const struct ph__join_head *head, int *ret_count);
/* Ends open joins whose deadline has passed, at most so many; *ret_count: how many. */
int ph__joins_expire(struct ph__sqlite_tx *tx, long most, int64_t *ret_count);
/* 1 if there is one, 0 if not. Needs no lock. */
int ph__joins_expire_needed(struct ph__sqlite_tx *tx);

/* join_attach.c: steps that come into joins, mostly many into the same. Set tx, and leave the rest
 * zero; end writes the remaining changes. */
struct ph__attaching {
    struct ph__sqlite_tx *tx;
    ph_join_id join; /* of head; zero: none yet */
    struct ph__join_head head;
    bool changed;
    size_t index; /* of the present message in the call */
};
/* The newest message with that id. */
int ph__attach(struct ph__attaching *a, ph_join_id join, const ph_message_id *message);
/* A message that this call has stored, and whose message id is its work id. */
int ph__attach_new(struct ph__attaching *a, ph_join_id join, ph_work_id message);
int ph__attach_end(struct ph__attaching *a);

#endif
