/* explain.c - "posthorn explain": why is this message where it is, and what comes next? */
#include "commands.h"
#include "explain.h"

#include "util/time_text.h"

#include <string.h>

#define ERROR_SHOWN_MAX 300

#define JOINS_TOLD 10

static const struct cli_field reason_fields[] = {
    CLI_FIELD(struct explain_reason, "code", code, STATE, NULL, "a stable word"),
    CLI_FIELD(struct explain_reason, "text", text, TEXT, NULL, "a sentence"),
    { 0 },
};

struct row {
    ph_delivery m;
    const struct explain_reason *reasons;
    size_t reason_count;
    const char *door, *state, *advice;
    json_t *others;
    int64_t now;
};

#define ROW(...) CLI_FIELD(struct row, __VA_ARGS__)
static const struct cli_field fields[] = {
    ROW("work_id", m.work_id, UUID, NULL, "the message's work id"),
    CLI_ITS_STORE,
    ROW("door", door, TEXT, NULL, CLI_DOORS_HELP),
    ROW("topic", m.topic, TEXT, NULL, "its topic"),
    ROW("namespace", m.ns, TEXT, NULL, "its namespace"),
    ROW("state", state, STATE, NULL, "a stable word"),
    CLI_FIELD_ROWS(struct row, "reasons", reasons, reason_count, reason_fields, NULL,
                   "why it is there, the most important reason first"),
    ROW("advice", advice, TEXT, NULL, "what to do next; null: nothing"),
    ROW("alternatives", others, JSON, NULL,
        "alternatives to the advice: an array of command lines"),
    ROW("clock", now, TIME, NULL, "the time of the database at the look-up"),
    { 0 },
};

void explain_because(struct story *story, const char *code, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    if (story->reason_count < EXPLAIN_REASONS_MAX)
        story->reasons[story->reason_count++] =
            (struct explain_reason){ code, cli_vprintf(story->cli, format, arguments) };
    va_end(arguments);
}

const char *explain_when(const struct story *story, int64_t time)
{
    char text[PH__TIME_TEXT_SIZE], distance[CLI_FROM_NOW_SIZE];

    return cli_printf(story->cli, "%s (%s)", ph__time_text(time, text),
                      cli_from_now_text((time - story->now) / 1000, distance));
}

static const char *who(const struct story *story)
{
    char text[PH_ID_TEXT_SIZE];

    if (ph_id_is_zero(story->info->owner.b))
        return "nobody";
    return cli_strdup(story->cli, ph_id_text(story->info->owner.b, text));
}

const char *explain_queue_options(const struct story *story)
{
    struct cli_stream queue = { story->door, story->info->message->ns, NULL };

    return cli_stream_options(story->cli, &queue);
}

const char *explain_reap(const struct story *story)
{
    bool outbox = story->door == cli_outbox;

    return cli_command_line(story->cli, "reap%s%s", outbox ? "" : " --door ",
                            outbox ? "" : story->door->name);
}

static const ph_attempt *last_attempt(const struct story *story)
{
    const ph_message_info *info = story->info;

    return info->history_count ? &info->history[info->history_count - 1] : NULL;
}

/* ---------------------------------------------------------------- what if … */

/* The end of the error, where programs say what went wrong. */
static void add_error(struct story *story)
{
    const char *error = story->info->message->last_error;
    size_t length = error ? strlen(error) : 0;
    bool cut = length > ERROR_SHOWN_MAX;

    if (length == 0)
        return;
    if (cut)
        error += length - ERROR_SHOWN_MAX;
    while (cut && ((unsigned char)*error & 0xc0) == 0x80)
        error++;
    explain_because(story, "error", "The last error was: %s%s", cut ? "... " : "", error);
}

static void add_losses(struct story *story)
{
    const ph_message_info *info = story->info;
    int lost = 0;

    for (size_t i = 0; i < info->history_count; i++)
        lost += strcmp(info->history[i].kind, "lost") == 0;
    if (lost)
        explain_because(story, "worker_lost",
                        "%d lease%s on it ran out: it is handed out %s, so that it can harm %s.",
                        lost, lost == 1 ? "" : "s", lost == 1 ? "in a small group" : "alone",
                        lost == 1 ? "few others" : "no other");
}

static void add_pause(struct story *story)
{
    if (!story->paused)
        return;
    explain_because(story, "queue_paused", "Its queue is paused and hands out nothing.");
    story->advice = cli_command_line(story->cli, "queue resume%s", explain_queue_options(story));
}

