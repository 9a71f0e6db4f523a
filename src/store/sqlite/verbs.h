/* verbs.h - the seam's verbs (store.h says what they do), each in the file of its name. */
#ifndef PH_STORE_SQLITE_VERBS_H
#define PH_STORE_SQLITE_VERBS_H

#include "store/store.h"

int ph__sqlite_enqueue(struct ph__call *call, ph_door door, const struct ph__message *messages,
                       size_t count, ph_enqueued *ret_enqueued);
int ph__sqlite_claim(struct ph__call *call, const struct ph__claim *claim, ph_batch *batch);
int ph__sqlite_settle(struct ph__call *call, ph_door door, ph_owner owner,
                      const ph_settlement *items, size_t count, ph_outcome *ret_outcomes);
int ph__sqlite_renew(struct ph__call *call, ph_door door, ph_owner owner, const ph_lease_ref *items,
                     size_t count, int lease_s, ph_outcome *ret_outcomes);
int ph__sqlite_reap(struct ph__call *call, ph_door door, int64_t *ret_count);
int ph__sqlite_exchange(struct ph__call *call, const ph_settlement *items, size_t count,
                        ph_outcome *ret_outcomes, const struct ph__claim *claim, ph_batch *batch);
/* lend.c */
int ph__sqlite_tx_begin(struct ph__call *call, ph_tx *ret_tx);
int ph__sqlite_tx_end(struct ph__call *call, bool commit);
int ph__sqlite_find(struct ph__call *call, ph_door door, ph_work_id id, struct ph__info *info);
int ph__sqlite_list(struct ph__call *call, const struct ph__list *list, ph_message_list *ret_list);
int ph__sqlite_queue_list(struct ph__call *call, ph_door door, const char *ns,
                          ph_queue_list *ret_list);
/* doctor.c */
int ph__sqlite_examine(struct ph__call *call, struct ph__examination *examination);
/* operate.c */
int ph__sqlite_clock(struct ph__call *call, int64_t *ret_time);
int ph__sqlite_test_clock(struct ph__call *call, const int64_t *time);
int ph__sqlite_count(struct ph__call *call, ph_door door, const char *ns,
                     ph_outbox_counts *ret_counts);
int ph__sqlite_queue_set(struct ph__call *call, ph_door door, const char *ns,
                         const ph_queue_settings *settings);
int ph__sqlite_queue_pause(struct ph__call *call, ph_door door, const char *ns, bool paused);
/* queue_delete.c */
int ph__sqlite_queue_delete(struct ph__call *call, ph_door door, const char *ns,
                            struct ph__queue_contents *contents, bool *ret_deleted);
/* dead.c */
int ph__sqlite_dead_retry(struct ph__call *call, const ph_work_id *ids, size_t count,
                          ph_work_id *ret_new_ids);
int ph__sqlite_dead_discard(struct ph__call *call, const ph_work_id *ids, size_t count,
                            int64_t *ret_count);
/* join.c */
int ph__sqlite_join_start(struct ph__call *call, const struct ph__join *join, ph_join_id *ret_id);
int ph__sqlite_join_attach(struct ph__call *call, ph_join_id join, const ph_message_id *messages,
                           size_t count);
int ph__sqlite_join_report(struct ph__call *call, ph_join_id join, ph_message_id message,
                           bool completed);
int ph__sqlite_join_wait(struct ph__call *call, ph_join_id join, const struct ph__wait *wait,
                         ph_work_id *ret_id);
int ph__sqlite_join_cancel(struct ph__call *call, ph_join_id join, bool *ret_cancelled);
/* join_list.c */
int ph__sqlite_join_find(struct ph__call *call, ph_join_id join, int member_limit,
                         struct ph__join_found *ret_found);
int ph__sqlite_join_list(struct ph__call *call, const struct ph__join_query *query,
                         ph_join_list *ret_list);
/* timer.c */
int ph__sqlite_timer_cancel(struct ph__call *call, ph_work_id timer, bool *ret_cancelled);
/* job.c */
int ph__sqlite_job_set(struct ph__call *call, const struct ph__job *job, enum ph__job_was *ret_was);
int ph__sqlite_job_delete(struct ph__call *call, const char *name, bool *ret_deleted);
int ph__sqlite_job_trigger(struct ph__call *call, const char *name, ph_work_id *ret_run);
int ph__sqlite_job_pause(struct ph__call *call, const char *name, bool paused);
int ph__sqlite_job_list(struct ph__call *call, const struct ph__job_query *query,
                        ph_job_list *ret_list);
/* tick.c, advance.c */
int ph__sqlite_tick(struct ph__call *call, const struct ph__tick *tick,
                    struct ph__ticked *ret_ticked);
int ph__sqlite_advance(struct ph__call *call, const struct ph__job_step *steps, size_t count,
                       int64_t *ret_runs);
int ph__sqlite_retention(struct ph__call *call, int limit, int64_t *ret_count);
/* The same for workers that know only the one exchange, whoever comes: a small bite, once a minute,
 * and after a second if there was more. */
int ph__sqlite_retention_in_turn(struct ph__call *call);
/* query.c */
int ph__sqlite_query(struct ph__call *call, const char *sql, const struct ph__reader *reader);
/* batch.c */
int ph__sqlite_work_batch(struct ph__call *call, struct ph__work_batch *batch);
/* instance.c */
int ph__sqlite_instance_leave(struct ph__call *call, ph_owner id, bool *ret_left);
int ph__sqlite_instance_list(struct ph__call *call, const char *service, bool all,
                             ph_instance_list *ret_list);
int ph__sqlite_unclaimed(struct ph__call *call, ph_door door, const char *ns,
                         struct ph__unclaimed *ret_unclaimed);
int ph__sqlite_stream_list(struct ph__call *call, const struct ph__stream_query *query,
                           ph_stream_list *ret_list);
int ph__sqlite_stream_read(struct ph__call *call, const struct ph__stream *stream, int64_t after,
                           int limit, ph_message_list *ret_list);
/* receptor.c */
int ph__sqlite_receptor_report(struct ph__call *call, const ph_receptor_result *results,
                               size_t count);
int ph__sqlite_receptor_list(struct ph__call *call, ph_work_id id, ph_receptor_list *ret_list);
/* consumer.c */
int ph__sqlite_checkpoint_report(struct ph__call *call, const struct ph__checkpoint *results,
                                 size_t count);
int ph__sqlite_checkpoint_rewind(struct ph__call *call, const struct ph__stream *stream,
                                 const char *consumer, int64_t seq, int64_t *ret_old);
int ph__sqlite_checkpoint_list(struct ph__call *call, const struct ph__stream *stream,
                               const char *consumer, ph_checkpoint_list *ret_list);

int ph__sqlite_outlook(struct ph__call *call, const char *ns, unsigned doors, int64_t *ret_in_us,
                       bool *ret_due);

#endif
