/* enqueue.h - what the files of posthorn enqueue share. */
#ifndef POSTHORN_CLI_ENQUEUE_H
#define POSTHORN_CLI_ENQUEUE_H

#include "message.h"

/* The message that the options describe, still without topic and payload. */
struct enqueue_draft {
    ph_message message;
    const char *source, *source_id; /* receive */
    ph_tenant_id tenant_id;         /* zero: none; so for the others */
    ph_message_id message_id;
    ph_join_id join_id;
};

/* Reads the options that enqueue and receive share. */
void enqueue_draft_begin(struct cli *cli, struct enqueue_draft *draft);

/* The draft as a message, and as one for the inbox; both borrow from it. */
const ph_message *enqueue_message(struct enqueue_draft *draft);
ph_inbox_message enqueue_received(struct enqueue_draft *draft);

/* One message per line of stdin, in batches. Returns an exit code. */
int enqueue_lines(struct cli *cli, const struct enqueue_draft *draft);

#define CLI_STORE_BATCH_OPTION                                                                     \
    CLI_OPTION("batch", 'b', NUMBER, "N", "lines stored per transaction", .value = "500",          \
               .min = 1, .max = PH_BATCH_MAX)

#endif
