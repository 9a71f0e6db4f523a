/* queue_row.h - a queue and those of its settings that the verbs need. */
#ifndef PH_STORE_SQLITE_QUEUE_ROW_H
#define PH_STORE_SQLITE_QUEUE_ROW_H

#include "store/sqlite/transaction.h"

/* Are its rows of pending in the index of topics (by_topic.h)? */
enum ph__by_topic { PH__BY_TOPIC_NO, PH__BY_TOPIC_TURNING, PH__BY_TOPIC_YES };

struct ph__queue_row {
    int64_t id; /* 0: there is no such queue */
    bool paused, delete_on_ack;
    bool has_streams; /* set with its first one: without it, streams are not looked for */
    enum ph__by_topic by_topic;
    int max_attempts, backoff, max_lease_s;
    ph_dead_head dead_head;
    int affinity_grace_ms; /* PH_NO_GRACE: none */
    int64_t backoff_base_ms, backoff_max_ms, max_payload_bytes;
};

/* id is 0 afterwards if there is none. */
int ph__queue_by_name(struct ph__sqlite_tx *tx, ph_door door, const char *ns,
                      struct ph__queue_row *ret_queue);
/* Does nothing if *queue is that one already. */
int ph__queue_by_id(struct ph__sqlite_tx *tx, int64_t id, struct ph__queue_row *queue);
/* Makes the queue if need be. */
int ph__queue_obtain(struct ph__sqlite_tx *tx, ph_door door, const char *ns,
                     struct ph__queue_row *ret_queue);

/* How long to wait after an abandon, in microseconds. */
int64_t ph__queue_backoff_us(const struct ph__queue_row *queue, int retry_count, int attempts);

#endif
