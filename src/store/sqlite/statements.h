/* statements.h - prepared statements, and one run of one of them. */
#ifndef PH_STORE_SQLITE_STATEMENTS_H
#define PH_STORE_SQLITE_STATEMENTS_H

#include "util/arena.h"

#include <posthorn/posthorn.h>
#include <sqlite3.h>

/* The names in sql/statements.sql, sql/joins_schedule.sql and sql/coordination.sql. */
/* clang-format off */
#define PH__SQLITE_STATEMENTS(X)                                                                   \
    X(begin_read) X(begin_write) X(commit) X(rollback)                                             \
    X(savepoint) X(savepoint_undo) X(savepoint_release) X(lock) X(store_get) X(clock_set)          \
    X(temp_any) X(data_version) X(journal_mode) X(synchronous) X(quick_check)                      \
    X(schema_version) X(schema_objects) X(index_is_plain)                                          \
    X(queue_by_name) X(queue_by_id) X(queue_insert) X(queue_update) X(queue_pause)                 \
    X(queue_contents) X(queue_coming) X(queue_delete)                                              \
    X(queue_has_streams) X(message_insert_more) X(pending_insert_head)                             \
    X(claim_look_more) X(claim_one_more) X(claim_walk_more) X(claim_follow) X(lease_of_owner)      \
    X(belongings_any) X(message_belongs) X(receptors_delete)                                       \
    X(stream_get) X(stream_by_id) X(stream_insert) X(stream_update) X(stream_idle) X(stream_next)  \
    X(stream_token) X(stream_blocked) X(stream_delete) X(stream_tokens) X(stream_behind)           \
    X(lease_with_runs) X(instance_service) X(claimer_live) X(claimer_get) X(claimer_set)           \
    X(claimer_away) X(claimer_all) X(message_topic)                                                \
    X(places_streams) X(places_busy) X(places_tokens)                                              \
    X(message_insert) X(pending_insert) X(dedupe_get) X(dedupe_insert)                             \
    X(claim_look) X(claim_one) X(claim_walk) X(fence_last) X(pending_delete)                       \
    X(pending_delete_up_to) X(attempt_facts) X(lease_insert)                                       \
    X(lease_by_fence) X(lease_by_owner) X(lease_expired)                                           \
    X(lease_settle) X(lease_renew) X(lease_delete)                                                 \
    X(message_facts) X(done_insert) X(done_by_owner) X(attempt_log_insert)                         \
    X(retry_count) X(dead_insert)                                                                  \
    X(dedupe_gone) X(attempt_log_delete) X(job_run_delete) X(message_delete)                       \
    X(state_get) X(attempt_log_get) X(count_pending) X(count_lease) X(count_dead)                  \
    X(count_waiting)                                                                               \
    X(queue_list) X(list_all_newest) X(list_all_oldest) X(list_pending) X(list_lease)              \
    X(list_done_newest) X(list_done_oldest) X(list_dead_newest) X(list_dead_oldest)                \
    X(list_waiting_newest) X(list_waiting_oldest)                                                  \
    X(dead_get) X(message_copy) X(dedupe_move) X(dead_mark) X(dead_delete)                         \
    X(pending_of) X(job_update) X(job_insert) X(job_get) X(job_list) X(job_pause) X(job_resume)    \
    X(job_same) X(job_delete) X(job_pending_runs) X(job_ran) X(job_run_headers)                    \
    X(job_run_insert)                                                                              \
    X(job_run_exists) X(job_run_open) X(job_run_mark) X(job_run_message) X(message_status)          \
    X(tick_first) X(tick_queues) X(tick_walk) X(tick_jobs) X(tick_next_job) X(tick_next_deadline)  \
    X(job_problem)                                                                                 \
    X(job_advance)                                                                                 \
    X(retention_turn) X(retention_taken) X(retention_queue)                                         \
    X(retention_done) X(done_delete) X(done_shorten) X(retention_dead) X(retention_dedupe)         \
    X(places_range) X(places_message) X(places_pending) X(places_dead) X(places_lease)             \
    X(places_done) X(places_wait) X(places_joins)                                                  \
    X(join_insert) X(join_get) X(join_overdue) X(join_update) X(join_finish)                       \
    X(steps_between) X(steps_keep) X(steps_keep_message)                                           \
    X(member_status) X(member_insert) X(member_report) X(members_get)                              \
    X(steps_given_any) X(steps_given_take) X(message_acked)                                        \
    X(message_newest) X(message_named) X(message_as_step)                                          \
    X(wait_body) X(wait_insert) X(wait_next) X(wait_delete)                                        \
    X(join_info) X(join_list_newest) X(join_list_oldest) X(join_group_newest)                      \
    X(join_group_oldest) X(join_step_newest) X(join_step_oldest)                                   \
    X(retention_join) X(members_delete) X(join_delete)                                             \
    X(instance_get) X(instance_insert) X(instance_beat) X(instance_stale) X(instance_end)          \
    X(instance_list) X(lease_lost) X(retention_claimer) X(retention_instance)    \
    X(receptor_message) X(receptor_report) X(receptor_list)                                        \
    X(stream_by_name) X(consumer_get) X(consumer_put) X(stream_between) X(consumer_list)           \
    X(stream_after) X(stream_list) X(stream_one) X(stream_shown) X(outlook)
