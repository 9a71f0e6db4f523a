#include "extension/arguments.h"

#include "core/error.h"
#include "util/time_text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define SECONDS_MAX 1e11 /* the library cuts at a year; this only keeps the product finite */

static const char *name_of(const struct ph__ext_call *call, int index)
{
    return call->signature->arguments[index];
}

/* SQLITE_NULL also if it was not given. */
static int type_of(const struct ph__ext_call *call, int index)
{
    sqlite3_value *value = call->arguments[index];

    return value ? sqlite3_value_type(value) : SQLITE_NULL;
}

static int fail_type(struct ph__ext_call *call, int index, const char *wanted)
{
    static const char *const types[] = { [SQLITE_INTEGER] = "a number",
                                         [SQLITE_FLOAT] = "a number with a fraction",
                                         [SQLITE_TEXT] = "text",
                                         [SQLITE_BLOB] = "a BLOB",
                                         [SQLITE_NULL] = "NULL" };

    return ph__fail(&call->err, PH_EINVAL, "%s is %s; give %s", name_of(call, index),
                    types[type_of(call, index)], wanted);
}

/* 1: there is one; 0: there is none, and need not be. */
static int given(struct ph__ext_call *call, int index)
{
    if (type_of(call, index) != SQLITE_NULL)
        return 1;
    if (index >= call->signature->required)
        return 0;
    return ph__fail(&call->err, PH_EINVAL, "%s is %s; it is required", name_of(call, index),
                    call->arguments[index] ? "NULL" : "not given");
}

int ph__arg_count_check(struct ph__ext_call *call, int count)
{
    const struct ph__signature *signature = call->signature;
    char takes[600] = ""; /* the longest list has 450 characters */
    size_t length = 0;
    int most = 0;

    for (; signature->arguments[most]; most++)
        length += (size_t)snprintf(takes + length, sizeof(takes) - length, "%s%s%s",
                                   most != signature->required ? ""
                                   : most                      ? " ["
                                                               : "[",
                                   most ? ", " : "", signature->arguments[most]);
    if (count >= signature->required && count <= most)
        return 0;
    return ph__fail(&call->err, PH_EINVAL, "%d argument%s; it takes (%s%s)", count,
                    count == 1 ? "" : "s", takes, most > signature->required ? "]" : "");
}

int ph__arg_text(struct ph__ext_call *call, int index, const char **ret_text)
{
    const char *text;
    int r = given(call, index);

    *ret_text = NULL;
    if (r <= 0)
        return r;
    if (type_of(call, index) != SQLITE_TEXT)
        return fail_type(call, index, "text: CAST(... AS TEXT) makes it");
    text = (const char *)sqlite3_value_text(call->arguments[index]);
    if (!text)
        return ph__fail_memory(&call->err);
    if (strlen(text) != (size_t)sqlite3_value_bytes(call->arguments[index]))
        return ph__fail(&call->err, PH_EINVAL, "%s holds a NUL byte; encode binary data as text",
                        name_of(call, index));
    *ret_text = text;
    return 0;
}

int ph__arg_number(struct ph__ext_call *call, int index, int64_t least, int64_t most,
                   int64_t *ret_number)
{
    int64_t number;
    int r = given(call, index);

    if (r <= 0)
        return r;
    if (type_of(call, index) != SQLITE_INTEGER)
        return fail_type(call, index, "a whole number");
    number = sqlite3_value_int64(call->arguments[index]);
    if (number < least || number > most)
        return ph__fail(&call->err, PH_EINVAL, "%s is %lld; give %lld to %lld",
                        name_of(call, index), (long long)number, (long long)least, (long long)most);
    *ret_number = number;
    return 0;
}

