#include "util/text.h"

#include "util/shown.h"

#include <stdint.h>
#include <string.h>

/* The length of the well-formed code point at the start of bytes, or 0. The
 * second byte's range depends on the first (Unicode 15, table 3-7): that
 * excludes overlong forms, surrogates and what lies above U+10FFFF. */
static size_t code_point_length(const uint8_t *b, size_t left)
{
    uint8_t low = 0x80, high = 0xbf;
    size_t need;

    if (b[0] == 0)
        return 0;
    if (b[0] < 0x80)
        return 1;
    if (b[0] >= 0xc2 && b[0] <= 0xdf)
        need = 2;
    else if (b[0] >= 0xe0 && b[0] <= 0xef)
        need = 3;
    else if (b[0] >= 0xf0 && b[0] <= 0xf4)
        need = 4;
    else
        return 0;
    if (b[0] == 0xe0)
        low = 0xa0;
    else if (b[0] == 0xed)
        high = 0x9f;
    else if (b[0] == 0xf0)
        low = 0x90;
    else if (b[0] == 0xf4)
        high = 0x8f;
    if (left < need || b[1] < low || b[1] > high)
        return 0;
    for (size_t i = 2; i < need; i++) {
        if (b[i] < 0x80 || b[i] > 0xbf)
            return 0;
    }
    return need;
}

bool ph__text_valid(const char *bytes, size_t length, size_t *ret_code_points)
{
    const uint8_t *at = (const uint8_t *)bytes;
    size_t code_points = 0;

    for (size_t i = 0; i < length; code_points++) {
        size_t step = code_point_length(at + i, length - i);

        if (step == 0)
            return false;
        i += step;
    }
    if (ret_code_points)
        *ret_code_points = code_points;
    return true;
}

void ph__text_mend(struct ph__buffer *to, const char *text, size_t max)
{
    const uint8_t *at = (const uint8_t *)text;
    size_t length = strlen(text), used = 0;

    for (size_t i = 0; i < length;) {
        size_t step = code_point_length(at + i, length - i);
        const char *piece = step ? text + i : "\xef\xbf\xbd";
        size_t size = step ? step : 3;

        if (used + size > max)
            return;
        ph__buffer_bytes(to, piece, size);
        used += size;
        i += step ? step : 1;
    }
}

/* The code point of so many well-formed bytes. */
static uint32_t decode(const uint8_t *b, size_t length)
{
    uint32_t code = length == 1 ? b[0] : b[0] & (0x7fu >> length);

    for (size_t i = 1; i < length; i++)
        code = code << 6 | (b[i] & 0x3f);
    return code;
}

static void escape_one(struct ph__buffer *to, const uint8_t *at, size_t length)
{
    uint32_t code = decode(at, length);

    if (code == '\n')
        ph__buffer_text(to, "\\n");
    else if (code == '\\')
        ph__buffer_text(to, "\\\\");
    else if (!ph__text_obeyed(code))
        ph__buffer_bytes(to, at, length);
    else
        ph__buffer_printf(to, code < 0x80 ? "\\x%02x" : "\\u%04x", (unsigned)code);
}

void ph__text_escape(struct ph__buffer *to, const char *text)
{
    const uint8_t *at = (const uint8_t *)text;
    size_t left = strlen(text);

    while (left > 0) {
        size_t step = code_point_length(at, left);

        if (step > 0)
            escape_one(to, at, step);
        else
            ph__buffer_printf(to, "\\x%02x", *at);
        at += step ? step : 1;
        left -= step ? step : 1;
    }
}