/* clang-format on */

enum ph__sqlite_statement {
#define PH__SQLITE_STATEMENT_ENUM(name) PH__SQL_##name,
    PH__SQLITE_STATEMENTS(PH__SQLITE_STATEMENT_ENUM)
#undef PH__SQLITE_STATEMENT_ENUM
        PH__SQLITE_STATEMENT_COUNT
};

/* Statements of one connection, prepared when first needed. */
struct ph__sqlite_statements {
    sqlite3_stmt *all[PH__SQLITE_STATEMENT_COUNT];
};
void ph__sqlite_statements_free(struct ph__sqlite_statements *statements);

/* Ends whatever runs on a connection, also what is not ours. */
void ph__sqlite_reset_all(sqlite3 *db);

/* One run of a statement. Bind in order; the first failure is remembered and
 * comes back from ph__query_row() or ph__query_run(), so that callers check
 * once. What is bound is borrowed until the run has ended. */
struct ph__sqlite_tx;
struct ph__query {
    struct ph__sqlite_tx *tx;
    sqlite3_stmt *stmt;
    int parameter; /* the last one that was bound */
    int failed;    /* a ph_status, already in the call's error */
};
struct ph__query ph__query(struct ph__sqlite_tx *tx, enum ph__sqlite_statement which);
void ph__query_int(struct ph__query *query, int64_t value);
void ph__query_int_or_null(struct ph__query *query, int64_t value); /* 0: NULL */
void ph__query_text(struct ph__query *query, const char *text);     /* NULL: NULL */
void ph__query_bytes(struct ph__query *query, const char *text, size_t length);
void ph__query_id(struct ph__query *query, const uint8_t id[16]); /* NULL: NULL */
void ph__query_null(struct ph__query *query);
/* 1: there is a row; 0: no more, the run has ended; < 0: it failed and has ended. */
int ph__query_row(struct ph__query *query);
/* Ends a run early. */
void ph__query_end(struct ph__query *query);
/* Runs a statement that gives no rows, from start to end. */
int ph__query_run(struct ph__query *query);
/* For a statement that gives one row: the row's first column, absent if there is none. */
int ph__query_one(struct ph__query *query, int64_t *ret_value, int64_t absent);

/* Columns of the present row. */
int64_t ph__column_int(const struct ph__query *query, int column);
bool ph__column_is_null(const struct ph__query *query, int column);
/* False if it is NULL or not 16 bytes long; then ret_id is all zero. */
bool ph__column_id(const struct ph__query *query, int column, uint8_t ret_id[16]);
/* A copy that ends with NUL; *ret_text is NULL if the column is. ret_length may be NULL. */
int ph__column_text(const struct ph__query *query, int column, struct ph__arena *arena,
                    const char **ret_text, size_t *ret_length);

#endif
