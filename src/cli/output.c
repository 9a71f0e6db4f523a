/* output.c - rows on stdout: a table, a card, JSON or lines of JSON. */
#include "frame.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct cli_output {
    enum cli_layout layout;
    const char *columns;
    struct cli_grid *grid;
    size_t rows;
    int error; /* errno of the first write that failed */
    bool terminal, colours;
};

void cli_output_open(struct cli *cli)
{
    const char *term = getenv("TERM"), *no_color = getenv("NO_COLOR");
    struct cli_output *output = cli_alloc(cli, sizeof(*output));

    output->layout = cli->command ? cli->command->layout : CLI_TABLE;
    output->columns = cli->command ? cli->command->columns : NULL;
    output->terminal = isatty(STDOUT_FILENO);
    output->colours = output->terminal && !(no_color && *no_color) && term && *term &&
                      strcmp(term, "dumb") != 0 && !cli_given(cli, "no-color");
    cli->output = output;
}

bool cli_on_terminal(const struct cli *cli)
{
    return cli->output->terminal;
}

const char *cli_colour(const struct cli *cli, enum cli_colour colour)
{
    static const char *const sequences[] = { "\033[0m",  "\033[1m",  "\033[2m",
                                             "\033[31m", "\033[32m", "\033[33m" };

    return cli->output->colours ? sequences[colour] : "";
}

void cli_layout_set(struct cli *cli, enum cli_layout layout)
{
    cli->output->layout = layout;
}

void cli_columns_set(struct cli *cli, const char *columns)
{
    cli->output->columns = columns;
}

void cli_write(struct cli *cli, const char *bytes, size_t length)
{
    if (cli->output->error || length == 0)
        return;
    cli_progress_hide(cli);
    errno = 0;
    if (fwrite(bytes, 1, length, stdout) != length)
        cli->output->error = errno ? errno : EIO;
}

void cli_print(struct cli *cli, const char *format, ...)
{
    va_list arguments;

    if (cli->output->error)
        return;
    cli_progress_hide(cli);
    errno = 0;
    va_start(arguments, format);
    if (vfprintf(stdout, format, arguments) < 0)
        cli->output->error = errno ? errno : EIO;
    va_end(arguments);
}

static void grid_end(struct cli *cli)
{
    if (cli->output->grid)
        cli_grid_end(cli->output->grid);
    cli->output->grid = NULL;
}

void cli_flush(struct cli *cli)
{
    grid_end(cli);
    if (fflush(stdout) != 0 && !cli->output->error)
        cli->output->error = errno;
}

int cli_write_failed(const struct cli *cli)
{
    return cli->output->error;
}

static int write_part(const char *bytes, size_t length, void *cli)
{
    cli_write(cli, bytes, length);
    return 0;
}

static void json_print(struct cli *cli, const json_t *value, size_t flags)
{
    /* On a terminal only plain characters, so that no text can control it. */
    if (cli->output->terminal)
        flags |= JSON_ENSURE_ASCII;
    if (json_dump_callback(value, write_part, cli, flags | JSON_ENCODE_ANY) != 0)
        cli_need(NULL);
}

static bool is_array(const struct cli_output *output)
{
    return output->layout == CLI_TABLE || output->layout == CLI_BARE_MANY;
}

static void row_json(struct cli *cli, const json_t *row)
{
    if (is_array(cli->output))
        cli_print(cli, cli->output->rows ? ",\n" : "[\n");
    json_print(cli, row, JSON_INDENT(2));
    if (!is_array(cli->output))
        cli_print(cli, "\n");
}

static void row_bare(struct cli *cli, const json_t *row)
{
    const json_t *value = json_object_get(row, cli->command->fields[0].name);
    char *text = cli_escaped(json_string_value(value) ? json_string_value(value) : "-");

    cli_print(cli, "%s\n", text);
    free(text);
}

static void row_text(struct cli *cli, const json_t *row)
{
    struct cli_output *output = cli->output;

    switch (output->layout) {
    case CLI_TABLE:
        if (!output->grid)
            output->grid =
                cli_grid_new(cli, cli->command->fields, cli_stores_columns(cli, output->columns));
        cli_grid_add(output->grid, row);
        break;
    case CLI_CARD:
        cli_card(cli, cli->command->fields, row);
        break;
    case CLI_BARE:
    case CLI_BARE_MANY:
        row_bare(cli, row);
        break;
    }
}

/* With a set of databases a row names its store. */
static void row_place(struct cli *cli, json_t *row)
{
    if (cli->place && !json_object_get(row, "store"))
        cli_set(row, "store", cli_json_text(cli->place));
}

void cli_row(struct cli *cli, const void *row)
{
    cli_row_json(cli, cli_object(cli->command->fields, row));
}

void cli_row_json(struct cli *cli, json_t *row)
{
    row_place(cli, cli_need(row));
    if (cli->format == CLI_TEXT_FORM) {
        row_text(cli, row);
    } else if (cli->format == CLI_JSON) {
        row_json(cli, row);
    } else {
        json_print(cli, row, JSON_COMPACT);
        cli_print(cli, "\n");
    }
    cli->output->rows++;
    json_decref(row);
}

void cli_table(struct cli *cli, const struct cli_field *field, const json_t *rows)
{
    struct cli_grid *grid;
    const json_t *row;
    size_t index;

    if (cli->format != CLI_TEXT_FORM || json_array_size(rows) == 0)
        return;
    grid = cli_grid_new(cli, field->fields, field->columns);
    json_array_foreach(rows, index, row) cli_grid_add(grid, row);
    cli_grid_end(grid);
}

void cli_screen_clear(struct cli *cli)
{
    if (cli->output->colours)
        cli_print(cli, "\033[H\033[2J");
}

/* Ends an array that was begun, even after a failure. An empty array is an answer. */
static void array_end(struct cli *cli, int code)
{
    bool answered = code == CLI_OK || code == CLI_NOT_FOUND || code == CLI_INTERRUPTED;

    if (!cli->command || !cli->command->fields || !is_array(cli->output))
        return;
    if (cli->output->rows)
        cli_print(cli, "\n]\n");
    else if (answered)
        cli_print(cli, "[]\n");
}

int cli_output_close(struct cli *cli, int code)
{
    struct cli_output *output = cli->output;

    grid_end(cli);
    if (cli->format == CLI_JSON)
        array_end(cli, code);
    cli_flush(cli);
    if (fclose(stdout) != 0 && !output->error)
        output->error = errno;
    if (!output->error)
        return code;
    if (output->error != EPIPE) /* a reader that has seen enough ends quietly */
        cli_fail(cli, CLI_FAILED, "cannot write to stdout: %s", strerror(output->error));
    return CLI_FAILED;
}
