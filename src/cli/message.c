/* message.c - a message as rows show it: the same names in every verb. */
#include "message.h"
#include "join.h"

#include <string.h>

const char *cli_state(const ph_message_info *info, int64_t now)
{
    switch (info->state) {
    case PH_READY:
        return info->next_attempt_at > now ? "scheduled" : "ready";
    case PH_IN_PROGRESS:
        return "in_progress";
    case PH_DONE:
        return "done";
    case PH_FAILED:
        return "dead";
    case PH_WAITING:
        return "waiting";
    case PH_PARKED:
        return "parked";
    }
    return "unknown";
}

ph_priority cli_priority(int word)
{
    static const ph_priority priorities[] = { PH_PRIORITY_URGENT, PH_PRIORITY_NORMAL,
                                              PH_PRIORITY_LOW, PH_PRIORITY_BULK };

    return word < 0 ? PH_PRIORITY_NORMAL : priorities[word];
}

const char *cli_priority_word(int priority)
{
    return ph_priority_text((ph_priority)priority);
}

struct message_row {
    ph_delivery m;
    ph_message_info info;
    const char *state, *door;
    json_t *headers;           /* NULL: not asked for */
    const ph_attempt *history; /* likewise */
};

json_t *cli_json_message(const struct cli_door *door, const ph_message_info *info, int64_t now,
                         bool with_history)
{
    static const ph_attempt none;
    struct message_row row = {
        .m = *info->message, .info = *info, .state = cli_state(info, now), .door = door->name
    };

    if (row.m.payload)
        row.headers = cli_need(cli_json_parsed(row.m.headers));
    if (with_history)
        row.history = info->history ? info->history : &none;
    return cli_object(cli_message_fields, &row);
}

int cli_payload(struct cli *cli, const char *text, const char **ret_payload, size_t *ret_length)
{
    char *all = NULL;
    int code;

    *ret_payload = text;
    *ret_length = strlen(text);
    if (strcmp(text, "-") != 0)
        return CLI_OK;
    code = cli_read_all(cli, PH_PAYLOAD_MAX, &all, ret_length);
    *ret_payload = all;
    return code;
}

/* -------------------------------------------------------------------- fields */

static const struct cli_field history_fields[] = {
    CLI_FIELD(ph_attempt, "attempt", attempt, NUMBER, "Attempt", "the number of the claim, from 1"),
    CLI_FIELD(ph_attempt, "kind", kind, STATE, "Kind",
              "abandoned, failed, released, lost (the lease ran out) or expired"),
    CLI_FIELD(ph_attempt, "at", at, TIME, "At", "when it ended"),
    CLI_FIELD(ph_attempt, "owner", owner, UUID, "Owner", "the owner of the lease"),
    CLI_FIELD(ph_attempt, "next_due_at", next_due_at, TIME, "Next due",
              "when the message was due again; null: it ended there"),
    CLI_FIELD(ph_attempt, "error", error, TEXT, "Error",
              "the error that the worker reported; or null"),
    { 0 },
};

static const char *receptor_state(const void *receptor)
{
    return ((const ph_receptor_info *)receptor)->completed ? "completed" : "failed";
}

const struct cli_field cli_receptor_fields[] = {
    CLI_FIELD(ph_receptor_info, "receptor", receptor, TEXT, "Receptor", "its name"),
    CLI_FIELD_TEXT("state", receptor_state, STATE, "State", "completed, or failed so far"),
    CLI_FIELD(ph_receptor_info, "attempts", attempts, NUMBER, "Attempts",
              "how often it has reported"),
    CLI_FIELD(ph_receptor_info, "first_at", first_at, TIME, "First at", "when it first reported"),
    CLI_FIELD(ph_receptor_info, "last_at", last_at, TIME, "Last at", "when it last reported"),
    CLI_FIELD(ph_receptor_info, "error", error, TEXT, "Error",
              "the error of its last failure; or null"),
    { 0 },
};

#define ROW(...) CLI_FIELD(struct message_row, __VA_ARGS__)
const struct cli_field cli_message_fields[] = {
    ROW("work_id", m.work_id, UUID, "Work id", "identifies this stay of the message in its queue"),
    CLI_ITS_STORE,
    CLI_MESSAGE_ID_FIELD(struct message_row),
    ROW("state", state, STATE, "State",
        "ready, scheduled, in_progress, done, dead, waiting (for a join), or parked (behind the "
        "head of its stream)"),
    ROW("door", door, TEXT, "Door", CLI_DOORS_HELP),
    CLI_WHAT_FIELDS(struct message_row),
    ROW("max_attempts", info.max_attempts, NUMBER, "Max attempts", "how often it may be claimed"),
    ROW("dead_reason", info.dead_reason, TEXT, "Dead because",
        "failed, attempts, lost or expired; null: not dead"),
    ROW("retried_as", info.retried_as, UUID, "Retried as",
        "of a dead letter that was put back: its new work id; or null"),
    ROW("owner", info.owner, UUID, "Owner", "the owner that holds it or has settled it; or null"),
    ROW("fence", m.fence, NUMBER, "Fence", "the number of the claim that has it; or null",
        .or_null = true),
    ROW("locked_until", info.locked_until, TIME, "Locked until",
        "when the lease runs out; null: not leased"),
    ROW("created_at", m.created_at, TIME, "Created", "when it was enqueued"),
    ROW("due_at", info.requested_due_at, TIME, "Due", "the due time it was enqueued with; or null"),
    ROW("next_attempt_at", info.next_attempt_at, TIME, "Next attempt",
        "when it can be claimed; null: it does not wait for that"),
    ROW("expires_at", info.expires_at, TIME, "Expires", "when it expires; null: never"),
    ROW("processed_at", info.processed_at, TIME, "Processed",
        "when it was settled; null: it was not"),
    ROW("updated_at", info.updated_at, TIME, "Updated", "when it last moved"),
    ROW("waits_for", info.waits_for, UUID, "Waits for", "the join it waits for; or null"),
    CLI_WHOSE_FIELDS(struct message_row),
    ROW("payload_length", m.payload_length, NUMBER, "Bytes", "bytes of payload"),
    ROW("headers", headers, JSON, "Headers", "an object; or null. In lists only with --payload"),
    ROW("payload", m.payload, TEXT, "Payload", "its text. In lists only with --payload",
        .or_none = true),
    CLI_FIELD_ROWS(struct message_row, "history", history, info.history_count, history_fields,
                   "History", "one entry per attempt: why it came back or ended; not in lists",
                   .or_none = true),
    CLI_FIELD_ADDED("receptors", ROWS, "Receptors",
                    "the receptors that have reported on it; only in show, of outbox and inbox",
                    .fields = cli_receptor_fields),
    CLI_FIELD_ADDED("joins", ROWS, "Joins",
                    "the joins of which it is a step, the newest 50; only in show, of the outbox",
                    .fields = cli_join_fields,
                    .columns = "join_id state completed_steps failed_steps expected_steps "
                               "grouping_key"),
    CLI_FIELD_ADDED("messages", JSON, NULL,
                    "in lists of a set with --json: an array of such objects, in one object with "
                    "stores; absent otherwise"),
    CLI_FIELD_ADDED("stores", ROWS, NULL, "beside messages: how many match in each store",
                    .fields = cli_list_store_fields),
    { 0 },
};
