#include "util/shown.h"

#include <stddef.h>

bool ph__text_obeyed(uint32_t code)
{
    static const struct {
        uint32_t from, to;
    } ranges[] = {
        { 0x0000, 0x001f }, /* controls */
        { 0x007f, 0x009f }, /* and U+0085 ends a line */
        { 0x00ad, 0x00ad }, /* from here on: invisible, ends a line, or turns text around */
        { 0x061c, 0x061c }, { 0x180e, 0x180e }, { 0x200b, 0x200f }, { 0x2028, 0x202e },
        { 0x2060, 0x206f }, { 0xfeff, 0xfeff }, { 0xfff9, 0xfffb }, { 0xe0000, 0xe007f },
    };

    for (size_t i = 0; i < sizeof(ranges) / sizeof(*ranges); i++) {
        if (code >= ranges[i].from && code <= ranges[i].to)
            return true;
    }
    return false;
}
