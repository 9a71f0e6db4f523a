/* dead.c - posthorn dead retry and dead discard: what operators do with dead letters. */
#include "commands.h"
#include "door.h"

#include <stdlib.h>

#define PAGE 500

/* One command: what to do with which dead letters, and how far it is. */
struct task {
    /* Acts on up to PAGE of them, counts the dead letters among them, and marks these if it can.
     * Returns an exit code. */
    int (*act)(struct cli *cli, const ph_work_id *ids, size_t count, int64_t *done, bool *is_done);
    bool counted;       /* it prints how many, not which */
    struct cli_ids ids; /* unless --all */
    bool *settled;      /* per id: it is done */
    int64_t total, done;
};

struct retried {
    ph_work_id id, new_id;
};

static const struct cli_field retry_fields[] = {
    CLI_FIELD(struct retried, "work_id", id, UUID, "Work id", "the dead letter"),
    CLI_STORE_FIELD("the store it is in; null: none has it"),
    CLI_FIELD(struct retried, "new_work_id", new_id, UUID, "New work id",
              "its work id in the queue; null: it is not a dead letter, or was retried before"),
    { 0 },
};

struct discarded {
    int64_t count;
};

static const struct cli_field discard_fields[] = {
    CLI_STORE_OR_ALL,
    CLI_FIELD(struct discarded, "discarded", count, NUMBER, "Discarded", "how many were deleted"),
    CLI_TOTAL_FIELDS,
    CLI_ERROR_FIELD,
    { 0 },
};

static int retry(struct cli *cli, const ph_work_id *ids, size_t count, int64_t *done, bool *is_done)
{
    ph_work_id retried[PAGE];

    if (ph_dead_retry(cli->store, PH_OWN_TX, ids, count, cli->timeout_ms, retried, &cli->err) < 0)
        return cli_fail_store(cli);
    for (size_t i = 0; i < count; i++) {
        is_done[i] = !ph_id_is_zero(retried[i].b);
        *done += is_done[i];
        if (is_done[i] || !cli_is_set(cli)) /* another store may have it */
            cli_row(cli, &(struct retried){ ids[i], retried[i] });
    }
    return CLI_OK;
}

static int discard(struct cli *cli, const ph_work_id *ids, size_t count, int64_t *done,
                   bool *is_done)
{
    int64_t deleted = 0;

    (void)is_done;
    if (ph_dead_discard(cli->store, PH_OWN_TX, ids, count, cli->timeout_ms, &deleted, &cli->err) <
        0)
        return cli_fail_store(cli);
    *done += deleted;
    return CLI_OK;
}

/* The next ids from *at on that are not done. Returns how many. */
static size_t next_named(const struct task *task, size_t *at, ph_work_id ret_ids[PAGE],
                         size_t ret_indexes[PAGE])
{
    size_t count = 0;

    for (; *at < task->ids.count && count < PAGE; ++*at) {
        if (task->settled[*at])
            continue;
        ret_indexes[count] = *at;
        ret_ids[count++] = task->ids.refs[*at].work_id;
    }
    return count;
}

/* The named ones, page by page. */
static int each_named(struct cli *cli, struct task *task)
{
    ph_work_id page[PAGE];
    size_t indexes[PAGE], count, at = 0;
    int code = CLI_OK;

    while (code == CLI_OK && (count = next_named(task, &at, page, indexes)) > 0) {
        bool is_done[PAGE] = { false };

        if (cli_interrupted())
            return CLI_INTERRUPTED;
        code = task->act(cli, page, count, &task->done, is_done);
        for (size_t i = 0; code == CLI_OK && i < count; i++)
            task->settled[indexes[i]] = is_done[i];
        cli_progress_at(cli, (int64_t)at, task->total);
    }
    return code;
}

static int page_of(struct cli *cli, ph_work_id *after, ph_work_id ret_ids[PAGE], size_t *ret_count)
{
    ph_message_list_opts opts = PH_MESSAGE_LIST_OPTS_INIT;
    ph_messages *messages = NULL;

    opts.state = PH_LIST_DEAD;
    opts.ns = cli_text(cli, "namespace");
    opts.topic = cli_text(cli, "topic");
    opts.oldest_first = true;
    opts.limit = PAGE;
    opts.after = *after;
    if (cli_door(cli)->list(cli->store, PH_OWN_TX, &opts, cli->timeout_ms, &messages, &cli->err) <
        0)
        return cli_fail_store(cli);
    *ret_count = ph_messages_count(messages);
    for (size_t i = 0; i < *ret_count; i++)
        ret_ids[i] = *after = ph_messages_at(messages, i)->message->work_id;
    ph_messages_free(messages);
    return CLI_OK;
}

