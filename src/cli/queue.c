/* queue.c - posthorn queue and posthorn retention: settings, pause and cleaning up. */
#include "commands.h"
#include "door.h"

#include <string.h>

struct row {
    ph_queue_info queue;
    const char *door, *dead_head;
    bool delete_on_ack;
    int64_t grace_ms;
};

static void print_one(struct cli *cli, const ph_queue_info *queue)
{
    static const char *const dead_heads[] = { "skip", "skip", "block" };
    const ph_queue_settings *s = &queue->settings;
    bool streams = cli_has_streams(cli_door(cli));
    struct row row = { .queue = *queue,
                       .door = cli_door(cli)->name,
                       .dead_head = streams ? dead_heads[s->dead_head] : NULL,
                       .delete_on_ack = s->delete_on_ack == 1,
                       .grace_ms = s->affinity_grace_ms };

    if (s->affinity_grace_ms == PH_NO_GRACE)
        row.grace_ms = 0;
    if (!streams)
        row.grace_ms = CLI_NO_NUMBER;
    if (cli_door(cli) != cli_outbox)
        row.queue.settings.join_wait_topic = NULL;
    cli_row(cli, &row);
}

/* The queue that --namespace names. */
static const char *named(const struct cli *cli)
{
    const char *ns = cli_text(cli, "namespace");

    return ns ? ns : "";
}

/* Prints the queues (NULL: all) as rows. */
static int print(struct cli *cli, const char *ns)
{
    ph_queue_list_opts opts = PH_QUEUE_LIST_OPTS_INIT;
    ph_queues *queues = NULL;
    size_t count;

    opts.door = cli_door(cli)->door;
    opts.ns = ns;
    if (ph_queue_list(cli->store, PH_OWN_TX, &opts, cli->timeout_ms, &queues, &cli->err) < 0)
        return cli_fail_store(cli);
    count = ph_queues_count(queues);
    for (size_t i = 0; i < count; i++)
        print_one(cli, ph_queues_at(queues, i));
    ph_queues_free(queues);
    return count ? CLI_OK : CLI_NOT_FOUND;
}

static int list_one(struct cli *cli, void *context)
{
    (void)context;
    return print(cli, cli_text(cli, "namespace"));
}

static int run_list(struct cli *cli)
{
    struct cli_each each = { .one = list_one };
    int code = cli_each(cli, &each);

    if (code == CLI_NOT_FOUND)
        cli_note(cli, "there is no such queue; the first %s of a namespace creates it",
                 cli_door(cli)->noun);
    return code;
}

static bool settings_fill(struct cli *cli, ph_queue_settings *settings)
{
    bool any = false;

    for (const struct cli_option *option = cli->command->options; option->name; option++)
        any |= strcmp(option->name, "door") != 0 && strcmp(option->name, "namespace") != 0 &&
               cli_given(cli, option->name);
    settings->max_attempts = (int)cli_number(cli, "max-attempts");
    settings->backoff = (ph_backoff)(cli_word(cli, "backoff") + 1);
    settings->backoff_base_ms = cli_number(cli, "backoff-base");
    settings->backoff_max_ms = cli_number(cli, "backoff-max");
    settings->retention_s = cli_number(cli, "retention");
    settings->dead_retention_s = cli_number(cli, "dead-retention");
    settings->dedupe_retention_s = cli_number(cli, "dedupe-retention");
    settings->max_payload_bytes = cli_number(cli, "max-payload");
    settings->max_lease_s = (int)cli_number(cli, "max-lease");
    if (cli_given(cli, "delete-on-ack"))
        settings->delete_on_ack = cli_word(cli, "delete-on-ack") == 0 ? 1 : -1;
    settings->join_wait_topic = cli_text(cli, "join-wait-topic");
    settings->dead_head = (ph_dead_head)(cli_word(cli, "dead-head") + 1);
    if (cli_given(cli, "affinity-grace"))
        settings->affinity_grace_ms = cli_number(cli, "affinity-grace") > 0
                                          ? (int)cli_number(cli, "affinity-grace")
                                          : PH_NO_GRACE;
    return any;
}

/* A change creates a missing queue, whose name may be a typing error. */
struct before {
    bool is_new;
    const char *near; /* the queue that may have been meant; or NULL */
};

static int look_before(struct cli *cli, const char *ns, struct before *ret_before)
{
    ph_queue_list_opts opts = PH_QUEUE_LIST_OPTS_INIT;
    ph_queues *queues = NULL;
    const char **names;
    size_t count;

    *ret_before = (struct before){ .is_new = true };
    opts.door = cli_door(cli)->door;
    if (ph_queue_list(cli->store, PH_OWN_TX, &opts, cli->timeout_ms, &queues, &cli->err) < 0)
        return cli_fail_store(cli);
    count = ph_queues_count(queues);
    names = cli_alloc(cli, (count + 1) * sizeof(*names));
    for (size_t i = 0; i < count; i++) {
        names[i] = cli_strdup(cli, ph_queues_at(queues, i)->ns);
        if (strcmp(names[i], ns) == 0)
            ret_before->is_new = false;
    }
    ph_queues_free(queues);
    if (ret_before->is_new)
        ret_before->near = cli_word_near(ns, names, count);
    return CLI_OK;
}

