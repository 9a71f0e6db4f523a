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

/* All there is of a message. Without payload and headers if the library left them out. */
json_t *cli_json_message(const struct cli *cli, const struct cli_door *door,
                         const ph_message_info *info, int64_t now, bool with_history);

/* What a message and a timer are given alike. */
#define CLI_CORRELATION_OPTION                                                                     \
    CLI_OPTION("correlation-id", 0, TEXT, "TEXT", "what it belongs to; handed to the worker")
#define CLI_HEADERS_OPTION CLI_OPTION("headers", 0, TEXT, "JSON", "an object, handed to the worker")

#define CLI_STREAM_OPTION                                                                          \
    CLI_OPTION("stream", 0, TEXT, "KEY",                                                           \
               "the ordered stream that it is in: one after the other, in this order")
#define CLI_PRIORITY_OPTION                                                                        \
    CLI_OPTION("priority", 'p', WORD, "LEVEL", "who comes first", .value = "normal",               \
               .choices = CLI_PRIORITIES)
#define CLI_TENANT_OPTION CLI_OPTION("tenant", 0, ID, "UUID", "the tenant it belongs to")

/* Priority as the library counts, from a number or word of --priority. */
#define CLI_PRIORITIES "urgent normal low bulk 0 1 2 3"
ph_priority cli_priority(int word);

/* A payload from an operand or an option; "-": all of stdin. Returns an exit code. */
int cli_payload(struct cli *cli, const char *text, const char **ret_payload, size_t *ret_length);

/* Lists messages behind a door (NULL: all doors) as rows, by the options CLI_LIST_OPTIONS; opts has
 * the state. Of a set of databases the first of all, and how many are where. */
int cli_list_messages(struct cli *cli, const struct cli_door *door, ph_list_opts *opts,
                      const char *columns);
extern const struct cli_field cli_list_store_fields[];
/* The columns of a table, with those of inbox and streams after the topic if they are needed. */
const char *cli_columns_for(struct cli *cli, const char *columns, const struct cli_door *door,
                            bool streams);
/* Fills opts from those options; and says that a full page may not be the last one. */
void cli_list_opts(struct cli *cli, ph_list_opts *opts);
void cli_list_more(struct cli *cli, const char *last);

#define CLI_LIMIT_OPTION                                                                           \
    CLI_OPTION("limit", 'l', NUMBER, "N", "at most so many", .value = "50", .min = 1,              \
               .max = PH_BATCH_MAX)
#define CLI_AFTER_OPTION                                                                           \
    CLI_OPTION("after", 0, ID, "ID", "go on after this one, the last of the page before")
#define CLI_OLDEST_OPTION CLI_FLAG("oldest-first", 0, "the oldest first, otherwise the newest")
#define CLI_STATE_OPTION(words)                                                                    \
    CLI_OPTION("state", 's', WORD, "STATE", "only those in this state", .value = "all",            \
               .choices = words)
#define CLI_LIST_OPTIONS                                                                           \
    CLI_NAMESPACE_OPTION(CLI_ONLY_QUEUE),                                                          \
        CLI_OPTION("topic", 't', TEXT, "TOPIC", "only this topic"), CLI_LIMIT_OPTION,              \
        CLI_AFTER_OPTION, CLI_OLDEST_OPTION, CLI_FLAG("payload", 0, "with payloads and headers")

#endif
