/* doctor.c - posthorn doctor: what is wrong, and what to do about it. */
#include "commands.h"
#include "frame.h"

#include <string.h>

static const struct cli_field finding_fields[] = {
    { "check", CLI_F_TEXT, "what was looked at: a stable word", NULL, NULL },
    { "level", CLI_F_STATE, "ok, info, warning or error", NULL, NULL },
    { "text", CLI_F_TEXT, "what was found", NULL, NULL },
    { "advice", CLI_F_TEXT, "what to do about it; null: nothing", NULL, NULL },
    { 0 },
};

#define OF_A_SET "; only of a set of databases"
#define SET_COLUMNS "level ok info warnings errors"

static const struct cli_field fields[] = {
    CLI_STORE_OR_ALL,
    { "check", CLI_F_TEXT, "what was looked at: a stable word", NULL, NULL },
    { "level", CLI_F_STATE, "ok, info, warning or error; of a set: the worst", "Level", NULL },
    { "text", CLI_F_TEXT, "what was found", NULL, NULL },
    { "advice", CLI_F_TEXT, "what to do about it; null: nothing", NULL, NULL },
    { "ok", CLI_F_NUMBER, "how many findings are ok" OF_A_SET, "Ok", NULL },
    { "info", CLI_F_NUMBER, "how many are infos" OF_A_SET, "Info", NULL },
    { "warnings", CLI_F_NUMBER, "how many are warnings" OF_A_SET, "Warnings", NULL },
    { "errors", CLI_F_NUMBER, "how many are errors" OF_A_SET, "Errors", NULL },
    { "findings", CLI_F_ROWS, "those of this store" OF_A_SET, NULL, finding_fields },
    CLI_TOTAL_FIELDS,
    CLI_ERROR_FIELD,
    { 0 },
};

static const struct {
    const char *word;
    enum cli_colour colour;
} levels[] = {
    [PH_FINDING_OK] = { "ok", CLI_GREEN },
    [PH_FINDING_INFO] = { "info", CLI_PLAIN },
    [PH_FINDING_WARNING] = { "warning", CLI_YELLOW },
    [PH_FINDING_ERROR] = { "error", CLI_RED },
};

#define IDENTITY "identity"     /* a check of the library's */
#define DEEP_TIMEOUT_MS 3600000 /* unless --timeout says otherwise */
#define LEVEL_COLUMNS 7
#define CHECK_COLUMNS 15

static ph_finding_level level_of(const char *word)
{
    size_t i = 0;

    while (strcmp(levels[i].word, word) != 0)
        i++;
    return (ph_finding_level)i;
}

/* The library's advice names functions. Here they become commands, as lines that can be copied. */
static const struct {
    const char *call, *before, *command;
    bool by_door; /* the check is a door's name: it needs --door */
} commands[] = {
    { "call ph_migrate()", "run: ", "migrate up", false },
    { "call ph_outbox_reap_expired()", "run: ", "reap", false },
    { "see ph_queues_list()", "see: ", "queue list", true },
    { "see ph_scheduler_run()", "", "schedule", false },
    { "with ph_outbox_list()", "with: ", "dead list", false },
    { "with ph_inbox_list()", "with: ", "dead list", true },
    { "with ph_timers_list()", "with: ", "dead list", true },
    { "with ph_job_runs_list()", "with: ", "dead list", true },
    { "with ph_join_find()", "with: ", "join show ID", false },
    { "ph_outbox_find() or ph_inbox_find()", "", "explain ID", false },
    { "call ph_dead_retry()", "", "dead retry ID", false },
    { "ph_dead_discard()", "", "dead discard ID", false },
    { "ph_queue_set() with PH_DEAD_HEAD_SKIP", "", "queue set --dead-head skip", false },
    { "ph_doctor() with deep", "", "doctor --deep", false },
};

static bool is_door(const char *check)
{
    return strcmp(check, "inbox") == 0 || strcmp(check, "timers") == 0 ||
           strcmp(check, "job-runs") == 0;
}

static const char *advice_of(struct cli *cli, const ph_finding *finding)
{
    const char *advice = finding->advice;

    for (size_t i = 0; advice && i < sizeof(commands) / sizeof(*commands); i++) {
        const char *at = strstr(advice, commands[i].call), *command = commands[i].command;

        if (!at)
            continue;
        if (commands[i].by_door && is_door(finding->check))
            command = cli_printf(cli, "%s --door %s", command, finding->check);
        advice = cli_printf(cli, "%.*s%s%s%s", (int)(at - advice), advice, commands[i].before,
                            cli_command_line(cli, command), at + strlen(commands[i].call));
    }
    return advice;
}

