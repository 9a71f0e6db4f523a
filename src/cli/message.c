/* message.c - a message as rows show it: the same names in every verb. */
#include "message.h"

#include <string.h>

const char *cli_state(const ph_message_info *info, int64_t now)
{
    switch (info->status) {
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
    return word < 0 ? PH_PRIORITY_DEFAULT : (ph_priority)(word % 4 + 1);
}

static json_t *history_json(const ph_message_info *info)
{
    json_t *history = json_array();

    for (size_t i = 0; i < info->history_count; i++) {
        const ph_attempt *attempt = &info->history[i];
        json_t *entry = json_pack(
            "{s:i, s:s, s:o, s:o, s:o, s:o}", "attempt", attempt->attempt, "kind", attempt->kind,
            "at", cli_json_time(attempt->at), "owner", cli_json_id(attempt->owner.b), "next_due_at",
            cli_json_time(attempt->next_due_at), "error", cli_json_text(attempt->error));

        json_array_append_new(history, cli_need(entry));
    }
    return history;
}

/* A text that would not fit json_pack: it may be missing altogether. */
static void add(json_t *object, const char *name, json_t *value)
{
    if (json_object_set_new(object, name, value) < 0)
        cli_need(NULL);
}

json_t *cli_json_message(const struct cli *cli, const struct cli_door *door,
                         const ph_message_info *info, int64_t now, bool with_history)
{
    const ph_delivery *m = info->message;
    json_t *object = json_object();

    cli_need(object);
    add(object, "work_id", cli_json_id(m->work_id.b));
    add(object, "message_id", cli_json_id(m->message_id.b));
    add(object, "state", json_string(cli_state(info, now)));
    add(object, "door", cli_json_door(cli, door));
    add(object, "namespace", cli_json_text(m->ns));
    add(object, "topic", cli_json_text(m->topic));
    add(object, "priority", json_integer((int)m->priority - 1));
    add(object, "attempts", json_integer(m->attempts));
    add(object, "max_attempts", json_integer(info->max_attempts));
    add(object, "retry_count", json_integer(m->retry_count));
    add(object, "last_error", cli_json_text(m->last_error));
    add(object, "dead_reason", cli_json_text(info->dead_reason));
    add(object, "retried_as", cli_json_id(info->retried_as.b));
    add(object, "owner", cli_json_id(info->owner.b));
    add(object, "fence", m->fence ? json_integer(m->fence) : json_null());
    add(object, "locked_until", cli_json_time(info->locked_until));
    add(object, "created_at", cli_json_time(m->created_at));
    add(object, "due_at", cli_json_time(info->requested_due_at));
    add(object, "next_attempt_at", cli_json_time(info->next_attempt_at));
    add(object, "expires_at", cli_json_time(info->expires_at));
    add(object, "processed_at", cli_json_time(info->processed_at));
    add(object, "updated_at", cli_json_time(info->updated_at));
    add(object, "tenant_id", m->tenant_id ? cli_json_id(m->tenant_id->b) : json_null());
    add(object, "dedupe_key", cli_json_text(m->dedupe_key));
    add(object, "correlation_id", cli_json_text(m->correlation_id));
    add(object, "waits_for", cli_json_id(info->waits_for.b));
    add(object, "job", cli_json_text(m->job));
    add(object, "scheduled_at", cli_json_time(m->scheduled_at));
    add(object, "stream", cli_json_text(m->stream));
    add(object, "seq", m->seq ? json_integer(m->seq) : json_null());
    add(object, "source", cli_json_text(m->source));
    add(object, "source_id", cli_json_text(m->source_id));
    add(object, "payload_length", json_integer((json_int_t)m->payload_length));
    if (m->payload) {
        add(object, "headers", cli_json_parsed(m->headers));
        add(object, "payload", cli_json_bytes(m->payload, m->payload_length));
    }
    if (with_history)
        add(object, "history", history_json(info));
    return object;
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
    { "attempt", CLI_F_NUMBER, "the number of the claim, from 1", "ATTEMPT", NULL },
    { "kind", CLI_F_STATE, "abandoned, failed, released, lost (the lease ran out) or expired",
      "KIND", NULL },
    { "at", CLI_F_TIME, "when", "AT", NULL },
    { "owner", CLI_F_UUID, "the worker's owner token", "OWNER", NULL },
    { "next_due_at", CLI_F_TIME, "when it was due again; null: it ended there", "NEXT DUE", NULL },
    { "error", CLI_F_TEXT, "what the worker said; or null", "ERROR", NULL },
    { NULL, CLI_F_TEXT, NULL, NULL, NULL },
};

static const struct cli_field receptor_fields[] = {
    { "receptor", CLI_F_TEXT, "its name", "RECEPTOR", NULL },
    { "status", CLI_F_STATE, "completed, or failed so far", "STATUS", NULL },
    { "attempts", CLI_F_NUMBER, "how often it has reported", "ATTEMPTS", NULL },
    { "first_at", CLI_F_TIME, "when it first did", "FIRST AT", NULL },
    { "last_at", CLI_F_TIME, "when it last did", "LAST AT", NULL },
    { "error", CLI_F_TEXT, "of its last failure; or null", "ERROR", NULL },
    { 0 },
};

static const struct cli_field join_fields[] = {
    { "join_id", CLI_F_UUID, "its id", "JOIN", NULL },
    { "status", CLI_F_STATE, "pending, completed, failed or cancelled", "STATUS", NULL },
    { "completed_steps", CLI_F_NUMBER, "how many steps are completed, …", "COMPLETED", NULL },
    { "failed_steps", CLI_F_NUMBER, "… have failed, …", "FAILED", NULL },
    { "expected_steps", CLI_F_NUMBER, "… and are expected", "EXPECTED", NULL },
    { "grouping_key", CLI_F_TEXT, "what it belongs to; or null", "GROUP", NULL },
    { 0 },
};

const struct cli_field cli_message_fields[] = {
    { "work_id", CLI_F_UUID, "names this stay of the message in its queue", "Work id", NULL },
    CLI_ITS_STORE,
    { "message_id", CLI_F_UUID, "names the message; stays the same when a dead one is retried",
      "Message id", NULL },
    { "state", CLI_F_STATE,
      "ready, scheduled, in_progress, done, dead, waiting (for a join), or parked (behind the head "
      "of its stream)",
      "State", NULL },
    { "door", CLI_F_TEXT, "outbox, inbox, timers or job-runs", "Door", NULL },
    { "namespace", CLI_F_TEXT, "which queue it is in", "Namespace", NULL },
    { "topic", CLI_F_TEXT, "what it is about", "Topic", NULL },
    { "priority", CLI_F_NUMBER, "0 urgent, 1 normal, 2 low, 3 bulk", "Priority", NULL },
    { "attempts", CLI_F_NUMBER, "how often it was claimed", "Attempts", NULL },
    { "max_attempts", CLI_F_NUMBER, "how often it may be", "Max attempts", NULL },
    { "retry_count", CLI_F_NUMBER, "how often it was abandoned", "Retries", NULL },
    { "last_error", CLI_F_TEXT, "of the last attempt that gave one; or null", "Last error", NULL },
    { "dead_reason", CLI_F_TEXT, "failed, attempts, lost or expired; null: not dead",
      "Dead because", NULL },
    { "retried_as", CLI_F_UUID, "the new work id of a dead message that was put back; or null",
      "Retried as", NULL },
    { "owner", CLI_F_UUID, "who has it, or who settled it; or null", "Owner", NULL },
    { "fence", CLI_F_NUMBER, "the number of the claim that has it; or null", "Fence", NULL },
    { "locked_until", CLI_F_TIME, "when the lease runs out; null: not leased", "Locked until",
      NULL },
    { "created_at", CLI_F_TIME, "when it was enqueued", "Created", NULL },
    { "due_at", CLI_F_TIME, "the due time it was enqueued with; or null", "Due", NULL },
    { "next_attempt_at", CLI_F_TIME, "from when on it can be claimed; null: not waiting",
      "Next attempt", NULL },
    { "expires_at", CLI_F_TIME, "after that it is not handed out; null: never", "Expires", NULL },
    { "processed_at", CLI_F_TIME, "when it was settled; null: it was not", "Processed", NULL },
    { "updated_at", CLI_F_TIME, "when it last moved", "Updated", NULL },
    { "tenant_id", CLI_F_UUID, "its tenant; or null", "Tenant", NULL },
    { "dedupe_key", CLI_F_TEXT, "its dedupe key; or null", "Dedupe key", NULL },
    { "correlation_id", CLI_F_TEXT, "its correlation id; or null", "Correlation", NULL },
    { "waits_for", CLI_F_UUID, "the join that it waits for; or null", "Waits for", NULL },
    { "job", CLI_F_TEXT, "of a job run: its job; or null", "Job", NULL },
    { "scheduled_at", CLI_F_TIME, "of a job run: the instant it stands for; or null", "Scheduled",
      NULL },
    { "stream", CLI_F_TEXT, "the ordered stream that it is in; or null", "Stream", NULL },
    { "seq", CLI_F_NUMBER, "its number in the stream, from 1; or null", "Seq", NULL },
    { "source", CLI_F_TEXT, "of an inbox message: who sent it; or null", "Source", NULL },
    { "source_id", CLI_F_TEXT, "of an inbox message: its id there; or null", "Source id", NULL },
    { "payload_length", CLI_F_NUMBER, "bytes of payload", "Bytes", NULL },
    { "headers", CLI_F_JSON, "an object; or null. In lists only with --payload", "Headers", NULL },
    { "payload", CLI_F_TEXT, "the text it carries. In lists only with --payload", "Payload", NULL },
    { "history", CLI_F_ROWS, "why it came back or ended, one entry per attempt; not in lists",
      "History", history_fields },
    { "receptors", CLI_F_ROWS, "who has reported on it, and how; only in show, of outbox and inbox",
      "Receptors", receptor_fields },
    { "joins", CLI_F_ROWS, "of which it is a step, the newest 50; only in show, of the outbox",
      "Joins", join_fields },
    { "messages", CLI_F_JSON,
      "of a set of databases, in lists with --json: an array of such objects, which is not the "
      "whole document then; absent otherwise",
      NULL, NULL },
    { "stores", CLI_F_ROWS, "beside messages: how many there are in which store", NULL,
      cli_list_store_fields },
    { NULL, CLI_F_TEXT, NULL, NULL, NULL },
};
