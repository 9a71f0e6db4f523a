/* etl.c - fan-in: three extractions run in any order, and when all are done the transformation
 * starts; if one fails for good, somebody is told instead.
 *
 *     etl.start ─┬─ extract.customers ─┐
 *                ├─ extract.orders    ─┼─ (join) ── etl.transform, or etl.failed
 *                └─ extract.products  ─┘
 *
 * The join, its three steps and the wait are stored in one transaction, that of
 * the handler of etl.start: a crash in between leaves nothing half begun. The
 * handlers of the steps know nothing of the join.
 *
 * usage: etl URL [fail]          fail: the orders cannot be read */
#include "workflow.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

struct etl {
    bool orders_broken;
    atomic_int transformed, failed;
};

static const char *const sources[] = { "extract.customers", "extract.orders", "extract.products" };

static ph_verdict on_start(void *context, ph_work *work)
{
    const ph_delivery *message = ph_work_delivery(work);
    ph_message steps[3] = { PH_MESSAGE_INIT, PH_MESSAGE_INIT, PH_MESSAGE_INIT };
    ph_join_opts opts = PH_JOIN_OPTS_INIT;
    ph_wait wait = PH_WAIT_INIT;
    ph_store *store = ph_work_store(work);
    ph_tx tx = ph_work_tx(work);
    ph_join_id join;
    ph_error err;

    (void)context;
    opts.grouping_key = message->payload; /* the customer: posthorn join list --key CUST-123 */
    opts.metadata = "{\"type\":\"etl\",\"phase\":\"extract\"}";
    if (ph_join_start(store, tx, 3, &opts, 0, &join, &err) < 0)
        return workflow_retry(work, &err);
    for (int i = 0; i < 3; i++) {
        steps[i].topic = sources[i];
        steps[i].payload = message->payload;
        steps[i].join_id = &join;
    }
    wait.fail_if_any_step_failed = true;
    wait.on_complete_topic = "etl.transform";
    wait.on_complete_payload = message->payload;
    wait.on_fail_topic = "etl.failed";
    wait.on_fail_payload = message->payload;
    if (ph_enqueue_many(store, tx, steps, 3, 0, NULL, &err) < 0 ||
        ph_join_wait(store, tx, join, &wait, 0, NULL, &err) < 0)
        return workflow_retry(work, &err);
    return PH_VERDICT_DONE;
}

static ph_verdict on_extract(void *context, ph_work *work)
{
    const struct etl *etl = context;
    const ph_delivery *message = ph_work_delivery(work);

    if (etl->orders_broken && strcmp(message->topic, "extract.orders") == 0) {
        ph_work_error(work, "the table of orders is gone");
        return PH_VERDICT_FAIL; /* a dead letter: a failed step */
    }
    if (message->attempts == 1 && strcmp(message->topic, "extract.products") == 0) {
        ph_work_error(work,
                      "the source did not answer"); /* a retry is not the end: the join waits on */
        ph_work_delay(work, 0); /* at once, and not after the backoff: it is a short example */
        return PH_VERDICT_RETRY;
    }
    printf("%s of %s\n", message->topic, message->payload);
    return PH_VERDICT_DONE;
}

static ph_verdict on_transform(void *context, ph_work *work)
{
    struct etl *etl = context;

    printf("all extracted: transforming %s\n", ph_work_delivery(work)->payload);
    atomic_fetch_add(&etl->transformed, 1);
    return PH_VERDICT_DONE;
}

static ph_verdict on_failed(void *context, ph_work *work)
{
    struct etl *etl = context;

    printf("an extraction failed: nothing to transform for %s\n", ph_work_delivery(work)->payload);
    atomic_fetch_add(&etl->failed, 1);
    return PH_VERDICT_DONE;
}

int main(int argc, char **argv)
{
    struct etl etl = { .orders_broken = argc == 3 && strcmp(argv[2], "fail") == 0 };
    const ph_handler handlers[] = {
        workflow_handler("etl.start", on_start, NULL, true),
        workflow_handler(sources[0], on_extract, &etl, false),
        workflow_handler(sources[1], on_extract, &etl, false),
        workflow_handler(sources[2], on_extract, &etl, false),
        workflow_handler("etl.transform", on_transform, &etl, false),
        workflow_handler("etl.failed", on_failed, &etl, false),
        workflow_handler(NULL, NULL, NULL, false),
    };

    if (argc < 2 || argc > 3 || (argc == 3 && !etl.orders_broken)) {
        fprintf(stderr, "usage: %s URL [fail]\n", argv[0]);
        return 2;
    }
    if (workflow_run(argv[1], "etl.start", "CUST-123", handlers) != 0)
        return 1;
    return etl.transformed != !etl.orders_broken || etl.failed != etl.orders_broken;
}
