/* lock.h - the one lock of a dispatcher.
 *
 * Builds that check invariants (util/assert.h) know which thread holds it, and look at the counters
 * whenever it is let go: none is negative, and each is the sum of its parts. */
#ifndef PH_DISPATCH_LOCK_H
#define PH_DISPATCH_LOCK_H

#include "util/assert.h"

#include <posthorn/dispatcher.h>
#include <pthread.h>
#include <stdint.h>

struct ph__lock {
    pthread_mutex_t mutex;
    pthread_t holder; /* while it is held; kept only where invariants are checked */
    bool held;
};

int ph__lock_init(struct ph__lock *lock); /* negative: the system refuses */
void ph__lock_destroy(struct ph__lock *lock);
void ph__lock(ph_dispatcher *dispatcher);
void ph__unlock(ph_dispatcher *dispatcher);
/* Lets go of it until the condition is signalled, for wait_us at most. */
void ph__wait(ph_dispatcher *dispatcher, pthread_cond_t *condition);
void ph__wait_us(ph_dispatcher *dispatcher, pthread_cond_t *condition, int64_t wait_us);

/* At the top of a function that needs the lock. */
bool ph__is_locked(const ph_dispatcher *dispatcher);
#define PH__NEEDS_LOCK(dispatcher) PH__ASSERT(ph__is_locked(dispatcher))

#endif
