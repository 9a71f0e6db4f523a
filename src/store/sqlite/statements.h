/* statements.h - prepared statements, and one run of one of them. */
#ifndef PH_STORE_SQLITE_STATEMENTS_H
#define PH_STORE_SQLITE_STATEMENTS_H

#include "store/sqlite/statement_enum.h" /* made of sql/: PH__SQL_claim_look, … */
#include "util/arena.h"

#include <posthorn/posthorn.h>
#include <sqlite3.h>

/* Statements of one connection, prepared when first needed. */
struct ph__sqlite_statements {
    sqlite3_stmt *all[PH__SQL_STATEMENTS];
};
void ph__sqlite_statements_free(struct ph__sqlite_statements *statements);

/* Ends every statement that runs on a connection, also those that are not ours. */
void ph__sqlite_reset_all(sqlite3 *db);

/* One run of a statement. Bind in order; the first failure is remembered and
 * comes back from ph__query_row() or ph__query_run(), so that callers check
 * once. Bound values are borrowed until the run has ended. */
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
