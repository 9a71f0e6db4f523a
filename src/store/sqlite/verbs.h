/* verbs.h - the seam's verbs (store.h says what they do), each in the file of its name. */
#ifndef PH_STORE_SQLITE_VERBS_H
#define PH_STORE_SQLITE_VERBS_H

#include "store/store.h"

int ph__sqlite_enqueue(struct ph__call *call, enum ph__door door,
                       const struct ph__message *messages, size_t count, ph_enqueued *ret_enqueued);
int ph__sqlite_claim(struct ph__call *call, const struct ph__claim *claim, ph_batch *batch);
int ph__sqlite_settle(struct ph__call *call, enum ph__door door, ph_owner owner,
                      const ph_settlement *items, size_t count, ph_outcome *ret_outcomes);
int ph__sqlite_renew(struct ph__call *call, enum ph__door door, ph_owner owner,
                     const ph_lease_ref *items, size_t count, int lease_s,
                     ph_outcome *ret_outcomes);
int ph__sqlite_reap(struct ph__call *call, enum ph__door door, int64_t *ret_count);
int ph__sqlite_exchange(struct ph__call *call, const ph_settlement *items, size_t count,
                        ph_outcome *ret_outcomes, const struct ph__claim *claim, ph_batch *batch);
/* lend.c */
int ph__sqlite_tx_begin(struct ph__call *call, ph_tx *ret_tx);
int ph__sqlite_tx_end(struct ph__call *call, bool commit);
int ph__sqlite_find(struct ph__call *call, enum ph__door door, ph_work_id id,
                    struct ph__info *info);
int ph__sqlite_list(struct ph__call *call, const struct ph__list *list, ph_message_list *ret_list);
int ph__sqlite_queue_list(struct ph__call *call, enum ph__door door, const char *ns,
                          ph_queue_list *ret_list);
/* doctor.c */
int ph__sqlite_examine(struct ph__call *call, struct ph__examination *examination);
/* operate.c */
int ph__sqlite_clock(struct ph__call *call, int64_t *ret_time);
int ph__sqlite_test_clock(struct ph__call *call, const int64_t *time);
int ph__sqlite_count(struct ph__call *call, enum ph__door door, const char *ns,
                     ph_outbox_counts *ret_counts);
int ph__sqlite_queue_set(struct ph__call *call, enum ph__door door, const char *ns,
                         const ph_queue_settings *settings);
int ph__sqlite_queue_pause(struct ph__call *call, enum ph__door door, const char *ns, bool paused);
/* dead.c */
int ph__sqlite_dead_retry(struct ph__call *call, const ph_work_id *ids, size_t count,
                          ph_work_id *ret_new_ids);
int ph__sqlite_dead_discard(struct ph__call *call, const ph_work_id *ids, size_t count,
                            int64_t *ret_count);
int ph__sqlite_retention(struct ph__call *call, int limit, int64_t *ret_count);

#endif
