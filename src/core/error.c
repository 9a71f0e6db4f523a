#include "core/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int ph__ok(ph_error *err)
{
    if (err)
        memset(err, 0, sizeof(*err));
    return 0;
}

/* Cuts at a code point, so that a message is never broken UTF-8. */
static void cut(char *message, size_t size)
{
    size_t end = size - 1;

    if (strlen(message) < end)
        return;
    while (end > 0 && ((unsigned char)message[end - 1] & 0xc0) == 0x80)
        end--;
    if (end > 0 && (unsigned char)message[end - 1] >= 0xc0)
        end--;
    message[end] = '\0';
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
    cut(err->message, sizeof(err->message));
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
