/* engine.c - the engine against the floor, run beside each other.
 *
 * Every number is a ratio to something measured in the same run: machines
 * differ and are noisy. Rounds alternate between ours and the floor, and the
 * median counts. */
#include "floor.h"

#include <stdio.h>

/* What both sides do, so many messages in all. */
struct task {
    const struct bench *bench;
    const struct bench_floor *floor;
    int batch, workers;
    long messages;
    bool deleting; /* acked messages are deleted at once */
    bool ours;
};

static void reset(const struct task *task)
{
    const char *url = task->bench->url;

    (task->ours ? task->floor->reset_ours : task->floor->reset)(url);
    if (task->ours && task->deleting)
        bench_delete_on_ack(url);
}

static void fill(const struct task *task)
{
    if (task->ours)
        bench_fill(task->bench->url, task->messages, 0);
    else
        task->floor->fill(task->bench->url, task->messages);
}

/* Messages per second. */
static double rate(const struct task *task, void (*work)(const void *context, int index))
{
    return (double)task->messages / bench_in_parallel(task->workers, work, task);
}

/* -------------------------------------------------------------------- drains */

static void claim_and_ack(const void *context, int index)
{
    const struct task *task = context;

    (void)index;
    if (task->ours)
        bench_drain_ours(task->bench->url, task->batch, 0);
    else
        task->floor->drain(task->bench->url, task->batch, 0);
}

static void exchange(const void *context, int index)
{
    const struct task *task = context;

    (void)index;
    if (task->ours)
        bench_drain_exchanging(task->bench->url, task->batch, NULL, 0);
    else
        task->floor->drain(task->bench->url, task->batch, 0);
}

static double claim_and_ack_rate(const void *context, bool ours)
{
    struct task task = *(const struct task *)context;

    task.ours = ours;
    reset(&task);
    fill(&task);
    return rate(&task, claim_and_ack);
}

static double exchange_rate(const void *context, bool ours)
{
    struct task task = *(const struct task *)context;

    task.ours = ours;
    reset(&task);
    fill(&task);
    return rate(&task, exchange);
}

/* Ours both times: once deleting, once keeping. */
static double deleting_rate(const void *context, bool deleting)
{
    struct task task = *(const struct task *)context;

    task.deleting = deleting;
    return exchange_rate(&task, true);
}

static void compare_claims(const struct task *like)
{
    static const int batches[] = { 500, 100, 10 }, workers[] = { 2, 1, 2 };

    for (int i = 0; i < 3; i++) {
        struct task task = *like;
        char name[64];

        task.batch = batches[i];
        task.workers = workers[i];
        if (task.batch < 100)
            task.messages /= 4;
        snprintf(name, sizeof(name), "claim + ack, batch %d × %d workers", task.batch,
                 task.workers);
        bench_compare(task.bench, name, BENCH_RATE, claim_and_ack_rate, &task);
    }
}

/* The loop of a worker on one connection. */
static void compare_exchanges(const struct task *like)
{
    static const int batches[] = { 1, 10, 100, 500, 1000 }, parts[] = { 50, 10, 2, 1, 1 };

    for (int i = 0; i < 5; i++) {
        struct task task = *like;
        char name[64];

        task.batch = batches[i];
        task.workers = 1;
        task.messages /= parts[i];
        snprintf(name, sizeof(name), "exchange loop, batch %d", task.batch);
        bench_compare(task.bench, name, BENCH_RATE, exchange_rate, &task);
    }
}

/* At the best setting. */
static void compare_drains(const struct task *like)
{
    struct task task = *like;

    task.batch = 500;
    task.workers = like->floor == &bench_floor_pg ? 2 : 1;
    bench_compare(task.bench, "drain, bodies kept", BENCH_RATE, exchange_rate, &task);
    task.deleting = true;
    bench_compare(task.bench, "drain, bodies deleted", BENCH_RATE, exchange_rate, &task);
    bench_compare(task.bench, "drain, bodies deleted against kept", BENCH_RATE, deleting_rate,
                  &task);
}

/* ------------------------------------------------------------------ enqueueing */

static void enqueue(const void *context, int index)
{
    const struct task *task = context;
    long count = task->messages / task->workers;

    (void)index;
    if (task->ours)
        bench_enqueue_ours(task->bench->url, count, task->batch);
    else if (task->batch == 1)
        task->floor->enqueue(task->bench->url, count);
    else
        task->floor->bulk(task->bench->url, count, task->batch);
}

static double enqueue_rate(const void *context, bool ours)
{
    struct task task = *(const struct task *)context;

    task.ours = ours;
    reset(&task);
    return rate(&task, enqueue);
}

static void compare_enqueueing(const struct task *like)
{
    struct task task = *like;
    char name[64];

    task.batch = 1;
    task.messages /= 5;
    task.workers = like->floor == &bench_floor_pg ? 8 : 1;
    task.messages -= task.messages % task.workers;
    snprintf(name, sizeof(name), "enqueue one per transaction × %d", task.workers);
    bench_compare(task.bench, name, BENCH_RATE, enqueue_rate, &task);
    task = *like;
    task.batch = 500;
    task.workers = 1;
    task.messages -= task.messages % task.batch;
    bench_compare(task.bench, "bulk enqueue, 500 per call", BENCH_RATE, enqueue_rate, &task);
}

int main(int argc, char **argv)
{
    struct bench bench = { .messages = 200000, .rounds = 3 };
    const struct bench_floor *floor =
        bench_begin(&bench, argc, argv,
                    "Measures the engine against the floor: bare rows in the same database.");
    struct task task = { .bench = &bench, .floor = floor, .messages = bench.messages };

    compare_claims(&task);
    compare_exchanges(&task);
    compare_drains(&task);
    compare_enqueueing(&task);
    return 0;
}
