/* bench_dispatcher.c - handlers that do nothing: how many per second, and how soon. */
#include "bench.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#define SLICE_MS 100 /* the longest wait between updates of the progress */
#define LATENCY_DRAIN_MS 10000

static ph_verdict do_nothing(void *context, ph_work *work)
{
    (void)context;
    (void)work;
    return PH_VERDICT_DONE;
}

/* A started dispatcher on a store of its own, with one handler for everything. */
static int start(struct bench *bench, ph_handler_fn handle, void *context, ph_store **ret_store,
                 ph_dispatcher **ret_dispatcher)
{
    struct cli *cli = bench->cli;
    ph_dispatcher_opts opts = PH_DISPATCHER_OPTS_INIT;
    ph_handler handler = PH_HANDLER_INIT;
    int code = cli_open_another(cli, CLI_OPEN_CHECKED, ret_store);

    if (code != CLI_OK)
        return code;
    opts.ns = BENCH_NAMESPACE;
    opts.threads = bench->concurrency;
    opts.batch_size = bench->batch;
    handler.topic = BENCH_TOPIC;
    handler.handle = handle;
    handler.context = context;
    if (ph_dispatcher_new(*ret_store, &opts, ret_dispatcher, &cli->err) < 0 ||
        ph_dispatcher_handle(*ret_dispatcher, &handler, &cli->err) < 0 ||
        ph_dispatcher_start(*ret_dispatcher, &cli->err) < 0)
        return cli_fail_store(cli);
    return CLI_OK;
}

static int64_t done_by(ph_dispatcher *dispatcher)
{
    ph_dispatcher_stats stats = PH_DISPATCHER_STATS_INIT;
    ph_error ignored;

    return ph_dispatcher_stats_get(dispatcher, &stats, &ignored) < 0 ? 0 : stats.done;
}

static int drain(struct bench *bench, ph_dispatcher *dispatcher, int64_t expected)
{
    struct cli *cli = bench->cli;
    int r = PH_ETIMEOUT;

    while (r == PH_ETIMEOUT && !cli_interrupted()) {
        r = ph_dispatcher_drain(dispatcher, SLICE_MS, &cli->err);
        cli_progress_at(cli, done_by(dispatcher), expected);
    }
    return r < 0 && r != PH_ETIMEOUT ? cli_fail_store(cli) : CLI_OK;
}

static int stop(struct bench *bench, ph_dispatcher *dispatcher)
{
    struct cli *cli = bench->cli;

    return ph_dispatcher_stop(dispatcher, cli->timeout_ms, &cli->err) < 0 ? cli_fail_store(cli)
                                                                          : CLI_OK;
}

int bench_dispatcher(struct bench *bench, int64_t expected, struct bench_result *ret_result)
{
    ph_dispatcher *dispatcher = NULL;
    ph_store *store = NULL;
    int64_t began_us;
    int code;

    cli_progress_begin(bench->cli, "dispatcher", expected);
    began_us = cli_now_us();
    code = start(bench, do_nothing, NULL, &store, &dispatcher);
    if (code == CLI_OK)
        code = drain(bench, dispatcher, expected);
    if (code == CLI_OK)
        *ret_result = (struct bench_result){ .phase = "dispatcher",
                                             .messages = done_by(dispatcher),
                                             .us = cli_now_us() - began_us };
    cli_progress_end(bench->cli);
    if (code == CLI_OK)
        code = stop(bench, dispatcher);
    ph_dispatcher_free(dispatcher);
    ph_close(store);
    return code;
}

/* ------------------------------------------------------------------ latency */

/* When each message was enqueued, stored, and met its handler; 0: not yet. */
struct moments {
    int64_t count;
    int64_t *called_us, *returned_us;
    atomic_int_fast64_t *started_us;
};