/* All that match. One that dies again in the meantime is newer, and is not met twice. */
static int each_matching(struct cli *cli, struct task *task)
{
    ph_work_id after = { { 0 } }, page[PAGE];
    bool is_done[PAGE];
    size_t count = 0;
    int code;

    do {
        code = page_of(cli, &after, page, &count);
        if (cli_interrupted())
            return CLI_INTERRUPTED;
        if (code == CLI_OK && count > 0)
            code = task->act(cli, page, count, &task->done, is_done);
        cli_progress_at(cli, task->done, task->total);
    } while (code == CLI_OK && count > 0);
    return code;
}

/* Counts the matches, for the question and the progress; those of a topic one by one. */
static int count_matching(struct cli *cli, void *context)
{
    int64_t *total = context;
    ph_queue_counts counts = PH_QUEUE_COUNTS_INIT;
    ph_work_id after = { { 0 } }, page[PAGE];
    size_t count = 0;
    int code;

    if (!cli_given(cli, "all"))
        return CLI_OK;
    if (!cli_text(cli, "topic")) {
        if (cli_door(cli)->count(cli->store, PH_OWN_TX, cli_text(cli, "namespace"), cli->timeout_ms,
                                 &counts, &cli->err) < 0)
            return cli_fail_store(cli);
        *total += counts.dead;
        return CLI_OK;
    }
    do {
        code = page_of(cli, &after, page, &count);
        *total += (int64_t)count;
        if (cli_interrupted())
            return CLI_INTERRUPTED;
    } while (code == CLI_OK && count > 0);
    return code;
}

static int arguments_check(struct cli *cli)
{
    bool all = cli_given(cli, "all");

    if (all && cli->operand_count)
        return cli_usage(cli, "ids and --all cannot be used together");
    if (!all && (cli_given(cli, "topic") || cli_given(cli, "namespace")))
        return cli_usage(cli, "--topic and --namespace need --all");
    if (!all && cli_given(cli, "door"))
        return cli_usage(cli, "--door needs --all; an id implies its door");
    return CLI_OK;
}

/* Reads ids, or counts all. A store of a set that fails here is skipped later on. */
static int prepare(struct cli *cli, struct task *task)
{
    struct cli_each each = { .again = true, .one = count_matching, .context = &task->total };
    bool all = cli_given(cli, "all");
    int code = arguments_check(cli);

    if (code == CLI_OK && !all)
        code = cli_ids_read(cli, &task->ids);
    if (code != CLI_OK)
        return code;
    task->total = (int64_t)task->ids.count;
    task->settled = cli_alloc(cli, task->ids.count + 1);
    if (all || !cli_is_set(cli))
        code = cli_each(cli, &each);
    if (code == CLI_OK && task->total == 0) {
        cli_note(cli, "no dead letters match");
        code = CLI_NOT_FOUND;
    }
    if (code == CLI_USAGE || code == CLI_INTERRUPTED)
        return code;
    return cli_is_set(cli) && task->total > 0 ? CLI_OK : code;
}

static int one(struct cli *cli, void *context)
{
    struct task *task = context;
    int64_t before = task->done;
    int code;

    cli_progress_begin(cli, cli->command->name, task->total);
    code = cli_given(cli, "all") ? each_matching(cli, task) : each_named(cli, task);
    cli_progress_end(cli);
    if (task->counted && cli_is_set(cli) && code == CLI_OK)
        cli_row(cli, &(struct discarded){ task->done - before });
    return code;
}

/* The ids that no store has, which otherwise would have no row. */
static void print_rest(struct cli *cli, const struct task *task)
{
    for (size_t i = 0; i < task->ids.count; i++) {
        json_t *row;

        if (task->settled[i])
            continue;
        row = cli_object(retry_fields, &(struct retried){ .id = task->ids.refs[i].work_id });
        cli_set(row, "store", json_null());
        cli_row_json(cli, row);
    }
}

