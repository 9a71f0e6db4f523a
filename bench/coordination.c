/* coordination.c - what ordered streams cost beside plain messages, what an exchange with nothing to
 * do costs, and what a crowd of idle instances costs the server. */
#include "floor.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define IDLE_CALLS 2000
#define INSTANCES 20
#define IDLE_INSTANCES "20 idle instances, time of the server"
#define WARM_UP_S 5 /* at most */

struct setting {
    const struct bench *bench;
    const struct bench_floor *floor;
    long streams;
    int batch, threads;
    int server; /* its process id */
};

/* -------------------------------------------------------------------- streams */

static void drain_exchanging(const void *context, int index)
{
    const struct setting *setting = context;

    (void)index;
    bench_drain_exchanging(setting->bench->url, setting->batch, NULL, 0);
}

static ph_verdict nothing(void *context, ph_work *work)
{
    (void)context;
    (void)work;
    return PH_VERDICT_DONE;
}

static ph_dispatcher *start(ph_store *store, const struct setting *setting)
{
    ph_dispatcher_opts opts = PH_DISPATCHER_OPTS_INIT;
    ph_handler handler = PH_HANDLER_INIT;
    ph_dispatcher *dispatcher = NULL;
    ph_error err;

    opts.threads = setting->threads;
    opts.batch_size = setting->batch;
    handler.handle = nothing;
    bench_must(ph_dispatcher_new(store, &opts, &dispatcher, &err), &err, "dispatcher");
    bench_must(ph_dispatcher_handle(dispatcher, &handler, &err), &err, "handler");
    bench_must(ph_dispatcher_start(dispatcher, &err), &err, "start");
    return dispatcher;
}

static void end(ph_dispatcher *dispatcher, ph_store *store)
{
    ph_error err;

    bench_must(ph_dispatcher_stop(dispatcher, 10000, &err), &err, "stop");
    ph_dispatcher_free(dispatcher);
    ph_close(store);
}

static void drain_dispatched(const void *context, int index)
{
    const struct setting *setting = context;
    ph_store *store = bench_open(setting->bench->url);
    ph_dispatcher *dispatcher = start(store, setting);
    ph_error err;

    (void)index;
    bench_must(ph_dispatcher_drain(dispatcher, 0, &err), &err, "drain");
    end(dispatcher, store);
}

static double drain_rate(const void *context, bool with)
{
    const struct setting *setting = context;
    const struct bench *bench = setting->bench;
    double took;

    setting->floor->reset_ours(bench->url);
    if (with)
        bench_fill_streams(bench->url, bench->messages, setting->streams);
    else
        bench_fill(bench->url, bench->messages, 0);
    took = bench_in_parallel(1, setting->threads ? drain_dispatched : drain_exchanging, setting);
    return (double)bench->messages / took;
}

static void compare_streams(const struct bench *bench, const struct bench_floor *floor)
{
    static const struct {
        const char *name;
        int per_stream; /* messages; 0: all in one */
        int batch, threads;
    } cases[] = {
        { "streams of 10, batch 50", 10, 50, 0 },
        { "streams of 10, batch 500", 10, 500, 0 },
        { "one hot stream, batch 50", 0, 50, 0 },
        { "one hot stream, batch 500", 0, 500, 0 },
        { "dispatcher, streams of 10, batch 100", 10, 100, 4 },
        { "dispatcher, one hot stream, batch 500", 0, 500, 4 },
    };

    for (size_t c = 0; c < sizeof(cases) / sizeof(*cases); c++) {
        struct setting setting = { .bench = bench,
                                   .floor = floor,
                                   .streams = 1,
                                   .batch = cases[c].batch,
                                   .threads = cases[c].threads };

        if (cases[c].per_stream)
            setting.streams = bench->messages / cases[c].per_stream;
        bench_compare(bench, cases[c].name, BENCH_RATE, drain_rate, &setting);
    }
}

/* ----------------------------------------------------------------------- idle */