int ph__arg_seconds(struct ph__ext_call *call, int index, int64_t *ret_ms)
{
    double seconds;
    int r = given(call, index);

    if (r <= 0)
        return r;
    if (type_of(call, index) != SQLITE_INTEGER && type_of(call, index) != SQLITE_FLOAT)
        return fail_type(call, index, "a number of seconds");
    seconds = sqlite3_value_double(call->arguments[index]);
    if (seconds < 0)
        return ph__fail(&call->err, PH_EINVAL, "%s is negative; give zero or more",
                        name_of(call, index));
    *ret_ms = (int64_t)llround(fmin(seconds, SECONDS_MAX) * 1000);
    return 0;
}

int ph__arg_flag(struct ph__ext_call *call, int index, bool *ret_flag)
{
    int64_t number = *ret_flag;
    int r = ph__arg_number(call, index, 0, 1, &number);

    if (r == 0)
        *ret_flag = number == 1;
    return r;
}

int ph__ext_time(struct ph__ext_call *call, const char *name, const char *text, double seconds,
                 int64_t *ret_time)
{
    double us = seconds * 1e6;
    bool zoned;

    if (text && !ph__time_parse(text, ret_time, &zoned))
        return ph__fail(&call->err, PH_EINVAL,
                        "%s is not a time; give one such as 2030-01-31T09:30:00Z, or seconds since "
                        "1970",
                        name);
    if (!text && !(us >= (double)PH_TIME_MIN && us < (double)PH_TIME_MAX))
        return ph__fail(&call->err, PH_EINVAL, "%s lies outside the years 1 to 9999", name);
    if (!text)
        *ret_time = llround(us);
    if (*ret_time == 0)
        *ret_time = 1; /* a microsecond makes no difference */
    return 0;
}

int ph__arg_time(struct ph__ext_call *call, int index, int64_t *ret_time)
{
    const char *text = NULL;
    int r = given(call, index);

    if (r <= 0)
        return r;
    if (type_of(call, index) == SQLITE_BLOB)
        return fail_type(call, index, "text such as 2030-01-31T09:30:00Z, or seconds since 1970");
    if (type_of(call, index) == SQLITE_TEXT)
        r = ph__arg_text(call, index, &text);
    return r < 0 ? r
                 : ph__ext_time(call, name_of(call, index), text,
                                sqlite3_value_double(call->arguments[index]), ret_time);
}

static int fail_word(struct ph__ext_call *call, int index, const struct ph__word *words)
{
    char all[100] = "";
    size_t length = 0;

    for (int i = 0; words[i].text && length < sizeof(all); i++)
        length += (size_t)snprintf(all + length, sizeof(all) - length, "%s%s", i ? ", " : "",
                                   words[i].text);
    return ph__fail(&call->err, PH_EINVAL, "there is no such %s; this version has: %s",
                    name_of(call, index), all);
}

int ph__arg_word(struct ph__ext_call *call, int index, const struct ph__word *words,
                 int *ret_number)
{
    const char *text;
    int i = 0, r = ph__arg_text(call, index, &text);

    if (r < 0 || !text)
        return r;
    while (words[i].text && strcmp(words[i].text, text) != 0)
        i++;
    if (!words[i].text)
        return fail_word(call, index, words);
    *ret_number = words[i].number;
    return 0;
}

int ph__arg_door(struct ph__ext_call *call, int index, ph_door *ret_door)
{
    const struct ph__word doors[] = { { ph_door_text(PH_OUTBOX), PH_OUTBOX },
                                      { ph_door_text(PH_INBOX), PH_INBOX },
                                      { ph_door_text(PH_TIMERS), PH_TIMERS },
                                      { ph_door_text(PH_JOB_RUNS), PH_JOB_RUNS },
                                      { NULL, 0 } };
    int number = PH_OUTBOX, r = ph__arg_word(call, index, doors, &number);

    *ret_door = (ph_door)number;
    return r;
}

int ph__arg_id(struct ph__ext_call *call, int index, uint8_t ret_id[16])
{
    const char *text;
    int r = ph__arg_text(call, index, &text);

    if (r == 0 && ph_id_parse(text, ret_id) < 0)
        r = ph__fail(&call->err, PH_EINVAL, "%s is not a UUID", name_of(call, index));
    return r;
}

