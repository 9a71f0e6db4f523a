/* doctor.c - posthorn doctor: what is wrong, and what to do about it. */
#include "commands.h"
#include "frame.h"

#include <string.h>

struct finding {
    ph_finding it;
    const char *advice; /* with commands, not functions */
    const char *cure;   /* its word */
};

static const char *const levels[] = { "ok", "info", "warning", "error" };
static const enum cli_colour level_colours[] = { CLI_GREEN, CLI_PLAIN, CLI_YELLOW, CLI_RED };

#define FINDING(...) CLI_FIELD(struct finding, __VA_ARGS__)
#define FINDING_FIELDS                                                                             \
    FINDING("check", it.check, TEXT, NULL, "what was examined: a stable word"),                    \
        FINDING("level", it.level, STATE, "Level",                                                 \
                "ok, info, warning or error; of a store: the worst", .words = levels),             \
        FINDING("cure", cure, TEXT, NULL, "what to do about it, as a stable word; null: nothing"), \
        FINDING("subject", it.subject, TEXT, NULL,                                                 \
                "the id of an example; of identity: what tells databases apart; null: none"),      \
        FINDING("text", it.text, TEXT, NULL, "what was found"),                                    \
        FINDING("advice", advice, TEXT, NULL, "what to do about it; null: nothing")

static const struct cli_field finding_fields[] = { FINDING_FIELDS, { 0 } };

/* A store of a set, and what was found in it. */
struct line {
    struct line *next;
    const char *store, *error;
    int counts[PH_FINDING_ERROR + 1];
    ph_finding_level worst;
    struct finding *findings;
    size_t count;
};

#define OF_A_SET "; only with a set"
#define LINE(...) CLI_FIELD(struct line, __VA_ARGS__)
#define COUNT_FIELDS                                                                               \
    LINE("ok", counts[PH_FINDING_OK], NUMBER, "Ok", "how many findings are ok" OF_A_SET),          \
        LINE("info", counts[PH_FINDING_INFO], NUMBER, "Info", "how many are infos" OF_A_SET),      \
        LINE("warnings", counts[PH_FINDING_WARNING], NUMBER, "Warnings",                           \
             "how many are warnings" OF_A_SET),                                                    \
        LINE("errors", counts[PH_FINDING_ERROR], NUMBER, "Errors",                                 \
             "how many are errors" OF_A_SET),                                                      \
        CLI_FIELD_ROWS(struct line, "findings", findings, count, finding_fields, NULL,             \
                       "the findings of this store" OF_A_SET)

static const struct cli_field line_fields[] = {
    LINE("store", store, TEXT, NULL, "", .or_none = true),
    LINE("error", error, TEXT, NULL, "", .or_none = true),
    LINE("level", worst, STATE, NULL, "", .words = levels),
    COUNT_FIELDS,
    { 0 },
};

/* What is printed: findings, or lines. */
static const struct cli_field fields[] = {
    CLI_STORE_OR_ALL, FINDING_FIELDS, COUNT_FIELDS, CLI_TOTAL_FIELDS, CLI_ERROR_FIELD, { 0 },
};

#define IDENTITY "identity"     /* a check of the library's */
#define DEEP_TIMEOUT_MS 3600000 /* unless --timeout says otherwise */
#define LEVEL_COLUMNS 7
#define CHECK_COLUMNS 15

/* A finding as it is printed; it borrows from the report. */
static struct finding seen(struct cli *cli, const ph_finding *it)
{
    const char *advice = cli_cure(cli, it->cure, it->door);

    return (struct finding){ *it, advice ? advice : it->advice,
                             it->cure == PH_CURE_NONE ? NULL : ph_cure_word(it->cure) };
}

/* label: the text before it, in so many columns. */
static void print_finding(struct cli *cli, const char *label, int columns,
                          const struct finding *finding, const char *advice)
{
    cli_print(cli, "%s%*s%s%-*s%s  %-*s %s\n", label, columns - (int)cli_text_width(label), "",
              cli_colour(cli, level_colours[finding->it.level]), LEVEL_COLUMNS,
              levels[finding->it.level], cli_colour(cli, CLI_PLAIN), CHECK_COLUMNS,
              finding->it.check, cli_shown(cli, finding->it.text));
    if (advice)
        cli_print(cli, "%*s -> %s\n", columns + LEVEL_COLUMNS + 1 + CHECK_COLUMNS, "", advice);
}

static void show(struct cli *cli, const ph_finding *it)
{
    const struct finding finding = seen(cli, it);

    if (cli->format == CLI_TEXT_FORM)
        print_finding(cli, "", 0, &finding, finding.advice);
    else
        cli_row_json(cli, cli_object(finding_fields, &finding));
}

