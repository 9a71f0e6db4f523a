/* claim.c - posthorn claim and posthorn reap: messages under a lease, and leases that ran out. */
#include "commands.h"
#include "message.h"

#include <string.h>

static const struct cli_field claim_fields[] = {
    { "lease", CLI_F_TEXT, "WORK_ID:FENCE, as ack and the others take it", "Lease", NULL },
    { "work_id", CLI_F_UUID, "names this stay of the message in its queue", "Work id", NULL },
    { "fence", CLI_F_NUMBER, "the number of this claim; it rises with every claim", "Fence", NULL },
    { "owner", CLI_F_UUID, "who has it now", "Owner", NULL },
    { "message_id", CLI_F_UUID, "names the message; stays the same when a dead one is retried",
      "Message id", NULL },
    { "namespace", CLI_F_TEXT, "which queue it is in", "Namespace", NULL },
    { "topic", CLI_F_TEXT, "what it is about", "Topic", NULL },
    { "priority", CLI_F_NUMBER, "0 urgent, 1 normal, 2 low, 3 bulk", "Priority", NULL },
    { "attempts", CLI_F_NUMBER, "how often it was claimed, this time included", "Attempts", NULL },
    { "retry_count", CLI_F_NUMBER, "how often it was abandoned", "Retries", NULL },
    { "last_error", CLI_F_TEXT, "of the last abandon; or null", "Last error", NULL },
    { "created_at", CLI_F_TIME, "when it was enqueued", "Created", NULL },
    { "due_at", CLI_F_TIME, "for when it was asked for, or when it was enqueued", "Due", NULL },
    { "tenant_id", CLI_F_UUID, "its tenant; or null", "Tenant", NULL },
    { "dedupe_key", CLI_F_TEXT, "its dedupe key; or null", "Dedupe key", NULL },
    { "correlation_id", CLI_F_TEXT, "its correlation id; or null", "Correlation", NULL },
    { "job", CLI_F_TEXT, "of a job run: its job; or null", "Job", NULL },
    { "scheduled_at", CLI_F_TIME, "of a job run: the instant it stands for; or null", "Scheduled",
      NULL },
    { "stream", CLI_F_TEXT, "the ordered stream that it is in; or null", "Stream", NULL },
    { "seq", CLI_F_NUMBER, "its number in the stream, from 1; or null", "Seq", NULL },
    { "source", CLI_F_TEXT, "of an inbox message: who sent it; or null", "Source", NULL },
    { "source_id", CLI_F_TEXT, "of an inbox message: its id there; or null", "Source id", NULL },
    { "headers", CLI_F_JSON, "an object; or null", "Headers", NULL },
    { "payload", CLI_F_TEXT, "the text it carries", "Payload", NULL },
    { 0 },
};

static json_t *delivery_json(const ph_delivery *m, ph_owner owner)
{
    char id[PH_ID_TEXT_SIZE], lease[PH_ID_TEXT_SIZE + 24];

    snprintf(lease, sizeof(lease), "%s:%lld", ph_id_text(m->work_id.b, id), (long long)m->fence);
    return json_pack(
        "{s:s, s:o, s:I, s:o, s:o, s:o, s:o, s:i, s:i, s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o, "
        "s:o, s:o, s:o, s:o, s:o, s:o, s:o}",
        "lease", lease, "work_id", cli_json_id(m->work_id.b), "fence", (json_int_t)m->fence,
        "owner", cli_json_id(owner.b), "message_id", cli_json_id(m->message_id.b), "namespace",
        cli_json_text(m->ns), "topic", cli_json_text(m->topic), "priority", (int)m->priority - 1,
        "attempts", m->attempts, "retry_count", m->retry_count, "last_error",
        cli_json_text(m->last_error), "created_at", cli_json_time(m->created_at), "due_at",
        cli_json_time(m->due_at), "tenant_id",
        m->tenant_id ? cli_json_id(m->tenant_id->b) : json_null(), "dedupe_key",
        cli_json_text(m->dedupe_key), "correlation_id", cli_json_text(m->correlation_id), "job",
        cli_json_text(m->job), "scheduled_at", cli_json_time(m->scheduled_at), "stream",
        cli_json_text(m->stream), "seq", m->seq ? json_integer(m->seq) : json_null(), "source",
        cli_json_text(m->source), "source_id", cli_json_text(m->source_id), "headers",
        cli_json_parsed(m->headers), "payload", cli_json_bytes(m->payload, m->payload_length));
}

static ph_owner owner_of(struct cli *cli)
{
    char text[PH_ID_TEXT_SIZE];
    ph_owner owner;

    if (cli_id(cli, "owner")) {
        memcpy(owner.b, cli_id(cli, "owner"), sizeof(owner.b));
        return owner;
    }
    owner = ph_owner_new();
    cli_note(cli, "the owner is %s; settle with --owner", ph_id_text(owner.b, text));
    return owner;
}

