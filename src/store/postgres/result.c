/* result.c - reading fields of a binary result. */
#include "store/postgres/pg.h"

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
