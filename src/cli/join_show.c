/* join_show.c - posthorn join show and join list: how far joins are. */
#include "commands.h"
#include "frame.h"
#include "join.h"
#include "message.h"

#include "util/time_text.h"

#include <string.h>
#include <unistd.h>

#define BAR_MOST 100

int cli_join_operand(struct cli *cli, size_t index, ph_join_id *ret_join)
{
    return cli_parse_id(cli, cli->operands[index], ret_join->b);
}

static const char *state_of(const void *join)
{
    return ph_join_state_text(((const ph_join_info *)join)->state);
}

#define ROW(...) CLI_FIELD(ph_join_info, __VA_ARGS__)
#define JOIN_FIELDS                                                                                \
    ROW("join_id", id, UUID, "Join id", "identifies the join"),                                    \
        ROW("grouping_key", grouping_key, TEXT, "Key", "its key; or null"),                        \
        CLI_FIELD_TEXT("state", state_of, STATE, "State",                                          \
                       "pending, completed, failed or cancelled"),                                 \
        ROW("expected_steps", expected_steps, NUMBER, "Expected", "how many steps it expects"),    \
        ROW("attached_steps", attached_steps, NUMBER, "Attached", "how many are attached"),        \
        ROW("completed_steps", completed_steps, NUMBER, "Completed",                               \
            "how many of them are completed"),                                                     \
        ROW("failed_steps", failed_steps, NUMBER, "Failed", "how many of them failed"),            \
        ROW("open_waits", open_waits, NUMBER, "Open waits", "waits that are not settled"),         \
        ROW("created_at", created_at, TIME, "Created", "when it was started"),                     \
        ROW("updated_at", updated_at, TIME, "Updated",                                             \
            "when a step was last counted, or it ended"),                                          \
        ROW("deadline", deadline, TIME, "Deadline",                                                \
            "when it fails if it is not complete; or null"),                                       \
        ROW("finished_at", finished_at, TIME, "Finished", "when it ended; null: it is open"),      \
        ROW("metadata", metadata, TEXT, "Metadata", "the text it was started with; or null")

const struct cli_field cli_join_fields[] = { JOIN_FIELDS, { 0 } };

/* ----------------------------------------------------------------------- the bar */

enum { COMPLETED, FAILED, PENDING, MISSING, PARTS };

static const struct {
    char mark; /* the same for a step and in the bar, so that colours are not needed */
    const char *name;
    enum cli_colour colour;
} parts[PARTS] = {
    [COMPLETED] = { '#', "completed", CLI_GREEN },
    [FAILED] = { 'x', "failed", CLI_RED },
    [PENDING] = { '.', "pending", CLI_PLAIN },
    [MISSING] = { '-', "not attached", CLI_DIM },
};

/* Shares columns among the parts in proportion; every part that exists gets at least one. */
static void bar_share(const int64_t steps[PARTS], int64_t total, int columns, int ret_share[PARTS])
{
    int used = 0;

    for (int i = 0; i < PARTS; i++) {
        ret_share[i] = (int)(steps[i] * columns / total);
        if (steps[i] > 0 && ret_share[i] == 0)
            ret_share[i] = 1;
        used += ret_share[i];
    }
    for (; used != columns; used += used < columns ? 1 : -1) {
        int widest = 0, neediest = 0;

        for (int i = 1; i < PARTS; i++) {
            if (ret_share[i] > ret_share[widest])
                widest = i;
            if (steps[i] * columns - ret_share[i] * total >
                steps[neediest] * columns - ret_share[neediest] * total)
                neediest = i;
        }
        ret_share[used < columns ? neediest : widest] += used < columns ? 1 : -1;
    }
}

static void bar_print(struct cli *cli, const int64_t steps[PARTS], int64_t total)
{
    int columns = cli_terminal_width(STDOUT_FILENO) - 2, share[PARTS];
    char cells[BAR_MOST];

    columns = columns > BAR_MOST ? BAR_MOST : columns < PARTS ? PARTS : columns;
    bar_share(steps, total, columns, share);
    cli_print(cli, "\n[");
    for (int i = 0; i < PARTS; i++) {
        bool coloured = parts[i].colour != CLI_PLAIN && share[i] > 0;

        memset(cells, parts[i].mark, (size_t)share[i]);
        cli_print(cli, "%s%.*s%s", coloured ? cli_colour(cli, parts[i].colour) : "", share[i],
                  cells, coloured ? cli_colour(cli, CLI_PLAIN) : "");
    }
    cli_print(cli, "]\n");
}

/* "# 3 completed, x 1 failed": a part per line if one line is too narrow. */
static void legend_print(struct cli *cli, const int64_t steps[PARTS])
{
    size_t room = (size_t)cli_terminal_width(STDOUT_FILENO), used = 0;

    for (int i = 0; i < PARTS; i++) {
        const char *text =
            cli_printf(cli, "%c %lld %s", parts[i].mark, (long long)steps[i], parts[i].name);
        size_t width = strlen(text);

        if (steps[i] == 0)
            continue;
        if (used > 0)
            cli_print(cli, used + 2 + width > room ? "\n" : "  ");
        used = used > 0 && used + 2 + width <= room ? used + 2 + width : width;
        cli_print(cli, "%s", text);
    }
    cli_print(cli, "\n");
}

