/* growth.c - what becomes of the rates when things grow: the backlog, payloads, the number of
 * workers, the time that handlers take, and the tables under a load that goes on. */
#include "floor.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BYTES_PER_MESSAGE 2000 /* on average, where payloads are large: fewer messages */
#define BACKLOG_MAX 50000      /* of the mixed load: then producers wait */
#define PER_CALL 100
#define MIXED_WORKERS 2

struct task {
    const struct bench *bench;
    const struct bench_floor *floor;
    int batch, workers;
    long stored, drained;
    bool ours;
};

static void pause_ms(double ms)
{
    struct timespec rest = { (time_t)(ms / 1e3), (long)(ms * 1e6) % 1000000000 };

    nanosleep(&rest, NULL);
}

/* ----------------------------------------------------------------------- drains */

static void drain(const void *context, int index)
{
    const struct task *task = context;
    long most = task->drained < task->stored ? task->drained : 0;

    (void)index;
    if (task->ours)
        bench_drain_exchanging(task->bench->url, task->batch, NULL, most);
    else
        task->floor->drain(task->bench->url, task->batch, most);
}

static double drain_rate(const void *context, bool ours)
{
    struct task task = *(const struct task *)context;
    const char *url = task.bench->url;

    task.ours = ours;
    (ours ? task.floor->reset_ours : task.floor->reset)(url);
    if (ours)
        bench_fill(url, task.stored, 0);
    else
        task.floor->fill(url, task.stored);
    return (double)task.drained / bench_in_parallel(task.workers, drain, &task);
}

/* The front of a queue of which so many are ready. */
static void backlogs(const struct task *like)
{
    static const long sizes[] = { 10000, 100000, 1000000, 5000000 };

    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        long messages = like->bench->messages;
        struct task task = *like;
        char name[64];

        if (i > 0 && sizes[i] > like->bench->crowd)
            break;
        task.stored = sizes[i];
        task.drained = messages < task.stored ? messages : task.stored;
        task.batch = 500;
        snprintf(name, sizeof(name), "backlog of %ld", task.stored);
        bench_compare(task.bench, name, BENCH_RATE, drain_rate, &task);
    }
}

static void payloads(const struct task *like)
{
    static const long kibibytes[] = { 1, 4, 64, 256 };

    for (size_t i = 0; i < sizeof(kibibytes) / sizeof(*kibibytes); i++) {
        long fitting = like->bench->messages * BYTES_PER_MESSAGE / (kibibytes[i] << 10);
        struct task task = *like;
        char name[64];

        if (fitting > like->bench->messages)
            fitting = like->bench->messages;
        task.stored = task.drained = fitting < 10 ? 10 : fitting;
        bench_payload_resize((size_t)kibibytes[i] << 10);
        snprintf(name, sizeof(name), "payload of %ld KiB", kibibytes[i]);
        bench_compare(task.bench, name, BENCH_RATE, drain_rate, &task);
    }
    bench_payload_resize(BENCH_PAYLOAD_SIZE);
}

static void more_workers(const struct task *like)
{
    for (int workers = 1; workers <= 16; workers *= 2) {
        struct task task = *like;
        char name[64];

        task.workers = workers;
        snprintf(name, sizeof(name), "workers: %d", workers);
        bench_compare(task.bench, name, BENCH_RATE, drain_rate, &task);
    }
}

/* --------------------------------------------------------------- slow handlers */

static ph_verdict take_a_millisecond(void *context, ph_work *work)
{
    (void)context;
    (void)work;
    pause_ms(1);
    return PH_VERDICT_DONE;
}

static void dispatch(const void *context, int index)
{
    const struct task *task = context;
    ph_dispatcher_opts opts = PH_DISPATCHER_OPTS_INIT;
    ph_handler handler = PH_HANDLER_INIT;
    ph_dispatcher *dispatcher = NULL;
    ph_store *store = bench_open(task->bench->url);
    ph_error err;

    (void)index;
    opts.threads = task->workers;
    opts.batch_size = task->batch;
    handler.handle = take_a_millisecond;
    bench_must(ph_dispatcher_new(store, &opts, &dispatcher, &err), &err, "dispatcher");
    bench_must(ph_dispatcher_handle(dispatcher, &handler, &err), &err, "handler");
    bench_must(ph_dispatcher_start(dispatcher, &err), &err, "start");
    bench_must(ph_dispatcher_drain(dispatcher, 0, &err), &err, "drain");
    bench_must(ph_dispatcher_stop(dispatcher, 10000, &err), &err, "stop");
    ph_dispatcher_free(dispatcher);
    ph_close(store);
}