static void waits(struct story *story)
{
    const ph_message_info *info = story->info;
    const ph_attempt *last = last_attempt(story);
    const char *due = explain_when(story, info->next_attempt_at);

    if (last && strcmp(last->kind, "abandoned") == 0) {
        story->state = "retry_later";
        explain_because(story, "abandoned",
                        "Attempt %d of %d was abandoned; the next is due at %s.",
                        info->message->attempts, info->max_attempts, due);
    } else if (last && strcmp(last->kind, "released") == 0) {
        story->state = "deferred";
        explain_because(
            story, "deferred",
            "Its worker gave it back without counting the attempt; it is due again at %s.", due);
    } else {
        story->state = "scheduled";
        explain_because(story, "due_later", "It is scheduled: nobody can claim it before %s.", due);
    }
}

static void is_ready(struct story *story)
{
    const ph_message_info *info = story->info;

    story->state = "ready";
    explain_because(story, "unclaimed",
                    "It has been ready since %s, and nobody has claimed it yet; %lld "
                    "%s%s of its queue %s ready.",
                    explain_when(story, info->next_attempt_at), (long long)story->ready,
                    story->door->noun, story->ready == 1 ? "" : "s",
                    story->ready == 1 ? "is" : "are");
    if (!story->advice && !cli_has_streams(story->door))
        story->advice = cli_command_line(story->cli, "schedule");
    else if (!story->advice)
        story->advice = cli_command_line(story->cli, "work %s%s --exec CMD",
                                         cli_quoted(story->cli, info->message->topic),
                                         explain_queue_options(story));
}

/* What keeps it from ever being handled comes first. */
static void pending(struct story *story)
{
    const ph_message_info *info = story->info;
    bool expired = info->expires_at && info->expires_at <= story->now;

    add_pause(story);
    if (expired)
        explain_because(story, "expired",
                        "It expired at %s: the next claim that finds it buries it.",
                        explain_when(story, info->expires_at));
    if (info->next_attempt_at > story->now)
        waits(story);
    else
        is_ready(story);
    explain_head(story);
    if (info->expires_at && !expired)
        explain_because(story, "expires_later", "It expires at %s.",
                        explain_when(story, info->expires_at));
    add_error(story);
    add_losses(story);
}

static void leased(struct story *story)
{
    const ph_message_info *info = story->info;
    const ph_delivery *message = info->message;
    bool over = info->locked_until <= story->now, last = message->attempts >= info->max_attempts;

    story->state = over ? "lease_expired" : "in_progress";
    if (over) {
        explain_because(story, "lease_expired",
                        "The lease of %s ran out at %s: the next claim takes it back%s. "
                        "Until then that worker may still settle it.",
                        who(story), explain_when(story, info->locked_until),
                        last ? ", and it is dead then" : "");
        story->advice = explain_reap(story);
    } else {
        explain_because(story, "leased",
                        "It is leased by %s until %s, under fence %lld: attempt %d of %d.",
                        who(story), explain_when(story, info->locked_until),
                        (long long)message->fence, message->attempts, info->max_attempts);
    }
    explain_run(story);
    if (last)
        explain_because(story, "last_attempt",
                        "This is its last attempt: if it fails, it is dead.");
    add_error(story);
    add_losses(story);
}

static void done(struct story *story)
{
    const ph_message_info *info = story->info;

    story->state = "done";
    if (ph_id_is_zero(info->owner.b) && story->door == cli_inbox)
        explain_because(story, "done", "It was handled by the transaction that received it, at %s.",
                        explain_when(story, info->processed_at));
    else if (ph_id_is_zero(info->owner.b))
        explain_because(story, "done",
                        "It is a wait for a join, and was done when the join ended: %s.",
                        explain_when(story, info->processed_at));
    else
        explain_because(
            story, "done", "It was done at %s by %s%s.", explain_when(story, info->processed_at),
            who(story),
            cli_has_streams(story->door)
                ? cli_printf(story->cli, ", at attempt %d", info->message->attempts)
                : ", a worker, or a scheduler that sent a message with its id as message id");
}

static void dead(struct story *story)
{
    static const struct {
        const char *reason, *code, *text;
    } causes[] = {
        { "failed", "dead_failed", "It is dead: its worker failed it for good" },
        { "attempts", "dead_attempts", "It is dead: its attempts are spent" },
        { "lost", "dead_lost", "It is dead: its worker did not come back from the last attempt" },
        { "expired", "dead_expired", "It is dead: it expired before a worker had handled it" },
    };
    const ph_message_info *info = story->info;
    const ph_attempt *last = last_attempt(story);
    char id[PH_ID_TEXT_SIZE];

    story->state = "dead";
    for (size_t i = 0; i < sizeof(causes) / sizeof(*causes); i++)
        if (info->dead_reason && strcmp(info->dead_reason, causes[i].reason) == 0)
            explain_because(story, causes[i].code, "%s, at %s, after %d of %d attempts.",
                            causes[i].text, explain_when(story, last ? last->at : info->updated_at),
                            info->message->attempts, info->max_attempts);
    add_error(story);
    if (!ph_id_is_zero(info->retried_as.b)) {
        explain_because(story, "retried", "It was put back into the queue as %s.",
                        ph_id_text(info->retried_as.b, id));
        story->advice =
            cli_command_line(story->cli, "explain %s", ph_id_text(info->retried_as.b, id));
    } else {
        story->advice =
            cli_command_line(story->cli, "dead retry %s", ph_id_text(info->message->work_id.b, id));
        explain_dead_head(story);
    }
}