/* meant: creating it is what the verb is for. */
static void tell_if_new(struct cli *cli, const char *ns, const struct before *before, bool meant)
{
    if (before->is_new && before->near && *before->near)
        cli_note(cli, "created the queue %s; did you mean %s?", cli_quoted(cli, ns),
                 cli_quoted(cli, before->near));
    else if (before->is_new && !meant)
        cli_note(cli, "created the queue %s", cli_quoted(cli, ns));
}

static int run_set(struct cli *cli)
{
    ph_queue_settings settings = PH_QUEUE_SETTINGS_INIT;
    const char *ns = named(cli);
    struct before before;
    int code;

    if (!settings_fill(cli, &settings))
        return cli_usage(cli, "no setting given; for example: posthorn queue set --max-attempts 5");
    if (settings.join_wait_topic && cli_door(cli) != cli_outbox)
        return cli_usage(cli,
                         "only messages of the outbox wait for joins; leave out --join-wait-topic");
    if ((settings.dead_head || settings.affinity_grace_ms) && !cli_has_streams(cli_door(cli)))
        return cli_usage(cli, "%ss have no streams; leave out --%s", cli_door(cli)->noun,
                         settings.dead_head ? "dead-head" : "affinity-grace");
    code = cli_open(cli, CLI_OPEN_CHECKED);
    if (code == CLI_OK)
        code = look_before(cli, ns, &before);
    if (code != CLI_OK)
        return code;
    if (ph_queue_set(cli->store, PH_OWN_TX, cli_door(cli)->door, ns, &settings, cli->timeout_ms,
                     &cli->err) < 0)
        return cli_fail_store(cli);
    tell_if_new(cli, ns, &before, true);
    return print(cli, ns);
}

enum { PAUSE, RESUME };

static int run_change(struct cli *cli)
{
    const char *ns = named(cli);
    struct before before;
    int code = cli_open(cli, CLI_OPEN_CHECKED);

    if (code == CLI_OK)
        code = look_before(cli, ns, &before);
    if (code != CLI_OK)
        return code;
    if ((cli->command->kind == PAUSE ? ph_queue_pause : ph_queue_resume)(
            cli->store, PH_OWN_TX, cli_door(cli)->door, ns, cli->timeout_ms, &cli->err) < 0)
        return cli_fail_store(cli);
    tell_if_new(cli, ns, &before, false);
    return print(cli, ns);
}

struct deleted {
    const char *door, *ns;
    bool deleted;
};

static const struct cli_field delete_fields[] = {
    CLI_FIELD(struct deleted, "door", door, TEXT, "Door", CLI_DOORS_HELP),
    CLI_FIELD(struct deleted, "namespace", ns, TEXT, "Namespace", "the queue's name"),
    CLI_FIELD(struct deleted, "deleted", deleted, BOOL, "Deleted", "false: there was none"),
    { 0 },
};

static int run_delete(struct cli *cli)
{
    struct deleted row = { cli_door(cli)->name, named(cli), false };
    int code = cli_open(cli, CLI_OPEN_CHECKED);

    if (code != CLI_OK)
        return code;
    if (ph_queue_delete(cli->store, PH_OWN_TX, cli_door(cli)->door, row.ns, cli->timeout_ms,
                        &row.deleted, &cli->err) < 0)
        return cli_fail_store(cli);
    if (!row.deleted)
        cli_note(cli, "there is no queue %s", cli_quoted(cli, row.ns));
    cli_row(cli, &row);
    return row.deleted ? CLI_OK : CLI_NOT_FOUND;
}

/* ------------------------------------------------------------------- the tables */

static const char *const backoffs[] = { "exponential", "exponential", "equal-jitter" };