/* Beside it: as many threads that do nothing but rest as long. */
static double handler_rate(const void *context, bool ours)
{
    const struct task *task = context;
    double start = bench_now();

    if (!ours) {
        for (int i = 0; i < 100; i++)
            pause_ms(1);
        return 100 * task->workers / (bench_now() - start);
    }
    task->floor->reset_ours(task->bench->url);
    bench_fill(task->bench->url, task->stored, 0);
    return (double)task->stored / bench_in_parallel(1, dispatch, task);
}

static void slow_handlers(const struct task *like)
{
    static const int threads[] = { 1, 4, 16 };

    for (int i = 0; i < 3; i++) {
        struct task task = *like;
        char name[64];

        task.workers = threads[i];
        task.stored = like->bench->messages * threads[i] / 50;
        snprintf(name, sizeof(name), "handlers of 1 ms, threads: %d", threads[i]);
        bench_compare(task.bench, name, BENCH_RATE, handler_rate, &task);
    }
}

/* ------------------------------------------------------------------ mixed load */

/* Shared with the workers. */
struct load {
    const struct bench *bench;
    double end;
    _Atomic long stored, settled;
};

static void produce(struct load *load)
{
    while (bench_now() < load->end) {
        if (load->stored - load->settled > BACKLOG_MAX) {
            pause_ms(1);
            continue;
        }
        bench_enqueue_ours(load->bench->url, 10 * PER_CALL, PER_CALL);
        load->stored += 10 * PER_CALL;
    }
}

static void work(struct load *load)
{
    while (bench_now() < load->end) {
        long done = bench_drain_exchanging(load->bench->url, PER_CALL, NULL, 10 * PER_CALL);

        load->settled += done;
        if (done == 0)
            pause_ms(5);
    }
}

static pid_t start(struct load *load, void (*run)(struct load *load))
{
    pid_t pid = fork();

    if (pid < 0)
        bench_die("fork", strerror(errno));
    if (pid == 0) {
        run(load);
        _exit(0);
    }
    return pid;
}

/* At the end of each quarter. */
struct quarter {
    long settled;
    struct bench_size size;
};

static void watch(struct load *load, const struct bench_floor *floor, struct quarter quarters[4])
{
    double length = load->bench->seconds / 4.0;

    for (int i = 0; i < 4; i++) {
        pause_ms((load->end - (3 - i) * length - bench_now()) * 1e3);
        quarters[i].settled = load->settled;
        quarters[i].size = floor->size(load->bench->url);
    }
}

static void report_mixed(const struct bench *given, const struct quarter quarters[4])
{
    struct bench bench = *given;
    double length = bench.seconds / 4.0;
    double last = (double)(quarters[3].settled - quarters[2].settled) / length;
    double first = (double)quarters[0].settled / length;
    double mib[2] = { quarters[3].size.mebibytes, quarters[0].size.mebibytes };
    double dead[2] = { quarters[3].size.dead_rows, quarters[0].size.dead_rows };

    bench.rounds = 1;
    bench_report(&bench, "mixed load, last quarter against first", BENCH_RATE, &last, &first);
    bench_report(&bench, "mixed load, size of the tables", " MiB", &mib[0], &mib[1]);
    bench_report(&bench, "mixed load, dead rows", " rows", &dead[0], &dead[1]);
}

/* A producer and workers at once; what is settled is deleted. */
static void mixed_load(const struct bench *bench, const struct bench_floor *floor)
{
    struct load *load;
    struct quarter quarters[4];
    pid_t children[1 + MIXED_WORKERS];
    int status;

    if (!bench_wanted(bench, "mixed load"))
        return;
    load = mmap(NULL, sizeof(*load), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (load == MAP_FAILED)
        bench_die("mmap", strerror(errno));
    floor->reset_ours(bench->url);
    bench_delete_on_ack(bench->url);
    *load = (struct load){ .bench = bench, .end = bench_now() + bench->seconds };
    children[0] = start(load, produce);
    for (int i = 0; i < MIXED_WORKERS; i++)
        children[1 + i] = start(load, work);
    watch(load, floor, quarters);
    for (int i = 0; i < 1 + MIXED_WORKERS; i++) {
        if (waitpid(children[i], &status, 0) != children[i] || status != 0)
            bench_die("mixed load", "a process failed");
    }
    report_mixed(bench, quarters);
    munmap(load, sizeof(*load));
}

int main(int argc, char **argv)
{
    struct bench bench = { .messages = 50000, .crowd = 5000000, .seconds = 180, .rounds = 3 };
    struct task task = { .bench = &bench, .batch = 100, .workers = 1 };

    task.floor = bench_begin(&bench, argc, argv, "Measures what growth does to the rates.");
    task.stored = task.drained = bench.messages;
    backlogs(&task);
    payloads(&task);
    more_workers(&task);
    slow_handlers(&task);
    mixed_load(&bench, task.floor);
    return 0;
}
