/* message.h - a message as rows show it: the same names in every verb. */
#ifndef POSTHORN_CLI_MESSAGE_H
#define POSTHORN_CLI_MESSAGE_H

#include "door.h"

extern const struct cli_field cli_message_fields[];

/* What --state takes, in the order of ph_list_state. */
#define CLI_STATES "all ready scheduled in_progress done dead"
#define CLI_ALL_STATES CLI_STATES " waiting parked" /* not behind every door */

/* The state's word. now: the database's clock. */
const char *cli_state(const ph_message_info *info, int64_t now);

/* A message as an object, without payload and headers if the library left them out. */
json_t *cli_json_message(const struct cli_door *door, const ph_message_info *info, int64_t now,
                         bool with_history);
extern const struct cli_field cli_receptor_fields[];

/* Fields of a delivery, the member m of a row. */
#define CLI_MESSAGE_ID_FIELD(row)                                                                  \
    CLI_FIELD(row, "message_id", m.message_id, UUID, "Message id",                                 \
              "identifies the message; stays the same when a dead letter is retried")
#define CLI_WHAT_FIELDS(row)                                                                       \
    CLI_FIELD(row, "namespace", m.ns, TEXT, "Namespace", "its queue"),                             \
        CLI_FIELD(row, "topic", m.topic, TEXT, "Topic", "its topic"),                              \
        CLI_FIELD(row, "priority", m.priority, TEXT, "Priority", "urgent, normal, low or bulk",    \
                  .word_of = cli_priority_word),                                                   \
        CLI_FIELD(row, "attempts", m.attempts, NUMBER, "Attempts", "how often it was claimed"),    \
        CLI_FIELD(row, "retry_count", m.retry_count, NUMBER, "Retries",                            \
                  "how often it was abandoned"),                                                   \
        CLI_FIELD(row, "last_error", m.last_error, TEXT, "Last error",                             \
                  "the error of the last attempt that reported one; or null")
#define CLI_WHOSE_FIELDS(row)                                                                      \
    CLI_FIELD(row, "tenant_id", m.tenant_id, UUID, "Tenant", "its tenant; or null"),               \
        CLI_FIELD(row, "dedupe_key", m.dedupe_key, TEXT, "Dedupe key", "its dedupe key; or null"), \
        CLI_FIELD(row, "correlation_id", m.correlation_id, TEXT, "Correlation",                    \
                  "its correlation id; or null"),                                                  \
        CLI_FIELD(row, "job", m.job, TEXT, "Job", "of a job run: its job; or null"),               \
        CLI_FIELD(row, "scheduled_at", m.scheduled_at, TIME, "Scheduled",                          \
                  "of a job run: the instant it stands for; or null"),                             \
        CLI_STREAM_FIELDS(row, "Stream", "Seq"),                                                   \
        CLI_FIELD(row, "source", m.source, TEXT, "Source",                                         \
                  "of an inbox message: the system that sent it; or null"),                        \
        CLI_FIELD(row, "source_id", m.source_id, TEXT, "Source id",                                \
                  "of an inbox message: its id there; or null")
#define CLI_STREAM_FIELDS(row, stream_heading, seq_heading)                                        \
    CLI_FIELD(row, "stream", m.stream, TEXT, stream_heading, "its ordered stream; or null"),       \
        CLI_FIELD(row, "seq", m.seq, NUMBER, seq_heading,                                          \
                  "its number in the stream, from 1; or null", .or_null = true)
const char *cli_priority_word(int priority);

/* Options of messages and timers. */
#define CLI_CORRELATION_OPTION                                                                     \
    CLI_OPTION("correlation-id", 0, TEXT, "TEXT",                                                  \
               "an id of what it belongs to; passed to the worker")
#define CLI_HEADERS_OPTION CLI_OPTION("headers", 0, TEXT, "JSON", "an object, passed to the worker")

#define CLI_STREAM_OPTION                                                                          \
    CLI_OPTION("stream", 0, TEXT, "KEY",                                                           \
               "append it to this ordered stream, whose messages are handled one after the other")
#define CLI_PRIORITY_OPTION                                                                        \
    CLI_OPTION("priority", 'p', WORD, "LEVEL", "claimed before lower levels", .value = "normal",   \
               .choices = CLI_PRIORITIES)
#define CLI_TENANT_OPTION CLI_OPTION("tenant", 0, ID, "UUID", "the tenant it belongs to")

/* The priority for a word of --priority, by its index in: */
#define CLI_PRIORITIES "urgent normal low bulk"
ph_priority cli_priority(int word);

/* A payload from an operand or an option; "-": all of stdin. Returns an exit code. */
int cli_payload(struct cli *cli, const char *text, const char **ret_payload, size_t *ret_length);

/* Prints the messages of a door (NULL: of all doors) by CLI_LIST_OPTIONS; opts has the state. With
 * a set: the first of all stores, and the count of each. */
int cli_list_messages(struct cli *cli, const struct cli_door *door, ph_message_list_opts *opts,
                      const char *columns);
extern const struct cli_field cli_list_store_fields[];
/* The columns of a table, with those of the inbox after the topic behind that door. */
const char *cli_columns_for(struct cli *cli, const char *columns, const struct cli_door *door);
/* Fills opts from those options; notes that a full page may not be the last one. */
void cli_list_opts(struct cli *cli, ph_message_list_opts *opts);
void cli_list_more(struct cli *cli, const char *last);

#define CLI_LIMIT_OPTION                                                                           \
    CLI_OPTION("limit", 'l', NUMBER, "N", "print at most N", .value = "50", .min = 1,              \
               .max = PH_BATCH_MAX)
#define CLI_AFTER_OPTION                                                                           \
    CLI_OPTION("after", 0, ID, "ID", "continue after this id, the last of the previous page")
#define CLI_OLDEST_OPTION CLI_FLAG("oldest-first", 0, "oldest first instead of newest first")
#define CLI_STATE_OPTION(words)                                                                    \
    CLI_OPTION("state", 's', WORD, "STATE", "only those in this state", .value = "all",            \
               .choices = words)
#define CLI_LIST_OPTIONS                                                                           \
    CLI_NAMESPACE_OPTION(CLI_ONLY_QUEUE),                                                          \
        CLI_OPTION("topic", 't', TEXT, "TOPIC", "only this topic"), CLI_LIMIT_OPTION,              \
        CLI_AFTER_OPTION, CLI_OLDEST_OPTION,                                                       \
        CLI_FLAG("payload", 0, "include payloads and headers")

#endif
