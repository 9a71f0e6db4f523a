/* join.h - what can be wrong with a call about joins, in the same words on every backend; and what
 * became of joins in a call. */
#ifndef PH_CORE_JOIN_H
#define PH_CORE_JOIN_H

#include "store/store.h"

/* The numbers that the functions of PostgreSQL answer (sql/functions/join_problem.sql). */
enum ph__join_problem {
    PH__JOIN_FINE = 0,
    PH__JOIN_UNKNOWN = 1,         /* no such join */
    PH__JOIN_MESSAGE_UNKNOWN = 2, /* no such message */
    PH__JOIN_CLOSED = 3,          /* cancelled, or past its deadline */
    PH__JOIN_FULL = 4,            /* it has all its steps */
    PH__JOIN_NO_MEMBER = 5,       /* the message is not a step of it */
    PH__JOIN_IS_WAIT = 6,         /* the message is a wait */
    PH__JOIN_DEADLINE = 7,        /* the deadline is not ahead */
    PH__JOIN_PAYLOAD = 8,         /* a continuation's payload is longer than its queue allows */
};

/* Fills err; message may be NULL where there is none. PH__JOIN_FINE: 0. */
int ph__join_problem(ph_error *err, enum ph__join_problem problem, ph_join_id join,
                     const ph_message_id *message);

/* At the end of a call: if r is 0, logs call->ends and tells the store's callback; frees them.
 * Returns r. */
int ph__call_joins(struct ph__call *call, int r);

/* Logs the attaching of one message. *repeated is a position in call->ends, which must still be
 * there, and moves on from message to message; it begins at 0. */
void ph__attached_log(const struct ph__call *call, ph_join_id join, const ph_message_id *message,
                      size_t index, size_t *repeated);

#endif
