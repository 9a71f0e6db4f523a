/* settle.c - posthorn ack, abandon, fail, release and renew: what becomes of leased messages. */
#include "commands.h"
#include "door.h"

#include <stdlib.h>
#include <string.h>

struct call {
    struct cli *cli;
    ph_owner owner;
    ph_settlement like; /* verb, error and delay of all of them */
    int lease_s;        /* renew, if it is not 0 */
};

/* Settles up to PH_BATCH_MAX of them. */
static int settle_some(const struct call *call, const ph_lease_ref *refs, size_t count,
                       ph_outcome *ret_outcomes)
{
    struct cli *cli = call->cli;
    ph_settlement *items;
    int r;

    if (call->lease_s)
        return cli_door(cli)->renew(cli->store, PH_OWN_TX, call->owner, refs, count, call->lease_s,
                                    cli->timeout_ms, ret_outcomes, &cli->err);
    items = cli_need(calloc(count, sizeof(*items)));
    for (size_t i = 0; i < count; i++) {
        items[i] = call->like;
        items[i].lease = refs[i];
    }
    r = cli_door(cli)->settle(cli->store, PH_OWN_TX, call->owner, items, count, cli->timeout_ms,
                              ret_outcomes, &cli->err);
    free(items);
    return r;
}

/* Why the first of them was not settled, if its stream is the reason. NULL: it is not, or cannot be
 * told. */
static const char *stream_reason(const struct call *call, const ph_lease_ref *ref)
{
    struct cli *cli = call->cli;
    ph_message_info *info = NULL;
    const char *reason = NULL;

    if (!cli_has_streams(cli_door(cli)) ||
        cli_door(cli)->find(cli->store, PH_OWN_TX, ref->work_id, cli->timeout_ms, &info,
                            &cli->err) < 0)
        return NULL;
    if (info->message->stream && info->state == PH_PARKED)
        reason = "an earlier message of its stream was given back, and this one with it";
    else if (info->message->stream && info->state == PH_IN_PROGRESS &&
             memcmp(info->owner.b, call->owner.b, sizeof(info->owner.b)) == 0 &&
             (ref->fence == 0 || ref->fence == info->message->fence))
        reason =
            "an earlier message of its stream is not settled; settle in the order of the claim";
    ph_message_info_free(info);
    return reason;
}

static int not_settled(const struct call *call, const ph_lease_ref *first, size_t lost,
                       size_t count)
{
    const char *reason = stream_reason(call, first);
    char id[PH_ID_TEXT_SIZE];

    if (reason)
        return cli_fail(call->cli, CLI_FAILED, "%zu of %zu unchanged; %s: %s", lost, count,
                        ph_id_text(first->work_id.b, id), reason);
    return cli_fail(call->cli, CLI_FAILED, "%zu of %zu unchanged: not leased by this owner", lost,
                    count);
}

struct row {
    ph_work_id id;
    const char *outcome;
    json_t *joins;
};

static const struct cli_field fields[] = {
    CLI_FIELD(struct row, "work_id", id, UUID, "Work id", "the message"),
    CLI_FIELD(struct row, "outcome", outcome, STATE, "Outcome",
              "acked, abandoned, failed, dead (an abandon that spent the last attempt), released, "
              "renewed; stale (not leased by this owner, or under another fence, or an earlier "
              "message of its stream is not settled) or unknown (there is no such message)"),
    CLI_ENDED_FIELD(struct row, joins, "joins that this has ended, in the last row of the call"),
    { 0 },
};

