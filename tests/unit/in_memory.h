/* in_memory.h - a dispatcher and databases that are nothing but memory, and a clock that the test moves:
 * for what the dispatcher decides without asking anybody.
 *
 * The lock is taken with the dispatcher and never let go, so that counters need not agree where a test
 * is not about them. */
#ifndef T_IN_MEMORY_H
#define T_IN_MEMORY_H

#include "dispatch/poll/poll.h"

#define M_START INT64_C(1000000000)
#define M_MS INT64_C(1000)
#define M_SECOND INT64_C(1000000)

/* From the first of either on this is what ph__boot_us() says. */
extern int64_t m_now_us;

/* Four threads, ten messages ahead in batches of ten; one handler. */
ph_dispatcher *m_dispatcher(void);
/* The next of its databases, eight at most: connected and well, was claimed from, and needs nothing. */
struct ph__db *m_db(ph_dispatcher *dispatcher);
/* The same, of a set. */
struct ph__db *m_db_of_set(ph_dispatcher *dispatcher);
/* So many of its works have a verdict that the database does not know; since now. */
void m_decide(struct ph__db *db, size_t count);

#endif
