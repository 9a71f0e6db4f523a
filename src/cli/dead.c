/* dead.c - posthorn dead retry and dead discard: what operators do with dead letters. */
#include "commands.h"
#include "door.h"

#include <stdlib.h>

#define PAGE 500

/* What is done with up to PAGE of them. Returns an exit code. */
struct action {
    int (*act)(struct cli *cli, const ph_work_id *ids, size_t count, int64_t *done);
};

static int retry(struct cli *cli, const ph_work_id *ids, size_t count, int64_t *done)
{
    ph_work_id retried[PAGE];

    if (ph_dead_retry(cli->store, PH_OWN_TX, ids, count, cli->timeout_ms, retried, &cli->err) < 0)
        return cli_fail_store(cli);
    for (size_t i = 0; i < count; i++) {
        cli_row(cli, json_pack("{s:o, s:o}", "work_id", cli_json_id(ids[i].b), "new_work_id",
                               cli_json_id(retried[i].b)));
        *done += !ph_id_is_zero(retried[i].b);
    }
    return CLI_OK;
}

static int discard(struct cli *cli, const ph_work_id *ids, size_t count, int64_t *done)
{
    int64_t deleted = 0;

    if (ph_dead_discard(cli->store, PH_OWN_TX, ids, count, cli->timeout_ms, &deleted, &cli->err) <
        0)
        return cli_fail_store(cli);
    *done += deleted;
    return CLI_OK;
}

/* The named ones, page by page. */
static int each_named(struct cli *cli, const struct action *action, const struct cli_ids *ids,
                      int64_t *done)
{
    ph_work_id page[PAGE];
    int code = CLI_OK;

    for (size_t at = 0; at < ids->count && code == CLI_OK; at += PAGE) {
        size_t count = ids->count - at < PAGE ? ids->count - at : PAGE;

        for (size_t i = 0; i < count; i++)
            page[i] = ids->refs[at + i].work_id;
        code = action->act(cli, page, count, done);
        cli_progress_at(cli, (int64_t)(at + count), (int64_t)ids->count);
        if (cli_interrupted())
            return CLI_INTERRUPTED;
    }
    return code;
}

static int page_of(struct cli *cli, ph_work_id *after, ph_work_id ret_ids[PAGE], size_t *ret_count)
{
    ph_list_opts opts = PH_LIST_OPTS_INIT;
    ph_message_list *messages = NULL;

    opts.state = PH_LIST_DEAD;
    opts.ns = cli_text(cli, "namespace");
    opts.topic = cli_text(cli, "topic");
    opts.oldest_first = true;
    opts.limit = PAGE;
    opts.after = *after;
    if (cli_door(cli)->list(cli->store, PH_OWN_TX, &opts, cli->timeout_ms, &messages, &cli->err) <
        0)
        return cli_fail_store(cli);
    *ret_count = ph_message_list_count(messages);
    for (size_t i = 0; i < *ret_count; i++)
        ret_ids[i] = *after = ph_message_list_at(messages, i)->message->work_id;
    ph_message_list_free(messages);
    return CLI_OK;
}

/* All that match. Those that die again in the meantime are newer, and are not met twice. */
static int each_matching(struct cli *cli, const struct action *action, int64_t total, int64_t *done)
{
    ph_work_id after = { { 0 } }, page[PAGE];
    size_t count = 0;
    int code;

    do {
        code = page_of(cli, &after, page, &count);
        if (code == CLI_OK && count > 0)
            code = action->act(cli, page, count, done);
        cli_progress_at(cli, *done, total);
        if (cli_interrupted())
            return CLI_INTERRUPTED;
    } while (code == CLI_OK && count > 0);
    return code;
}

/* How many match, for the question and the progress; with a topic that has to be counted here. */
static int count_matching(struct cli *cli, int64_t *ret_count)
{
    ph_outbox_counts counts = PH_OUTBOX_COUNTS_INIT;
    ph_work_id after = { { 0 } }, page[PAGE];
    size_t count = 0;
    int code;

    *ret_count = 0;
    if (!cli_text(cli, "topic")) {
        if (cli_door(cli)->count(cli->store, PH_OWN_TX, cli_text(cli, "namespace"), cli->timeout_ms,
                                 &counts, &cli->err) < 0)
            return cli_fail_store(cli);
        *ret_count = counts.dead;
        return CLI_OK;
    }
    do {
        code = page_of(cli, &after, page, &count);
        *ret_count += (int64_t)count;
    } while (code == CLI_OK && count > 0);
    return code;
}

static int arguments_check(struct cli *cli)
{
    bool all = cli_given(cli, "all");

    if (all && cli->operand_count)
        return cli_usage(cli, "ids and --all exclude each other; give one of them");
    if (!all && (cli_given(cli, "topic") || cli_given(cli, "namespace")))
        return cli_usage(cli, "--topic and --namespace choose among all; add --all");
    if (!all && cli_given(cli, "door"))
        return cli_usage(cli, "an id says by itself which door it is of; --door is for --all");
    return CLI_OK;
}

/* Reads ids (or counts all), opens the store, and says how many there are. */
static int prepare(struct cli *cli, struct cli_ids *ret_ids, int64_t *ret_total)
{
    bool all = cli_given(cli, "all");
    int code = arguments_check(cli);

    if (code == CLI_OK && !all)
        code = cli_ids_read(cli, ret_ids);
    if (code == CLI_OK)
        code = cli_open(cli, CLI_OPEN_CHECKED);
    if (code != CLI_OK)
        return code;
    *ret_total = (int64_t)ret_ids->count;
    if (all)
        code = count_matching(cli, ret_total);
    if (code == CLI_OK && *ret_total == 0) {
        cli_note(cli, "no dead letters match");
        code = CLI_NOT_FOUND;
    }
    return code;
}

