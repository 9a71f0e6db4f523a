/* fields.c - rows as JSON, by the table of their kind. */
#include "fields.h"
#include "cli.h"

#include "util/time_text.h"

#include <string.h>

const char *const cli_field_types[] = {
    [CLI_F_TEXT] = "string",     [CLI_F_NUMBER] = "number",   [CLI_F_BOOL] = "boolean",
    [CLI_F_TIME] = "time",       [CLI_F_LIFETIME] = "number", [CLI_F_UUID] = "uuid",
    [CLI_F_STATE] = "string",    [CLI_F_JSON] = "json",       [CLI_F_ROWS] = "array",
    [CLI_F_FROM_NOW] = "number", [CLI_F_AGO] = "number",
};

void cli_set(json_t *object, const char *name, json_t *value)
{
    if (json_object_set_new(object, name, value) < 0)
        cli_need(NULL);
}

void cli_array_add(json_t *array, const struct cli_field *fields, const void *row)
{
    if (json_array_append_new(array, cli_object(fields, row)) < 0)
        cli_need(NULL);
}

json_t *cli_json_text(const char *text)
{
    return text ? cli_json_bytes(text, strlen(text)) : json_null();
}

json_t *cli_json_time(int64_t time)
{
    char text[PH__TIME_TEXT_SIZE];

    return time ? json_string(ph__time_text(time, text)) : json_null();
}

json_t *cli_json_id(const uint8_t id[16])
{
    char text[PH_ID_TEXT_SIZE];

    return ph_id_is_zero(id) ? json_null() : json_string(ph_id_text(id, text));
}

json_t *cli_json_parsed(const char *json)
{
    json_t *value = json ? json_loads(json, JSON_DECODE_ANY, NULL) : NULL;

    return value ? value : cli_json_text(json);
}

static json_t *number(const struct cli_field *field, int64_t number)
{
    bool forever = field->type == CLI_F_LIFETIME && number < 0;

    if (field->type == CLI_F_TIME)
        return cli_json_time(number);
    if (number == CLI_NO_NUMBER || forever || (field->or_null && number == 0))
        return json_null();
    return json_integer(number);
}

static size_t count_of(const struct cli_field *field, const void *row, const char *rows)
{
    size_t count = 0, same = 0;

    if (field->count_at && rows)
        return *(const size_t *)((const char *)row + field->count_at);
    while (rows && same < field->size) { /* up to one that is all zero */
        for (same = 0; same < field->size && !rows[count * field->size + same];)
            same++;
        count += same < field->size;
    }
    return count;
}

/* NULL: there is none. */
static json_t *value_of(const struct cli_field *field, const void *row)
{
    const void *at = (const char *)row + field->offset;
    const void *rows;

    switch (field->stored) {
    case CLI_NOT_STORED:
        return field->text ? cli_json_text(field->text(row)) : NULL;
    case CLI_STORED_TEXT:
        return field->type == CLI_F_JSON ? cli_json_parsed(*(const char *const *)at)
                                         : cli_json_text(*(const char *const *)at);
    case CLI_STORED_BOOL:
        return json_boolean(*(const bool *)at);
    case CLI_STORED_INT:
        if (field->word_of)
            return cli_json_text(field->word_of(*(const int *)at));
        return field->words ? cli_json_text(field->words[*(const int *)at])
                            : number(field, *(const int *)at);
    case CLI_STORED_INT64:
        return number(field, *(const int64_t *)at);
    case CLI_STORED_SIZE:
        return number(field, (int64_t) * (const size_t *)at);
    case CLI_STORED_ID:
        return cli_json_id(at);
    case CLI_STORED_TENANT:
        rows = *(const ph_tenant_id *const *)at;
        return rows ? cli_json_id(rows) : json_null();
    case CLI_STORED_JSON:
        return *(json_t *const *)at;
    case CLI_STORED_ROWS:
        memcpy(&rows, at, sizeof(rows));
        return rows || !field->or_none
                   ? cli_array(field->fields, rows, count_of(field, row, rows), field->size)
                   : NULL;
    }
    return NULL;
}

json_t *cli_object(const struct cli_field *fields, const void *row)
{
    json_t *object = cli_need(json_object());

    for (const struct cli_field *field = fields; field->name; field++) {
        json_t *value = value_of(field, row);

        if (value && !(field->or_none && json_is_null(value)))
            cli_set(object, field->name, value);
    }
    return object;
}

json_t *cli_array(const struct cli_field *fields, const void *rows, size_t count, size_t size)
{
    json_t *array = cli_need(json_array());

    for (size_t i = 0; i < count; i++)
        cli_array_add(array, fields, (const char *)rows + i * size);
    return array;
}