/* Calls per second with nothing to do. */
static double idle_rate(const void *context, bool whole_exchange)
{
    const struct setting *setting = context;
    ph_work_batch_opts opts = PH_WORK_BATCH_OPTS_INIT;
    ph_store *store;
    double begin = 0;
    ph_error err;

    setting->floor->reset_ours(setting->bench->url);
    store = bench_open(setting->bench->url);
    opts.instance_id = ph_owner_new();
    opts.service_name = "bench";
    for (int i = -10; i < IDLE_CALLS; i++) { /* the first ones register, and plan */
        ph_work_batch *work = NULL;
        ph_batch *batch = NULL;

        if (i == 0)
            begin = bench_now();
        if (whole_exchange)
            bench_must(ph_process_work_batch(store, PH_OWN_TX, &opts, 0, &work, &err), &err,
                       "exchange");
        else
            bench_must(ph_outbox_claim(store, PH_OWN_TX, opts.instance_id, NULL, 0, &batch, &err),
                       &err, "claim");
        ph_work_batch_free(work);
        ph_batch_free(batch);
    }
    begin = bench_now() - begin;
    ph_close(store);
    return IDLE_CALLS / begin;
}

/* Processor time in seconds of a process; *ret_parent: whose child it is. 0: it is gone. */
static double process_seconds(int pid, bool with_children, int *ret_parent)
{
    unsigned long user = 0, system = 0;
    long gone_user = 0, gone_system = 0;
    char path[64], line[1024] = "";
    const char *rest;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    file = fopen(path, "r");
    if (!file)
        return 0;
    rest = fgets(line, sizeof(line), file) ? strrchr(line, ')') : NULL;
    fclose(file);
    if (!rest || sscanf(rest + 2, "%*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %ld %ld",
                        ret_parent, &user, &system, &gone_user, &gone_system) != 5)
        return 0;
    if (with_children) {
        user += (unsigned long)gone_user;
        system += (unsigned long)gone_system;
    }
    return (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
}

/* A server with its children, the living and the gone. */
static double server_seconds(int server)
{
    DIR *folder = opendir("/proc");
    int parent = 0;
    double sum = process_seconds(server, true, &parent);

    if (!folder)
        return 0;
    for (struct dirent *entry; (entry = readdir(folder));) {
        int pid = atoi(entry->d_name);
        double seconds = pid > 0 && pid != server ? process_seconds(pid, false, &parent) : 0;

        if (pid > 0 && pid != server && parent == server)
            sum += seconds;
    }
    closedir(folder);
    return sum;
}

static unsigned warm_up_s(const struct bench *bench)
{
    return (unsigned)(bench->seconds < WARM_UP_S ? bench->seconds : WARM_UP_S);
}

/* What the crowd costs the server when all have connected and planned. */
static void watch(const struct setting *setting)
{
    int seconds = setting->bench->seconds;
    double before, share;

    sleep(warm_up_s(setting->bench));
    before = server_seconds(setting->server);
    sleep((unsigned)seconds);
    share = (server_seconds(setting->server) - before) / seconds * 100;
    if (setting->bench->json)
        printf("{\"case\":\"%s\",\"cpu_percent\":%.3f}\n", IDLE_INSTANCES, share);
    else
        printf("%-44s %10.2f %% of a core\n", IDLE_INSTANCES, share);
    fflush(stdout);
}

/* The last one watches the others. */
static void sit(const void *context, int index)
{
    const struct setting *setting = context;
    ph_dispatcher *dispatcher;
    ph_store *store;

    if (index == INSTANCES) {
        watch(setting);
        return;
    }
    store = bench_open(setting->bench->url);
    dispatcher = start(store, setting);
    sleep((unsigned)setting->bench->seconds + 2 * warm_up_s(setting->bench));
    end(dispatcher, store);
}

static void measure_instances(const struct bench *bench, const struct bench_floor *floor)
{
    struct setting setting = { .bench = bench, .floor = floor, .batch = 50, .threads = 4 };

    if (floor != &bench_floor_pg || !bench_wanted(bench, IDLE_INSTANCES))
        return;
    setting.server = floor->server_pid(bench->url);
    if (setting.server == 0) {
        fprintf(stderr, "bench: %s: left out, the server is not on this machine\n", IDLE_INSTANCES);
        return;
    }
    floor->reset_ours(bench->url);
    fflush(stdout);
    bench_in_parallel(INSTANCES + 1, sit, &setting);
}

int main(int argc, char **argv)
{
    struct bench bench = { .messages = 100000, .seconds = 30, .rounds = 3 };
    const struct bench_floor *floor = bench_begin(
        &bench, argc, argv,
        "Measures what streams cost beside plain messages, and what idle workers cost.");
    struct setting setting = { .bench = &bench, .floor = floor };

    compare_streams(&bench, floor);
    bench_compare(&bench, "exchange of both doors with nothing to do", BENCH_RATE, idle_rate,
                  &setting);
    measure_instances(&bench, floor);
    return 0;
}
