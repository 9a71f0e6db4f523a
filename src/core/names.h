/* names.h - the words for stored numbers, the same on every backend. */
#ifndef PH_CORE_NAMES_H
#define PH_CORE_NAMES_H

#include <posthorn/posthorn.h>

/* attempt_log.kind: why a message came back or ended. Stored: never renumber. */
enum ph__attempt_kind {
    PH__ABANDONED = 1,
    PH__FAILED = 2,
    PH__RELEASED = 3,
    PH__LOST = 4,    /* its lease ran out */
    PH__EXPIRED = 5, /* past expires_at when it was looked at */
};
const char *ph__attempt_kind_text(int kind);

/* dead.reason. Stored: never renumber. */
enum ph__dead_reason {
    PH__DEAD_FAILED = 1,   /* a worker said fail */
    PH__DEAD_ATTEMPTS = 2, /* abandoned on its last attempt */
    PH__DEAD_LOST = 3,     /* its worker vanished on its last attempt */
    PH__DEAD_EXPIRED = 4,
};
const char *ph__dead_reason_text(int reason);

/* pending.priority and the like: the level of a priority, 0 (urgent) to 3 (bulk). -1: it is none. */
int ph__level_of(ph_priority priority);
ph_priority ph__priority_of(int64_t level);

#endif
