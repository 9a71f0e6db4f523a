/* show.c - posthorn show and posthorn list: messages as they are now. */
#include "commands.h"
#include "join.h"
#include "message.h"

/* Adds the receptors of a message: the parties that have reported on it; and its joins. */
static int related_add(struct cli *cli, const struct cli_door *door, const ph_message_info *info,
                       json_t *row)
{
    ph_receptor_list_opts receptor_opts = PH_RECEPTOR_LIST_OPTS_INIT;
    ph_join_list_opts join_opts = PH_JOIN_LIST_OPTS_INIT;
    ph_receptors *receptors = NULL;
    ph_joins *joins = NULL;
    json_t *rows = NULL;
    int r = 0;

    receptor_opts.work_id = info->message->work_id;
    join_opts.step = info->message->message_id;
    if (cli_has_streams(door))
        r = ph_receptor_list(cli->store, PH_OWN_TX, &receptor_opts, cli->timeout_ms, &receptors,
                             &cli->err);
    if (r == 0 && door == cli_outbox)
        r = ph_join_list(cli->store, PH_OWN_TX, &join_opts, cli->timeout_ms, &joins, &cli->err);
    if (receptors)
        cli_set(row, "receptors", rows = cli_need(json_array()));
    for (size_t i = 0; i < ph_receptors_count(receptors); i++)
        cli_array_add(rows, cli_receptor_fields, ph_receptors_at(receptors, i));
    if (joins)
        cli_set(row, "joins", rows = cli_need(json_array()));
    for (size_t i = 0; i < ph_joins_count(joins); i++)
        cli_array_add(rows, cli_join_fields, ph_joins_at(joins, i));
    ph_receptors_free(receptors);
    ph_joins_free(joins);
    return r < 0 ? cli_fail_store(cli) : CLI_OK;
}

static int clock_read(struct cli *cli, int64_t *ret_now)
{
    return ph_clock(cli->store, PH_OWN_TX, cli->timeout_ms, ret_now, &cli->err) < 0
               ? cli_fail_store(cli)
               : CLI_OK;
}

/* A message, and all that belongs to it. */
static int print(struct cli *cli, const struct cli_door *door, const ph_message_info *info)
{
    int64_t now = 0;
    int code = clock_read(cli, &now);
    json_t *row;

    if (code != CLI_OK)
        return code;
    row = cli_json_message(door, info, now, true);
    code = related_add(cli, door, info, row);
    if (code == CLI_OK)
        cli_row_json(cli, row);
    else
        json_decref(row);
    return code;
}

/* Looks for the message in every database, and reports if none has it. */
static int find(struct cli *cli, cli_found_fn found)
{
    bool was_found = false;
    int code = cli_find_each(cli, found, &was_found);

    if (code == CLI_NOT_FOUND && !was_found && cli->err.code == PH_ENOTFOUND)
        code = cli_fail_store(cli);
    return code;
}

static int show(struct cli *cli, const struct cli_door *door, const ph_message_info *info)
{
    if (!cli_given(cli, "payload"))
        return print(cli, door, info);
    cli_write(cli, info->message->payload, info->message->payload_length);
    return CLI_OK;
}

static int run_show(struct cli *cli)
{
    return find(cli, show);
}

const struct cli_command cli_show = {
    .name = "show",
    .summary = "show a message and its history",
    .operands = "ID",
    .description = "Prints everything about a message: its state, its owner, its due time, its "
                   "payload, the history of its attempts, its receptors (the parties that have "
                   "reported on it, each for itself), and the joins of which it is a step. ID can "
                   "belong to a message of the outbox or inbox, a timer, a job run or a wait for a "
                   "join; with a set of databases every store is searched. The text form escapes "
                   "control characters; --payload prints the bytes as they are.\n"
                   "posthorn explain says in sentences why a message is where it is.",
    .options =
        CLI_OPTIONS(CLI_FLAG("payload", 0, "print the payload and nothing else, byte for byte")),
    .fields = cli_message_fields,
    .layout = CLI_CARD,
    .examples = CLI_EXAMPLES(
        { "id=$(posthorn enqueue order.placed '{\"order\": 17}')", "Remember the work id" },
        { "posthorn show $id", "Look at it" },
        { "posthorn show $id --payload > order.json", "Save its payload" }),
    .exits =
        CLI_EXITS({ CLI_NOT_FOUND, "there is no such message; it never existed, or was deleted" }),
    .every_store = true,
    .only_reads = true,
    .run = run_show,
};

static int show_dead(struct cli *cli, const struct cli_door *door, const ph_message_info *info)
{
    int64_t now = 0;
    int code;

    if (info->state == PH_FAILED)
        return print(cli, door, info);
    code = clock_read(cli, &now);
    if (code != CLI_OK)
        return code;
    return cli_fail(cli, CLI_NOT_FOUND, "this message is not a dead letter, but %s; see: %s",
                    cli_state(info, now), cli_command_line(cli, "show %s", cli->operands[0]));
}

static int run_dead_show(struct cli *cli)
{
    return find(cli, show_dead);
}

