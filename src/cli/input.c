/* input.c - reads stdin. */
#include "frame.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int failed(struct cli *cli)
{
    if (cli_interrupted())
        return CLI_INTERRUPTED;
    return cli_fail(cli, CLI_FAILED, "cannot read stdin: %s", strerror(errno));
}

int cli_read_all(struct cli *cli, size_t max, char **ret_text, size_t *ret_length)
{
    size_t size = 65536, length = 0, got;
    char *text = cli_need(malloc(size + 1));

    while ((got = fread(text + length, 1, size - length, stdin)) > 0) {
        length += got;
        if (length > max || feof(stdin))
            break; /* reading on would ask a terminal for another end */
        if (length == size) {
            size *= 2;
            text = cli_need(realloc(text, size + 1));
        }
    }
    if (ferror(stdin) || length > max) {
        free(text);
        return ferror(stdin) ? failed(cli)
                             : cli_usage(cli, "stdin has more than the %zu bytes allowed", max);
    }
    *ret_text = memcpy(cli_alloc(cli, length + 1), text, length);
    *ret_length = length;
    free(text);
    return CLI_OK;
}

static int too_long(struct cli *cli, size_t max)
{
    return cli_usage(cli, "the line has more than the %zu bytes allowed", max);
}

int cli_read_line(struct cli *cli, size_t max, char **ret_text, size_t *ret_length)
{
    size_t length = 0;
    int c;

    *ret_text = NULL;
    *ret_length = 0;
    errno = 0;
    while ((c = getc_unlocked(stdin)) != EOF && c != '\n') {
        if (length + 1 >= cli->line_size) {
            cli->line_size = cli->line_size ? cli->line_size * 2 : 4096;
            cli->line = cli_need(realloc(cli->line, cli->line_size));
        }
        cli->line[length++] = (char)c;
        if (length > max + 1) /* a \r at the end is no part of it */
            return too_long(cli, max);
    }
    if (c == EOF && (length == 0 || ferror(stdin)))
        return ferror(stdin) ? failed(cli) : CLI_OK;
    if (!cli->line) {
        cli->line_size = 1;
        cli->line = cli_need(malloc(cli->line_size));
    }
    if (length > 0 && cli->line[length - 1] == '\r')
        length--;
    if (length > max)
        return too_long(cli, max);
    cli->line[length] = '\0';
    *ret_text = cli->line;
    *ret_length = length;
    return CLI_OK;
}