static json_t *finding_json(struct cli *cli, const ph_finding *finding)
{
    return cli_need(json_pack("{s:s, s:s, s:o, s:o}", "check", finding->check, "level",
                              levels[finding->level].word, "text", cli_json_text(finding->text),
                              "advice", cli_json_text(advice_of(cli, finding))));
}

/* label: what stands before it, in so many columns. */
static void print_finding(struct cli *cli, const char *label, int columns, const json_t *finding,
                          const char *advice)
{
    const char *level = json_string_value(json_object_get(finding, "level"));
    const char *check = json_string_value(json_object_get(finding, "check"));
    const char *text = json_string_value(json_object_get(finding, "text"));
    cli_print(cli, "%s%*s%s%-*s%s  %-*s %s\n", label, columns - (int)cli_text_width(label), "",
              cli_colour(cli, levels[level_of(level)].colour), LEVEL_COLUMNS, level,
              cli_colour(cli, CLI_PLAIN), CHECK_COLUMNS, check, cli_shown(cli, text));
    if (advice)
        cli_print(cli, "%*s -> %s\n", columns + LEVEL_COLUMNS + 1 + CHECK_COLUMNS, "", advice);
}

static void show(struct cli *cli, json_t *finding)
{
    if (cli->format != CLI_TEXT_FORM) {
        cli_row(cli, finding);
        return;
    }
    print_finding(cli, "", 0, finding, json_string_value(json_object_get(finding, "advice")));
    json_decref(finding);
}

/* What only the command knows: which database it uses, and who told it to. */
static ph_finding own_finding(struct cli *cli)
{
    const char *shown = cli_url_shown(cli);
    bool exposed = strcmp(cli->url_source, "--db") == 0 && strcmp(shown, cli->url) != 0;

    return (ph_finding){
        .check = "url",
        .level = exposed ? PH_FINDING_WARNING : PH_FINDING_OK,
        .text = cli_printf(cli, "%s, from %s; posthorn %s with %s", shown, cli->url_source,
                           ph_version(), ph_backends()),
        .advice = exposed ? "others see the password in the list of processes; put the URL into "
                            "POSTHORN_DB, or the password into PGPASSFILE"
                          : NULL,
    };
}

static void on_progress(void *context, int64_t done, int64_t total)
{
    cli_progress_at(context, done, total);
}

static int examine(struct cli *cli, ph_report **ret_report)
{
    ph_doctor_opts opts = PH_DOCTOR_OPTS_INIT;
    int timeout_ms = cli->timeout_ms, r;

    opts.deep = cli_given(cli, "deep");
    if (opts.deep && !cli_given(cli, "timeout"))
        timeout_ms = DEEP_TIMEOUT_MS;
    opts.progress = on_progress;
    opts.progress_context = cli;
    if (opts.deep)
        cli_progress_begin(cli, "messages", 0);
    r = ph_doctor(cli->store, &opts, timeout_ms, ret_report, &cli->err);
    cli_progress_end(cli);
    return r < 0 ? cli_fail_store(cli) : CLI_OK;
}

/* ------------------------------------------------------------- a set of databases */

struct round {
    json_t *rows; /* of a set: a line per store */
    int counts[PH_FINDING_ERROR + 1];
    ph_finding_level worst;
    bool failed; /* a store could not be examined */
};

static json_t *counts_json(const int *counts, ph_finding_level worst)
{
    return cli_need(json_pack("{s:s, s:i, s:i, s:i, s:i}", "level", levels[worst].word, "ok",
                              counts[PH_FINDING_OK], "info", counts[PH_FINDING_INFO], "warnings",
                              counts[PH_FINDING_WARNING], "errors", counts[PH_FINDING_ERROR]));
}

static void add_finding(struct cli *cli, json_t *findings, int *counts, const ph_finding *finding)
{
    counts[finding->level]++;
    json_array_append_new(findings, finding_json(cli, finding));
}

static void add_store(struct cli *cli, struct round *round, const ph_finding *own,
                      const ph_report *report, ph_finding_level worst)
{
    int counts[PH_FINDING_ERROR + 1] = { 0 };
    json_t *findings = cli_need(json_array()), *row;

    add_finding(cli, findings, counts, own);
    for (size_t i = 0; i < ph_report_count(report); i++)
        add_finding(cli, findings, counts, ph_report_at(report, i));
    for (size_t i = 0; i <= PH_FINDING_ERROR; i++)
        round->counts[i] += counts[i];
    row = counts_json(counts, worst);
    json_object_set_new(row, "store", cli_json_text(cli->place));
    json_object_set_new(row, "findings", findings);
    json_array_append_new(round->rows, row);
}

