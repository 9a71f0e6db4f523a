/* params.c - statement parameters in PostgreSQL's binary formats. */
#include "store/postgres/pg.h"
#include "util/assert.h"

#include <string.h>

#define PG_EPOCH_US INT64_C(946684800000000) /* 2000-01-01, where PostgreSQL counts from */

static int next(struct ph__pg_params *params, enum ph__pg_oid type)
{
    int i = params->count;

    PH__ASSERT(i >= 0 && i < PH__PG_PARAMS);
    PH__ASSERT(params->items == 0); /* the array before is whole */
    params->count++;
    params->types[i] = type;
    params->offset[i] = params->data.length;
    params->length[i] = -1;
    return i;
}

/* A parameter, or a column of the open row, whose length is told before its bytes; -1: null. */
static void begin_value(struct ph__pg_params *params, enum ph__pg_oid type)
{
    if (!params->in_row) {
        next(params, type);
        return;
    }
    PH__ASSERT(params->items == 0);
    params->columns++;
    ph__buffer_be32(&params->data, type);
    ph__buffer_be32(&params->data, UINT32_MAX);
    params->column_at = params->data.length;
}

/* The bytes appended since begin_value() are the value. */
static void close_value(struct ph__pg_params *params)
{
    int i = params->count - 1;

    if (params->in_row) {
        ph__buffer_put_be32(&params->data, params->column_at - 4,
                            (uint32_t)(params->data.length - params->column_at));
        return;
    }
    PH__ASSERT(i >= 0 && params->length[i] == -1);
    PH__ASSERT(params->data.failed || params->offset[i] <= params->data.length);
    params->length[i] = (int)(params->data.length - params->offset[i]);
}

void ph__pg_row_begin(struct ph__pg_params *params)
{
    next(params, PG_ROW);
    params->in_row = true;
    params->columns = 0;
    ph__buffer_be32(&params->data, 0); /* how many columns */
}

void ph__pg_row_end(struct ph__pg_params *params)
{
    PH__ASSERT(params->in_row && params->items == 0);
    params->in_row = false;
    ph__buffer_put_be32(&params->data, params->offset[params->count - 1], params->columns);
    close_value(params);
}

void ph__pg_add_null(struct ph__pg_params *params, enum ph__pg_oid type)
{
    begin_value(params, type);
}

void ph__pg_add_bool(struct ph__pg_params *params, bool value)
{
    begin_value(params, PG_BOOL);
    ph__buffer_bytes(&params->data, value ? "\x01" : "\x00", 1);
    close_value(params);
}

void ph__pg_add_int2(struct ph__pg_params *params, int value)
{
    begin_value(params, PG_INT2);
    ph__buffer_be16(&params->data, (uint16_t)value);
    close_value(params);
}

void ph__pg_add_int4(struct ph__pg_params *params, int value)
{
    begin_value(params, PG_INT4);
    ph__buffer_be32(&params->data, (uint32_t)value);
    close_value(params);
}

void ph__pg_add_int8(struct ph__pg_params *params, int64_t value)
{
    begin_value(params, PG_INT8);
    ph__buffer_be64(&params->data, (uint64_t)value);
    close_value(params);
}

void ph__pg_add_uuid(struct ph__pg_params *params, const uint8_t *id)
{
    begin_value(params, PG_UUID);
    if (!id)
        return;
    ph__buffer_bytes(&params->data, id, 16);
    close_value(params);
}

void ph__pg_add_time(struct ph__pg_params *params, int64_t time)
{
    begin_value(params, PG_TIME);
    if (time == 0)
        return;
    ph__buffer_be64(&params->data, (uint64_t)(time - PG_EPOCH_US));
    close_value(params);
}

void ph__pg_add_bytes(struct ph__pg_params *params, const char *bytes, size_t length)
{
    int i;

    if (params->in_row) {
        begin_value(params, PG_TEXT);
        ph__buffer_bytes(&params->data, bytes, length);
        close_value(params);
        return;
    }
    i = next(params, PG_TEXT);
    params->borrowed[i] = bytes;
    params->length[i] = (int)length;
}

