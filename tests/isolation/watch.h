/* watch.h - do the steps that have not ended wait for locks of other sessions?
 *
 * The database is asked, not the clock: a step that is merely slow is never
 * taken for a blocked one, and a blocked one is found within milliseconds. */
#ifndef ISO_WATCH_H
#define ISO_WATCH_H

#include "actor.h"

struct iso_watch {
    struct t_conn *control; /* PostgreSQL only */
    char prefix[24];        /* of the application_name of all our sessions */
};

void iso_watch_open(struct iso_watch *watch);
void iso_watch_close(struct iso_watch *watch);

/* True if every busy actor waits for a lock that an idle one holds (idle:
 * between two of its steps), so that nothing moves before the next step. */
bool iso_watch_all_blocked(struct iso_watch *watch, struct iso_actor *const *actors,
                           const bool *busy, size_t count);

#endif
