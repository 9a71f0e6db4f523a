/* memory_test.c - no memory: at the beginning it is said, later nothing is lost. */
#include "rig.h"

#include "util/alloc.h"

#include <stdlib.h>

#define ALLOCATIONS_MAX 500

static int check_no_memory(int r)
{
    ph__alloc_fail_after = -1;
    CHECK(r == 0 || r == PH_ENOMEM);
    CHECK(r == 0 || t_err.code == PH_ENOMEM);
    return r;
}

TEST(every_allocation_of_a_new_dispatcher_fails_once)
{
    ph_dispatcher_opts opts = PH_DISPATCHER_OPTS_INIT;
    ph_store *store = t_open(NULL);
    ph_dispatcher *dispatcher = NULL;
    long n = 0;
    int r;

    opts.ns = "billing";
    do {
        CHECK(n < ALLOCATIONS_MAX && dispatcher == NULL);
        ph__alloc_fail_after = n++;
        r = check_no_memory(ph_dispatcher_new(store, &opts, &dispatcher, &t_err));
    } while (r < 0);
    CHECK(n > 1);
    ph_dispatcher_free(dispatcher);
}

TEST(every_allocation_of_a_new_handler_fails_once)
{
    static struct part part = { .verdict = PH_VERDICT_DONE };
    ph_handler handler = PH_HANDLER_INIT;
    struct rig rig;
    long n = 0;
    int r;

    rig_open(&rig);
    rig_put(&rig, "t");
    rig_new(&rig);
    handler.topic = "t";
    handler.handle = play;
    handler.context = &part;
    do {
        CHECK(n < ALLOCATIONS_MAX);
        ph__alloc_fail_after = n++;
        r = check_no_memory(ph_dispatcher_handle(rig.dispatcher, &handler, &t_err));
    } while (r < 0);
    CHECK(n > 1);
    rig_start(&rig);
    rig_drain(&rig);
    CHECK_INT(part.calls, 1);
    rig_end(&rig);
}

TEST(every_allocation_of_the_start_fails_once)
{
    static struct part part = { .verdict = PH_VERDICT_DONE };
    struct rig rig;
    int r = -1;

    rig_open(&rig);
    put_many(rig.side, "t", 3, NULL);
    for (long n = 0; r < 0; n++) {
        CHECK(n < ALLOCATIONS_MAX);
        rig_new(&rig);
        rig_handle(&rig, "t", play, &part);
        ph__alloc_fail_after = n;
        r = ph_dispatcher_start(rig.dispatcher, &t_err);
        check_no_memory(r);
        if (r < 0)
            ph_dispatcher_free(rig.dispatcher);
    }
    AWAIT(rig_stats(&rig).done == 3);
    rig_end(&rig);
}

static ph_verdict with_error(void *context, ph_work *work)
{
    _Atomic int *calls = context;

    (*calls)++;
    ph_work_error(work, "some text that needs memory");
    return ph_work_delivery(work)->attempts < 2 ? PH_VERDICT_RETRY : PH_VERDICT_DONE;
}

/* Memory comes and goes while it works; in the end every message is done. */
TEST(a_run_with_failing_allocations_loses_nothing)
{
    static _Atomic int calls;
    ph_queue_settings settings = PH_QUEUE_SETTINGS_INIT;
    unsigned seed = 7;
    struct rig rig;

    rig_open(&rig);
    settings.max_attempts = 1000;
    settings.backoff_base_ms = settings.backoff_max_ms = 1;
    set_queue(rig.side, &settings);
    put_many(rig.side, "t", 200, NULL);
    rig.opts.lease_s = 2; /* for claims whose answer found no memory */
    rig.opts.batch_size = 10;
    rig_run(&rig, NULL, with_error, &calls);
    for (int i = 0; i < 150; i++) {
        ph__alloc_fail_after = (long)(rand_r(&seed) % 60);
        nap();
        ph__alloc_fail_after = -1;
        if (i % 3 == 0)
            nap();
    }
    AWAIT(t_number(rig.conn, "SELECT count(*) FROM {t}outbox WHERE status_code = 2") == 200);
    CHECK(calls >= 200);
    rig_end(&rig);
}
