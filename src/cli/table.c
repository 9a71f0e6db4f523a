/* table.c - rows as text: aligned columns, or a line per field.
 *
 * The first rows wait until the widths of the columns are known; later ones use the same columns,
 * so that any number of rows can pass. Texts are cut only on a terminal. */
#include "frame.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COLUMNS_MAX 24
#define ROWS_THAT_WAIT 1000
#define COLUMN_GAP 2
#define CUT_LEAST 8
#define CUT_WRAPPED 40 /* if a row takes several lines of the terminal */

struct cell {
    char *text;
    enum cli_colour colour;
};

struct cli_grid {
    struct cli *cli;
    const struct cli_field *columns[COLUMNS_MAX];
    size_t widths[COLUMNS_MAX];
    size_t column_count;
    struct cell (*rows)[COLUMNS_MAX];
    size_t row_count;
    bool flowing; /* the widths are fixed, and the heading is printed */
};

static enum cli_colour colour_of(const struct cli_field *field, const char *text)
{
    static const struct {
        const char *word;
        enum cli_colour colour;
    } words[] = {
        { "ready", CLI_PLAIN },      { "in_progress", CLI_YELLOW }, { "done", CLI_GREEN },
        { "failed", CLI_RED },       { "scheduled", CLI_DIM },      { "paused", CLI_YELLOW },
        { "acked", CLI_GREEN },      { "released", CLI_PLAIN },     { "renewed", CLI_GREEN },
        { "abandoned", CLI_YELLOW }, { "dead", CLI_RED },           { "stale", CLI_RED },
        { "unknown", CLI_RED },      { "ok", CLI_GREEN },           { "warning", CLI_YELLOW },
        { "error", CLI_RED },        { "lost", CLI_RED },           { "expired", CLI_RED },
        { "completed", CLI_GREEN },  { "pending", CLI_PLAIN },      { "cancelled", CLI_YELLOW },
        { "waiting", CLI_DIM },      { "broken", CLI_RED },         { "active", CLI_GREEN },
        { "parked", CLI_DIM },       { "blocked", CLI_RED },        { "idle", CLI_DIM },
        { "live", CLI_GREEN },       { "left", CLI_DIM },           { "evicted", CLI_RED },
    };

    for (size_t i = 0; field->type == CLI_F_STATE && i < sizeof(words) / sizeof(*words); i++) {
        if (strcmp(text, words[i].word) == 0)
            return words[i].colour;
    }
    return CLI_PLAIN;
}

static char *lifetime_text(const json_t *value)
{
    char text[CLI_DURATION_SIZE] = "forever";

    if (json_is_integer(value))
        cli_duration_text(json_integer_value(value) * 1000, text);
    return cli_need(strdup(text));
}

/* Times lose their microseconds unless they are shown in full. To be freed. */
static char *text_of(const struct cli_field *field, const json_t *value, bool full)
{
    char *text = NULL, *shown, from_now[CLI_FROM_NOW_SIZE];

    if (value && field->type == CLI_F_LIFETIME)
        return lifetime_text(value);
    if (!value || json_is_null(value))
        return cli_need(strdup("-"));
    if (field->type == CLI_F_FROM_NOW)
        return cli_need(strdup(cli_from_now_text(json_integer_value(value) * 1000, from_now)));
    if (field->type == CLI_F_AGO)
        return cli_need(strdup(cli_from_now_text(json_integer_value(value) * -1000, from_now)));
    if (json_is_string(value) && field->type == CLI_F_TIME && !full) {
        const char *time = json_string_value(value);

        if (asprintf(&text, "%.*sZ", (int)strcspn(time, "."), time) < 0)
            text = NULL;
        return cli_need(text);
    }
    if (json_is_string(value))
        return cli_escaped(*json_string_value(value) ? json_string_value(value) : "\"\"");
    if (json_is_boolean(value))
        return cli_need(strdup(json_is_true(value) ? "yes" : "no"));
    text = cli_need(json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY));
    shown = cli_escaped(text);
    free(text);
    return shown;
}

static size_t heading_width(const struct cli_grid *grid, size_t column)
{
    return cli_given(grid->cli, "no-header") ? 1 : cli_text_width(grid->columns[column]->heading);
}

static void column_add(struct cli_grid *grid, const struct cli_field *field)
{
    if (!field->heading || field->type == CLI_F_ROWS || grid->column_count == COLUMNS_MAX)
        return;
    grid->columns[grid->column_count] = field;
    grid->widths[grid->column_count] = heading_width(grid, grid->column_count);
    grid->column_count++;
}

struct cli_grid *cli_grid_new(struct cli *cli, const struct cli_field *fields, const char *columns)
{
    struct cli_grid *grid = cli_need(calloc(1, sizeof(*grid)));

    grid->cli = cli;
    for (const struct cli_field *field = fields; !columns && field->name; field++) {
        if (cli_is_set(cli) || strcmp(field->name, "store") != 0)
            column_add(grid, field);
    }
    while (columns && *columns) {
        size_t length = strcspn(columns, " ");

        for (const struct cli_field *field = fields; field->name; field++) {
            if (strlen(field->name) == length && strncmp(field->name, columns, length) == 0)
                column_add(grid, field);
        }
        columns += length + strspn(columns + length, " ");
    }
    grid->rows = cli_need(calloc(ROWS_THAT_WAIT, sizeof(*grid->rows)));
    return grid;
}

static bool can_be_cut(const struct cli_field *field)
{
    return field->type == CLI_F_TEXT || field->type == CLI_F_JSON;
}

/* Never cuts a heading, nor a text to less than says something. */
static size_t least_width(const struct cli_grid *grid, size_t column)
{
    size_t heading = heading_width(grid, column), least = heading > CUT_LEAST ? heading : CUT_LEAST;

    return can_be_cut(grid->columns[column]) && least < grid->widths[column] ? least
                                                                             : grid->widths[column];
}

