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

void *cli_grown(struct cli *cli, void *items, size_t count, size_t size)
{
    void *grown;

    if (count & (count + 1)) /* room is left; 0, 1, 3, 7, … are full */
        return items;
    grown = cli_alloc(cli, (count + 1) * 2 * size);
    return count ? memcpy(grown, items, count * size) : grown;
}

char *cli_strdup(struct cli *cli, const char *text)
{
    size_t size = strlen(text) + 1;

    return memcpy(cli_alloc(cli, size), text, size);
}

char *cli_vprintf(struct cli *cli, const char *format, va_list arguments)
{
    char *text = NULL, *copy;
    int length = vasprintf(&text, format, arguments);

    copy = cli_strdup(cli, cli_need(length < 0 ? NULL : text));
    free(text);
    return copy;
}

char *cli_printf(struct cli *cli, const char *format, ...)
{
    va_list arguments;
    char *text;

    va_start(arguments, format);
    text = cli_vprintf(cli, format, arguments);
    va_end(arguments);
    return text;
}

void cli_free(struct cli *cli)
{
    while (cli->blocks) {
        struct cli_block *next = cli->blocks->next;

        free(cli->blocks);
        cli->blocks = next;
    }
}
