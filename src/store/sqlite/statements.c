#include "store/sqlite/statements.h"

#include "core/error.h"
#include "store/sqlite/errors.h"
#include "store/sqlite/sql_text.h"
#include "store/sqlite/transaction.h"
#include "util/assert.h"

#include <string.h>

void ph__sqlite_statements_free(struct ph__sqlite_statements *statements)
{
    for (size_t i = 0; i < PH__SQL_STATEMENTS; i++) {
        sqlite3_finalize(statements->all[i]);
        statements->all[i] = NULL;
    }
}

void ph__sqlite_reset_all(sqlite3 *db)
{
    sqlite3_stmt *each = NULL;

    while ((each = sqlite3_next_stmt(db, each)) != NULL) {
        if (sqlite3_stmt_busy(each))
            sqlite3_reset(each);
    }
}

static int prepare(struct ph__sqlite_tx *tx, enum ph__sqlite_statement which, sqlite3_stmt **ret)
{
    const char *text = ph__sqlite_statement_texts[which].text;
    struct ph__buffer sql = { 0 };
    int rc, r = 0;

    ph__sqlite_expand_statement(&sql, text, tx->call->store->prefix);
    if (sql.failed) {
        ph__buffer_free(&sql);
        return ph__fail_memory(tx->call->err);
    }
    rc = sqlite3_prepare_v3(tx->db, sql.data, -1, tx->own ? SQLITE_PREPARE_PERSISTENT : 0, ret,
                            NULL);
    if (rc != SQLITE_OK)
        r = ph__sqlite_tx_fail(tx);
    ph__buffer_free(&sql);
    return r;
}

struct ph__query ph__query(struct ph__sqlite_tx *tx, enum ph__sqlite_statement which)
{
    struct ph__query query = { .tx = tx };
    sqlite3_stmt **slot = &tx->statements->all[which];

    PH__ASSERT((size_t)which < PH__SQL_STATEMENTS);
    if (!*slot)
        query.failed = prepare(tx, which, slot);
    query.stmt = *slot;
    PH__ASSERT(query.failed || query.stmt);
    PH__ASSERT(query.failed || !sqlite3_stmt_busy(query.stmt)); /* its run before has ended */
    return query;
}

static void bound(struct ph__query *query, int rc)
{
    if (rc != SQLITE_OK && !query->failed)
        query->failed = ph__sqlite_tx_fail(query->tx);
}

void ph__query_int(struct ph__query *query, int64_t value)
{
    if (!query->failed)
        bound(query, sqlite3_bind_int64(query->stmt, ++query->parameter, value));
}

void ph__query_null(struct ph__query *query)
{
    if (!query->failed)
        bound(query, sqlite3_bind_null(query->stmt, ++query->parameter));
}

void ph__query_int_or_null(struct ph__query *query, int64_t value)
{
    if (value)
        ph__query_int(query, value);
    else
        ph__query_null(query);
}

void ph__query_bytes(struct ph__query *query, const char *text, size_t length)
{
    if (!query->failed)
        bound(query, sqlite3_bind_text64(query->stmt, ++query->parameter, text, length,
                                         SQLITE_STATIC, SQLITE_UTF8));
}

void ph__query_text(struct ph__query *query, const char *text)
{
    if (text)
        ph__query_bytes(query, text, strlen(text));
    else
        ph__query_null(query);
}

void ph__query_id(struct ph__query *query, const uint8_t id[16])
{
    if (!id)
        ph__query_null(query);
    else if (!query->failed)
        bound(query, sqlite3_bind_blob(query->stmt, ++query->parameter, id, 16, SQLITE_STATIC));
}

int ph__query_row(struct ph__query *query)
{
    int rc;

    if (query->failed) {
        ph__query_end(query);
        return query->failed;
    }
    PH__ASSERT(query->parameter == sqlite3_bind_parameter_count(query->stmt));
    rc = sqlite3_step(query->stmt);
    if (query->tx->own)
        ph__sqlite_stop_waiting(query->tx->own);
    if (rc == SQLITE_ROW)
        return 1;
    if (rc != SQLITE_DONE)
        query->failed = ph__sqlite_tx_fail(query->tx);
    ph__query_end(query);
    return query->failed;
}

void ph__query_end(struct ph__query *query)
{
    if (query->stmt)
        sqlite3_reset(query->stmt); /* repeats the error of the last step, which is known */
}

int ph__query_run(struct ph__query *query)
{
    int r = ph__query_row(query);

    if (r > 0)
        ph__query_end(query);
    return r < 0 ? r : 0;
}

int ph__query_one(struct ph__query *query, int64_t *ret_value, int64_t absent)
{
    int r = ph__query_row(query);

    if (r < 0)
        return r;
    *ret_value = r > 0 ? ph__column_int(query, 0) : absent;
    if (r > 0)
        ph__query_end(query);
    return 0;
}

int64_t ph__column_int(const struct ph__query *query, int column)
{
    PH__ASSERT(column >= 0 && column < sqlite3_data_count(query->stmt));
    return sqlite3_column_int64(query->stmt, column);
}

bool ph__column_is_null(const struct ph__query *query, int column)
{
    PH__ASSERT(column >= 0 && column < sqlite3_data_count(query->stmt));
    return sqlite3_column_type(query->stmt, column) == SQLITE_NULL;
}

bool ph__column_id(const struct ph__query *query, int column, uint8_t ret_id[16])
{
    const void *bytes = sqlite3_column_blob(query->stmt, column);

    if (!bytes || sqlite3_column_bytes(query->stmt, column) != 16) {
        memset(ret_id, 0, 16);
        return false;
    }
    memcpy(ret_id, bytes, 16);
    return true;
}

int ph__column_text(const struct ph__query *query, int column, struct ph__arena *arena,
                    const char **ret_text, size_t *ret_length)
{
    const unsigned char *text;
    size_t length;

    *ret_text = NULL;
    if (ret_length)
        *ret_length = 0;
    if (ph__column_is_null(query, column))
        return 0;
    text = sqlite3_column_text(query->stmt, column);
    if (!text)
        return ph__fail_memory(query->tx->call->err);
    length = (size_t)sqlite3_column_bytes(query->stmt, column);
    *ret_text = ph__arena_copy(arena, text, length);
    if (!*ret_text)
        return ph__fail_memory(query->tx->call->err);
    if (ret_length)
        *ret_length = length;
    return 0;
}