/* Cuts the widest text until the lines fit. If they cannot, the terminal wraps them anyway, and
 * only very long texts, which make every line long, are cut. */
static void widths_cut(struct cli_grid *grid)
{
    size_t room = (size_t)cli_terminal_width(STDOUT_FILENO), least[COLUMNS_MAX];
    size_t gaps = (grid->column_count - 1) * COLUMN_GAP, total = gaps, least_total = gaps;

    for (size_t i = 0; i < grid->column_count; i++) {
        least[i] = least_width(grid, i);
        total += grid->widths[i];
        least_total += least[i];
    }
    for (size_t i = 0; least_total > room && i + 1 < grid->column_count; i++) {
        if (grid->widths[i] > CUT_WRAPPED && can_be_cut(grid->columns[i]))
            grid->widths[i] = CUT_WRAPPED;
    }
    for (; least_total <= room && total > room; total--) {
        size_t widest = COLUMNS_MAX;

        for (size_t i = 0; i < grid->column_count; i++) {
            if (grid->widths[i] > least[i] &&
                (widest == COLUMNS_MAX || grid->widths[i] > grid->widths[widest]))
                widest = i;
        }
        grid->widths[widest]--;
    }
}

static void cell_print(struct cli_grid *grid, size_t column, const char *text,
                       enum cli_colour colour)
{
    struct cli *cli = grid->cli;
    const struct cli_field *field = grid->columns[column];
    size_t room = grid->widths[column], width = cli_text_width(text), length = strlen(text);
    bool last = column + 1 == grid->column_count;
    bool cut = cli_on_terminal(cli) && width > room && can_be_cut(field);
    size_t blanks;

    if (cut) {
        length = cli_text_fit(text, room - 1);
        width = room;
    }
    if (length == 0)
        colour = CLI_PLAIN;
    blanks = width < room ? room - width : 0;
    if (field->type == CLI_F_NUMBER)
        cli_print(cli, "%*s", (int)blanks, "");
    cli_print(cli, "%s%.*s%s%s", colour == CLI_PLAIN ? "" : cli_colour(cli, colour), (int)length,
              text, cut ? "\u2026" : "", colour == CLI_PLAIN ? "" : cli_colour(cli, CLI_PLAIN));
    if (!last)
        cli_print(cli, "%*s", COLUMN_GAP + (field->type == CLI_F_NUMBER ? 0 : (int)blanks), "");
}

static void heading_print(struct cli_grid *grid)
{
    if (cli_given(grid->cli, "no-header"))
        return;
    for (size_t i = 0; i < grid->column_count; i++) {
        char *heading = cli_need(strdup(grid->columns[i]->heading));

        for (char *c = heading; *c; c++)
            *c = (char)toupper((unsigned char)*c);
        cell_print(grid, i, heading, CLI_BOLD);
        free(heading);
    }
    cli_print(grid->cli, "\n");
}

static void row_print(struct cli_grid *grid, struct cell *row)
{
    for (size_t i = 0; i < grid->column_count; i++) {
        cell_print(grid, i, row[i].text, row[i].colour);
        free(row[i].text);
    }
    cli_print(grid->cli, "\n");
}

static void flow(struct cli_grid *grid)
{
    if (!grid->flowing) {
        if (cli_on_terminal(grid->cli))
            widths_cut(grid);
        heading_print(grid);
        grid->flowing = true;
    }
    for (size_t i = 0; i < grid->row_count; i++)
        row_print(grid, grid->rows[i]);
    grid->row_count = 0;
}

void cli_grid_add(struct cli_grid *grid, const json_t *row)
{
    struct cell *cells = grid->rows[grid->row_count++];

    for (size_t i = 0; i < grid->column_count; i++) {
        const struct cli_field *field = grid->columns[i];
        size_t width;

        cells[i].text = text_of(field, json_object_get(row, field->name), false);
        cells[i].colour = colour_of(field, cells[i].text);
        width = cli_text_width(cells[i].text);
        if (!grid->flowing && width > grid->widths[i])
            grid->widths[i] = width;
    }
    if (grid->flowing || grid->row_count == ROWS_THAT_WAIT)
        flow(grid);
}

void cli_grid_end(struct cli_grid *grid)
{
    flow(grid);
    free(grid->rows);
    free(grid);
}

void cli_card(struct cli *cli, const struct cli_field *fields, const json_t *row)
{
    size_t widest = 0;

    for (const struct cli_field *field = fields; field->name; field++) {
        size_t width = field->heading ? cli_text_width(field->heading) : 0;

        widest = field->type != CLI_F_ROWS && width > widest ? width : widest;
    }
    for (const struct cli_field *field = fields; field->name; field++) {
        const json_t *value = json_object_get(row, field->name);
        char *text;
        enum cli_colour colour;

        if (!field->heading || !value || (json_is_null(value) && field->type != CLI_F_LIFETIME))
            continue; /* a missing value needs no line */
        if (field->type == CLI_F_ROWS) {
            if (json_array_size(value) > 0)
                cli_print(cli, "\n%s%s%s\n", cli_colour(cli, CLI_BOLD), field->heading,
                          cli_colour(cli, CLI_PLAIN));
            cli_table(cli, field, value);
            continue;
        }
        text = text_of(field, value, true);
        colour = colour_of(field, text);
        cli_print(cli, "%s%-*s%s  %s%s%s\n", cli_colour(cli, CLI_DIM), (int)widest, field->heading,
                  cli_colour(cli, CLI_PLAIN), cli_colour(cli, colour), text,
                  cli_colour(cli, CLI_PLAIN));
        free(text);
    }
}
