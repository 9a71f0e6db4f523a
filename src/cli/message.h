/* message.h - a message as rows show it: the same names in every verb. */
#ifndef POSTHORN_CLI_MESSAGE_H
#define POSTHORN_CLI_MESSAGE_H

#include "cli.h"

extern const struct cli_field cli_message_fields[];

/* What --state takes, in the order of ph_list_state. */
#define CLI_STATES "all ready scheduled in_progress done dead"

/* The state's word. now: the database's clock. */
const char *cli_state(const ph_message_info *info, int64_t now);

/* All there is of a message. Without payload and headers if the library left them out. */
json_t *cli_json_message(const ph_message_info *info, int64_t now, bool with_history);

/* Priority as the library counts, from a number or word of --priority. */
#define CLI_PRIORITIES "urgent normal low bulk 0 1 2 3"
ph_priority cli_priority(int word);

#endif
