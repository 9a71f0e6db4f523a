/* words.c - stderr: notes, warnings, errors, questions. */
#include "frame.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* "eu: ", while a verb works on one store of a set. */
static const char *place(struct cli *cli)
{
    return cli->place ? cli_printf(cli, "%s: ", cli_shown(cli, cli->place)) : "";
}

static void __attribute__((format(printf, 3, 0)))
say(struct cli *cli, const char *label, const char *format, va_list arguments)
{
    const char *where = place(cli);
    char *text = NULL;

    if (vasprintf(&text, format, arguments) < 0)
        text = NULL;
    cli_progress_hide(cli);
    fprintf(stderr, "posthorn: %s%s%s\n", label, where, text ? text : "out of memory");
    free(text); /* there may be a million of them */
}

void cli_note(struct cli *cli, const char *format, ...)
{
    va_list arguments;

    if (cli->quiet)
        return;
    va_start(arguments, format);
    say(cli, "", format, arguments);
    va_end(arguments);
}

void cli_warn(struct cli *cli, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    say(cli, "warning: ", format, arguments);
    va_end(arguments);
}

struct error {
    const char *name, *text;
    int code;
    bool retry, unknown;
    const char *cure;
    const char *store;
};

static const struct cli_field error_fields[] = {
    CLI_FIELD(struct error, "code", name, TEXT, NULL, "a stable word"),
    CLI_FIELD(struct error, "message", text, TEXT, NULL, "the cause, and the cure"),
    CLI_FIELD(struct error, "exit", code, NUMBER, NULL, "the exit code"),
    CLI_FIELD(struct error, "retry", retry, BOOL, NULL, "the same call may succeed later"),
    CLI_FIELD(struct error, "outcome_unknown", unknown, BOOL, NULL, "it may have been done"),
    CLI_FIELD(struct error, "cure", cure, TEXT, NULL, "the cure, a stable word", .or_none = true),
    CLI_FIELD(struct error, "store", store, TEXT, NULL, "the store of a set", .or_none = true),
    { 0 },
};

/* With --json an error is one line of JSON, so that programs need not read prose. */
static void fail_json(const struct error *error)
{
    json_t *object = cli_object(error_fields, error);
    char *line = cli_need(json_dumps(object, JSON_COMPACT));

    fprintf(stderr, "{\"error\":%s}\n", line);
    free(line);
    json_decref(object);
}

/* err: the library's, or NULL. */
static int fail(struct cli *cli, const char *name, enum cli_exit code, const ph_error *err,
                const char *text)
{
    unsigned flags = err ? err->flags : 0;
    const char *shown;

    if (cli->where)
        text = cli_printf(cli, "%s: %s", cli->where, text);
    cli->said = text;
    shown = cli_shown(cli, text);
    cli_progress_hide(cli);
    if (cli->format == CLI_TEXT_FORM)
        fprintf(stderr, "posthorn: %s%s\n", place(cli), shown);
    else
        fail_json(&(struct error){ name, text, code, (flags & PH_RETRY) != 0,
                                   (flags & PH_UNKNOWN) != 0,
                                   err && err->cure ? ph_cure_word(err->cure) : NULL, cli->place });
    return code;
}

int cli_fail(struct cli *cli, enum cli_exit code, const char *format, ...)
{
    static const struct {
        enum cli_exit code;
        const char *name;
    } names[] = {
        { CLI_FAILED, "failed" },       { CLI_USAGE, "usage" },
        { CLI_NOT_FOUND, "not_found" }, { CLI_NO_CONNECTION, "no_connection" },
        { CLI_TIMED_OUT, "timed_out" }, { CLI_INTERRUPTED, "interrupted" },
    };
    const char *name = "failed", *text;
    va_list arguments;

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        if (names[i].code == code)
            name = names[i].name;
    }
    va_start(arguments, format);
    text = cli_vprintf(cli, format, arguments);
    va_end(arguments);
    return fail(cli, name, code, NULL, text);
}

int cli_usage(struct cli *cli, const char *format, ...)
{
    va_list arguments;
    const char *text;

    va_start(arguments, format);
    text = cli_vprintf(cli, format, arguments);
    va_end(arguments);
    fail(cli, "usage", CLI_USAGE, NULL, text);
    if (cli->format == CLI_TEXT_FORM)
        fprintf(stderr, "Try: posthorn help%s%s\n", cli->command ? " " : "",
                cli->command ? cli->command->name : "");
    return CLI_USAGE;
}