static int settle_all(const struct call *call, const struct cli_ids *ids)
{
    struct cli *cli = call->cli;
    ph_outcome outcomes[PH_BATCH_MAX];
    const ph_lease_ref *first = NULL; /* that could not be settled */
    size_t lost = 0, count;

    for (size_t at = 0; at < ids->count; at += count) {
        count = ids->count - at < PH_BATCH_MAX ? ids->count - at : PH_BATCH_MAX;
        if (settle_some(call, ids->refs + at, count, outcomes) < 0)
            return cli_fail_store(cli);
        for (size_t i = 0; i < count; i++) {
            const struct row row = { ids->refs[at + i].work_id, ph_outcome_text(outcomes[i]),
                                     i + 1 == count ? cli_joins_tell(cli) : NULL };

            cli_row(cli, &row);
            if (outcomes[i] != PH_OUTCOME_STALE && outcomes[i] != PH_OUTCOME_UNKNOWN)
                continue;
            first = lost++ == 0 ? &ids->refs[at + i] : first;
        }
    }
    return lost ? not_settled(call, first, lost, ids->count) : CLI_OK;
}

#define RENEW (-1) /* beside the verbs of ph_settlement */

static struct call call_of(struct cli *cli)
{
    int verb = cli->command->kind;
    struct call call = { .cli = cli };

    if (verb == RENEW) {
        call.lease_s = (int)cli_number(cli, "lease");
        return call;
    }
    call.like.verb = (ph_settle_verb)verb;
    call.like.delay_ms = verb == PH_ABANDON ? PH_DELAY_POLICY : 0;
    if (verb == PH_ABANDON || verb == PH_FAIL)
        call.like.error = cli_text(cli, "error");
    if ((verb == PH_ABANDON || verb == PH_RELEASE) && cli_given(cli, "delay"))
        call.like.delay_ms = cli_number(cli, "delay");
    return call;
}

static int run(struct cli *cli)
{
    struct call call = call_of(cli);
    struct cli_ids ids;
    int code;

    if (!cli_id(cli, "owner", call.owner.b))
        return cli_usage(
            cli,
            "no owner given; pass the one used for the claim with --owner, or in POSTHORN_OWNER");
    cli_joins_watch(cli);
    code = cli_ids_read(cli, &ids);
    if (code == CLI_OK)
        code = cli_open(cli, CLI_OPEN_CHECKED);
    return code == CLI_OK ? settle_all(&call, &ids) : code;
}

/* ------------------------------------------------------------------- the tables */

#define SETTLES(verb)                                                                              \
    .operands = "ID[:FENCE]...|-", .fields = fields, .exits = exits, .run = run, .kind = verb
#define YEAR_MS (366LL * 86400000)
#define OWNER_OPTION                                                                               \
    CLI_OPTION("owner", 'o', ID, "UUID", "the owner that claimed them",                            \
               .environment = "POSTHORN_OWNER")
#define DOOR_OPTION CLI_DOOR_OPTION("the door they were claimed from")
#define ERROR_OPTION CLI_OPTION("error", 'e', TEXT, "TEXT", "the reason, kept with the attempt")
/* Examples need something to settle. */
#define EXAMPLE_CLAIM                                                                              \
    {                                                                                              \
        "posthorn enqueue mail.send hello; posthorn enqueue mail.send world", "Something to do"    \
    }

static const struct cli_exit_note exits[] = {
    { CLI_FAILED, "some messages were stale or unknown; the others were settled" },
    { 0, NULL },
};

#define ABOUT_IDS                                                                                  \
    "Messages are named by work ids or, better, by leases (ID:FENCE) as claim prints them. With "  \
    "- they come from stdin: the first word of each line, or objects as claim --jsonl prints "     \
    "them. Settle messages of a stream in the order in which they were claimed; those behind one " \
    "that is not done go back to their stream by themselves, and are stale."

const struct cli_command cli_ack = {
    .name = "ack",
    .summary = "settle messages: done",
    .description = "Marks claimed messages as done. They are never handed out again, and are "
                   "deleted when their queue's retention is over. A message that is a step of a "
                   "join counts as completed; if that ends the join, a note says so.\n" ABOUT_IDS,
    .options = CLI_OPTIONS(OWNER_OPTION, DOOR_OPTION),
    .examples = CLI_EXAMPLES(
        EXAMPLE_CLAIM, CLI_EXAMPLE_OWNER,
        { "posthorn ack $(posthorn claim --jsonl | grep -o '\"lease\":\"[^\"]*' | cut -d'\"' -f4)",
          "Settle one by its lease" },
        { "posthorn claim --batch 100 | posthorn ack -", "Settle all that claim prints" }),
    SETTLES(PH_ACK),
};

