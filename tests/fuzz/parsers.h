/* parsers.h - everything in Posthorn that reads what somebody else wrote. */
#ifndef FUZZ_PARSERS_H
#define FUZZ_PARSERS_H

#include <stddef.h>
#include <stdint.h>

struct fuzz_parser {
    const char *name;                                /* also of its folder in corpus/ */
    void (*parse)(const uint8_t *data, size_t size); /* crashes, or comes back */
};
extern const struct fuzz_parser fuzz_parsers[]; /* up to a name that is NULL */

#endif
