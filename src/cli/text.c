/* text.c - texts for people: made safe, measured, wrapped, quoted. */
#include "frame.h"

#include "util/shown.h"

#include <stdlib.h>
#include <string.h>

/* Reads one code point; 0 bytes read: the end. Invalid bytes give one U+FFFD each. */
static size_t code_point(const char *text, uint32_t *ret_code)
{
    const unsigned char *b = (const unsigned char *)text;
    static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
    size_t length = b[0] < 0x80 ? 1 : b[0] < 0xc2 ? 0 : b[0] < 0xe0 ? 2 : b[0] < 0xf0 ? 3 : 4;
    uint32_t code = length == 1 ? b[0] : (uint32_t)(b[0] & (0x7f >> length));

    if (!b[0])
        return 0;
    if (b[0] >= 0xf5)
        length = 0;
    for (size_t i = 1; i < length; i++) {
        if ((b[i] & 0xc0) != 0x80)
            length = 0;
        else
            code = code << 6 | (b[i] & 0x3f);
    }
    if (length == 0 || (length > 1 && code < least[length]) || code > 0x10ffff ||
        (code >= 0xd800 && code <= 0xdfff)) {
        *ret_code = 0xfffd;
        return 1;
    }
    *ret_code = code;
    return length;
}

/* Zero columns: combining marks and the like. Two: East Asian and pictures. */
static size_t columns_of(uint32_t code)
{
    static const struct {
        uint32_t from, to;
        size_t columns;
    } ranges[] = {
        { 0x0300, 0x036f, 0 },   { 0x0483, 0x0489, 0 },   { 0x0591, 0x05bd, 0 },
        { 0x0610, 0x061a, 0 },   { 0x064b, 0x065f, 0 },   { 0x1100, 0x115f, 2 },
        { 0x1ab0, 0x1aff, 0 },   { 0x1dc0, 0x1dff, 0 },   { 0x200b, 0x200d, 0 },
        { 0x20d0, 0x20ff, 0 },   { 0x2e80, 0x303e, 2 },   { 0x3041, 0xa4cf, 2 },
        { 0xac00, 0xd7a3, 2 },   { 0xf900, 0xfaff, 2 },   { 0xfe00, 0xfe0f, 0 },
        { 0xfe20, 0xfe2f, 0 },   { 0xfe30, 0xfe6f, 2 },   { 0xff00, 0xff60, 2 },
        { 0xffe0, 0xffe6, 2 },   { 0x1f300, 0x1f64f, 2 }, { 0x1f680, 0x1f6ff, 2 },
        { 0x1f900, 0x1f9ff, 2 }, { 0x20000, 0x3fffd, 2 },
    };

    for (size_t i = 0; i < sizeof(ranges) / sizeof(*ranges); i++) {
        if (code >= ranges[i].from && code <= ranges[i].to)
            return ranges[i].columns;
    }
    return 1;
}

size_t cli_text_width(const char *text)
{
    size_t width = 0, length;
    uint32_t code;

    for (; (length = code_point(text, &code)) > 0; text += length)
        width += columns_of(code);
    return width;
}

size_t cli_text_fit(const char *text, size_t width)
{
    size_t used = 0, at = 0, length;
    uint32_t code;

    for (; (length = code_point(text + at, &code)) > 0; at += length) {
        used += columns_of(code);
        if (used > width)
            break;
    }
    return at;
}

static size_t escape(uint32_t code, char *to)
{
    switch (code) {
    case '\n':
        return (size_t)sprintf(to, "\\n");
    case '\r':
        return (size_t)sprintf(to, "\\r");
    case '\t':
        return (size_t)sprintf(to, "\\t");
    default:
        return (size_t)sprintf(to, code < 0x80 ? "\\x%02x" : "\\u%04x", (unsigned)code);
    }
}

char *cli_escaped(const char *text)
{
    char *shown, *to;
    size_t length;
    uint32_t code;

    shown = to = cli_need(malloc(strlen(text) * 4 + 1)); /* the longest growth: 1 byte to \x1b */
    for (; (length = code_point(text, &code)) > 0; text += length) {
        if (ph__text_obeyed(code)) {
            to += escape(code, to);
        } else if (code == 0xfffd) {
            memcpy(to, "\xef\xbf\xbd", 3);
            to += 3;
        } else {
            memcpy(to, text, length);
            to += length;
        }
    }
    *to = '\0';
    return shown;
}

const char *cli_shown(struct cli *cli, const char *text)
{
    char *shown = cli_escaped(text);
    const char *copy = cli_strdup(cli, shown);

    free(shown);
    return copy;
}

static bool has_unsafe(const char *text)
{
    size_t length;
    uint32_t code;

    for (; (length = code_point(text, &code)) > 0; text += length) {
        if (ph__text_obeyed(code))
            return true;
    }
    return false;
}

/* As $'…', in which the shell decodes escapes; within '…' it would keep them. */
static const char *quoted_ansi(struct cli *cli, const char *text)
{
    char *quoted = cli_alloc(cli, strlen(text) * 4 + 4), *to = stpcpy(quoted, "$'");
    size_t length;
    uint32_t code;

    for (; (length = code_point(text, &code)) > 0; text += length) {
        if (ph__text_obeyed(code)) {
            to += escape(code, to);
            continue;
        }
        if (code == '\'' || code == '\\')
            *to++ = '\\';
        memcpy(to, text, length);
        to += length;
    }
    strcpy(to, "'");
    return cli_shown(cli, quoted);
}

const char *cli_quoted(struct cli *cli, const char *text)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/:@%+-=";
    char *quoted, *to;

    if (*text && *text != '-' && strspn(text, plain) == strlen(text))
        return text;
    if (has_unsafe(text))
        return quoted_ansi(cli, text);
    quoted = to = cli_alloc(cli, strlen(text) * 4 + 3);
    *to++ = '\'';
    for (; *text; text++)
        to = *text == '\'' ? stpcpy(to, "'\\''") : (*to = *text, to + 1);
    *to = '\'';
    return cli_shown(cli, quoted);
}

json_t *cli_json_bytes(const char *text, size_t length)
{
    json_t *value = json_stringn(text, length);
    char *fixed, *to;
    uint32_t code;

    if (value)
        return value;
    fixed = to = cli_need(malloc(length * 3 + 1)); /* a bad byte becomes the three of U+FFFD */
    for (size_t at = 0, used; at < length; at += used) {
        used = code_point(text + at, &code);
        if (used == 0 || code == 0xfffd) {
            used = used ? used : 1;
            memcpy(to, "\xef\xbf\xbd", 3);
            to += 3;
        } else {
            memcpy(to, text + at, used);
            to += used;
        }
    }
    value = json_stringn_nocheck(fixed, (size_t)(to - fixed));
    free(fixed);
    return cli_need(value);
}

#define WRAP_COLUMNS 79

void cli_wrap(struct cli *cli, const char *text, int indent)
{
    size_t room = WRAP_COLUMNS - (size_t)indent;
    bool first = true;

    while (*text) {
        size_t length = cli_text_fit(text, room);

        if (text[length]) { /* back to the last blank, if there is one */
            size_t cut = length;

            while (cut > 0 && text[cut] != ' ')
                cut--;
            length = cut > 0 ? cut : length;
        }
        cli_print(cli, "%*s%.*s\n", first ? 0 : indent, "", (int)length, text);
        text += length;
        text += strspn(text, " ");
        first = false;
    }
}
