/* result.c - reading fields of a binary result, and answers of common forms. */
#include "store/postgres/pg.h"

#include "core/error.h"
#include "util/assert.h"

#include <string.h>

static uint64_t big_endian(const uint8_t *bytes, int length)
{
    uint64_t value = 0;

    for (int i = 0; i < length; i++)
        value = value << 8 | bytes[i];
    return value;
}

static const uint8_t *bytes_of(const PGresult *result, int row, int column)
{
    return (const uint8_t *)PQgetvalue(result, row, column);
}

int64_t ph__pg_int(const PGresult *result, int row, int column)
{
    const uint8_t *bytes = bytes_of(result, row, column);

    PH__ASSERT(row >= 0 && row < PQntuples(result));
    if (PQgetisnull(result, row, column))
        return 0;
    switch (PQgetlength(result, row, column)) {
    case 1:
        return bytes[0];
    case 2:
        return (int16_t)big_endian(bytes, 2);
    case 4:
        return (int32_t)big_endian(bytes, 4);
    default:
        return (int64_t)big_endian(bytes, 8);
    }
}

const uint8_t *ph__pg_uuid(const PGresult *result, int row, int column)
{
    if (PQgetisnull(result, row, column) || PQgetlength(result, row, column) != 16)
        return NULL;
    return bytes_of(result, row, column);
}

bool ph__pg_id(const PGresult *result, int row, int column, uint8_t ret_id[16])
{
    const uint8_t *id = ph__pg_uuid(result, row, column);

    if (id)
        memcpy(ret_id, id, 16);
    return id != NULL;
}

const char *ph__pg_text(struct ph__arena *arena, const PGresult *result, int row, int column,
                        bool *failed)
{
    const char *copy;

    if (PQgetisnull(result, row, column))
        return NULL;
    copy = ph__arena_copy(arena, PQgetvalue(result, row, column),
                          (size_t)PQgetlength(result, row, column));
    if (!copy)
        *failed = true;
    return copy;
}

/* Element index, of that size, of an array without nulls; NULL if it has none such. */
static const uint8_t *element(const PGresult *result, int row, int column, size_t index,
                              size_t size)
{
    /* dimensions, flags, element type, size, lower bound, then (length, value) each */
    size_t at = 20 + index * (4 + size);
    size_t length = (size_t)PQgetlength(result, row, column);
    const uint8_t *bytes = bytes_of(result, row, column);

    if (PQgetisnull(result, row, column) || length < at + 4 + size ||
        big_endian(bytes + at, 4) != size)
        return NULL;
    return bytes + at + 4;
}

int ph__pg_int2_at(const PGresult *result, int row, int column, size_t index)
{
    const uint8_t *bytes = element(result, row, column, index, 2);

    return bytes ? (int16_t)big_endian(bytes, 2) : -1;
}

const uint8_t *ph__pg_uuid_at(const PGresult *result, int row, int column, size_t index)
{
    return element(result, row, column, index, 16);
}

bool ph__pg_bool_at(const PGresult *result, int row, int column, size_t index)
{
    const uint8_t *bytes = element(result, row, column, index, 1);

    return bytes && *bytes;
}

bool ph__pg_read_rows(struct ph__arena *arena, const PGresult *result, int first,
                      ph__pg_row_read *read, size_t size, void *ret_items, size_t *ret_count)
{
    size_t count = (size_t)(PQntuples(result) - first);
    char *items;
    bool failed;

    PH__ASSERT(first >= 0 && first <= PQntuples(result));
    items = ph__arena_alloc(arena, count * size);
    failed = !items;
    for (size_t i = 0; i < count && !failed; i++)
        failed = !read(arena, result, first + (int)i, items + i * size);
    memcpy(ret_items, &items, sizeof(items)); /* whatever its type is */
    *ret_count = failed ? 0 : count;
    return !failed;
}

int ph__pg_misfit(struct ph__call *call)
{
    return ph__fail(call->err, PH_EDATABASE, "the schema's functions do not fit this library");
}

int ph__pg_run_row(struct ph__call *call, enum ph__pg_statement statement,
                   struct ph__pg_params *params, enum ph__pg_repeat repeat, PGresult **ret_result)
{
    int r = ph__pg_run(call, statement, params, repeat, ret_result);

    ph__pg_params_free(params);
    return r == 0 && PQntuples(*ret_result) < 1 ? ph__pg_misfit(call) : r;
}

int ph__pg_run_number(struct ph__call *call, enum ph__pg_statement statement,
                      struct ph__pg_params *params, enum ph__pg_repeat repeat, int64_t *ret_number)
{
    PGresult *result = NULL;
    int r = ph__pg_run_row(call, statement, params, repeat, &result);

    if (r == 0)
        *ret_number = ph__pg_int(result, 0, 0);
    PQclear(result);
    return r;
}

int ph__pg_run_list(struct ph__call *call, enum ph__pg_statement statement,
                    struct ph__pg_params *params, ph__pg_row_read *read, struct ph__arena *arena,
                    size_t size, void *ret_items, size_t *ret_count)
{
    PGresult *result = NULL;
    int r = ph__pg_run(call, statement, params, PG_READS, &result);

    ph__pg_params_free(params);
    if (r == 0 && !ph__pg_read_rows(arena, result, 0, read, size, ret_items, ret_count))
        r = ph__fail_memory(call->err);
    PQclear(result);
    return r;
}