static int run_task(struct cli *cli, struct task *task)
{
    struct cli_each each = { .one = one, .context = task };
    int code;

    if (task->counted)
        each.failed = cli_row_failed;
    code = cli_each(cli, &each);
    if (cli_is_set(cli) && !task->counted && code != CLI_INTERRUPTED)
        print_rest(cli, task);
    if (code != CLI_OK || cli_given(cli, "all"))
        return code;
    if (task->done == 0)
        code = cli_fail(cli, CLI_NOT_FOUND, "none of the ids belongs to a dead letter (any more)");
    else if (task->done < task->total)
        code = cli_fail(cli, CLI_FAILED, "%lld of %lld are not dead letters (any more)",
                        (long long)(task->total - task->done), (long long)task->total);
    return code;
}

static int run_retry(struct cli *cli)
{
    struct task task = { .act = retry };
    int code = prepare(cli, &task);

    return code == CLI_OK ? run_task(cli, &task) : code;
}

static int run_discard(struct cli *cli)
{
    struct task task = { .act = discard, .counted = true };
    int code = prepare(cli, &task);

    if (code == CLI_OK)
        code = cli_confirm(cli, "Delete %lld dead letter%s for good?", (long long)task.total,
                           task.total == 1 ? "" : "s");
    if (code != CLI_OK)
        return code;
    code = run_task(cli, &task);
    if (cli_is_set(cli))
        cli_row_total(cli, &(struct discarded){ task.done });
    else
        cli_row(cli, &(struct discarded){ task.done });
    return code;
}

/* ------------------------------------------------------------------- the tables */

static const struct cli_option options[] = {
    CLI_FLAG("all", 'a', "all dead letters of the door, instead of ids"),
    CLI_DOOR_OPTION("with --all: the door of the dead letters"),
    CLI_NAMESPACE_OPTION("with --all: " CLI_ONLY_QUEUE),
    CLI_OPTION("topic", 't', TEXT, "TOPIC", "with --all: only this topic"),
    { 0 }
};

static const struct cli_exit_note exits[] = {
    { CLI_FAILED, "some ids do not belong to dead letters; the others were processed" },
    { CLI_NOT_FOUND, "none of the ids belongs to a dead letter; or --all, and there are none" },
    { 0, NULL },
};

const struct cli_command cli_dead_retry = {
    .name = "dead retry",
    .summary = "put dead letters back into their queue",
    .operands = "ID...|-|--all",
    .description = "Puts dead letters back into their queue, with attempts counted from 0. Each "
                   "gets a new work id and keeps its message id. The dead letter itself stays, "
                   "names the new work id, and no longer appears in dead list.\n"
                   "With - it reads the ids from stdin, as dead list prints them. With --all it "
                   "takes every dead letter of a door, or those of a topic or queue. With a set of "
                   "databases it searches every store.",
    .options = options,
    .fields = retry_fields,
    .examples = CLI_EXAMPLES(
        CLI_EXAMPLE_OWNER,
        { "posthorn enqueue mail.send hello; posthorn enqueue mail.send world; posthorn claim "
          "--batch 2 | posthorn fail - --error 'no server'",
          "Two dead letters" },
        { "posthorn dead list --limit 1 | posthorn dead retry -", "The newest one again" },
        { "posthorn dead retry --all --topic mail.send", "All of a topic" }),
    .exits = exits,
    .every_store = true,
    .graceful = true,
    .run = run_retry,
};

const struct cli_command cli_dead_discard = {
    .name = "dead discard",
    .summary = "delete dead letters for good",
    .operands = "ID...|-|--all",
    .description =
        "Deletes dead letters for good, with payload and history. Other messages are left alone. "
        "It asks first; without a terminal it requires --yes.\n"
        "With - it reads the ids from stdin, as dead list prints them. With --all it takes every "
        "dead letter of a door, or those of a topic or queue. posthorn queue set --dead-retention "
        "30d makes retention delete them after a while. With a set of databases it searches every "
        "store, and prints a line per store and a total.",
    .options = options,
    .fields = discard_fields,
    .layout = CLI_CARD,
    .examples = CLI_EXAMPLES(
        CLI_EXAMPLE_OWNER,
        { "posthorn enqueue mail.send hello; posthorn enqueue mail.send world; posthorn claim "
          "--batch 2 | posthorn fail - --error 'no server'",
          "Two dead letters" },
        { "posthorn dead list --limit 1 | posthorn dead discard - --yes", "Delete the newest one" },
        { "posthorn dead discard --all --topic mail.send --yes", "All of a topic" }),
    .exits = exits,
    .every_store = true,
    .graceful = true,
    .run = run_discard,
};