static int waits_for_join(struct story *story)
{
    struct cli *cli = story->cli;
    ph_join_id join = story->info->waits_for;
    ph_join_info *info = NULL;
    char id[PH_ID_TEXT_SIZE];

    ph_id_text(join.b, id);
    if (ph_join_find(cli->store, PH_OWN_TX, join, 1, cli->timeout_ms, &info, &cli->err) < 0)
        return cli_fail_store(cli);
    story->state = "waiting";
    explain_because(story, "waits_for_join",
                    "It is waiting for a join, %s, and nobody can claim it: %d of %d "
                    "steps have ended, %d of them failed; %d %s not been attached yet.",
                    id, info->completed_steps + info->failed_steps, info->expected_steps,
                    info->failed_steps, info->expected_steps - info->attached_steps,
                    info->expected_steps - info->attached_steps == 1 ? "has" : "have");
    if (info->deadline)
        explain_because(story, "deadline", "The join fails if it is not complete at %s.",
                        explain_when(story, info->deadline));
    story->advice = cli_command_line(cli, "join show %s", id);
    ph_join_info_free(info);
    return CLI_OK;
}

/* The joins of which it is a step. */
static int step_of_joins(struct story *story)
{
    ph_join_list_opts opts = PH_JOIN_LIST_OPTS_INIT;
    struct cli *cli = story->cli;
    ph_joins *list = NULL;
    char id[PH_ID_TEXT_SIZE];

    opts.step = story->info->message->message_id;
    opts.limit = JOINS_TOLD;
    if (ph_join_list(cli->store, PH_OWN_TX, &opts, cli->timeout_ms, &list, &cli->err) < 0)
        return cli_fail_store(cli);
    for (size_t i = 0; i < ph_joins_count(list); i++) {
        const ph_join_info *join = ph_joins_at(list, i);

        explain_because(story, "step_of_join",
                        "It is a step of the join %s, which is %s: %d of %d steps have ended.",
                        ph_id_text(join->id.b, id), ph_join_state_text(join->state),
                        join->completed_steps + join->failed_steps, join->expected_steps);
    }
    ph_joins_free(list);
    return CLI_OK;
}

/* ---------------------------------------------------------------------- run */

static int look(struct story *story)
{
    struct cli *cli = story->cli;
    ph_queue_list_opts opts = PH_QUEUE_LIST_OPTS_INIT;
    ph_queues *queues = NULL;

    opts.door = story->door->door;
    opts.ns = story->info->message->ns;
    if (ph_clock(cli->store, PH_OWN_TX, 0, &story->now, &cli->err) < 0 ||
        ph_queue_list(cli->store, PH_OWN_TX, &opts, 0, &queues, &cli->err) < 0)
        return cli_fail_store(cli);
    if (ph_queues_count(queues) > 0) {
        story->paused = ph_queues_at(queues, 0)->paused;
        story->ready = ph_queues_at(queues, 0)->counts.ready;
        story->grace_us = ph_queues_at(queues, 0)->settings.affinity_grace_ms * 1000LL;
    }
    if (story->grace_us < 0)
        story->grace_us = 0; /* PH_NO_GRACE */
    ph_queues_free(queues);
    return explain_stream_look(story);
}

static void tell_json(const struct story *story)
{
    struct row row = { .m = *story->info->message,
                       .reasons = story->reasons,
                       .reason_count = story->reason_count,
                       .door = story->door->name,
                       .state = story->state,
                       .advice = story->advice,
                       .others = cli_need(json_array()),
                       .now = story->now };

    for (size_t i = 0; story->others[i]; i++)
        json_array_append_new(row.others, cli_json_text(story->others[i]));
    cli_row(story->cli, &row);
}

static void tell(const struct story *story)
{
    struct cli *cli = story->cli;

    if (cli_is_set(cli))
        cli_print(cli, "It is in the store %s.\n", cli_shown(cli, cli->place));
    for (size_t i = 0; i < story->reason_count; i++)
        cli_print(cli, "%s\n", cli_shown(cli, story->reasons[i].text));
    if (story->advice)
        cli_print(cli, "Next: %s\n", story->advice);
    for (size_t i = 0; story->others[i]; i++)
        cli_print(cli, "Or:   %s\n", story->others[i]);
}

