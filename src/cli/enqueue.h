/* enqueue.h - what the files of posthorn enqueue share. */
#ifndef POSTHORN_CLI_ENQUEUE_H
#define POSTHORN_CLI_ENQUEUE_H

#include "message.h"

/* The message that the options describe; topic and payload are not yet in it. */
struct enqueue_draft {
    ph_message message;
    ph_tenant_id tenant_id;
    ph_message_id message_id;
    ph_join_id join_id;
};

/* One message per line of stdin, in batches. Returns an exit code. */
int enqueue_lines(struct cli *cli, const struct enqueue_draft *draft);

void enqueue_row(struct cli *cli, const ph_enqueued *enqueued);

#endif