void ph__pg_add_text(struct ph__pg_params *params, const char *text)
{
    if (text)
        ph__pg_add_bytes(params, text, strlen(text));
    else
        ph__pg_add_null(params, PG_TEXT);
}

void ph__pg_add_field(struct ph__pg_params *params, enum ph__pg_oid type, const PGresult *result,
                      int row, int column)
{
    int i = next(params, type);

    PH__ASSERT(!params->in_row);
    params->borrowed[i] = PQgetvalue(result, row, column);
    params->length[i] = PQgetlength(result, row, column);
}

/* jsonb's binary form is a version byte and the text. */
static void append_jsonb(struct ph__pg_params *params, const char *json)
{
    ph__buffer_bytes(&params->data, "\x01", 1);
    ph__buffer_text(&params->data, json);
}

void ph__pg_add_jsonb(struct ph__pg_params *params, const char *json)
{
    begin_value(params, PG_JSONB);
    if (!json)
        return;
    append_jsonb(params, json);
    close_value(params);
}

void ph__pg_array_begin(struct ph__pg_params *params, enum ph__pg_oid array,
                        enum ph__pg_oid element, size_t count)
{
    begin_value(params, array);
    params->items = count;
    ph__buffer_be32(&params->data, count ? 1 : 0); /* dimensions */
    ph__buffer_be32(&params->data, 1);             /* may hold nulls */
    ph__buffer_be32(&params->data, element);
    if (count == 0)
        return;
    ph__buffer_be32(&params->data, (uint32_t)count);
    ph__buffer_be32(&params->data, 1); /* lower bound */
}

void ph__pg_array_end(struct ph__pg_params *params)
{
    PH__ASSERT(params->items == 0);
    close_value(params);
}

/* The length of one more item; -1: null. */
static void item(struct ph__pg_params *params, uint32_t length)
{
    PH__ASSERT(params->items > 0);
    params->items--;
    ph__buffer_be32(&params->data, length);
}

void ph__pg_item_null(struct ph__pg_params *params)
{
    item(params, UINT32_MAX);
}

void ph__pg_item_bool(struct ph__pg_params *params, bool value)
{
    ph__pg_item_bytes(params, value ? "\x01" : "\x00", 1);
}

void ph__pg_item_int2(struct ph__pg_params *params, int value)
{
    item(params, 2);
    ph__buffer_be16(&params->data, (uint16_t)value);
}

void ph__pg_item_int8(struct ph__pg_params *params, int64_t value)
{
    item(params, 8);
    ph__buffer_be64(&params->data, (uint64_t)value);
}

void ph__pg_item_uuid(struct ph__pg_params *params, const uint8_t *id)
{
    if (!id) {
        ph__pg_item_null(params);
        return;
    }
    item(params, 16);
    ph__buffer_bytes(&params->data, id, 16);
}

void ph__pg_item_time(struct ph__pg_params *params, int64_t time)
{
    if (time == 0)
        ph__pg_item_null(params);
    else
        ph__pg_item_int8(params, time - PG_EPOCH_US);
}

void ph__pg_item_bytes(struct ph__pg_params *params, const char *bytes, size_t length)
{
    item(params, (uint32_t)length);
    ph__buffer_bytes(&params->data, bytes, length);
}

void ph__pg_item_text(struct ph__pg_params *params, const char *text)
{
    if (text)
        ph__pg_item_bytes(params, text, strlen(text));
    else
        ph__pg_item_null(params);
}

void ph__pg_item_jsonb(struct ph__pg_params *params, const char *json)
{
    if (!json) {
        ph__pg_item_null(params);
        return;
    }
    item(params, (uint32_t)strlen(json) + 1);
    append_jsonb(params, json);
}

void ph__pg_params_free(struct ph__pg_params *params)
{
    ph__buffer_free(&params->data);
}

int64_t ph__pg_time(const PGresult *result, int row, int column)
{
    if (PQgetisnull(result, row, column))
        return 0;
    return ph__pg_int(result, row, column) + PG_EPOCH_US;
}
