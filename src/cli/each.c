/* each.c - many databases: the loop over all of them, and its rows.
 *
 * It opens one after the other, like a database that was named alone, so that 200 of them need one
 * connection. */
#include "frame.h"

#include <string.h>

#define MANY 10 /* from so many stores on a bar shows the progress */

struct outcome {
    size_t failed, found;
    int code;          /* of the failures; CLI_FAILED if they differ */
    const char *names; /* of those that failed */
};

static bool ends_all(int code)
{
    return code == CLI_USAGE || code == CLI_INTERRUPTED;
}

/* Different codes become CLI_FAILED. */
static void add_code(struct outcome *outcome, int code)
{
    outcome->code = outcome->code == CLI_OK || outcome->code == code ? code : CLI_FAILED;
}

static void count_failure(struct cli *cli, struct outcome *outcome, const char *id, int code)
{
    if (outcome->failed < CLI_NAMES_SHOWN)
        outcome->names = cli_printf(cli, "%s%s%s", outcome->failed ? outcome->names : "",
                                    outcome->failed ? ", " : "", id);
    else if (outcome->failed == CLI_NAMES_SHOWN)
        outcome->names = cli_printf(cli, "%s, …", outcome->names);
    add_code(outcome, code);
    outcome->failed++;
    cli->stores->failed++;
}

/* A signal may have come while the database was opened. */
static int unless_interrupted(struct cli *cli, const struct cli_each *each)
{
    return cli_interrupted() ? CLI_INTERRUPTED : each->one(cli, each->context);
}

/* Works on one store. Returns its exit code. */
static int on_one(struct cli *cli, const struct cli_each *each, size_t index)
{
    const char *source = cli->url_source;
    int code;

    cli_stores_use(cli, ph_databases_at(cli->stores->list, index));
    cli->place = cli->database->id;
    code = cli_open(cli, each->how);
    if (code == CLI_OK)
        code = unless_interrupted(cli, each);
    else if (code == CLI_USAGE)
        code = CLI_FAILED; /* its URL is wrong, not the command line */
    ph_close(cli->store);
    cli->store = NULL;
    if (code != CLI_OK && code != CLI_NOT_FOUND && !ends_all(code))
        cli->stores->troubles[index] = (struct cli_trouble){ code, cli->said };
    cli->place = NULL;
    cli->database = NULL;
    cli->url = NULL;
    cli->url_source = source;
    return code;
}

/* Prints the row of a store that has failed, now or in the round before. */
static void tell_failure(struct cli *cli, const struct cli_each *each, const char *id,
                         const char *said)
{
    cli->place = id;
    cli->said = said;
    if (each->failed)
        each->failed(cli, each->context);
    cli->place = NULL;
}

/* Reports what the set has left out. */
static void on_flaws(struct cli *cli, const struct cli_each *each, struct outcome *outcome)
{
    for (struct cli_flaw *flaw = cli->stores->flaws; flaw; flaw = flaw->next) {
        if (flaw->is_key && each->until_found)
            continue; /* the database was searched */
        cli_stores_say_flaw(cli, flaw);
        if (flaw->is_key && each->key_left_out)
            each->key_left_out(cli, each->context);
        if (flaw->is_key) {
            add_code(outcome, CLI_FAILED);
            continue;
        }
        count_failure(cli, outcome, flaw->id, CLI_FAILED);
        outcome->failed += flaw->others;
        cli->stores->failed += flaw->others;
        tell_failure(cli, each, flaw->id, flaw->text);
    }
    cli->place = NULL;
}

static int sum_up(struct cli *cli, const struct cli_each *each, const struct outcome *outcome)
{
    size_t count = cli->stores->count + cli->stores->left_out;
    const char *before = each->until_found && count > 1 ? "found in none of the others; " : "";

    if (count == 0)
        return cli_fail(cli, CLI_NOT_FOUND, "the set names no database");
    if (outcome->failed && !each->again)
        return cli_fail(cli, (enum cli_exit)outcome->code, "%s%s failed: %s", before,
                        count == 1 ? "the store"
                                   : cli_printf(cli, "%zu of %zu stores", outcome->failed, count),
                        outcome->names);
    if (outcome->code != CLI_OK)
        return outcome->code;
    return outcome->found ? CLI_OK : CLI_NOT_FOUND;
}