/* It could not be examined: that is an error, too. */
static void add_failed(struct cli *cli, void *context)
{
    struct round *round = context;
    const ph_finding finding = { .check = "set", .level = PH_FINDING_ERROR, .text = cli->said };
    const int counts[] = { [PH_FINDING_ERROR] = 1 };
    json_t *row = cli_json_failed(cli), *line = counts_json(counts, PH_FINDING_ERROR);

    json_object_update(row, line);
    json_decref(line);
    json_object_set_new(row, "findings", json_pack("[o]", finding_json(cli, &finding)));
    json_array_append_new(round->rows, row);
    round->counts[PH_FINDING_ERROR]++;
    round->failed = true;
}

/* One more finding for a store that has a row. */
static void add_late(struct cli *cli, struct round *round, const char *store,
                     const ph_finding *finding)
{
    static const char *const members[] = { "ok", "info", "warnings", "errors" };
    const char *member = members[finding->level];
    json_t *row;
    size_t i;

    json_array_foreach(round->rows, i, row)
    {
        json_t *findings = json_object_get(row, "findings");
        const char *level = json_string_value(json_object_get(row, "level"));

        if (strcmp(json_string_value(json_object_get(row, "store")), store) != 0)
            continue;
        json_array_append_new(findings, finding_json(cli, finding));
        json_object_set_new(row, member,
                            json_integer(json_integer_value(json_object_get(row, member)) + 1));
        if (level_of(level) < finding->level)
            json_object_set_new(row, "level", json_string(levels[finding->level].word));
        break;
    }
    round->counts[finding->level]++;
    round->worst = finding->level > round->worst ? finding->level : round->worst;
}

static void add_key(struct cli *cli, void *context)
{
    const ph_finding finding = { .check = "set", .level = PH_FINDING_ERROR, .text = cli->said };

    add_late(cli, context, cli->place, &finding);
}

/* What is not as it should be, in order: the finding, the first store that has it, and how many
 * others have the same. */
static json_t *gather(struct cli *cli, const struct round *round)
{
    json_t *all = cli_need(json_object()), *row, *finding;
    size_t i, j;

    json_array_foreach(round->rows, i, row)
    {
        json_array_foreach(json_object_get(row, "findings"), j, finding)
        {
            const char *level = json_string_value(json_object_get(finding, "level"));
            const char *key = cli_printf(cli, "%s %s %s", level,
                                         json_string_value(json_object_get(finding, "check")),
                                         json_string_value(json_object_get(finding, "text")));
            json_t *same = json_object_get(all, key);

            if (strcmp(level, levels[PH_FINDING_OK].word) == 0)
                continue;
            if (same)
                json_object_set_new(
                    same, "others",
                    json_integer(json_integer_value(json_object_get(same, "others")) + 1));
            else
                json_object_set_new(all, key,
                                    json_pack("{s:O, s:O, s:i}", "finding", finding, "store",
                                              json_object_get(row, "store"), "others", 0));
        }
    }
    return all;
}

static const char *label_of(struct cli *cli, const json_t *item)
{
    const char *store = cli_shown(cli, json_string_value(json_object_get(item, "store")));
    json_int_t others = json_integer_value(json_object_get(item, "others"));

    return others ? cli_printf(cli, "%s and %lld more", store, (long long)others) : store;
}

/* What cures the schema of one store cures that of all, without --store. */
static const char *advice_for(struct cli *cli, const json_t *item)
{
    const char *store = json_string_value(json_object_get(item, "store"));
    const char *advice =
        json_string_value(json_object_get(json_object_get(item, "finding"), "advice"));
    const char *option = cli_printf(cli, " --store %s", cli_quoted(cli, store));
    const char *at = advice && strstr(advice, "migrate up") ? strstr(advice, option) : NULL;

    if (!at || json_integer_value(json_object_get(item, "others")) == 0)
        return advice;
    return cli_printf(cli, "%.*s%s", (int)(at - advice), advice, at + strlen(option));
}

static void print_findings(struct cli *cli, const struct round *round)
{
    json_t *all = gather(cli, round), *item;
    size_t widest = 0;
    const char *key;

    cli_flush(cli);
    cli_print(cli, "%s", json_object_size(all) ? "\n" : "");
    json_object_foreach(all, key, item)
    {
        size_t width = cli_text_width(label_of(cli, item));

        widest = width > widest ? width : widest;
    }
    json_object_foreach(all, key, item)
        print_finding(cli, label_of(cli, item), (int)widest + 2, json_object_get(item, "finding"),
                      advice_for(cli, item));
    json_decref(all);
}

static void print_round(struct cli *cli, const struct round *round)
{
    ph_finding_level worst = round->failed ? PH_FINDING_ERROR : round->worst;
    json_t *row;
    size_t i;

    cli_columns_set(cli, SET_COLUMNS);
    json_array_foreach(round->rows, i, row) cli_row(cli, json_incref(row));
    cli_row_total(cli, counts_json(round->counts, worst));
    if (cli->format == CLI_TEXT_FORM)
        print_findings(cli, round);
}

