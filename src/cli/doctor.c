/* doctor.c - posthorn doctor: what is wrong, and what to do about it. */
#include "commands.h"

#include <string.h>

static const char *const description[] = {
    "Examines the database, the schema and how both are set up, and says what was found: schema "
    "version, difference of the clocks, settings that decide whether a commit survives a crash, "
    "versions with known faults, what holds back clean-up, how long messages wait, leases that "
    "have run out, dead letters, instances that are silent or would be taken for dead too soon. "
    "Where something should be done it says what. It changes nothing.",
    "With --deep it also reads every message and checks that each is in exactly one place: "
    "pending, leased, parked in a stream, done or dead. That takes a while on a large database.",
    "level is one of ok, info, warning (works, but will hurt) and error (does not work, or may "
    "lose messages).",
    NULL,
};

static const struct cli_option options[] = {
    { .name = "deep",
      .type = CLI_SWITCH,
      .help = "also check that every message is in exactly one place" },
    { .name = "strict", .type = CLI_SWITCH, .help = "exit with 1 for warnings, too" },
    { .name = NULL },
};

static const struct cli_field fields[] = {
    { "check", CLI_F_TEXT, "what was looked at: a stable word", NULL, NULL },
    { "level", CLI_F_STATE, "ok, info, warning or error", NULL, NULL },
    { "text", CLI_F_TEXT, "what was found", NULL, NULL },
    { "advice", CLI_F_TEXT, "what to do about it; null: nothing", NULL, NULL },
    { 0 },
};

static const struct cli_example examples[] = {
    { "posthorn doctor", "Is everything as it should be?" },
    { "posthorn doctor --deep --json", "Look at every message, and answer in JSON" },
    { 0 },
};

static const struct cli_exit_note exits[] = {
    { CLI_FAILED, "an error was found; with --strict also: a warning" },
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

#define DEEP_TIMEOUT_MS 3600000 /* unless --timeout says otherwise */
#define LEVEL_COLUMNS 7
#define CHECK_COLUMNS 15

/* The library cannot know which database it was told to use; here its commands become lines that
 * can be copied. */
static const char *advice_of(struct cli *cli, const ph_finding *finding)
{
    static const char *const commands[] = { "migrate up",    "reap",         "dead list",
                                            "queue list",    "doctor",       "schedule",
                                            "instance list", "stream list",  "explain",
                                            "dead retry",    "dead discard", "queue set" };
    const char *advice = finding->advice;

    for (size_t i = 0; advice && i < sizeof(commands) / sizeof(*commands); i++) {
        const char *plain = cli_printf(cli, "posthorn %s", commands[i]);
        const char *at = strstr(advice, plain);

        if (at)
            advice = cli_printf(cli, "%.*s%s%s", (int)(at - advice), advice,
                                cli_command_line(cli, commands[i]), at + strlen(plain));
    }
    return advice;
}

static void show(struct cli *cli, const ph_finding *finding)
{
    const char *advice = advice_of(cli, finding);

    if (cli->format != CLI_TEXT_FORM) {
        cli_row(cli, json_pack("{s:s, s:s, s:o, s:o}", "check", finding->check, "level",
                               levels[finding->level].word, "text", cli_json_text(finding->text),
                               "advice", cli_json_text(advice)));
        return;
    }
    cli_print(cli, "%s%-*s%s  %-*s %s\n", cli_colour(cli, levels[finding->level].colour),
              LEVEL_COLUMNS, levels[finding->level].word, cli_colour(cli, CLI_PLAIN), CHECK_COLUMNS,
              finding->check, cli_shown(cli, finding->text));
    if (advice)
        cli_print(cli, "%*s -> %s\n", LEVEL_COLUMNS + 1 + CHECK_COLUMNS, "", advice);
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

static int run(struct cli *cli)
{
    ph_finding_level worst, bearable = PH_FINDING_WARNING;
    ph_report *report = NULL;
    ph_finding own;
    int code = cli_open(cli, CLI_OPEN_LAZY);

    if (code == CLI_OK)
        code = examine(cli, &report);
    if (code != CLI_OK)
        return code;
    own = own_finding(cli);
    worst = ph_report_worst(report) > own.level ? ph_report_worst(report) : own.level;
    show(cli, &own);
    for (size_t i = 0; i < ph_report_count(report); i++)
        show(cli, ph_report_at(report, i));
    ph_report_free(report);
    if (cli_given(cli, "strict"))
        bearable = PH_FINDING_INFO;
    return worst > bearable ? CLI_FAILED : CLI_OK;
}

const struct cli_command cli_doctor = {
    .name = "doctor",
    .group = "doctor",
    .summary = "find out what is wrong",
    .operands = "",
    .description = description,
    .options = options,
    .fields = fields,
    .layout = CLI_TABLE,
    .examples = examples,
    .exits = exits,
    .run = run,
};