const struct cli_command cli_dead_show = {
    .name = "dead show",
    .summary = "show a dead letter and its history",
    .operands = "ID",
    .description = "Prints everything about a dead letter, as posthorn show does: why it is dead "
                   "(dead_reason), what its workers reported (history), and its new work id if it "
                   "was put back.",
    .fields = cli_message_fields,
    .layout = CLI_CARD,
    .examples = CLI_EXAMPLES(
        CLI_EXAMPLE_OWNER,
        { "posthorn enqueue mail.send 'Dear nobody'; posthorn claim | posthorn fail - --error 'no "
          "address'",
          "A dead letter" },
        { "posthorn dead show $(posthorn dead list --no-header --limit 1 | cut -d' ' -f1)",
          "Look at the newest one" }),
    .exits = CLI_EXITS({ CLI_NOT_FOUND, "there is no such message, or it is not dead" }),
    .every_store = true,
    .only_reads = true,
    .run = run_dead_show,
};

static int run_list(struct cli *cli)
{
    const struct cli_door *door = cli_door(cli);
    ph_message_list_opts opts = PH_MESSAGE_LIST_OPTS_INIT;

    opts.state = (ph_list_state)cli_word(cli, "state");
    if (opts.state == PH_LIST_WAITING && door != cli_outbox)
        return cli_usage(cli, "only messages of the outbox wait for joins; leave out --door %s",
                         door->name);
    if (opts.state == PH_LIST_PARKED && !cli_has_streams(door))
        return cli_usage(cli, "%ss have no streams, and are never parked", door->noun);
    return cli_list_messages(cli, door, &opts,
                             cli_given(cli, "payload")
                                 ? "work_id state namespace topic attempts created_at payload"
                                 : cli->command->columns);
}

static int run_dead_list(struct cli *cli)
{
    ph_message_list_opts opts = PH_MESSAGE_LIST_OPTS_INIT;

    opts.state = PH_LIST_DEAD;
    return cli_list_messages(cli, cli_given(cli, "door") ? cli_door(cli) : NULL, &opts,
                             cli_given(cli, "payload")
                                 ? "work_id door namespace topic attempts dead_reason "
                                   "updated_at last_error payload"
                                 : cli->command->columns);
}

static const struct cli_exit_note list_exits[] = {
    { CLI_NOT_FOUND, "no message matches" },
    { 0, NULL },
};

const struct cli_command cli_list = {
    .name = "list",
    .summary = "list messages",
    .description =
        "Lists messages, the newest first. ready: due now. scheduled: due later, or waiting for a "
        "retry. in_progress: leased. done: acknowledged, and still kept. dead: a dead letter that "
        "was not put back. waiting: a wait for an open join, which nobody can claim. parked: "
        "behind the head of its stream, until the messages before it are settled.\n"
        "--door inbox lists messages received from other systems. timer list and job runs list "
        "timers and job runs, too. stream list lists whole streams.\n"
        "With a set of databases it lists the newest messages of all stores, and says how many "
        "match in each store, counted up to --limit. With --json that is an object with messages "
        "and stores.\n"
        "A page has --limit messages; the next page begins with --after and the last work id of "
        "this one. Pages do not shift when messages come or go in the meantime. With a set, pages "
        "are those of one store: --store.",
    .options = CLI_OPTIONS(CLI_DOOR_OPTION("the door of the messages"),
                           CLI_STATE_OPTION(CLI_ALL_STATES), CLI_LIST_OPTIONS),
    .fields = cli_message_fields,
    .columns = "work_id state namespace topic attempts created_at payload_length",
    .examples = CLI_EXAMPLES(
        { "posthorn enqueue order.placed '{\"order\": 17}'; posthorn enqueue mail.send later --due "
          "+1h",
          "Something to list" },
        { "posthorn list", "The newest messages" },
        { "posthorn list --state scheduled --topic mail.send --payload", "What will be sent" },
        { "posthorn receive billing inv-17 invoice.paid '{\"order\": 17}'; posthorn list --door "
          "inbox",
          "Messages of other systems" },
        { "posthorn list --limit 1000 --oldest-first --jsonl | wc -l", "For programs" }),
    .exits = list_exits,
    .every_store = true,
    .only_reads = true,
    .run = run_list,
};

const struct cli_command cli_dead_list = {
    .name = "dead list",
    .summary = "list dead letters",
    .description =
        "Lists dead letters of all doors that were not put back, the newest first. A message is "
        "dead because a worker failed it (failed), its attempts were spent (attempts), its worker "
        "vanished on the last attempt (lost), or it expired (expired).\n"
        "With a set of databases it lists the newest of all stores, and says how many match in "
        "each store, as posthorn list does.",
    .options = CLI_OPTIONS(CLI_OPTION("door", 0, WORD, "DOOR",
                                      "only dead letters of this door; if omitted, of all doors",
                                      .choices = CLI_DOORS),
                           CLI_LIST_OPTIONS),
    .fields = cli_message_fields,
    .columns = "work_id door namespace topic attempts dead_reason updated_at last_error",
    .examples =
        CLI_EXAMPLES(CLI_EXAMPLE_OWNER,
                     { "posthorn enqueue mail.send 'Dear nobody'; posthorn claim | posthorn fail - "
                       "--error 'no address'",
                       "A dead letter" },
                     { "posthorn dead list", "The newest dead letters" },
                     { "posthorn dead list --topic mail.send --jsonl", "For programs" }),
    .exits = list_exits,
    .every_store = true,
    .only_reads = true,
    .run = run_dead_list,
};
