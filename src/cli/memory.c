/* memory.c - memory that lasts as long as the command. */
#include "frame.h"

#include <stdlib.h>
#include <string.h>

struct cli_block {
    struct cli_block *next;
    max_align_t bytes[];
};

void *cli_need(void *memory)
{
    if (!memory) {
        fputs("posthorn: out of memory; try again with less at once\n", stderr);
        exit(CLI_FAILED);
    }
    return memory;
}

void *cli_alloc(struct cli *cli, size_t size)
{
    struct cli_block *block = cli_need(calloc(1, sizeof(*block) + size));

    block->next = cli->blocks;
    cli->blocks = block;
    return block->bytes;
}

char *cli_strdup(struct cli *cli, const char *text)
{
    size_t size = strlen(text) + 1;

    return memcpy(cli_alloc(cli, size), text, size);
}

char *cli_printf(struct cli *cli, const char *format, ...)
{
    char *text = NULL, *copy;
    va_list arguments;
    int length;

    va_start(arguments, format);
    length = vasprintf(&text, format, arguments);
    va_end(arguments);
    copy = cli_strdup(cli, cli_need(length < 0 ? NULL : text));
    free(text);
    return copy;
}

void cli_free(struct cli *cli)
{
    while (cli->blocks) {
        struct cli_block *next = cli->blocks->next;

        free(cli->blocks);
        cli->blocks = next;
    }
}
