/* instance.c - a process with a dispatcher whose handlers write down what they do. */
#include "fleet.h"

#include <signal.h>
#include <stdlib.h>

#define STOP_MS 20000

struct instance {
    struct fleet *fleet;
    int log;
};

static void ended(struct fleet *fleet, const struct record *record)
{
    atomic_uchar *flag = &fleet->ended[record->producer][record->stream][record->number];

    if (atomic_exchange(flag, 1) == 0)
        atomic_fetch_add(&fleet->settled, 1);
}

/* One time in ten it does not work; and where nothing is said about how often a message may come,
 * some are put off and some never work. */
static enum record_kind any_outcome(const struct plan *plan)
{
    unsigned what = t_dice(1000);

    if (what < 100)
        return RECORD_RETRIED;
    if (plan->kills && what < 115)
        return RECORD_DEFERRED;
    return what < 125 ? RECORD_FAILED : RECORD_DONE;
}

static ph_verdict handle(void *context, ph_work *work)
{
    const ph_delivery *delivery = ph_work_delivery(work);
    struct instance *instance = context;
    struct record record = { .kind = RECORD_BEGUN,
                             .seq = delivery->seq,
                             .attempts = delivery->attempts };

    CHECK(sscanf(delivery->payload, "%d %d %d", &record.stream, &record.producer, &record.number) ==
          3);
    log_write(instance->log, record);
    if (t_dice(2))
        t_nap_ms(t_dice(16));
    record.kind = any_outcome(&instance->fleet->plan);
    ph_work_delay(work, t_dice(60));
    log_write(instance->log, record);
    switch (record.kind) {
    case RECORD_RETRIED:
        return PH_VERDICT_RETRY;
    case RECORD_DEFERRED:
        return PH_VERDICT_DEFER;
    case RECORD_FAILED:
        ended(instance->fleet, &record);
        return PH_VERDICT_FAIL;
    default:
        ended(instance->fleet, &record);
        return PH_VERDICT_DONE;
    }
}

static void handle_topic(ph_dispatcher *dispatcher, struct instance *instance, const char *topic)
{
    ph_handler handler = PH_HANDLER_INIT;

    handler.topic = topic;
    handler.handle = handle;
    handler.context = instance;
    handler.in_transaction = strcmp(topic, STEP_IN_TX) == 0;
    OK(ph_dispatcher_handle(dispatcher, &handler, &t_err));
}

/* Not two are alike. */
static ph_dispatcher_opts any_opts(const struct plan *plan)
{
    ph_dispatcher_opts opts = PH_DISPATCHER_OPTS_INIT;

    opts.service = "fleet";
    opts.lease_s = plan->lease_s;
    opts.stale_threshold_s = 2 * plan->lease_s;
    opts.threads = plan->kills ? 1 + (int)t_dice(4) : 2;
    opts.batch_size = 1 + (int)t_dice(60);
    opts.poll_ms = 100 + (int)t_dice(200);
    opts.retention_ms = -1;
    opts.doorbell = t_dice(3) ? PH_DOORBELL_AUTO : PH_DOORBELL_OFF;
    if (t_dice(4) == 0)
        opts.max_partitions = 1 + (int)t_dice(t_dice(2) ? 3 : 100);
    if (t_dice(4) == 0)
        opts.prefetch = -1;
    return opts;
}

void work(struct fleet *fleet)
{
    struct instance instance = { .fleet = fleet, .log = log_open(fleet) };
    ph_dispatcher_opts opts = any_opts(&fleet->plan);
    ph_dispatcher *dispatcher = NULL;
    ph_store *store = t_open(NULL);
    sigset_t goodbye;
    int signal;

    OK(ph_dispatcher_new(store, &opts, &dispatcher, &t_err));
    handle_topic(dispatcher, &instance, STEP);
    if (fleet->plan.in_transactions)
        handle_topic(dispatcher, &instance, STEP_IN_TX);
    OK(ph_dispatcher_start(dispatcher, &t_err));
    sigemptyset(&goodbye);
    sigaddset(&goodbye, SIGTERM);
    CHECK_INT(sigwait(&goodbye, &signal), 0);
    OK(ph_dispatcher_stop(dispatcher, STOP_MS, &t_err));
    ph_dispatcher_free(dispatcher);
    ph_close(store);
}
