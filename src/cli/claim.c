/* claim.c - posthorn claim and posthorn reap: messages under a lease, and leases that ran out. */
#include "commands.h"
#include "message.h"

#include <string.h>

struct claimed {
    ph_delivery m;
    const char *lease;
    ph_owner owner;
};

#define ROW(...) CLI_FIELD(struct claimed, __VA_ARGS__)
static const struct cli_field claim_fields[] = {
    ROW("lease", lease, TEXT, "Lease", "WORK_ID:FENCE, as ack and the other verbs accept it"),
    ROW("work_id", m.work_id, UUID, "Work id", "identifies this stay of the message in its queue"),
    ROW("fence", m.fence, NUMBER, "Fence", "the number of this claim; it rises with every claim"),
    ROW("owner", owner, UUID, "Owner", "the owner of the lease"),
    CLI_MESSAGE_ID_FIELD(struct claimed),
    CLI_WHAT_FIELDS(struct claimed),
    ROW("created_at", m.created_at, TIME, "Created", "when it was enqueued"),
    ROW("due_at", m.due_at, TIME, "Due",
        "the due time it was enqueued with, or else when it was enqueued"),
    CLI_WHOSE_FIELDS(struct claimed),
    ROW("headers", m.headers, JSON, "Headers", "an object; or null"),
    ROW("payload", m.payload, TEXT, "Payload", "its text"),
    { 0 },
};

static void print(struct cli *cli, const ph_delivery *message, ph_owner owner)
{
    char id[PH_ID_TEXT_SIZE], lease[PH_ID_TEXT_SIZE + 24];
    const struct claimed row = { *message, lease, owner };

    snprintf(lease, sizeof(lease), "%s:%lld", ph_id_text(message->work_id.b, id),
             (long long)message->fence);
    cli_row(cli, &row);
}

static ph_owner owner_of(struct cli *cli)
{
    char text[PH_ID_TEXT_SIZE];
    ph_owner owner;

    if (cli_id(cli, "owner", owner.b))
        return owner;
    owner = ph_owner_new();
    cli_note(cli, "the owner is %s; settle with --owner", ph_id_text(owner.b, text));
    return owner;
}

static int run_claim(struct cli *cli)
{
    ph_claim_opts opts = PH_CLAIM_OPTS_INIT;
    size_t topic_count = cli_texts(cli, "topic", NULL, 0);
    const char **topics = cli_alloc(cli, (topic_count + 1) * sizeof(*topics));
    const struct cli_door *door = cli_door(cli);
    ph_batch *batch = NULL;
    ph_owner owner;
    int code;

    cli_joins_watch(cli);
    code = cli_open(cli, CLI_OPEN_CHECKED);
    if (code != CLI_OK)
        return code;
    cli_texts(cli, "topic", topics, topic_count);
    opts.lease_s = (int)cli_number(cli, "lease");
    opts.batch_size = (int)cli_number(cli, "batch");
    opts.ns = cli_text(cli, "namespace");
    opts.topics = topic_count ? topics : NULL;
    opts.topic_count = topic_count;
    owner = owner_of(cli);
    if (door->claim(cli->store, PH_OWN_TX, owner, &opts, cli->timeout_ms, &batch, &cli->err) < 0)
        return cli_fail_store(cli);
    cli_joins_note(cli); /* joins past their deadline, or whose last step has expired */
    cli_columns_set(cli, cli_columns_for(cli, cli->command->columns, door));
    for (size_t i = 0; i < ph_batch_count(batch); i++)
        print(cli, ph_batch_at(batch, i), owner);
    if (ph_batch_count(batch) == 0) {
        cli_note(cli, "no %s is due", door->noun);
        code = CLI_NOT_FOUND;
    }
    ph_batch_free(batch);
    return code;
}