/* ----------------------------------------------------------------------- the text */

static void line(struct cli *cli, const char *name, const char *text, enum cli_colour colour)
{
    cli_print(cli, "%s%-8s%s  %s%s%s\n", cli_colour(cli, CLI_DIM), name, cli_colour(cli, CLI_PLAIN),
              colour == CLI_PLAIN ? "" : cli_colour(cli, colour), text,
              colour == CLI_PLAIN ? "" : cli_colour(cli, CLI_PLAIN));
}

static const char *when(struct cli *cli, int64_t time, int64_t now)
{
    char text[PH__TIME_TEXT_SIZE], distance[CLI_FROM_NOW_SIZE];

    return cli_printf(cli, "%s (%s)", ph__time_text(time, text),
                      cli_from_now_text((time - now) / 1000, distance));
}

static void header_print(struct cli *cli, const ph_join_info *join, int64_t now)
{
    static const enum cli_colour colours[] = { CLI_BOLD, CLI_GREEN, CLI_RED, CLI_YELLOW };
    char id[PH_ID_TEXT_SIZE], age[CLI_DURATION_SIZE];
    int64_t until = join->finished_at ? join->finished_at : now;
    int open = join->expected_steps - join->completed_steps - join->failed_steps;

    line(cli, "Join id", ph_id_text(join->id.b, id), CLI_PLAIN);
    if (join->grouping_key)
        line(cli, "Key", cli_shown(cli, join->grouping_key), CLI_PLAIN);
    line(cli, "State", ph_join_state_text(join->state), colours[join->state]);
    line(cli, "Steps",
         cli_printf(cli, "%d expected, %d attached, %d completed, %d failed, %d open",
                    join->expected_steps, join->attached_steps, join->completed_steps,
                    join->failed_steps, open),
         CLI_PLAIN);
    line(cli, "Waits", cli_printf(cli, "%d open", join->open_waits), CLI_PLAIN);
    line(cli, join->finished_at ? "Took" : "Age",
         cli_duration_text(until > join->created_at ? (until - join->created_at) / 1000 : 0, age),
         CLI_PLAIN);
    if (join->deadline)
        line(cli, "Deadline", when(cli, join->deadline, now), CLI_PLAIN);
    if (join->finished_at)
        line(cli, "Finished", when(cli, join->finished_at, now), CLI_PLAIN);
    if (join->metadata)
        line(cli, "Metadata", cli_shown(cli, join->metadata), CLI_PLAIN);
}

/* ------------------------------------------------------------------------ the steps */

static int part_of(const void *member)
{
    static const int of_state[] = { PENDING, COMPLETED, FAILED };

    return of_state[((const ph_join_member *)member)->state];
}

static const char *member_state(const void *member)
{
    return parts[part_of(member)].name;
}

static const char *member_mark(const void *member)
{
    static const char *const marks[PARTS] = { "#", "x", ".", "-" };

    return marks[part_of(member)];
}

#define STEP(...) CLI_FIELD(ph_join_member, __VA_ARGS__)
#define MEMBER_FIELDS                                                                              \
    CLI_FIELD_TEXT("state", member_state, STATE, "State", "pending, completed or failed"),         \
        STEP("message_id", message_id, UUID, "Message id", "the message"),                         \
        STEP("topic", topic, TEXT, "Topic", "its topic; null: the message was deleted"),           \
        STEP("work_id", work_id, UUID, NULL, "the stay in its queue that counts"),                 \
        STEP("attached_at", created_at, TIME, NULL, "when it was attached")

static const struct cli_field member_fields[] = { MEMBER_FIELDS, { 0 } };
/* With the mark of each, for the text form. */
static const struct cli_field marked_fields[] = { CLI_FIELD_TEXT("mark", member_mark, TEXT, "", ""),
                                                  MEMBER_FIELDS,
                                                  { 0 } };
static const struct cli_field marked = { .fields = marked_fields };

static void draw(struct cli *cli, const ph_join_info *join, int64_t now)
{
    json_t *members =
        cli_array(marked_fields, join->members, join->member_count, sizeof(*join->members));
    int64_t steps[PARTS] = { [COMPLETED] = join->completed_steps,
                             [FAILED] = join->failed_steps,
                             [PENDING] =
                                 join->attached_steps - join->completed_steps - join->failed_steps,
                             [MISSING] = join->expected_steps - join->attached_steps };

    header_print(cli, join, now);
    bar_print(cli, steps, join->expected_steps);
    legend_print(cli, steps);
    if (join->member_count > 0)
        cli_print(cli, "\n");
    cli_table(cli, &marked, members);
    json_decref(members);
    if (join->member_count < (size_t)join->attached_steps)
        cli_note(cli, "the first %zu of %d steps; more with --limit", join->member_count,
                 join->attached_steps);
}

