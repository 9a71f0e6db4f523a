/* libfuzzer.c - one parser under clang's libFuzzer; PH_FUZZ_PARSER names it. */
#include "parsers.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct fuzz_parser *parser;
    const char *name = getenv("PH_FUZZ_PARSER");

    for (const struct fuzz_parser *p = fuzz_parsers; !parser && name && p->name; p++) {
        if (strcmp(p->name, name) == 0)
            parser = p;
    }
    if (!parser)
        abort();
    parser->parse(data, size);
    return 0;
}
