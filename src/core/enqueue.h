/* enqueue.h - messages to store: all of a call, checked; and the log. */
#ifndef PH_CORE_ENQUEUE_H
#define PH_CORE_ENQUEUE_H

#include "store/store.h"

/* from: structs of equal size. An error names the index of the offending one, or says that all
 * together are too many bytes. */
int ph__messages_load(struct ph__message *to, const ph_message *from, size_t count, ph_error *err);
int ph__inbox_messages_load(struct ph__message *to, const ph_inbox_message *from, size_t count,
                            bool own_transaction, ph_error *err);
/* PH_EINVAL: they are more bytes than one call may store. */
int ph__messages_check_bytes(const struct ph__message *messages, size_t count, ph_error *err);

/* The messages of a call that stores, and what the backend answers. */
struct ph__storing {
    struct ph__message one, *messages;
    ph_enqueued one_result, *results;
    size_t count;
};
/* Checks the count and makes room; messages are to be loaded then. ph__storing_end() in any case. */
int ph__storing_begin(struct ph__storing *storing, const void *from, size_t count, ph_error *err);
/* Unless checked is an error: connects, stores them through a door, and logs it. */
int ph__storing_run(struct ph__storing *storing, struct ph__call *call, ph_door door, int checked);
void ph__storing_end(struct ph__storing *storing);

/* Before ph__call_joins(): what was attached with it is logged, too. */
void ph__enqueued_log(const struct ph__call *call, ph_door door, const struct ph__message *messages,
                      const ph_enqueued *enqueued, size_t count);

#endif