int ph__arg_owner(struct ph__ext_call *call, int index, ph_owner *ret_owner)
{
    const char *text;
    int r = ph__arg_text(call, index, &text);

    if (r < 0)
        return r;
    if (ph_id_parse(text, ret_owner->b) < 0 || ph_id_is_zero(ret_owner->b))
        return ph__fail(&call->err, PH_EINVAL,
                        "%s is not a UUID, or all zero; give each worker one of its own, such as "
                        "posthorn_owner_new() makes",
                        name_of(call, index));
    return 0;
}

/* Texts of values parsed before may be in use. */
static int keep_json(struct ph__ext_call *call)
{
    json_t *before = call->json;

    call->json = NULL;
    if (!before)
        return 0;
    if (!call->kept)
        call->kept = json_array();
    return json_array_append_new(call->kept, before) < 0 ? ph__fail_memory(&call->err) : 0;
}

int ph__arg_json(struct ph__ext_call *call, int index, json_type type, size_t flags,
                 const char **ret_text)
{
    const char *text = NULL;
    json_error_t where;
    int r = keep_json(call);

    if (r == 0)
        r = ph__arg_text(call, index, &text);
    if (ret_text)
        *ret_text = text;
    if (r < 0 || !text)
        return r;
    call->json = json_loads(text, flags | JSON_REJECT_DUPLICATES, &where);
    if (!call->json) /* the parser's own text may show a piece of the value */
        return ph__fail(&call->err, PH_EINVAL, "%s is not valid JSON (line %d, column %d%s)",
                        name_of(call, index), where.line, where.column,
                        json_error_code(&where) == json_error_duplicate_key ? ": a key occurs twice"
                                                                            : "");
    if (json_typeof(call->json) != type)
        return ph__fail(&call->err, PH_EINVAL, "%s is not a JSON %s", name_of(call, index),
                        type == JSON_ARRAY ? "array" : "object");
    return 0;
}

int ph__arg_texts(struct ph__ext_call *call, int index, const char *const **ret_texts,
                  size_t *ret_count)
{
    const char **texts;
    json_t *element;
    size_t i;
    int r = ph__arg_json(call, index, JSON_ARRAY, 0, NULL);

    *ret_texts = NULL;
    *ret_count = 0;
    if (r < 0 || !call->json)
        return r;
    if (json_array_size(call->json) == 0)
        return ph__fail(&call->err, PH_EINVAL, "%s is empty; leave it out for all",
                        name_of(call, index));
    texts = ph__arena_alloc(&call->arena, json_array_size(call->json) * sizeof(*texts));
    if (!texts)
        return ph__fail_memory(&call->err);
    json_array_foreach(call->json, i, element)
    {
        const char *text = json_string_value(element);

        texts[i] = text ? ph__arena_copy(&call->arena, text, strlen(text)) : NULL;
        if (!texts[i])
            return json_is_string(element)
                       ? ph__fail_memory(&call->err)
                       : ph__fail(&call->err, PH_EINVAL, "%s: element %zu is not a text",
                                  name_of(call, index), i);
    }
    *ret_count = i;
    *ret_texts = texts;
    return 0;
}

/* Forgets a list that has been read, so that the call can read another. */
static void json_done(struct ph__ext_call *call)
{
    json_decref(call->json);
    call->json = NULL;
}

static int ids_room(struct ph__ext_call *call, int index, size_t count, ph_work_id **ret_ids)
{
    if (count > PH_BATCH_MAX)
        return ph__fail(&call->err, PH_EINVAL, "%s has %zu elements; at most %d are allowed",
                        name_of(call, index), count, PH_BATCH_MAX);
    *ret_ids = ph__arena_alloc(&call->arena, (count ? count : 1) * sizeof(**ret_ids));
    return *ret_ids ? 0 : ph__fail_memory(&call->err);
}