const struct cli_command cli_claim = {
    .name = "claim",
    .summary = "claim messages under a lease",
    .description =
        "Leases due messages to an owner and prints them. While the lease lasts, no other owner "
        "gets them; once it has expired, the next claim takes them back. Settle each message with "
        "ack, abandon, fail or release, and use renew if the work takes longer.\n"
        "The owner is a UUID that names the worker. Without --owner, claim makes up a new one and "
        "prints it on stderr. The lease, a work id and a fence, identifies exactly this claim: "
        "settling by it cannot disturb a later owner of the message.\n"
        "From an ordered stream it takes a run: the head and messages that follow it. Settle these "
        "in this order. Nobody else gets a message of the stream meanwhile.\n"
        "With --door inbox it claims received messages (see posthorn help receive). With --door "
        "timers or job_runs your workers handle timers or job runs themselves; then tell the "
        "schedulers to keep them (see posthorn help schedule).\n"
        "This verb is for scripts and for trying things out. posthorn work is a worker that runs a "
        "program for each message, renews leases and retries.",
    .options = CLI_OPTIONS(
        CLI_DOOR_OPTION(CLI_WHICH_DOOR),
        CLI_OPTION("owner", 'o', ID, "UUID", "the owner of the lease",
                   .environment = "POSTHORN_OWNER"),
        CLI_OPTION("lease", 'l', SECONDS, "DURATION", "how long the lease lasts", .value = "30s",
                   .min = 1, .max = PH_LEASE_MAX_S),
        CLI_OPTION("batch", 'b', NUMBER, "N", "claim at most N messages", .value = "1", .min = 1,
                   .max = PH_BATCH_MAX),
        CLI_OPTION("topic", 't', TEXT, "TOPIC", "only messages of this topic", .repeated = true),
        CLI_NAMESPACE_OPTION(CLI_THE_QUEUE)),
    .fields = claim_fields,
    .columns = "lease topic stream seq attempts payload",
    .examples = CLI_EXAMPLES(
        { "posthorn enqueue order.placed '{\"order\": 17}'; posthorn enqueue order.placed again",
          "Something to claim" },
        CLI_EXAMPLE_OWNER,
        { "posthorn claim --topic order.placed --lease 2m", "Claim a message for two minutes" },
        { "posthorn claim --batch 10 --jsonl | posthorn ack -", "Claim ten, and settle them all" }),
    .exits = CLI_EXITS({ CLI_NOT_FOUND, "nothing is due" }),
    .run = run_claim,
};

struct reaped {
    int64_t count;
    json_t *joins;
};

static int reap_one(struct cli *cli, void *context)
{
    struct reaped reaped = { 0 }, *all = context;

    if (cli_door(cli)->reap(cli->store, PH_OWN_TX, cli->timeout_ms, &reaped.count, &cli->err) < 0)
        return cli_fail_store(cli);
    reaped.joins = cli_joins_tell(cli);
    cli_row(cli, &reaped);
    all->count += reaped.count;
    return CLI_OK;
}

static int run_reap(struct cli *cli)
{
    struct reaped all = { 0 };
    struct cli_each each = {
        .one = reap_one, .failed = cli_row_failed, .context = &all, .total = &all
    };

    cli_joins_watch(cli);
    return cli_each(cli, &each);
}

static const struct cli_field reap_fields[] = {
    CLI_STORE_OR_ALL,
    CLI_FIELD(struct reaped, "reaped", count, NUMBER, "Reaped", "messages given back or buried"),
    CLI_ENDED_FIELD(struct reaped, joins, "joins that this has ended"),
    CLI_TOTAL_FIELDS,
    CLI_ERROR_FIELD,
    { 0 },
};

const struct cli_command cli_reap = {
    .name = "reap",
    .summary = "take back expired leases",
    .description =
        "Takes back every expired lease: its messages can be claimed again, or are dead if that "
        "was their last attempt. Claims do the same, so reap is needed only where nobody claims. "
        "Behind the outbox it also ends joins past their deadline. With a set of databases it "
        "works on each, and prints a line per store and a total.",
    .options = CLI_OPTIONS(CLI_DOOR_OPTION("the door of the leases")),
    .fields = reap_fields,
    .layout = CLI_CARD,
    .examples = CLI_EXAMPLES({ "posthorn reap", "Take back what dead workers held" }),
    .every_store = true,
    .run = run_reap,
};
