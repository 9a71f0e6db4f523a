/* dispatcher.c - what the dispatcher costs: messages through handlers that do nothing beside the
 * bare loops of claim and ack and of exchanges, the time from commit to handler, and the price of
 * doing nothing. */
#include "floor.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define RATE 100           /* messages per second when latency is measured */
#define EXCHANGE_BATCH 500 /* of the loop that settles and claims in one call */

struct setting {
    const struct bench *bench;
    const struct bench_floor *floor;
    int threads, seconds;
    ph_doorbell doorbell;
    bool at_random; /* the times of messages */
};

static void *shared_memory(size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED)
        bench_die("mmap", strerror(errno));
    return memory;
}

static ph_dispatcher *start(ph_store *store, const struct setting *setting, ph_handler_fn function,
                            void *context)
{
    ph_dispatcher_opts opts = PH_DISPATCHER_OPTS_INIT;
    ph_handler handler = PH_HANDLER_INIT;
    ph_dispatcher *dispatcher = NULL;
    ph_error err;

    opts.threads = setting->threads;
    opts.batch_size = setting->bench->batch;
    opts.doorbell = setting->doorbell;
    handler.handle = function;
    handler.context = context;
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

/* ----------------------------------------------------------------- throughput */

static ph_verdict nothing(void *context, ph_work *work)
{
    (void)context;
    (void)work;
    return PH_VERDICT_DONE;
}

static void drain_dispatched(const void *context, int index)
{
    const struct setting *setting = context;
    ph_store *store = bench_open(setting->bench->url);
    ph_dispatcher *dispatcher = start(store, setting, nothing, NULL);
    ph_error err;

    (void)index;
    bench_must(ph_dispatcher_drain(dispatcher, 0, &err), &err, "drain");
    end(dispatcher, store);
}

static void drain_bare(const void *context, int index)
{
    const struct setting *setting = context;

    (void)index;
    bench_drain_ours(setting->bench->url, setting->bench->batch, 0);
}

static void drain_exchanging(const void *context, int index)
{
    const struct setting *setting = context;

    (void)index;
    bench_drain_exchanging(setting->bench->url, EXCHANGE_BATCH);
}

/* Each process opens the database, empties the queue with the others and ends. */
static double drain_rate(const struct setting *setting, int processes,
                         void (*work)(const void *context, int index))
{
    const struct bench *bench = setting->bench;
    double took;

    setting->floor->reset_ours(bench->url);
    bench_fill(bench->url, bench->messages, 0);
    took = bench_in_parallel(processes, work, setting);
    return (double)bench->messages / took;
}

/* One process with a dispatcher beside so many that run the bare loop. */
static void compare(const struct setting *setting, const char *name, int processes,
                    void (*loop)(const void *context, int index))
{
    const struct bench *bench = setting->bench;
    double ours[BENCH_ROUNDS_MAX], base[BENCH_ROUNDS_MAX];

    if (!bench_wanted(bench, name))
        return;
    for (int i = 0; i < bench->rounds; i++) {
        base[i] = drain_rate(setting, processes, loop);
        ours[i] = drain_rate(setting, 1, drain_dispatched);
    }
    bench_report(bench, name, bench_median(ours, bench->rounds), bench_median(base, bench->rounds),
                 0.8);
}

static void throughput(const struct bench *given, const struct bench_floor *floor)
{
    static const int threads[] = { 1, 4 }, batches[] = { 50, 100, 500 };
    char name[80];

    for (size_t i = 0; i < sizeof(threads) / sizeof(*threads) * 3; i++) {
        struct bench bench = *given;
        struct setting setting = { &bench, floor, threads[i / 3], 0, PH_DOORBELL_AUTO, false };

        bench.batch = batches[i % 3];
        snprintf(name, sizeof(name), "dispatcher, batch %d × %d thread%s", bench.batch,
                 setting.threads, setting.threads > 1 ? "s" : "");
        compare(&setting, name, 1, drain_bare);
    }
}

/* Can one dispatcher keep up with the best that the calls of the engine are good for? */
static void throughput_beside_two(const struct bench *given, const struct bench_floor *floor)
{
    static const int batches[] = { 100, 500, 1000 };
    char name[80];

    for (size_t i = 0; i < sizeof(batches) / sizeof(*batches); i++) {
        struct bench bench = *given;
        struct setting setting = { &bench, floor, 4, 0, PH_DOORBELL_AUTO, false };

        bench.batch = batches[i];
        snprintf(name, sizeof(name), "one dispatcher, batch %d × 4 threads", bench.batch);
        compare(&setting, name, 2, drain_exchanging);
    }
}

/* -------------------------------------------------------------------- latency */

/* Of each message: when ph_enqueue() had returned, and when its handler began. */
struct stamps {
    _Atomic int handled;
    double committed[RATE * 3600], started[RATE * 3600];
};

static ph_verdict stamp(void *context, ph_work *work)
{
    struct stamps *stamps = context;

    stamps->started[atoi(ph_work_delivery(work)->payload)] = bench_now();
    stamps->handled++;
    return PH_VERDICT_DONE;
}

static void sleep_until(double when)
{
    double left = when - bench_now();
    struct timespec rest = { (time_t)left, (long)((left - (double)(time_t)left) * 1e9) };

    if (left > 0)
        nanosleep(&rest, NULL);
}

/* When the next message comes: evenly, or as if from many who know nothing of each other, where some
 * come while others are being settled. */
static double next_at(double last, bool at_random)
{
    return last + (at_random ? -log(1 - drand48()) : 1.0) / RATE;
}

static void produce(const struct setting *setting, int count, struct stamps *stamps)
{
    ph_store *store = bench_open(setting->bench->url);
    ph_message message = PH_MESSAGE_INIT;
    double at = bench_now();
    char payload[BENCH_PAYLOAD_SIZE + 1];
    ph_error err;

    message.topic = "order.created";
    message.payload = payload;
    for (int i = 0; i < count; i++) {
        snprintf(payload, sizeof(payload), "%-*d", BENCH_PAYLOAD_SIZE, i);
        sleep_until(at);
        at = next_at(at, setting->at_random);
        bench_must(ph_enqueue(store, PH_OWN_TX, &message, 0, NULL, &err), &err, "enqueue");
        stamps->committed[i] = bench_now();
    }
    ph_close(store);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void report_latency(const struct bench *bench, const char *name, struct stamps *stamps,
                           int count, double aim_ms)
{
    double *ms = calloc((size_t)count, sizeof(*ms));
    double p50, p99, max;

    if (!ms)
        bench_die("latency", "out of memory");
    for (int i = 0; i < count; i++) {
        ms[i] = (stamps->started[i] - stamps->committed[i]) * 1e3;
        if (ms[i] < 0) /* the handler was quicker than the producer's way back */
            ms[i] = 0;
    }
    qsort(ms, (size_t)count, sizeof(*ms), by_value);
    p50 = ms[count / 2];
    p99 = ms[count * 99 / 100];
    max = ms[count - 1];
    free(ms);
    if (bench->json)
        printf("{\"case\":\"%s\",\"p50_ms\":%.3f,\"p99_ms\":%.3f,\"max_ms\":%.3f,"
               "\"aim_p99_ms\":%.1f}\n",
               name, p50, p99, max, aim_ms);
    else
        printf("%-44s p50 %6.2f ms  p99 %6.2f ms  max %6.2f ms%s\n", name, p50, p99, max,
               aim_ms > 0 ? "  (aim p99 < 5)" : "");
    fflush(stdout);
}

static void latency_of(const struct setting *setting, const char *name, double aim_ms)
{
    const struct bench *bench = setting->bench;
    int count = RATE * setting->seconds, status;
    struct stamps *stamps = shared_memory(sizeof(*stamps));
    ph_dispatcher *dispatcher;
    ph_store *store;
    pid_t producer;

    if (!bench_wanted(bench, name))
        return;
    setting->floor->reset_ours(bench->url);
    producer = fork(); /* before anything is open here */
    if (producer < 0)
        bench_die("fork", strerror(errno));
    if (producer == 0) {
        sleep_until(bench_now() + 1); /* until the dispatcher has settled down */
        produce(setting, count, stamps);
        _exit(0);
    }
    store = bench_open(bench->url);
    dispatcher = start(store, setting, stamp, stamps);
    if (waitpid(producer, &status, 0) != producer || status != 0)
        bench_die("producer", "failed");
    while (stamps->handled < count)
        sleep_until(bench_now() + 0.01);
    end(dispatcher, store);
    report_latency(bench, name, stamps, count, aim_ms);
    munmap(stamps, sizeof(*stamps));
}

static void latency(const struct bench *bench, const struct bench_floor *floor, int seconds)
{
    struct setting setting = { bench, floor, 4, seconds, PH_DOORBELL_AUTO, false };

    latency_of(&setting, "commit to handler, 100/s, doorbell", 5);
    setting.at_random = true;
    latency_of(&setting, "commit to handler, 100/s at random, doorbell", 5);
    setting.at_random = false;
    setting.doorbell = PH_DOORBELL_OFF;
    latency_of(&setting, "commit to handler, 100/s, polling only", 0);
}

/* ----------------------------------------------------------------------- idle */

static double cpu_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static const char *idle_name(const struct setting *setting)
{
    return setting->doorbell == PH_DOORBELL_OFF ? "idle, polling only" : "idle, doorbell";
}

/* In a process of its own, so that nothing else of ours is counted. */
static void idle_work(const void *context, int index)
{
    const struct setting *setting = context;
    const struct bench *bench = setting->bench;
    const char *name = idle_name(setting);
    ph_store *store = bench_open(bench->url);
    ph_dispatcher *dispatcher = start(store, setting, nothing, NULL);
    double before, share;

    (void)index;
    sleep_until(bench_now() + 2); /* until the pauses between looks have grown */
    before = cpu_s();
    sleep_until(bench_now() + setting->seconds);
    share = (cpu_s() - before) / setting->seconds * 100;
    end(dispatcher, store);
    if (bench->json)
        printf("{\"case\":\"%s\",\"cpu_percent\":%.3f,\"aim_percent\":0.5}\n", name, share);
    else
        printf("%-44s %.3f %% of a core  (aim < 0.5)\n", name, share);
    fflush(stdout);
}

static void idle_of(const struct setting *setting)
{
    if (!bench_wanted(setting->bench, idle_name(setting)))
        return;
    setting->floor->reset_ours(setting->bench->url);
    bench_in_parallel(1, idle_work, setting);
}

static void idle(const struct bench *bench, const struct bench_floor *floor, int seconds)
{
    struct setting setting = { bench, floor, 4, seconds, PH_DOORBELL_AUTO, false };

    idle_of(&setting);
    setting.doorbell = PH_DOORBELL_OFF;
    idle_of(&setting);
}

static void usage(void)
{
    puts("usage: bench_dispatcher --db URL [--messages N] [--seconds N] [--rounds N] [--only TEXT] "
         "[--json]\n"
         "       bench_dispatcher --list\n"
         "\n"
         "Measures the dispatcher against bare loops around the calls of the engine, in the same\n"
         "database.\n"
         "  --db URL       sqlite:FILE or postgresql://… (the schema posthorn_bench is dropped!)\n"
         "  --messages N   per run (default 50000)\n"
         "  --seconds N    for latency and idle (default 10, at most 3600)\n"
         "  --rounds N     the median of so many counts (default 3, at most 15)\n"
         "  --only TEXT    only the cases whose name holds TEXT\n"
         "  --json         one line of JSON per case\n"
         "  --list         only name the cases; needs no database");
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        { "db", 1, NULL, 'd' },     { "messages", 1, NULL, 'm' }, { "seconds", 1, NULL, 's' },
        { "rounds", 1, NULL, 'r' }, { "only", 1, NULL, 'o' },     { "json", 0, NULL, 'j' },
        { "list", 0, NULL, 'l' },   { "help", 0, NULL, 'h' },     { NULL, 0, NULL, 0 },
    };
    struct bench bench = { NULL, 50000, 1, 50, 3, false, NULL, false };
    const struct bench_floor *floor;
    int option, seconds = 10;

    while ((option = getopt_long(argc, argv, "h", options, NULL)) != -1) {
        switch (option) {
        case 's':
            seconds = atoi(optarg);
            break;
        case 'h':
            usage();
            return 0;
        default:
            if (bench_option(&bench, option))
                break;
            usage();
            return 2;
        }
    }
    if (!bench_is_fit(&bench) || seconds < 1 || seconds > 3600) {
        usage();
        return 2;
    }
    floor =
        bench.url && strncmp(bench.url, "sqlite:", 7) == 0 ? &bench_floor_sqlite : &bench_floor_pg;
    if (!bench.json && !bench.list)
        printf("%-44s %11s  %11s  %5s\n", "case", "dispatcher", "bare loop", "ratio");
    throughput(&bench, floor);
    throughput_beside_two(&bench, floor);
    latency(&bench, floor, seconds);
    idle(&bench, floor, seconds);
    return 0;
}
