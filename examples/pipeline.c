/* pipeline.c - a workflow of two stages: what one join sends starts the next.
 *
 *     ingest.source ×3 ── (join) ── workflow.validate ─┬─ validate.schema ─┐
 *                                                      └─ validate.rules  ─┴─ (join) ── workflow.publish
 *
 * usage: pipeline URL */
#include "workflow.h"

#include <stdio.h>
#include <string.h>

/* One stage: steps with these topics, and what comes after them. In the transaction of a handler. */
static ph_verdict begin_stage(ph_work *work, const char *stage, const char *const *topics,
                              size_t count, const char *next)
{
    const char *payload = ph_work_delivery(work)->payload;
    ph_join_opts opts = PH_JOIN_OPTS_INIT;
    ph_wait wait = PH_WAIT_INIT;
    ph_store *store = ph_work_store(work);
    ph_tx tx = ph_work_tx(work);
    ph_join_id join;
    ph_error err;
    int r;

    opts.grouping_key = payload; /* the workflow: its joins are found by it */
    opts.metadata = stage;
    r = ph_join_start(store, tx, (int)count, &opts, 0, &join, &err);
    for (size_t i = 0; r == 0 && i < count; i++) {
        ph_message step = PH_MESSAGE_INIT;

        step.topic = topics[i];
        step.payload = payload;
        step.join_id = &join;
        r = ph_enqueue(store, tx, &step, 0, NULL, &err);
    }
    wait.fail_if_any_step_failed = true;
    wait.on_complete_topic = next;
    wait.on_complete_payload = payload;
    if (r == 0)
        r = ph_join_wait(store, tx, join, &wait, 0, NULL, &err);
    return r < 0 ? workflow_retry(work, &err) : PH_VERDICT_DONE;
}

static ph_verdict on_start(void *context, ph_work *work)
{
    static const char *const topics[] = { "ingest.source", "ingest.source", "ingest.source" };

    (void)context;
    return begin_stage(work, "{\"stage\":\"ingestion\"}", topics, 3, "workflow.validate");
}

static ph_verdict on_validate(void *context, ph_work *work)
{
    static const char *const topics[] = { "validate.schema", "validate.rules" };

    (void)context;
    printf("ingested: validating\n");
    return begin_stage(work, "{\"stage\":\"validation\"}", topics, 2, "workflow.publish");
}

static ph_verdict on_step(void *context, ph_work *work)
{
    (void)context;
    printf("%s\n", ph_work_delivery(work)->topic);
    return PH_VERDICT_DONE;
}

static ph_verdict on_publish(void *context, ph_work *work)
{
    int *published = context;

    printf("published %s\n", ph_work_delivery(work)->payload);
    ++*published;
    return PH_VERDICT_DONE;
}

int main(int argc, char **argv)
{
    int published = 0;
    const ph_handler handlers[] = {
        workflow_handler("workflow.start", on_start, NULL, true),
        workflow_handler("ingest.source", on_step, NULL, false),
        workflow_handler("workflow.validate", on_validate, NULL, true),
        workflow_handler("validate.schema", on_step, NULL, false),
        workflow_handler("validate.rules", on_step, NULL, false),
        workflow_handler("workflow.publish", on_publish, &published, false),
        workflow_handler(NULL, NULL, NULL, false),
    };

    if (argc != 2) {
        fprintf(stderr, "usage: %s URL\n", argv[0]);
        return 2;
    }
    if (workflow_run(argv[1], "workflow.start", "WF-789", handlers) != 0)
        return 1;
    return published != 1;
}
