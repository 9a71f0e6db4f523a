/* bench_load.c - threads that call the library as fast as they can: enqueue, claim and ack. */
#include "bench.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#define WATCH_MS 50
#define LEASE_S 10 /* short, so that messages of an interrupted run soon come back */

struct load;

struct loader {
    struct load *load;
    pthread_t thread;
    ph_store *store;
    ph_owner owner;
    ph_settlement *settlements; /* of the last claimed batch */
    size_t settlement_count;
    ph_error err;
    bool failed;
};

struct load {
    struct bench *bench;
    /* One call; returns how many messages it moved, 0: there are no more, negative: an error. */
    int64_t (*step)(struct loader *loader);
    int per_call;
    int64_t limit, end_us; /* 0: none */
    atomic_int_fast64_t given, done, ended_us;
    atomic_int running;
    atomic_bool stop;
};

/* How many messages this call may still move; 0: none. */
static int64_t take(struct load *load, int64_t wanted)
{
    int64_t before;

    if (atomic_load(&load->stop) || (load->end_us && cli_now_us() >= load->end_us))
        return 0;
    before = atomic_fetch_add(&load->given, wanted);
    if (!load->limit || before + wanted <= load->limit)
        return wanted;
    return before < load->limit ? load->limit - before : 0;
}

static int64_t enqueue_step(struct loader *loader)
{
    struct load *load = loader->load;
    int64_t count = take(load, load->per_call);
    ph_message one, *many;
    int r;

    if (count == 0)
        return 0;
    bench_message(load->bench, &one);
    if (load->per_call == 1) {
        r = ph_enqueue(loader->store, PH_OWN_TX, &one, 0, NULL, &loader->err);
        return r < 0 ? r : 1;
    }
    many = cli_need(malloc((size_t)count * sizeof(*many)));
    for (int64_t i = 0; i < count; i++)
        many[i] = one;
    r = ph_enqueue_many(loader->store, PH_OWN_TX, many, (size_t)count, 0, NULL, &loader->err);
    free(many);
    return r < 0 ? r : count;
}

/* Settles the last batch and claims the next, as a worker's loop does. */
static int64_t exchange_step(struct loader *loader)
{
    struct load *load = loader->load;
    ph_claim_opts claim = PH_CLAIM_OPTS_INIT;
    ph_batch *batch = NULL;
    size_t settled = loader->settlement_count, claimed;
    bool more = !atomic_load(&load->stop);
    int r;

    claim.ns = BENCH_NAMESPACE;
    claim.batch_size = load->per_call;
    claim.lease_s = LEASE_S;
    r = ph_outbox_exchange(loader->store, PH_OWN_TX, loader->owner, loader->settlements, settled,
                           more ? &claim : NULL, 0, NULL, &batch, &loader->err);
    if (r < 0)
        return r;
    claimed = ph_batch_count(batch);
    for (size_t i = 0; i < claimed; i++)
        loader->settlements[i] =
            (ph_settlement){ .lease = ph_lease_ref_of(ph_batch_at(batch, i)), .verb = PH_ACK };
    loader->settlement_count = claimed;
    ph_batch_free(batch);
    atomic_fetch_add(&load->done, (int64_t)settled);
    return claimed > 0 ? 1 : 0;
}

static void *load_main(void *context)
{
    struct loader *loader = context;
    struct load *load = loader->load;
    int64_t moved;

    while ((moved = load->step(loader)) > 0)
        if (load->step == enqueue_step)
            atomic_fetch_add(&load->done, moved);
    if (moved < 0) {
        loader->failed = true;
        atomic_store(&load->stop, true);
    }
    atomic_store(&load->ended_us, cli_now_us()); /* the last one's stays */
    atomic_fetch_sub(&load->running, 1);
    return NULL;
}

static int open_all(struct load *load, struct loader *loaders)
{
    struct bench *bench = load->bench;
    int code = CLI_OK;

    for (int i = 0; i < bench->concurrency && code == CLI_OK; i++) {
        loaders[i].load = load;
        loaders[i].owner = ph_owner_new();
        loaders[i].settlements =
            cli_need(calloc((size_t)load->per_call, sizeof(*loaders[i].settlements)));
        code = cli_open_another(bench->cli, CLI_OPEN_CHECKED, &loaders[i].store);
    }
    return code;
}

/* Shows the progress until all threads have ended: by count, or by time if there is no limit. */
static void watch(struct load *load, int64_t began_us)
{
    struct timespec pause = { 0, WATCH_MS * 1000000L };

    while (atomic_load(&load->running) > 0) {
        if (cli_interrupted())
            atomic_store(&load->stop, true);
        if (load->limit)
            cli_progress_at(load->bench->cli, atomic_load(&load->done), load->limit);
        else
            cli_progress_at(load->bench->cli, (cli_now_us() - began_us) / 1000,
                            (load->end_us - began_us) / 1000);
        nanosleep(&pause, NULL);
    }
}

static int gather(struct load *load, struct loader *loaders, int started)
{
    struct cli *cli = load->bench->cli;
    int code = CLI_OK;

    for (int i = 0; i < load->bench->concurrency; i++) {
        if (i < started)
            pthread_join(loaders[i].thread, NULL);
        if (loaders[i].failed && code == CLI_OK) {
            cli->err = loaders[i].err;
            code = cli_fail_store(cli);
        }
        free(loaders[i].settlements);
        ph_close(loaders[i].store);
    }
    return code;
}

static int run_load(struct load *load, const char *phase, struct bench_result *ret_result)
{
    struct bench *bench = load->bench;
    struct loader *loaders = cli_need(calloc((size_t)bench->concurrency, sizeof(*loaders)));
    int code = open_all(load, loaders), started = 0, gathered;
    int64_t began_us = cli_now_us();

    if (load->end_us)
        load->end_us += began_us;
    if (load->limit)
        cli_progress_begin(bench->cli, phase, load->limit);
    else
        cli_progress_begin_time(bench->cli, phase, (load->end_us - began_us) / 1000);
    atomic_store(&load->running, bench->concurrency);
    for (; code == CLI_OK && started < bench->concurrency; started++)
        if (pthread_create(&loaders[started].thread, NULL, load_main, &loaders[started]) != 0) {
            atomic_store(&load->stop, true);
            code = cli_fail(bench->cli, CLI_FAILED, "cannot start %d threads", bench->concurrency);
            break;
        }
    atomic_fetch_sub(&load->running, bench->concurrency - started);
    watch(load, began_us);
    *ret_result = (struct bench_result){ .phase = phase,
                                         .messages = atomic_load(&load->done),
                                         .us = atomic_load(&load->ended_us) - began_us };
    cli_progress_end(bench->cli);
    gathered = gather(load, loaders, started);
    free(loaders);
    return code != CLI_OK ? code : gathered;
}

int bench_enqueue(struct bench *bench, const char *phase, int per_call, int64_t limit,
                  int64_t limit_us, struct bench_result *ret_result)
{
    struct load load = { .bench = bench,
                         .step = enqueue_step,
                         .per_call = per_call,
                         .limit = limit,
                         .end_us = limit ? 0 : limit_us };

    return run_load(&load, phase, ret_result);
}

int bench_claim_and_ack(struct bench *bench, int64_t expected, struct bench_result *ret_result)
{
    struct load load = {
        .bench = bench, .step = exchange_step, .per_call = bench->batch, .limit = expected
    };

    return run_load(&load, "claim_ack", ret_result);
}
