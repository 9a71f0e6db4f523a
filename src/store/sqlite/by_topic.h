/* by_topic.h - whether the rows that a queue has in pending are in the index of topics.
 *
 * None is until a claim of the queue names topics: a queue whose claims never do pays nothing for
 * the index. From that claim on new rows go into it, and claims that name topics bring in those
 * from before, a portion each. The file has one writer, so no row from before can come later. */
#ifndef PH_STORE_SQLITE_BY_TOPIC_H
#define PH_STORE_SQLITE_BY_TOPIC_H

#include "store/sqlite/queue_row.h"

#define PH__TURN_ROWS 1000 /* a portion */

/* Do new rows of the queue go into the index? */
int ph__by_topic(struct ph__sqlite_tx *tx, int64_t queue, bool *ret_on);
/* The queue's row was read. */
void ph__by_topic_note(struct ph__sqlite_tx *tx, const struct ph__queue_row *queue);

/* A claim names topics: begins, or brings in the next portion. Also of queue->by_topic. */
int ph__by_topic_turn(struct ph__sqlite_tx *tx, struct ph__queue_row *queue);

#endif