#define ROW(...) CLI_FIELD(struct row, __VA_ARGS__)
#define SET(name_, member_, ...) ROW(name_, queue.settings.member_, __VA_ARGS__)
static const struct cli_field fields[] = {
    CLI_ITS_STORE,
    ROW("door", door, TEXT, "Door", CLI_DOORS_HELP),
    ROW("namespace", queue.ns, TEXT, "Namespace", "the queue's name"),
    ROW("paused", queue.paused, BOOL, "Paused", "true: it hands out nothing"),
    SET("max_attempts", max_attempts, NUMBER, "Max attempts", "how often a message may be claimed"),
    SET("backoff", backoff, TEXT, "Backoff", "exponential or equal-jitter", .words = backoffs),
    SET("backoff_base_ms", backoff_base_ms, NUMBER, "Backoff base ms", "the first wait"),
    SET("backoff_max_ms", backoff_max_ms, NUMBER, "Backoff max ms", "the longest wait"),
    SET("retention_s", retention_s, LIFETIME, "Retention",
        "how many seconds settled messages are kept; null: for ever"),
    SET("dead_retention_s", dead_retention_s, LIFETIME, "Dead retention",
        "how many seconds dead letters are kept; null: for ever"),
    SET("dedupe_retention_s", dedupe_retention_s, LIFETIME, "Dedupe retention",
        "how many seconds dedupe keys are kept; null: for ever"),
    SET("max_payload_bytes", max_payload_bytes, NUMBER, "Max payload", "the longest payload"),
    SET("max_lease_s", max_lease_s, NUMBER, "Max lease s",
        "how long a lease may last with renewals"),
    ROW("delete_on_ack", delete_on_ack, BOOL, "Delete on ack",
        "acknowledged messages are deleted at once"),
    SET("join_wait_topic", join_wait_topic, TEXT, "Join wait topic",
        "the topic of waits for joins; null behind other doors"),
    ROW("dead_head", dead_head, TEXT, "Dead head",
        "what a stream does when its head is dead, skip or block; null: no streams behind this "
        "door"),
    ROW("affinity_grace_ms", grace_ms, NUMBER, "Affinity grace ms",
        "how long the head of a stream is reserved for the owner of its partition; null: no "
        "streams behind this door"),
    ROW("ready", queue.counts.ready, NUMBER, "Ready", "messages that are due now"),
    ROW("scheduled", queue.counts.scheduled, NUMBER, "Scheduled",
        "due later, or waiting for a retry"),
    ROW("in_progress", queue.counts.in_progress, NUMBER, "In progress", "leased"),
    ROW("parked", queue.counts.parked, NUMBER, "Parked", "behind the heads of their streams"),
    ROW("dead", queue.counts.dead, NUMBER, "Dead", "dead letters that were not put back"),
    { 0 },
};

#define DOOR_OPTION CLI_DOOR_OPTION("the door of the queue")

const struct cli_command cli_queue_list = {
    .name = "queue list",
    .summary = "list queues with their settings",
    .description =
        "Lists the queues with their settings and counts. The first message of a namespace creates "
        "its queue with default settings, and so does queue set. By default dead letters are kept "
        "for ever, and in the inbox also the ids of received messages.\n"
        "Outbox, inbox, timers and job runs have separate queues; --door selects them.",
    .options = CLI_OPTIONS(DOOR_OPTION, CLI_NAMESPACE_OPTION(CLI_ONLY_QUEUE)),
    .fields = fields,
    .columns = "namespace paused max_attempts backoff retention_s ready scheduled in_progress "
               "parked dead",
    .examples = CLI_EXAMPLES(
        { "posthorn enqueue mail.send hello --namespace mail", "Creates a queue" },
        { "posthorn queue list", "All queues" },
        { "posthorn queue list --namespace mail --json", "One of them with all its settings" }),
    .exits = CLI_EXITS({ CLI_NOT_FOUND, "there is no queue, or not this one" }),
    .every_store = true,
    .only_reads = true,
    .run = run_list,
};