static int run_show(struct cli *cli)
{
    ph_join_info *join = NULL;
    int64_t now = 0;
    ph_join_id id;
    int code = cli_join_operand(cli, 0, &id);

    if (code == CLI_OK)
        code = cli_open(cli, CLI_OPEN_CHECKED);
    if (code != CLI_OK)
        return code;
    if (ph_clock(cli->store, PH_OWN_TX, cli->timeout_ms, &now, &cli->err) < 0 ||
        ph_join_find(cli->store, PH_OWN_TX, id, (int)cli_number(cli, "limit"), cli->timeout_ms,
                     &join, &cli->err) < 0)
        return cli_fail_store(cli);
    if (cli->format == CLI_TEXT_FORM)
        draw(cli, join, now);
    else
        cli_row(cli, join);
    ph_join_info_free(join);
    return CLI_OK;
}

/* ---------------------------------------------------------------------- the tables */

static const struct cli_field show_fields[] = {
    JOIN_FIELDS,
    CLI_FIELD_ROWS(ph_join_info, "members", members, member_count, member_fields, "Members",
                   "its steps, in the order of attaching"),
    { 0 },
};

const struct cli_command cli_join_show = {
    .name = "join show",
    .summary = "show the progress of a join",
    .operands = "JOIN",
    .description = "Shows a join: how many steps it expects, has and has counted, as a bar, and "
                   "each step with its message. In the bar and before each step # means completed, "
                   "x failed, . pending; - is for steps that are still to be attached.\n"
                   "A step is completed when its message is acknowledged, and failed when it "
                   "becomes a dead letter.",
    .options = CLI_OPTIONS(CLI_OPTION("limit", 'l', NUMBER, "N", "at most N steps", .value = "1000",
                                      .min = 1, .max = PH_BATCH_MAX)),
    .fields = show_fields,
    .layout = CLI_CARD,
    .examples = CLI_EXAMPLES(
        { "join=$(posthorn join start 3 --key nightly)", "A join of three steps" },
        { "seq 2 | posthorn enqueue etl.extract --lines --join \"$join\"", "Two of them" },
        { "posthorn claim --owner 5e1f1e55-0000-4000-8000-000000000001 | posthorn ack - --owner "
          "5e1f1e55-0000-4000-8000-000000000001",
          "One is done" },
        { "posthorn join show \"$join\"", "How far is it?" }),
    .exits =
        CLI_EXITS({ CLI_NOT_FOUND, "there is no such join; it never existed, or was deleted" }),
    .only_reads = true,
    .run = run_show,
};

static int run_list(struct cli *cli)
{
    ph_join_list_opts opts = PH_JOIN_LIST_OPTS_INIT;
    ph_joins *joins = NULL;
    char id[PH_ID_TEXT_SIZE];
    size_t count;
    int code = cli_open(cli, CLI_OPEN_CHECKED);

    if (code != CLI_OK)
        return code;
    opts.grouping_key = cli_text(cli, "key");
    opts.state = cli_word(cli, "state");
    opts.limit = (int)cli_number(cli, "limit");
    opts.oldest_first = cli_given(cli, "oldest-first");
    cli_id(cli, "after", opts.after.b);
    if (ph_join_list(cli->store, PH_OWN_TX, &opts, cli->timeout_ms, &joins, &cli->err) < 0)
        return cli_fail_store(cli);
    count = ph_joins_count(joins);
    for (size_t i = 0; i < count; i++)
        cli_row(cli, ph_joins_at(joins, i));
    if (count == 0)
        cli_note(cli, "no joins");
    if (count == (size_t)opts.limit)
        cli_list_more(cli, ph_id_text(ph_joins_at(joins, count - 1)->id.b, id));
    ph_joins_free(joins);
    return count ? CLI_OK : CLI_NOT_FOUND;
}

const struct cli_command cli_join_list = {
    .name = "join list",
    .summary = "list joins",
    .description = "Lists joins, the newest first. pending: not all expected steps have ended. "
                   "completed: all have ended, and none failed. failed: all have ended, and some "
                   "failed; or the deadline has passed. cancelled: the join was cancelled.",
    .options = CLI_OPTIONS(CLI_OPTION("key", 'k', TEXT, "KEY", "only joins with this key"),
                           CLI_OPTION("state", 's', WORD, "STATE", "only joins in this state",
                                      .choices = CLI_JOIN_STATES),
                           CLI_LIMIT_OPTION, CLI_AFTER_OPTION, CLI_OLDEST_OPTION),
    .fields = cli_join_fields,
    .columns = "join_id state grouping_key expected_steps attached_steps completed_steps "
               "failed_steps created_at",
    .examples = CLI_EXAMPLES(
        { "posthorn join start 3 --key nightly", "Something to list" },
        { "posthorn join list --state pending", "What is under way" },
        { "posthorn join list --key nightly --limit 1 --json", "The newest with this key" }),
    .exits = CLI_EXITS({ CLI_NOT_FOUND, "no join matches" }),
    .only_reads = true,
    .run = run_list,
};
