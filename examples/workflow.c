/* workflow.c - the frame of a workflow: its first message, its handlers, and the end. */
#include "workflow.h"

#include <stdio.h>

#define LIMIT_MS 60000

ph_handler workflow_handler(const char *topic, ph_handler_fn handle, void *context,
                            bool in_transaction)
{
    ph_handler handler = PH_HANDLER_INIT;

    handler.topic = topic;
    handler.handle = handle;
    handler.context = context;
    handler.in_transaction = in_transaction;
    return handler;
}

ph_verdict workflow_retry(ph_work *work, const ph_error *err)
{
    ph_work_error(work, err->message);
    return PH_VERDICT_RETRY;
}

/* Warnings and errors: a database that went away, handlers that failed. */
static void log_line(void *context, const ph_log_event *event)
{
    (void)context;
    fprintf(stderr, "%s\n", event->text);
}

static void on_join_ended(void *context, const ph_join_end *join)
{
    (void)context;
    printf("join: %s, %d of %d steps completed, %d failed\n", ph_join_state_text(join->state),
           join->completed_steps, join->expected_steps, join->failed_steps);
}

int workflow_run(const char *url, const char *topic, const char *payload,
                 const ph_handler *handlers)
{
    ph_store_opts opts = PH_STORE_OPTS_INIT;
    ph_message first = PH_MESSAGE_INIT;
    ph_dispatcher *dispatcher = NULL;
    ph_store *store = NULL;
    ph_error err = { 0 };
    int r;

    setvbuf(stdout, NULL, _IOLBF, 0); /* whole lines at once, since handlers run in parallel */
    opts.deploy_schema = true;
    opts.log = log_line;
    opts.log_level = PH_LOG_WARN;
    opts.join_ended = on_join_ended;
    first.topic = topic;
    first.payload = payload;
    r = ph_open(url, &opts, &store, &err);
    if (r == 0)
        r = ph_enqueue(store, PH_OWN_TX, &first, 0, NULL, &err);
    if (r == 0)
        r = ph_dispatcher_new(store, NULL, &dispatcher, &err);
    for (size_t i = 0; r == 0 && handlers[i].topic; i++)
        r = ph_dispatcher_handle(dispatcher, &handlers[i], &err);
    if (r == 0)
        r = ph_dispatcher_start(dispatcher, &err);
    if (r == 0)
        r = ph_dispatcher_drain(dispatcher, LIMIT_MS, &err); /* a service would wait for a signal */
    if (r < 0)
        fprintf(stderr, "%s\n", err.message);
    ph_dispatcher_free(dispatcher);
    ph_close(store);
    return r < 0;
}
