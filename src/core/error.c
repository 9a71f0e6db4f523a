#include "core/error.h"
#include "util/assert.h"

#include <limits.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

int ph__ok(ph_error *err)
{
    if (err)
        memset(err, 0, sizeof(*err));
    return 0;
}

_Static_assert(sizeof(ph_error) == 268 && offsetof(ph_error, message) == 18, "frozen");
_Static_assert(PH_ERROR_MESSAGE_SIZE <= UCHAR_MAX, "the length of a cause fits into a byte");

/* Ends a text at most there, and at a code point, so that it is never broken UTF-8. */
static void cut(char *text, size_t most)
{
    size_t end = most;

    if (strlen(text) < end)
        return;
    while (end > 0 && ((unsigned char)text[end - 1] & 0xc0) == 0x80)
        end--;
    if (end > 0 && (unsigned char)text[end - 1] >= 0xc0)
        end--;
    text[end] = '\0';
}

static size_t cause_length(const ph_error *err)
{
    size_t length = strnlen(err->message, sizeof(err->message) - 1);

    return err->cure != PH_CURE_NONE && err->cause_bytes < length ? err->cause_bytes : length;
}

static void set_cure(ph_error *err, ph_cure cure, size_t cause)
{
    err->cure = (unsigned char)cure;
    err->cause_bytes = (unsigned char)cause;
}

int ph__fail(ph_error *err, int code, const char *format, ...)
{
    va_list args;

    if (!err)
        return code;
    memset(err, 0, sizeof(*err));
    err->code = code;
    va_start(args, format);
    vsnprintf(err->message, sizeof(err->message), format, args);
    va_end(args);
    cut(err->message, sizeof(err->message) - 1);
    return code;
}

int ph__cure(ph_error *err, int code, ph_cure cure)
{
    const char *text = ph_cure_text(cure);
    size_t cause;

    if (!err)
        return code;
    cut(err->message, sizeof(err->message) - 1 - strlen("; ") - strlen(text));
    cause = strlen(err->message);
    snprintf(err->message + cause, sizeof(err->message) - cause, "; %s", text);
    set_cure(err, cure, cause);
    return code;
}

int ph__cure_in_message(ph_error *err, int code, ph_cure cure)
{
    if (err)
        set_cure(err, cure, strlen(err->message));
    return code;
}

void ph__uncure(ph_error *err)
{
    err->message[cause_length(err)] = '\0';
    set_cure(err, PH_CURE_NONE, 0);
}

int ph__prefix(ph_error *err, int code, const char *format, ...)
{
    char rest[sizeof(err->message)];
    ph_cure cure;
    size_t cause, length;
    va_list args;

    if (!err)
        return code;
    cure = (ph_cure)err->cure;
    cause = cause_length(err);
    memcpy(rest, err->message, sizeof(rest));
    va_start(args, format);
    vsnprintf(err->message, sizeof(err->message), format, args);
    va_end(args);
    length = strlen(err->message);
    err->item = 0; /* the message begins with something else now */
    snprintf(err->message + length, sizeof(err->message) - length, "%s", rest);
    cut(err->message, sizeof(err->message) - 1);
    if (cure != PH_CURE_NONE) {
        cause += length;
        length = strlen(err->message);
        set_cure(err, cure, cause < length ? cause : length);
    }
    return code;
}

int ph__fail_memory(ph_error *err)
{
    return ph__fail_flags(err, ph__fail(err, PH_ENOMEM, "out of memory"), PH_RETRY);
}

int ph__fail_flags(ph_error *err, int code, unsigned flags)
{
    if (err)
        err->flags |= flags;
    return code;
}

const char *ph_status_text(int status)
{
    switch (status) {
#define STATUS_CASE(name, value, text)                                                             \
    case value:                                                                                    \
        return text;
        PH_STATUS_MAP(STATUS_CASE)
#undef STATUS_CASE
    default:
        return "no such status";
    }
}

const char *ph_outcome_text(ph_outcome outcome)
{
    switch (outcome) {
#define OUTCOME_CASE(name, value, text)                                                            \
    case PH_OUTCOME_##name:                                                                        \
        return text;
        PH_OUTCOME_MAP(OUTCOME_CASE)
#undef OUTCOME_CASE
    case PH_OUTCOME_FORCE_INT:
        break;
    }
    return "no such outcome";
}

/* ------------------------------------------------------------------- items */

#define ITEM_PREFIX "message %zu: "

int ph__item(ph_error *err, int code, size_t index)
{
    ph__prefix(err, code, ITEM_PREFIX, index);
    if (err)
        err->item = (unsigned short)(index + 1);
    PH__ASSERT(!err || err->item == index + 1);
    return code;
}

long ph_error_take_item(ph_error *err)
{
    long index = err ? err->item - 1L : -1;
    char prefix[32];
    size_t length;

    if (index < 0)
        return -1;
    length = (size_t)snprintf(prefix, sizeof(prefix), ITEM_PREFIX, (size_t)index);
    if (memcmp(err->message, prefix, length) == 0)
        memmove(err->message, err->message + length, sizeof(err->message) - length);
    if (err->cause_bytes >= length)
        err->cause_bytes = (unsigned char)(err->cause_bytes - length);
    err->item = 0;
    return index;
}

/* ------------------------------------------------------------------- cures */

const char *ph_error_cause(const ph_error *err, char ret_cause[PH_ERROR_MESSAGE_SIZE])
{
    size_t length = err ? cause_length(err) : 0;

    if (length > 0)
        memcpy(ret_cause, err->message, length);
    ret_cause[length] = '\0';
    return ret_cause;
}

const char *ph_cure_word(ph_cure cure)
{
    switch (cure) {
#define WORD_CASE(name, value, word, text)                                                         \
    case PH_CURE_##name:                                                                           \
        return word;
        PH_CURE_MAP(WORD_CASE)
#undef WORD_CASE
    case PH_CURE_FORCE_INT:
        break;
    }
    return "none";
}

const char *ph_cure_text(ph_cure cure)
{
    switch (cure) {
#define TEXT_CASE(name, value, word, text)                                                         \
    case PH_CURE_##name:                                                                           \
        return text;
        PH_CURE_MAP(TEXT_CASE)
#undef TEXT_CASE
    case PH_CURE_FORCE_INT:
        break;
    }
    return "";
}