/* Finds the reasons. Returns an exit code. */
static int find_out(struct story *story)
{
    int code = look(story);

    if (code != CLI_OK)
        return code;
    switch (story->info->state) {
    case PH_READY:
        pending(story);
        break;
    case PH_IN_PROGRESS:
        leased(story);
        break;
    case PH_DONE:
        done(story);
        break;
    case PH_FAILED:
        dead(story);
        break;
    case PH_WAITING:
        code = waits_for_join(story);
        break;
    case PH_PARKED:
        add_pause(story);
        explain_parked(story);
        break;
    }
    return code == CLI_OK && story->door == cli_outbox ? step_of_joins(story) : code;
}

int explain_why(struct cli *cli, const struct cli_door *door, ph_work_id id, const char **ret_text)
{
    struct story story = { .cli = cli, .door = door };
    ph_message_info *info = NULL;
    int r = door->find(cli->store, PH_OWN_TX, id, cli->timeout_ms, &info, &cli->err), code;

    *ret_text = NULL;
    if (r == PH_ENOTFOUND)
        return CLI_OK;
    if (r < 0)
        return cli_fail_store(cli);
    story.info = info;
    code = find_out(&story);
    if (code == CLI_OK)
        *ret_text = story.reasons[0].text; /* lasts as long as the command */
    ph_streams_free(story.streams);
    ph_message_info_free(info);
    return code;
}

static int explain(struct cli *cli, const struct cli_door *door, const ph_message_info *info)
{
    struct story story = { .cli = cli, .door = door, .info = info };
    int code = find_out(&story);

    if (code == CLI_OK && cli->format != CLI_TEXT_FORM)
        tell_json(&story);
    else if (code == CLI_OK)
        tell(&story);
    ph_streams_free(story.streams);
    return code;
}

static int run(struct cli *cli)
{
    bool found = false;
    int code = cli_find_each(cli, explain, &found);

    if (code != CLI_NOT_FOUND || found || cli->err.code != PH_ENOTFOUND)
        return code;
    return cli_fail(cli, CLI_NOT_FOUND,
                    "there is no message %s in %s; it was deleted after its retention, or "
                    "discarded, or it is in another database",
                    cli->operands[0], cli_is_set(cli) ? "any store" : cli_url_shown(cli));
}

const struct cli_command cli_explain = {
    .name = "explain",
    .summary = "explain why a message is where it is, and what comes next",
    .operands = "ID",
    .description =
        "Explains why a message is where it is and what will happen: how long it has been ready, "
        "when it is due, which owner has leased it and for how long, whether its queue is paused, "
        "when and why it died, when it was done, which join it waits for, and of which joins it is "
        "a step. ID can belong to a message of the outbox or inbox, a timer or a job run.\n"
        "For a message that is parked in a stream it names the head that holds it up, what the "
        "head waits for, and the instance that owns the partition; for a head, which instance of a "
        "service comes first and until when; for a blocked stream, the dead head and the commands "
        "that cure it.\n"
        "With --json the words state and code do not change. state is one of scheduled, "
        "retry_later, deferred, ready, in_progress, lease_expired, done, dead, waiting, parked. A "
        "code is one of due_later, abandoned, deferred, unclaimed, queue_paused, expired, "
        "expires_later, leased, lease_expired, last_attempt, worker_lost, error, done, "
        "dead_failed, dead_attempts, dead_lost, dead_expired, retried, waits_for_join, deadline, "
        "step_of_join, parked, head_ready, head_due_later, head_retry_later, head_leased, "
        "head_lease_expired, stream_head, stream_run, stream_blocked, affinity (reserved for the "
        "partition's owner for now), partition_owner.",
    .options = CLI_OPTIONS(CLI_PARTITION_OPTIONS),
    .fields = fields,
    .layout = CLI_CARD,
    .examples =
        CLI_EXAMPLES({ "id=$(posthorn enqueue mail.send hello --due +1h)", "A message for later" },
                     { "posthorn explain \"$id\"", "Why is nobody handling it?" },
                     { "posthorn enqueue order.placed 17 --stream order-17 --due +1h",
                       "The head of a stream, …" },
                     { "posthorn explain $(posthorn enqueue order.paid 17 --stream order-17)",
                       "… and what comes after it" }),
    .exits =
        CLI_EXITS({ CLI_NOT_FOUND, "there is no such message; it never existed, or was deleted" }),
    .every_store = true,
    .only_reads = true,
    .run = run,
};
