/* join.h - a join as rows show it: the same names in every verb. */
#ifndef POSTHORN_CLI_JOIN_H
#define POSTHORN_CLI_JOIN_H

#include "cli.h"

extern const struct cli_field cli_join_fields[]; /* of a ph_join_info, without its members */
#define CLI_JOIN_STATES "pending completed failed cancelled" /* in the order of ph_join_state */

/* The operand with this index, the id of a join. Returns an exit code. */
int cli_join_operand(struct cli *cli, size_t index, ph_join_id *ret_join);

#endif