int ph__arg_ids(struct ph__ext_call *call, int index, ph_work_id **ret_ids, size_t *ret_count)
{
    const char *text;
    json_t *element;
    size_t i;
    int r = ph__arg_text(call, index, &text);

    *ret_ids = NULL;
    *ret_count = 0;
    if (r < 0 || !text)
        return r;
    if (text[strspn(text, " \t\r\n")] != '[') {
        *ret_count = 1;
        r = ids_room(call, index, 1, ret_ids);
        if (r == 0 && ph_id_parse(text, (*ret_ids)->b) < 0)
            r = ph__fail(&call->err, PH_EINVAL, "%s is neither a UUID nor a JSON array of UUIDs",
                         name_of(call, index));
        return r;
    }
    r = ph__arg_json(call, index, JSON_ARRAY, 0, NULL);
    if (r == 0)
        r = ids_room(call, index, json_array_size(call->json), ret_ids);
    if (r < 0)
        return r;
    json_array_foreach(call->json, i, element)
    {
        const char *id = json_string_value(element);

        if (!id || ph_id_parse(id, (*ret_ids)[i].b) < 0)
            return ph__fail(&call->err, PH_EINVAL, "%s: element %zu is not a UUID",
                            name_of(call, index), i);
    }
    *ret_count = i;
    json_done(call);
    return 0;
}

static int fence_set(struct ph__ext_call *call, int index, size_t i, const json_t *element,
                     ph_lease_ref *lease)
{
    if (!json_is_null(element) && (!json_is_integer(element) || json_integer_value(element) < 0))
        return ph__fail(&call->err, PH_EINVAL,
                        "%s: element %zu is not a fence, which is a number from a claim",
                        name_of(call, index), i);
    lease->fence = json_integer_value(element);
    return 0;
}

static int fences_set(struct ph__ext_call *call, int index, ph_lease_ref *leases, size_t count)
{
    json_t *element;
    size_t i;
    int r;

    if (type_of(call, index) == SQLITE_NULL)
        return 0;
    if (type_of(call, index) == SQLITE_INTEGER && count == 1)
        return ph__arg_number(call, index, 0, INT64_MAX, &leases->fence);
    if (type_of(call, index) == SQLITE_INTEGER)
        return ph__fail(&call->err, PH_EINVAL, "%s is one number for %zu ids; give a JSON array",
                        name_of(call, index), count);
    if (type_of(call, index) != SQLITE_TEXT)
        return ph__fail(&call->err, PH_EINVAL,
                        "%s is neither a whole number nor a JSON array of them",
                        name_of(call, index));
    r = ph__arg_json(call, index, JSON_ARRAY, 0, NULL);
    if (r < 0)
        return r;
    if (json_array_size(call->json) != count)
        return ph__fail(&call->err, PH_EINVAL, "%zu %s for %zu ids; give one each, or none",
                        json_array_size(call->json), name_of(call, index), count);
    json_array_foreach(call->json, i, element)
    {
        r = fence_set(call, index, i, element, &leases[i]);
        if (r < 0)
            return r;
    }
    json_done(call);
    return 0;
}

int ph__arg_leases(struct ph__ext_call *call, int ids_index, int fences_index,
                   ph_lease_ref **ret_leases, size_t *ret_count)
{
    ph_work_id *ids;
    ph_lease_ref *leases;
    size_t count;
    int r = ph__arg_ids(call, ids_index, &ids, &count);

    if (r < 0)
        return r;
    leases = ph__arena_alloc(&call->arena, (count ? count : 1) * sizeof(*leases));
    if (!leases)
        return ph__fail_memory(&call->err);
    for (size_t i = 0; i < count; i++)
        leases[i].work_id = ids[i];
    *ret_leases = leases;
    *ret_count = count;
    return fences_set(call, fences_index, leases, count);
}