const struct cli_command cli_abandon = {
    .name = "abandon",
    .summary = "settle messages: try again later",
    .description =
        "Gives claimed messages back after a failed attempt. Each is due again after the queue's "
        "backoff, which grows with every retry, or after --delay. A message whose attempts are "
        "spent becomes a dead letter, and its outcome is dead.\n" ABOUT_IDS,
    .options = CLI_OPTIONS(OWNER_OPTION, DOOR_OPTION, ERROR_OPTION,
                           CLI_OPTION("delay", 'd', MS, "DURATION",
                                      "wait this long, instead of the queue's backoff", .min = 0,
                                      .max = YEAR_MS)),
    .examples =
        CLI_EXAMPLES(EXAMPLE_CLAIM, CLI_EXAMPLE_OWNER,
                     { "posthorn claim | posthorn abandon - --error 'mail server does not answer'",
                       "Again after the backoff" },
                     { "posthorn claim | posthorn abandon - --delay 10m", "Again in ten minutes" }),
    SETTLES(PH_ABANDON),
};

const struct cli_command cli_fail_verb = {
    .name = "fail",
    .summary = "settle messages: dead letter",
    .description =
        "Makes claimed messages dead letters at once, because no further attempt will help. "
        "Operators look at them with dead list, and put them back with dead retry or delete them "
        "with dead discard. A message that is a step of a join counts as failed.\n" ABOUT_IDS,
    .options = CLI_OPTIONS(OWNER_OPTION, DOOR_OPTION, ERROR_OPTION),
    .examples = CLI_EXAMPLES(
        EXAMPLE_CLAIM, CLI_EXAMPLE_OWNER,
        { "posthorn claim | posthorn fail - --error 'no such address'", "This one is hopeless" }),
    SETTLES(PH_FAIL),
};

const struct cli_command cli_release = {
    .name = "release",
    .summary = "settle messages: as if never claimed",
    .description =
        "Gives claimed messages back as if they had not been claimed: the attempt does not count. "
        "It is for a worker that ends, or that finds it is not the right one.\n" ABOUT_IDS,
    .options =
        CLI_OPTIONS(OWNER_OPTION, DOOR_OPTION,
                    CLI_OPTION("delay", 'd', MS, "DURATION",
                               "how long they cannot be claimed again", .min = 0, .max = YEAR_MS)),
    .examples = CLI_EXAMPLES(
        EXAMPLE_CLAIM, CLI_EXAMPLE_OWNER,
        { "posthorn claim --batch 2 | posthorn release -", "Leave them to another worker" }),
    SETTLES(PH_RELEASE),
};

const struct cli_command cli_renew = {
    .name = "renew",
    .summary = "extend leases",
    .description = "Extends the lease of claimed messages. Messages that were claimed together "
                   "share a lease: renewing one renews all of them. A lease never lasts longer "
                   "than the queue's max_lease, counted from the claim; beyond that, or if the "
                   "lease was lost, the outcome is stale.\n" ABOUT_IDS,
    .options =
        CLI_OPTIONS(OWNER_OPTION, DOOR_OPTION,
                    CLI_OPTION("lease", 'l', SECONDS, "DURATION", "how long it lasts from now on",
                               .value = "30s", .min = 1, .max = PH_LEASE_MAX_S)),
    .examples =
        CLI_EXAMPLES(EXAMPLE_CLAIM, CLI_EXAMPLE_OWNER,
                     { "posthorn claim | posthorn renew - --lease 5m", "Five more minutes" }),
    SETTLES(RENEW),
};