const struct cli_command cli_queue_set = {
    .name = "queue set",
    .summary = "change the settings of a queue",
    .description =
        "Changes settings of a queue, creates the queue if it is missing, and prints it. Settings "
        "that you do not name stay as they are. New settings also apply to messages that are "
        "already in the queue, unless they have their own.\n"
        "exponential waits the base times 2 to the power of the retries; equal-jitter doubles the "
        "wait with every attempt and then takes a random time between half of it and all of it.\n"
        "A stream whose head is dead continues with the next message (skip, the default), or is "
        "blocked until the head is retried or discarded (block).",
    .options = CLI_OPTIONS(
        DOOR_OPTION, CLI_NAMESPACE_OPTION(CLI_THE_QUEUE),
        CLI_OPTION("max-attempts", 0, NUMBER, "N",
                   "how often a message may be claimed before it is dead", .min = 1,
                   .max = PH_ATTEMPTS_MAX),
        CLI_OPTION("backoff", 0, WORD, "POLICY",
                   "how the wait of an abandoned message grows; another policy begins with its own "
                   "defaults",
                   .choices = "exponential equal-jitter"),
        CLI_OPTION("backoff-base", 0, MS, "DURATION", "the first wait", .min = 1,
                   .max = 366LL * 86400000),
        CLI_OPTION("backoff-max", 0, MS, "DURATION", "the longest wait", .min = 1,
                   .max = 366LL * 86400000),
        CLI_OPTION("retention", 0, LIFETIME, "DURATION",
                   "how long settled messages are kept; or forever", .min = 1,
                   .max = 100LL * 366 * 86400),
        CLI_OPTION("dead-retention", 0, LIFETIME, "DURATION",
                   "how long dead letters are kept; or forever", .min = 1,
                   .max = 100LL * 366 * 86400),
        CLI_OPTION("dedupe-retention", 0, LIFETIME, "DURATION",
                   "how long dedupe keys are kept, never less than their message; or forever; "
                   "inbox: how long to remember received ids",
                   .min = 1, .max = 100LL * 366 * 86400),
        CLI_OPTION("max-payload", 0, NUMBER, "BYTES", "the longest payload", .min = 1,
                   .max = PH_PAYLOAD_MAX),
        CLI_OPTION("max-lease", 0, SECONDS, "DURATION", "how long a lease may last with renewals",
                   .min = 1, .max = PH_LEASE_MAX_S),
        CLI_OPTION("delete-on-ack", 0, WORD, "YES",
                   "delete messages as soon as they are acknowledged", .choices = "yes no"),
        CLI_OPTION("join-wait-topic", 0, TEXT, "TOPIC", "the topic of new waits for joins"),
        CLI_OPTION(
            "dead-head", 0, WORD, "WHAT",
            "what a stream does when its head is dead; skip also lets blocked streams continue",
            .choices = "skip block"),
        CLI_OPTION("affinity-grace", 0, MS, "DURATION",
                   "how long the head of a stream is reserved for the owner of its partition; 0: "
                   "not at all",
                   .min = 0, .max = 3600000)),
    .fields = fields,
    .layout = CLI_CARD,
    .examples = CLI_EXAMPLES(
        { "posthorn queue set --max-attempts 5 --retention 1d", "The default queue" },
        { "posthorn queue set --namespace mail --backoff equal-jitter --backoff-max 10m",
          "Another queue, with another policy" },
        { "posthorn queue set --namespace ledger --dead-head block --affinity-grace 500ms",
          "Never skip a message of a stream" },
        { "posthorn queue set --door inbox --dedupe-retention 30d",
          "Forget received ids after a month" },
        { "posthorn queue set --namespace audit --retention forever --delete-on-ack no",
          "Keep everything" }),
    .run = run_set,
};

static const struct cli_option pause_options[] = { DOOR_OPTION,
                                                   CLI_NAMESPACE_OPTION(CLI_THE_QUEUE),
                                                   { 0 } };
const struct cli_command cli_queue_pause = {
    .name = "queue pause",
    .summary = "stop handing out messages of a queue",
    .description = "Stops a queue: it accepts messages and lets leases be settled, but hands out "
                   "nothing until queue resume. A missing queue is created, with a note on stderr. "
                   "Schedulers skip a paused queue of timers or job runs.",
    .options = pause_options,
    .fields = fields,
    .layout = CLI_CARD,
    .examples =
        CLI_EXAMPLES({ "posthorn queue pause --namespace mail", "No mail for now" },
                     { "posthorn queue pause --door timers", "No timer becomes a message" }),
    .run = run_change,
    .kind = PAUSE,
};

const struct cli_command cli_queue_resume = {
    .name = "queue resume",
    .summary = "hand out messages of a queue again",
    .description = "Lets a paused queue hand out messages again. A missing queue is created, with "
                   "a note on stderr.",
    .options = pause_options,
    .fields = fields,
    .layout = CLI_CARD,
    .examples = CLI_EXAMPLES({ "posthorn queue resume --namespace mail", "Go on" },
                             { "posthorn queue resume --door timers", "Timers, too" }),
    .run = run_change,
    .kind = RESUME,
};

const struct cli_command cli_queue_delete = {
    .name = "queue delete",
    .summary = "delete an empty queue",
    .description =
        "Deletes an empty queue, such as one created by a typing error, with its settings. A queue "
        "counts as empty if it has no message, not even a settled or dead one, no dedupe key, "
        "stream, timer or job. Otherwise it stays as it is, and the error lists its contents.\n"
        "The next use of the name creates the queue anew, with the defaults. A message that is "
        "being enqueued at the same time is not lost.",
    .options = pause_options,
    .fields = delete_fields,
    .layout = CLI_CARD,
    .examples =
        CLI_EXAMPLES({ "posthorn queue pause --namespace mial", "A typing error creates a queue" },
                     { "posthorn queue delete --namespace mial", "Delete it" }),
    .exits = CLI_EXITS({ CLI_FAILED, "the queue is not empty" },
                       { CLI_NOT_FOUND, "there is no such queue" }),
    .run = run_delete,
};
