/* waiting.h - for tests: is one of our connections waiting for a lock? */
#ifndef PH_STORE_SQLITE_WAITING_H
#define PH_STORE_SQLITE_WAITING_H

/* How many connections of this process, opened by stores, are waiting for a
 * lock right now. Rises when the first try fails, falls when the lock was got
 * or the time limit was reached. */
extern _Atomic int ph__sqlite_waiting;

#endif