/* The library's errors in JSON, and the exit codes they lead to (others: CLI_FAILED). */
static const struct {
    int status;
    const char *name;
    enum cli_exit code;
} store_errors[] = {
    { PH_EINVAL, "bad_argument", CLI_USAGE },
    { PH_ENOSCHEMA, "no_schema", CLI_FAILED },
    { PH_ETOOOLD, "schema_too_old", CLI_FAILED },
    { PH_ETOONEW, "schema_too_new", CLI_FAILED },
    { PH_ECONNECT, "cannot_connect", CLI_NO_CONNECTION },
    { PH_EAUTH, "refused_credentials", CLI_NO_CONNECTION },
    { PH_EPERM, "no_right", CLI_FAILED },
    { PH_EBUSY, "locked", CLI_TIMED_OUT },
    { PH_ETIMEOUT, "timed_out", CLI_TIMED_OUT },
    { PH_ECONFLICT, "conflict", CLI_FAILED },
    { PH_EREADONLY, "read_only", CLI_FAILED },
    { PH_EFULL, "disk_full", CLI_FAILED },
    { PH_ENOMEM, "no_memory", CLI_FAILED },
    { PH_EUNKNOWN, "outcome_unknown", CLI_FAILED },
    { PH_ENOTFOUND, "not_found", CLI_NOT_FOUND },
    { PH_EUNSUPPORTED, "unsupported", CLI_USAGE },
    { PH_EDATABASE, "database", CLI_FAILED },
    { PH_ECORRUPT, "damaged", CLI_FAILED },
    { PH_ESTATE, "wrong_state", CLI_FAILED },
    { PH_EEVICTED, "evicted", CLI_FAILED },
};

/* The options --db, as they were given; none if one holds a password. */
static const char *with_databases(struct cli *cli, const char *line)
{
    size_t count = cli_texts(cli, "db", NULL, 0);
    const char *plain = line, **named = cli_alloc(cli, (count + 1) * sizeof(*named));

    cli_texts(cli, "db", named, count);
    for (size_t i = 0; i < count; i++) {
        if (cli_url_masked(cli, named[i]) != named[i])
            return plain;
        line = cli_printf(cli, "%s --db %s", line, cli_quoted(cli, named[i]));
    }
    return line;
}

const char *cli_command_line(struct cli *cli, const char *command, ...)
{
    static const char *const names[] = { "schema", "table-prefix" };
    const char *line = with_databases(cli, "posthorn");
    va_list arguments;

    if (cli->place || cli->database)
        line = cli_printf(cli, "%s --store %s", line,
                          cli_quoted(cli, cli->place ? cli->place : cli->database->id));
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        if (cli_given(cli, names[i]))
            line = cli_printf(cli, "%s --%s %s", line, names[i],
                              cli_quoted(cli, cli_text(cli, names[i])));
    }
    va_start(arguments, command);
    line = cli_printf(cli, "%s %s", line, cli_vprintf(cli, command, arguments));
    va_end(arguments);
    return line;
}

int cli_fail_store(struct cli *cli)
{
    const char *text = cli_error_text(cli, &cli->err);

    for (size_t i = 0; i < sizeof(store_errors) / sizeof(*store_errors); i++) {
        if (store_errors[i].status == cli->err.code)
            return fail(cli, store_errors[i].name, store_errors[i].code, &cli->err, text);
    }
    return fail(cli, "failed", CLI_FAILED, &cli->err, text);
}

int cli_confirm(struct cli *cli, const char *format, ...)
{
    va_list arguments;
    char answer[16] = "";
    const char *question;

    if (cli->yes)
        return CLI_OK;
    if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO))
        return cli_usage(cli,
                         "this cannot be undone, and there is no terminal to ask on; add --yes");
    va_start(arguments, format);
    question = cli_vprintf(cli, format, arguments);
    va_end(arguments);
    fprintf(stderr, "%s [y/N] ", cli_shown(cli, question));
    fflush(stderr);
    if (cli_interrupted() || !fgets(answer, sizeof(answer), stdin))
        fputs("\n", stderr);
    else if (strcmp(answer, "y\n") == 0 || strcmp(answer, "Y\n") == 0 ||
             strcmp(answer, "yes\n") == 0)
        return CLI_OK;
    return cli_fail(cli, cli_interrupted() ? CLI_INTERRUPTED : CLI_FAILED, "nothing was changed");
}