/* What only the command knows: which database it uses, and where that was said. */
static ph_finding own_finding(struct cli *cli)
{
    const char *shown = cli_url_shown(cli);
    bool exposed = strcmp(cli->url_source, "--db") == 0 && strcmp(shown, cli->url) != 0;

    return (ph_finding){
        .check = "url",
        .level = exposed ? PH_FINDING_WARNING : PH_FINDING_OK,
        .text = cli_printf(cli, "%s, from %s; posthorn %s with %s", shown, cli->url_source,
                           ph_version(), ph_backends()),
        .advice = exposed ? "other users see the password in the list of processes; put the URL "
                            "into POSTHORN_DB, or the password into PGPASSFILE"
                          : NULL,
        .cure = exposed ? PH_CURE_SETTINGS : PH_CURE_NONE,
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
    struct line *lines, **last; /* of a set */
    ph_finding_level worst;     /* where it could be examined */
};

static struct line *add_line(struct cli *cli, struct round *round, const char *error)
{
    struct line *line = cli_alloc(cli, sizeof(*line));

    line->store = cli_strdup(cli, cli->place);
    line->error = error;
    *round->last = line;
    round->last = &line->next;
    return line;
}

/* A copy that outlives the report. */
static struct finding kept(struct cli *cli, const ph_finding *it)
{
    struct finding finding = seen(cli, it);

    finding.it.check = cli_strdup(cli, it->check);
    finding.it.text = cli_strdup(cli, it->text);
    finding.it.subject = it->subject ? cli_strdup(cli, it->subject) : NULL;
    finding.advice = finding.advice ? cli_strdup(cli, finding.advice) : NULL;
    return finding;
}

static void add_finding(struct cli *cli, struct line *line, const ph_finding *finding)
{
    line->findings = cli_grown(cli, line->findings, line->count, sizeof(*line->findings));
    line->findings[line->count++] = kept(cli, finding);
    line->counts[finding->level]++;
    line->worst = finding->level > line->worst ? finding->level : line->worst;
}

/* A store that could not be examined counts as an error, too. */
static void add_failed(struct cli *cli, void *context)
{
    const ph_finding finding = { .check = "set", .level = PH_FINDING_ERROR, .text = cli->said };

    add_finding(cli, add_line(cli, context, cli->said), &finding);
}

/* One more finding for a store that has a line. */
static void add_late(struct cli *cli, struct round *round, const char *store,
                     const ph_finding *finding)
{
    struct line *line = round->lines;

    while (line && strcmp(line->store, store) != 0)
        line = line->next;
    if (line)
        add_finding(cli, line, finding);
    round->worst = finding->level > round->worst ? finding->level : round->worst;
}

static void add_key(struct cli *cli, void *context)
{
    const ph_finding finding = { .check = "set", .level = PH_FINDING_ERROR, .text = cli->said };

    add_late(cli, context, cli->place, &finding);
}

/* A problem: the first store that has it, and how many others have the same. */
struct same {
    struct same *next;
    const struct finding *finding;
    const char *store, *label;
    size_t others;
};

static bool is_same(const struct finding *a, const struct finding *b)
{
    return a->it.level == b->it.level && strcmp(a->it.check, b->it.check) == 0 &&
           strcmp(a->it.text, b->it.text) == 0;
}

static void gather_one(struct cli *cli, struct same **at, const char *store,
                       const struct finding *finding)
{
    while (*at && !is_same((*at)->finding, finding))
        at = &(*at)->next;
    if (*at) {
        (*at)->others++;
        return;
    }
    *at = cli_alloc(cli, sizeof(**at));
    (*at)->finding = finding;
    (*at)->store = store;
}

/* The problems of all stores, in order. */
static struct same *gather(struct cli *cli, const struct round *round)
{
    struct same *all = NULL;

    for (const struct line *line = round->lines; line; line = line->next)
        for (size_t i = 0; i < line->count; i++)
            if (line->findings[i].it.level != PH_FINDING_OK)
                gather_one(cli, &all, line->store, &line->findings[i]);
    return all;
}

/* What cures the schema of one store cures that of all, without --store. */
static const char *advice_for(struct cli *cli, const struct same *same)
{
    ph_cure cure = same->finding->it.cure;

    if (same->others > 0 &&
        (cure == PH_CURE_MIGRATE || cure == PH_CURE_CREATE_FILE || cure == PH_CURE_JOURNAL_MODE))
        return cli_cure(cli, cure, PH_OUTBOX);
    return same->finding->advice;
}

static void print_findings(struct cli *cli, const struct round *round)
{
    struct same *all = gather(cli, round);
    size_t widest = 0;

    cli_flush(cli);
    cli_print(cli, "%s", all ? "\n" : "");
    for (struct same *same = all; same; same = same->next) {
        const char *store = cli_shown(cli, same->store);

        same->label =
            same->others ? cli_printf(cli, "%s and %zu more", store, same->others) : store;
        widest = cli_text_width(same->label) > widest ? cli_text_width(same->label) : widest;
    }
    for (const struct same *same = all; same; same = same->next)
        print_finding(cli, same->label, (int)widest + 2, same->finding, advice_for(cli, same));
}

static void print_round(struct cli *cli, const struct round *round)
{
    struct line all = { 0 };

    cli_columns_set(cli, "level ok info warnings errors");
    for (const struct line *line = round->lines; line; line = line->next) {
        cli_row_json(cli, cli_object(line_fields, line));
        for (size_t i = 0; i <= PH_FINDING_ERROR; i++)
            all.counts[i] += line->counts[i];
        all.worst = line->worst > all.worst ? line->worst : all.worst;
    }
    cli_row_total_json(cli, cli_object(line_fields, &all));
    if (cli->format == CLI_TEXT_FORM)
        print_findings(cli, round);
}

/* The identity that the database reports; NULL: none. */
static const char *identity_of(const struct line *line)
{
    for (size_t i = 0; i < line->count; i++) {
        if (strcmp(line->findings[i].it.check, IDENTITY) == 0)
            return line->findings[i].it.subject;
    }
    return NULL;
}

static void add_twin(struct cli *cli, struct round *round, const struct line *line,
                     const struct line *first)
{
    const ph_finding finding = {
        .check = IDENTITY,
        .level = PH_FINDING_WARNING,
        .text = cli_printf(cli, "%s is the same database as %s, or a copy of it", line->store,
                           first->store),
        .advice = "name each database once, or it is counted and served twice; a copy may have the "
                  "same ids as its original",
        .cure = PH_CURE_RENAME,
    };

    add_late(cli, round, line->store, &finding);
}

/* Databases that are in the set under two ids. */
static void find_twins(struct cli *cli, struct round *round)
{
    for (const struct line *line = round->lines; line; line = line->next) {
        const char *identity = identity_of(line);
        const struct line *first = round->lines;

        while (identity && first != line &&
               (!identity_of(first) || strcmp(identity_of(first), identity) != 0))
            first = first->next;
        if (identity && first != line)
            add_twin(cli, round, line, first);
    }
}

/* ---------------------------------------------------------------------------- run */

static int one(struct cli *cli, void *context)
{
    struct round *round = context;
    ph_report *report = NULL;
    struct line *line = NULL;
    ph_finding own;
    int code = examine(cli, &report);

    if (code != CLI_OK)
        return code;
    own = own_finding(cli);
    if (cli_is_set(cli))
        line = add_line(cli, round, NULL);
    for (size_t i = 0; i <= ph_report_count(report); i++) {
        const ph_finding *finding = i == 0 ? &own : ph_report_at(report, i - 1);

        round->worst = finding->level > round->worst ? finding->level : round->worst;
        if (line)
            add_finding(cli, line, finding);
        else
            show(cli, finding);
    }
    ph_report_free(report);
    return CLI_OK;
}

static int run(struct cli *cli)
{
    struct round round = { .last = &round.lines };
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
    if (round.lines)
        print_round(cli, &round);
    return round.worst > bearable ? CLI_FAILED : code;
}

const struct cli_command cli_doctor = {
    .name = "doctor",
    .summary = "find out what is wrong",
    .description =
        "Examines the database, the schema and their settings, and reports what it finds: schema "
        "version, difference of the clocks, settings that decide whether a commit survives a "
        "crash, versions with known faults, what holds back clean-up, how long messages wait, "
        "expired leases, dead letters, and instances that are silent or would be taken for dead "
        "too soon. Each problem comes with advice. It changes nothing.\n"
        "With --deep it also reads every message and checks that each is in exactly one place: "
        "pending, leased, parked in a stream, done or dead. That takes a while on a large "
        "database.\n"
        "With a set of databases it prints a line per store, with the worst level and the number "
        "of findings of each level, and a total; then each problem once, with the first store that "
        "has it. With --json and --jsonl each line contains all of its findings. Only with a set "
        "can it detect that a database has two ids.\n"
        "level is one of ok, info, warning (works, but will hurt) and error (does not work, or may "
        "lose messages).",
    .options =
        CLI_OPTIONS(CLI_FLAG("deep", 0, "also check that every message is in exactly one place"),
                    CLI_FLAG("strict", 0, "exit with 1 for warnings, too")),
    .fields = fields,
    .examples = CLI_EXAMPLES(
        { "posthorn doctor", "Is everything as it should be?" },
        { "posthorn doctor --deep --json", "Look at every message, and answer in JSON" }),
    .exits = CLI_EXITS({ CLI_FAILED, "it found an error; with --strict also: a warning" }),
    .every_store = true,
    .only_reads = true,
    .run = run,
};
