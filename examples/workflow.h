/* workflow.h - what the workflows in this folder share: begin one, and run handlers until nothing is
 * left to do. */
#ifndef EXAMPLES_WORKFLOW_H
#define EXAMPLES_WORKFLOW_H

#include <posthorn/posthorn.h>

/* Sends the first message, runs the handlers (the last one has no topic set) until every message is
 * settled, and returns 0, or 1 after an error was printed. url: sqlite:PATH or postgresql://… */
int workflow_run(const char *url, const char *topic, const char *payload,
                 const ph_handler *handlers);

/* A handler: topic NULL ends a list. in_transaction: what it writes with ph_work_tx() commits with
 * its ack. */
ph_handler workflow_handler(const char *topic, ph_handler_fn handle, void *context,
                            bool in_transaction);

/* For a handler whose call to the database failed: keeps the error, and asks for another try. */
ph_verdict workflow_retry(ph_work *work, const ph_error *err);

#endif
