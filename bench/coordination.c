/* coordination.c - what ordered streams cost beside plain messages, what an exchange with nothing to
 * do costs, and what a crowd of idle instances costs the server. */
#include "floor.h"

#include <dirent.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define IDLE_CALLS 2000
#define INSTANCES 20
#define IDLE_INSTANCES "20 idle instances: share of a core in the server"
#define WARM_UP_S 5

struct setting {
    const struct bench *bench;
    int batch, threads, seconds;
    int server; /* its process id */
};

/* -------------------------------------------------------------------- streams */

static void drain_exchanging(const void *context, int index)
{
    const struct setting *setting = context;

    (void)index;
    bench_drain_exchanging(setting->bench->url, setting->batch);
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

static double drain_rate(const struct setting *setting, const struct bench_floor *floor,
                         long streams)
{
    const struct bench *bench = setting->bench;
    double took;

    floor->reset_ours(bench->url);
    if (streams > 0)
        bench_fill_streams(bench->url, bench->messages, streams);
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
        struct setting setting = { bench, cases[c].batch, cases[c].threads, 0, 0 };
        long streams = cases[c].per_stream ? bench->messages / cases[c].per_stream : 1;
        double with[BENCH_ROUNDS_MAX], without[BENCH_ROUNDS_MAX];

        if (!bench_wanted(bench, cases[c].name))
            continue;
        for (int i = 0; i < bench->rounds; i++) {
            without[i] = drain_rate(&setting, floor, 0);
            with[i] = drain_rate(&setting, floor, streams);
        }
        bench_report(bench, cases[c].name, bench_median(with, bench->rounds),
                     bench_median(without, bench->rounds), cases[c].per_stream ? 0.5 : 0);
    }
}

/* ----------------------------------------------------------------------- idle */

/* Calls per second with nothing to do. */
static double idle_rate(const struct bench *bench, bool whole_exchange)
{
    ph_work_batch_opts opts = PH_WORK_BATCH_OPTS_INIT;
    ph_store *store = bench_open(bench->url);
    double begin = 0;
    ph_error err;

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

static void compare_idle_calls(const struct bench *bench, const struct bench_floor *floor)
{
    const char *name = "exchange of both doors with nothing to do";
    double ours[BENCH_ROUNDS_MAX], base[BENCH_ROUNDS_MAX];

    if (!bench_wanted(bench, name))
        return;
    floor->reset_ours(bench->url);
    for (int i = 0; i < bench->rounds; i++) {
        base[i] = idle_rate(bench, false);
        ours[i] = idle_rate(bench, true);
    }
    bench_report(bench, name, bench_median(ours, bench->rounds), bench_median(base, bench->rounds),
                 0.4);
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

/* What the crowd costs the server when all have connected and planned. */
static void watch(const struct setting *setting)
{
    double before, share;

    sleep(WARM_UP_S);
    before = server_seconds(setting->server);
    sleep((unsigned)setting->seconds);
    share = (server_seconds(setting->server) - before) / setting->seconds;
    if (setting->bench->json)
        printf("{\"case\":\"%s\",\"share\":%.4f,\"aim\":0.02}\n", IDLE_INSTANCES, share);
    else
        printf("%-44s %10.2f %%  (aim 2 %%)\n", IDLE_INSTANCES, share * 100);
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
    sleep((unsigned)setting->seconds + 2 * WARM_UP_S);
    end(dispatcher, store);
}

static void measure_instances(const struct bench *bench, const struct bench_floor *floor,
                              int seconds)
{
    struct setting setting = { bench, 50, 4, seconds, floor->server_pid(bench->url) };

    if (!bench_wanted(bench, IDLE_INSTANCES) || setting.server == 0)
        return;
    floor->reset_ours(bench->url);
    fflush(stdout);
    bench_in_parallel(INSTANCES + 1, sit, &setting);
}

static void usage(void)
{
    puts("usage: bench_coordination --db URL [--messages N] [--seconds N] [--rounds N] "
         "[--only TEXT] [--json]\n"
         "\n"
         "Measures what streams cost beside plain messages, and what idle workers cost.\n"
         "  --db URL       sqlite:FILE or postgresql://… (the schema posthorn_bench is dropped!)\n"
         "  --messages N   per run (default 100000)\n"
         "  --seconds N    how long the idle instances are watched (default 30)\n"
         "  --rounds N     the median of so many counts (default 3, at most 15)\n"
         "  --only TEXT    only the cases whose name holds TEXT\n"
         "  --json         one line of JSON per case");
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        { "db", 1, NULL, 'd' },     { "messages", 1, NULL, 'm' }, { "seconds", 1, NULL, 's' },
        { "rounds", 1, NULL, 'r' }, { "only", 1, NULL, 'o' },     { "json", 0, NULL, 'j' },
        { "help", 0, NULL, 'h' },   { NULL, 0, NULL, 0 },
    };
    struct bench bench = { NULL, 100000, 1, 100, 3, false, NULL, false };
    const struct bench_floor *floor;
    int option, seconds = 30;

    while ((option = getopt_long(argc, argv, "h", options, NULL)) != -1) {
        if (option == 's') {
            seconds = atoi(optarg);
        } else if (option == 'h') {
            usage();
            return 0;
        } else if (!bench_option(&bench, option)) {
            usage();
            return 2;
        }
    }
    if (!bench_is_fit(&bench) || seconds < 1) {
        usage();
        return 2;
    }
    floor = strncmp(bench.url, "sqlite:", 7) == 0 ? &bench_floor_sqlite : &bench_floor_pg;
    if (!bench.json)
        printf("%-44s %11s  %11s  %5s\n", "case", "ours", "beside it", "ratio");
    compare_streams(&bench, floor);
    compare_idle_calls(&bench, floor);
    measure_instances(&bench, floor, seconds);
    return 0;
}