static bool has_streams(const ph_batch *batch)
{
    for (size_t i = 0; i < ph_batch_count(batch); i++) {
        if (ph_batch_at(batch, i)->stream)
            return true;
    }
    return false;
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
    cli_joins_note(cli); /* those whose deadline has passed, or whose last step has expired */
    cli_columns_set(cli, cli_columns_for(cli, cli->command->columns, door, has_streams(batch)));
    for (size_t i = 0; i < ph_batch_count(batch); i++)
        cli_row(cli, delivery_json(ph_batch_at(batch, i), owner));
    if (ph_batch_count(batch) == 0) {
        cli_note(cli, "no %s is due", door->noun);
        code = CLI_NOT_FOUND;
    }
    ph_batch_free(batch);
    return code;
}

const struct cli_command cli_claim = {
    .name = "claim",
    .summary = "take messages under a lease",
    .description =
        "Leases messages that are due to an owner and prints them. While the lease lasts nobody "
        "else gets them; when it has run out, the next claim takes them back. Settle each with "
        "ack, abandon, fail or release, and use renew if the work takes longer.\n"
        "The owner is a UUID that names the worker. Without one a new owner is made up and printed "
        "on stderr. The lease, a work id and a fence, names exactly this claim: whoever settles "
        "with it cannot disturb a later owner of the same message.\n"
        "Of an ordered stream it takes the head and what follows it, a run: settle these in this "
        "order. Nobody else gets a message of the stream meanwhile.\n"
        "With --door it claims messages of the inbox (see posthorn help receive); or timers or job "
        "runs, for those who work them themselves; a scheduler then must be told so, see posthorn "
        "help schedule.\n"
        "This verb is for trying things out and for scripts. A worker that runs a program for each "
        "message, renews leases and retries is posthorn work.",
    .options = CLI_OPTIONS(
        CLI_DOOR_OPTION(CLI_WHICH_DOOR),
        CLI_OPTION("owner", 'o', ID, "UUID", "who claims", .environment = "POSTHORN_OWNER"),
        CLI_OPTION("lease", 'l', SECONDS, "DURATION", "how long", .value = "30s", .min = 1,
                   .max = PH_LEASE_MAX_S),
        CLI_OPTION("batch", 'b', NUMBER, "N", "at most so many messages", .value = "1", .min = 1,
                   .max = PH_BATCH_MAX),
        CLI_OPTION("topic", 't', TEXT, "TOPIC", "only messages of this topic", .repeated = true),
        CLI_NAMESPACE_OPTION(CLI_THE_QUEUE)),
    .fields = claim_fields,
    .columns = "lease topic attempts payload",
    .examples = CLI_EXAMPLES(
        { "posthorn enqueue order.placed '{\"order\": 17}'; posthorn enqueue order.placed again",
          "Something to claim" },
        { "export POSTHORN_OWNER=5e1f1e55-0000-4000-8000-000000000001", "Who we are" },
        { "posthorn claim --topic order.placed --lease 2m", "Claim a message for two minutes" },
        { "posthorn claim --batch 10 --jsonl | posthorn ack -", "Claim ten, and settle them all" }),
    .exits = CLI_EXITS({ CLI_NOT_FOUND, "nothing is due" }),
    .run = run_claim,
};

static int reap_one(struct cli *cli, void *context)
{
    int64_t count = 0, *all = context;
    json_t *row;

    if (cli_door(cli)->reap(cli->store, PH_OWN_TX, cli->timeout_ms, &count, &cli->err) < 0)
        return cli_fail_store(cli);
    row = cli_need(json_pack("{s:I}", "reaped", (json_int_t)count));
    cli_joins_tell(cli, row);
    cli_row(cli, row);
    *all += count;
    return CLI_OK;
}

static int run_reap(struct cli *cli)
{
    int64_t all = 0;
    struct cli_each each = { .one = reap_one, .failed = cli_row_failed, .context = &all };
    int code;

    cli_joins_watch(cli);
    code = cli_each(cli, &each);
    if (cli_is_set(cli))
        cli_row_total(cli, json_pack("{s:I}", "reaped", (json_int_t)all));
    return code;
}

static const struct cli_field reap_fields[] = {
    CLI_STORE_OR_ALL,
    { "reaped", CLI_F_NUMBER, "messages that were given back or buried", "Reaped", NULL },
    CLI_ENDED_FIELD("joins that ended with it"),
    CLI_TOTAL_FIELDS,
    CLI_ERROR_FIELD,
    { 0 },
};

const struct cli_command cli_reap = {
    .name = "reap",
    .summary = "take back leases that ran out",
    .description =
        "Takes back every lease whose time is over: its messages can be claimed again, or are dead "
        "if that was their last attempt. Claims do the same by themselves, so this is needed only "
        "where nobody claims. That of messages also ends joins past their deadline. Of a set of "
        "databases it does so in each, and prints a line for each and one for all.",
    .options = CLI_OPTIONS(
        CLI_DOOR_OPTION("leases of messages, of those from elsewhere, of timers or job runs")),
    .fields = reap_fields,
    .layout = CLI_CARD,
    .examples = CLI_EXAMPLES({ "posthorn reap", "Take back what nobody works on any more" }),
    .every_store = true,
    .run = run_reap,
};
