/* dispatcher.c - what the dispatcher costs: messages through handlers that do nothing beside the
 * bare loops of claim and ack and of exchanges, the time from commit to handler, and the price of
 * doing nothing. */
#include "floor.h"

#include <errno.h>
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
    int threads;
    int processes; /* that run the loop beside it */
    void (*loop)(const void *context, int index);
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
    bench_drain_exchanging(setting->bench->url, EXCHANGE_BATCH, NULL, 0);
}

/* Each process opens the database, empties the queue with the others and ends. Ours is one process
 * with a dispatcher. */
static double drain_rate(const void *context, bool ours)
{
    const struct setting *setting = context;
    const struct bench *bench = setting->bench;
    double took;

    setting->floor->reset_ours(bench->url);
    bench_fill(bench->url, bench->messages, 0);
    took = bench_in_parallel(ours ? 1 : setting->processes, ours ? drain_dispatched : setting->loop,
                             setting);
    return (double)bench->messages / took;
}

static void throughput(const struct bench *given, const struct bench_floor *floor)
{
    static const int threads[] = { 1, 4 }, batches[] = { 50, 100, 500 };
    char name[80];

    for (size_t i = 0; i < sizeof(threads) / sizeof(*threads) * 3; i++) {
        struct bench bench = *given;
        struct setting setting = { .bench = &bench,
                                   .floor = floor,
                                   .threads = threads[i / 3],
                                   .processes = 1,
                                   .loop = drain_bare };

        bench.batch = batches[i % 3];
        snprintf(name, sizeof(name), "dispatcher, batch %d × %d thread%s", bench.batch,
                 setting.threads, setting.threads > 1 ? "s" : "");
        bench_compare(&bench, name, BENCH_RATE, drain_rate, &setting);
    }
}

/* Can one dispatcher keep up with the best that the calls of the engine are good for? */
static void throughput_beside_two(const struct bench *given, const struct bench_floor *floor)
{
    static const int batches[] = { 100, 500, 1000 };
    char name[80];

    for (size_t i = 0; i < sizeof(batches) / sizeof(*batches); i++) {
        struct bench bench = *given;
        struct setting setting = {
            .bench = &bench, .floor = floor, .threads = 4, .processes = 2, .loop = drain_exchanging
        };

        bench.batch = batches[i];
        snprintf(name, sizeof(name), "one dispatcher, batch %d × 4 threads", bench.batch);
        bench_compare(&bench, name, BENCH_RATE, drain_rate, &setting);
    }
}

/* -------------------------------------------------------------------- latency */

/* Of each message: when ph_enqueue() was called and had returned, and when its handler began. */
struct stamps {
    _Atomic int handled;
    double called[RATE * 3600], committed[RATE * 3600], started[RATE * 3600];
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
        stamps->called[i] = bench_now();
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

/* Milliseconds from one moment to the other. */
struct spans {
    double p50, p99, max;
};

static struct spans spans_of(const double *from, const double *to, int count)
{
    double *ms = calloc((size_t)count, sizeof(*ms));
    struct spans spans;

    if (!ms)
        bench_die("latency", "out of memory");
    for (int i = 0; i < count; i++) {
        ms[i] = (to[i] - from[i]) * 1e3;
        if (ms[i] < 0) /* the handler was quicker than the producer's way back */
            ms[i] = 0;
    }
    qsort(ms, (size_t)count, sizeof(*ms), by_value);
    spans = (struct spans){ ms[count / 2], ms[count * 99 / 100], ms[count - 1] };
    free(ms);
    return spans;
}

static void report_latency(const struct bench *bench, const char *name, const struct stamps *stamps,
                           int count)
{
    struct spans commit = spans_of(stamps->committed, stamps->started, count);
    struct spans call = spans_of(stamps->called, stamps->started, count);

    if (bench->json)
        printf("{\"case\":\"%s\",\"p50_ms\":%.3f,\"p99_ms\":%.3f,\"max_ms\":%.3f,"
               "\"call_p50_ms\":%.3f,\"call_p99_ms\":%.3f}\n",
               name, commit.p50, commit.p99, commit.max, call.p50, call.p99);
    else
        printf("%-44s p50 %.2f ms, p99 %.2f ms, max %.2f ms; with the call p50 %.2f ms, "
               "p99 %.2f ms\n",
               name, commit.p50, commit.p99, commit.max, call.p50, call.p99);
    fflush(stdout);
}

static void latency_of(const struct setting *setting, const char *name)
{
    const struct bench *bench = setting->bench;
    int count = RATE * bench->seconds, status;
    struct stamps *stamps;
    ph_dispatcher *dispatcher;
    ph_store *store;
    pid_t producer;

    if (!bench_wanted(bench, name))
        return;
    stamps = shared_memory(sizeof(*stamps));
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
    report_latency(bench, name, stamps, count);
    munmap(stamps, sizeof(*stamps));
}

static void latency(const struct bench *bench, const struct bench_floor *floor)
{
    struct setting setting = { .bench = bench, .floor = floor, .threads = 4 };

    latency_of(&setting, "commit to handler, 100/s, doorbell");
    setting.at_random = true;
    latency_of(&setting, "commit to handler, 100/s at random, doorbell");
    setting.at_random = false;
    setting.doorbell = PH_DOORBELL_OFF;
    latency_of(&setting, "commit to handler, 100/s, polling only");
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
    sleep_until(bench_now() + bench->seconds);
    share = (cpu_s() - before) / bench->seconds * 100;
    end(dispatcher, store);
    if (bench->json)
        printf("{\"case\":\"%s\",\"cpu_percent\":%.3f}\n", name, share);
    else
        printf("%-44s %.3f %% of a core\n", name, share);
    fflush(stdout);
}

static void idle_of(const struct setting *setting)
{
    if (!bench_wanted(setting->bench, idle_name(setting)))
        return;
    setting->floor->reset_ours(setting->bench->url);
    bench_in_parallel(1, idle_work, setting);
}

static void idle(const struct bench *bench, const struct bench_floor *floor)
{
    struct setting setting = { .bench = bench, .floor = floor, .threads = 4 };

    idle_of(&setting);
    setting.doorbell = PH_DOORBELL_OFF;
    idle_of(&setting);
}

int main(int argc, char **argv)
{
    struct bench bench = { .messages = 50000, .seconds = 10, .batch = 50, .rounds = 3 };
    const struct bench_floor *floor =
        bench_begin(&bench, argc, argv,
                    "Measures the dispatcher against bare loops around the calls of the engine, in "
                    "the same\ndatabase.");

    throughput(&bench, floor);
    throughput_beside_two(&bench, floor);
    latency(&bench, floor);
    idle(&bench, floor);
    return 0;
}