static int each(struct cli *cli, const struct action *action, const struct cli_ids *ids,
                int64_t total, int64_t *done)
{
    int code;

    cli_progress_begin(cli, cli->command->name, total);
    code = cli_given(cli, "all") ? each_matching(cli, action, total, done)
                                 : each_named(cli, action, ids, done);
    cli_progress_end(cli);
    if (code != CLI_OK || cli_given(cli, "all"))
        return code;
    if (*done == 0)
        code = cli_fail(cli, CLI_NOT_FOUND, "none of the ids is that of a dead letter (any more)");
    else if (*done < total)
        code = cli_fail(cli, CLI_FAILED, "%lld of %lld are no dead letters (any more)",
                        (long long)(total - *done), (long long)total);
    return code;
}

static int run_retry(struct cli *cli)
{
    static const struct action action = { retry };
    struct cli_ids ids = { 0 };
    int64_t total = 0, done = 0;
    int code = prepare(cli, &ids, &total);

    return code == CLI_OK ? each(cli, &action, &ids, total, &done) : code;
}

static int run_discard(struct cli *cli)
{
    static const struct action action = { discard };
    struct cli_ids ids = { 0 };
    int64_t total = 0, done = 0;
    int code = prepare(cli, &ids, &total);

    if (code == CLI_OK)
        code = cli_confirm(cli, "Delete %lld dead letter%s for good?", (long long)total,
                           total == 1 ? "" : "s");
    if (code != CLI_OK)
        return code;
    code = each(cli, &action, &ids, total, &done);
    cli_row(cli, json_pack("{s:I}", "discarded", (json_int_t)done));
    return code;
}

/* ------------------------------------------------------------------- the tables */

static const struct cli_option options[] = {
    { .name = "all",
      .letter = 'a',
      .type = CLI_SWITCH,
      .help = "all dead letters, instead of ids" },
    CLI_DOOR_OPTION("with --all: messages, those from elsewhere, timers or job runs"),
    CLI_NAMESPACE_OPTION("with --all: " CLI_ONLY_QUEUE),
    { .name = "topic",
      .letter = 't',
      .type = CLI_TEXT,
      .argument = "TOPIC",
      .help = "with --all: only this topic" },
    { 0 },
};

static const struct cli_exit_note exits[] = {
    { CLI_FAILED, "some ids are not those of dead letters; the others were dealt with" },
    { CLI_NOT_FOUND, "none of the ids is that of a dead letter; or --all, and there are none" },
    { 0, NULL },
};

static const struct cli_field retry_fields[] = {
    { "work_id", CLI_F_UUID, "the dead letter", "Work id", NULL },
    { "new_work_id", CLI_F_UUID, "what it is now; null: it was no dead letter, or put back before",
      "New work id", NULL },
    { 0 },
};

static const char *const retry_description[] = {
    "Puts dead letters back into their queue, with attempts from 0. Each gets a new work id; its "
    "message id stays the same. The dead letter stays too, names the new one, and is no longer in "
    "dead list.",
    "With - the ids come from stdin, as dead list prints them. With --all it takes every dead "
    "letter, or those of a topic or queue.",
    NULL,
};

static const struct cli_example retry_examples[] = {
    { "export POSTHORN_OWNER=5e1f1e55-0000-4000-8000-000000000001", "Who we are" },
    { "posthorn enqueue mail.send hello; posthorn enqueue mail.send world; posthorn claim --batch "
      "2 "
      "| posthorn fail - --error 'no server'",
      "Two dead letters" },
    { "posthorn dead list --limit 1 | posthorn dead retry -", "The newest one again" },
    { "posthorn dead retry --all --topic mail.send", "All of a topic" },
    { 0 },
};

const struct cli_command cli_dead_retry = {
    .name = "dead retry",
    .group = "dead",
    .summary = "put dead letters back into their queue",
    .operands = "ID...|-|--all",
    .operands_max = -1,
    .description = retry_description,
    .options = options,
    .fields = retry_fields,
    .examples = retry_examples,
    .exits = exits,
    .graceful = true,
    .run = run_retry,
};

static const struct cli_field discard_fields[] = {
    { "discarded", CLI_F_NUMBER, "how many were deleted", "Discarded", NULL },
    { 0 },
};

static const char *const discard_description[] = {
    "Deletes dead letters for good, with payload and history. Other messages are left alone. It "
    "asks first; without a terminal it wants --yes.",
    "With - the ids come from stdin, as dead list prints them. With --all it takes every dead "
    "letter, or those of a topic or queue. To have them deleted after a while by themselves: "
    "posthorn queue set --dead-retention 30d.",
    NULL,
};

static const struct cli_example discard_examples[] = {
    { "export POSTHORN_OWNER=5e1f1e55-0000-4000-8000-000000000001", "Who we are" },
    { "posthorn enqueue mail.send hello; posthorn enqueue mail.send world; posthorn claim --batch "
      "2 "
      "| posthorn fail - --error 'no server'",
      "Two dead letters" },
    { "posthorn dead list --limit 1 | posthorn dead discard - --yes", "Delete the newest one" },
    { "posthorn dead discard --all --topic mail.send --yes", "All of a topic" },
    { 0 },
};

const struct cli_command cli_dead_discard = {
    .name = "dead discard",
    .group = "dead",
    .summary = "delete dead letters for good",
    .operands = "ID...|-|--all",
    .operands_max = -1,
    .description = discard_description,
    .options = options,
    .fields = discard_fields,
    .layout = CLI_CARD,
    .examples = discard_examples,
    .exits = exits,
    .graceful = true,
    .run = run_discard,
};