/* Works on all stores, as far as needed. Returns an exit code that ends the loop, or CLI_OK. */
static int on_stores(struct cli *cli, const struct cli_each *each, struct outcome *outcome)
{
    struct cli_stores *stores = cli->stores;

    for (size_t i = 0; i < stores->count && !(outcome->found && each->until_found); i++) {
        const char *id = ph_databases_at(stores->list, i)->id;
        int code = cli_interrupted() ? CLI_INTERRUPTED : stores->troubles[i].code;

        if (!cli->progress && stores->count >= MANY)
            cli_progress_begin(cli, "stores", (int64_t)stores->count);
        cli_progress_at(cli, (int64_t)i, (int64_t)stores->count);
        if (code == CLI_OK)
            code = on_one(cli, each, i);
        if (ends_all(code))
            return code;
        if (code == CLI_OK)
            outcome->found++;
        if (code == CLI_OK || code == CLI_NOT_FOUND)
            continue;
        count_failure(cli, outcome, id, code);
        tell_failure(cli, each, id, stores->troubles[i].said);
    }
    return CLI_OK;
}

static int on_set(struct cli *cli, const struct cli_each *each)
{
    struct outcome outcome = { 0 };
    int code;

    if (!each->until_found && cli->command->layout == CLI_CARD)
        cli_layout_set(cli, CLI_TABLE);
    cli->stores->failed = cli->stores->broken_count;
    code = on_stores(cli, each, &outcome);
    cli_progress_end(cli);
    if (code != CLI_OK || (outcome.found && each->until_found))
        return code;
    on_flaws(cli, each, &outcome);
    if (cli->stores->err.code)
        add_code(&outcome, cli_stores_say_broken(cli));
    return sum_up(cli, each, &outcome);
}

int cli_each(struct cli *cli, const struct cli_each *each)
{
    int code;

    if (cli_is_set(cli)) {
        code = cli_stores_prepare(cli);
        if (code == CLI_OK)
            code = on_set(cli, each);
        if (each->total)
            cli_row_total(cli, each->total);
        return code;
    }
    code = cli->store ? CLI_OK : cli_open(cli, each->how);
    return code == CLI_OK ? unless_interrupted(cli, each) : code;
}

/* ------------------------------------------------------------------------------ rows */

json_t *cli_json_failed(struct cli *cli)
{
    json_t *row = cli_need(json_object());

    cli_set(row, "store", cli_json_text(cli->place));
    cli_set(row, "error", cli_json_text(cli->said));
    return row;
}

void cli_row_failed(struct cli *cli, void *context)
{
    (void)context;
    cli_row_json(cli, cli_json_failed(cli));
}

bool cli_json_total(struct cli *cli, json_t *row)
{
    const struct cli_stores *stores = cli->stores;

    cli_set(row, "stores", json_integer((json_int_t)(stores->count + stores->left_out)));
    cli_set(row, "failed", json_integer((json_int_t)stores->failed));
    return stores->failed > 0;
}

void cli_row_total(struct cli *cli, const void *row)
{
    cli_row_total_json(cli, cli_object(cli->command->fields, row));
}

void cli_row_total_json(struct cli *cli, json_t *row)
{
    if (!cli->stores) { /* the stores could not be read */
        json_decref(row);
        return;
    }
    cli_set(row, "store", cli->format == CLI_TEXT_FORM ? json_string("(all)") : json_null());
    cli_json_total(cli, row);
    cli_row_json(cli, row);
}

/* An id stays in the first column, where other verbs read it. */
const char *cli_stores_columns(struct cli *cli, const char *columns)
{
    size_t first = columns ? strcspn(columns, " ") : 0;
    bool is_id = first > 3 && strncmp(columns + first - 3, "_id", 3) == 0;

    if (!columns || !cli_is_set(cli))
        return columns;
    return is_id ? cli_printf(cli, "%.*s store%s", (int)first, columns, columns + first)
                 : cli_printf(cli, "store %s", columns);
}