/* What the database says it is; NULL: nothing. */
static const char *identity_of(const json_t *row)
{
    const json_t *finding;
    size_t i;

    json_array_foreach(json_object_get(row, "findings"), i, finding)
    {
        if (strcmp(json_string_value(json_object_get(finding, "check")), IDENTITY) == 0)
            return json_string_value(json_object_get(finding, "text"));
    }
    return NULL;
}

static void add_twin(struct cli *cli, struct round *round, const json_t *row, const json_t *first)
{
    const char *store = json_string_value(json_object_get(row, "store"));
    const ph_finding finding = {
        .check = IDENTITY,
        .level = PH_FINDING_WARNING,
        .text = cli_printf(cli, "%s is the same database as %s, or a copy of it", store,
                           json_string_value(json_object_get(first, "store"))),
        .advice = "name each database once, or it is counted and served twice; ids of a copy can "
                  "be those of its original",
    };

    add_late(cli, round, store, &finding);
}

/* Databases that are in the set under two ids. */
static void find_twins(struct cli *cli, struct round *round)
{
    json_t *firsts = cli_need(json_object()), *row;
    size_t i;

    json_array_foreach(round->rows, i, row)
    {
        const char *identity = identity_of(row);
        const json_t *first = identity ? json_object_get(firsts, identity) : NULL;

        if (first)
            add_twin(cli, round, row, first);
        else if (identity)
            json_object_set(firsts, identity, row);
    }
    json_decref(firsts);
}

/* ---------------------------------------------------------------------------- run */

static int one(struct cli *cli, void *context)
{
    struct round *round = context;
    ph_finding_level worst;
    ph_report *report = NULL;
    ph_finding own;
    int code = examine(cli, &report);

    if (code != CLI_OK)
        return code;
    own = own_finding(cli);
    worst = ph_report_worst(report) > own.level ? ph_report_worst(report) : own.level;
    round->worst = worst > round->worst ? worst : round->worst;
    if (cli_is_set(cli)) {
        add_store(cli, round, &own, report, worst);
    } else {
        show(cli, finding_json(cli, &own));
        for (size_t i = 0; i < ph_report_count(report); i++)
            show(cli, finding_json(cli, ph_report_at(report, i)));
    }
    ph_report_free(report);
    return CLI_OK;
}

static int run(struct cli *cli)
{
    struct round round = { .rows = cli_need(json_array()), .worst = PH_FINDING_OK };
    struct cli_each each = {
        .how = CLI_OPEN_LAZY,
        .one = one,
        .failed = add_failed,
        .key_left_out = add_key,
        .context = &round,
    };
    ph_finding_level bearable = cli_given(cli, "strict") ? PH_FINDING_INFO : PH_FINDING_WARNING;
    int code = cli_each(cli, &each);

    find_twins(cli, &round);
    if (json_array_size(round.rows) > 0)
        print_round(cli, &round);
    json_decref(round.rows);
    return round.worst > bearable ? CLI_FAILED : code;
}

const struct cli_command cli_doctor = {
    .name = "doctor",
    .summary = "find out what is wrong",
    .description =
        "Examines the database, the schema and how both are set up, and says what was found: "
        "schema version, difference of the clocks, settings that decide whether a commit survives "
        "a crash, versions with known faults, what holds back clean-up, how long messages wait, "
        "leases that have run out, dead letters, instances that are silent or would be taken for "
        "dead too soon. Where something should be done it says what. It changes nothing.\n"
        "With --deep it also reads every message and checks that each is in exactly one place: "
        "pending, leased, parked in a stream, done or dead. That takes a while on a large "
        "database.\n"
        "Of a set of databases it prints a line per store, with the worst that was found and how "
        "many findings there are of each level, and one for all; then the findings that are not "
        "ok, each once, with the first store that has it. With --json and --jsonl each line has "
        "all of its findings with it. Only here it can tell that a database is in the set under "
        "two ids.\n"
        "level is one of ok, info, warning (works, but will hurt) and error (does not work, or may "
        "lose messages).",
    .options =
        CLI_OPTIONS(CLI_FLAG("deep", 0, "also check that every message is in exactly one place"),
                    CLI_FLAG("strict", 0, "exit with 1 for warnings, too")),
    .fields = fields,
    .examples = CLI_EXAMPLES(
        { "posthorn doctor", "Is everything as it should be?" },
        { "posthorn doctor --deep --json", "Look at every message, and answer in JSON" }),
    .exits = CLI_EXITS({ CLI_FAILED, "an error was found; with --strict also: a warning" }),
    .every_store = true,
    .only_reads = true,
    .run = run,
};