static ph_verdict note_time(void *context, ph_work *work)
{
    struct moments *moments = context;
    int64_t now_us = cli_now_us(), zero = 0;
    const char *number = ph_work_delivery(work)->correlation_id;
    long long i = number ? strtoll(number, NULL, 10) : -1;

    if (i >= 0 && i < moments->count)
        atomic_compare_exchange_strong(&moments->started_us[i], &zero, now_us);
    return PH_VERDICT_DONE;
}

static void sleep_until(int64_t at_us)
{
    struct timespec at = { at_us / 1000000, at_us % 1000000 * 1000 };

    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR &&
           !cli_interrupted())
        ;
}

/* Enqueues at BENCH_LATENCY_RATE, however long a message takes. Returns how many. */
static int64_t produce(struct bench *bench, struct moments *moments, int *code)
{
    struct cli *cli = bench->cli;
    int64_t began_us = cli_now_us(), i;
    char number[24];
    ph_message message;

    bench_message(bench, &message);
    message.correlation_id = number;
    for (i = 0; i < moments->count && !cli_interrupted(); i++) {
        snprintf(number, sizeof(number), "%lld", (long long)i);
        sleep_until(began_us + i * 1000000 / BENCH_LATENCY_RATE);
        moments->called_us[i] = cli_now_us();
        if (ph_enqueue(cli->store, PH_OWN_TX, &message, 0, NULL, &cli->err) < 0) {
            *code = cli_fail_store(cli);
            break;
        }
        moments->returned_us[i] = cli_now_us();
        cli_progress_at(cli, i, moments->count);
    }
    return i;
}

/* Fills both results from what was noted. */
static void sum_up(const struct moments *moments, int64_t produced, int64_t us,
                   struct bench_result results[2])
{
    static const char *const phases[] = { "latency_from_call", "latency_from_commit" };
    int64_t *times = cli_need(calloc((size_t)moments->count + 1, sizeof(*times)));

    for (int which = 0; which < 2; which++) {
        const int64_t *from = which == 0 ? moments->called_us : moments->returned_us;
        int64_t count = 0;

        for (int64_t i = 0; i < produced; i++) {
            int64_t started_us = atomic_load(&moments->started_us[i]);

            if (started_us)
                times[count++] = started_us > from[i] ? started_us - from[i] : 0;
        }
        results[which] = (struct bench_result){
            .phase = phases[which], .messages = count, .us = us, .has_latency = true
        };
        bench_percentiles(times, count, &results[which]);
    }
    free(times);
}

static int measure(struct bench *bench, ph_dispatcher *dispatcher, struct moments *moments,
                   struct bench_result results[2])
{
    struct cli *cli = bench->cli;
    int64_t began_us = cli_now_us(), produced;
    int code = CLI_OK;

    produced = produce(bench, moments, &code);
    if (code == CLI_OK && ph_dispatcher_drain(dispatcher, LATENCY_DRAIN_MS, &cli->err) < 0)
        code = cli_fail_store(cli);
    if (code == CLI_OK)
        code = stop(bench, dispatcher);
    if (code == CLI_OK)
        sum_up(moments, produced, cli_now_us() - began_us, results);
    return code;
}

int bench_latency(struct bench *bench, int64_t count, struct bench_result ret_results[2])
{
    struct moments moments = { .count = count };
    ph_dispatcher *dispatcher = NULL;
    ph_store *store = NULL;
    int code;

    moments.called_us = cli_need(calloc((size_t)count, sizeof(int64_t)));
    moments.returned_us = cli_need(calloc((size_t)count, sizeof(int64_t)));
    moments.started_us = cli_need(calloc((size_t)count, sizeof(*moments.started_us)));
    cli_progress_begin(bench->cli, "latency", count);
    code = start(bench, note_time, &moments, &store, &dispatcher);
    if (code == CLI_OK)
        code = measure(bench, dispatcher, &moments, ret_results);
    cli_progress_end(bench->cli);
    ph_dispatcher_free(dispatcher); /* no handler runs after this, so its memory may go */
    ph_close(store);
    free(moments.called_us);
    free(moments.returned_us);
    free(moments.started_us);
    return code;
}
