/* workflow.c - what joins, timers and jobs cost beside plain messages, and what they cost others. */
#include "floor.h"

#include <stdio.h>
#include <stdlib.h>

#define BATCH 500
#define TIMERS_PER_RUN 1000

/* ------------------------------------------------------------------- settling */

/* Messages that are steps of joins with so many steps each; 0: of none. */
static void fill_steps(const struct bench *bench, int steps)
{
    ph_store *store = bench_open(bench->url);
    ph_message *messages = calloc(BATCH, sizeof(*messages));
    ph_join_id *joins = calloc(BATCH, sizeof(*joins));
    ph_message like = PH_MESSAGE_INIT;
    ph_error err;

    if (!messages || !joins)
        bench_die("fill", "out of memory");
    like.topic = "step";
    like.payload = bench_payload();
    for (long done = 0; done < bench->messages; done += BATCH) {
        for (int i = 0; i < BATCH; i++) {
            messages[i] = like;
            if (steps == 0)
                continue;
            if (i % steps == 0)
                bench_must(ph_join_start(store, PH_OWN_TX, steps, NULL, 0, &joins[i / steps], &err),
                           &err, "join");
            messages[i].join_id = &joins[i / steps];
        }
        bench_must(ph_enqueue_many(store, PH_OWN_TX, messages, BATCH, 0, NULL, &err), &err, "fill");
    }
    free(messages);
    free(joins);
    ph_close(store);
}

/* Claims batch after batch; only the acks are timed. */
static double settle_rate(const struct bench *bench, const struct bench_floor *floor, int steps)
{
    ph_claim_opts opts = PH_CLAIM_OPTS_INIT;
    ph_owner owner = ph_owner_new();
    ph_lease_ref refs[BATCH];
    double took = 0;
    long done = 0;
    ph_store *store;
    ph_error err;

    floor->reset_ours(bench->url);
    fill_steps(bench, steps);
    store = bench_open(bench->url);
    opts.batch_size = BATCH;
    for (;;) {
        ph_batch *batch = NULL;
        size_t count;
        double start;

        bench_must(ph_outbox_claim(store, PH_OWN_TX, owner, &opts, 0, &batch, &err), &err, "claim");
        count = ph_batch_count(batch);
        for (size_t i = 0; i < count; i++)
            refs[i] = ph_lease_ref_of(ph_batch_at(batch, i));
        ph_batch_free(batch);
        if (count == 0)
            break;
        start = bench_now();
        bench_must(ph_outbox_ack(store, PH_OWN_TX, owner, refs, count, 0, NULL, &err), &err, "ack");
        took += bench_now() - start;
        done += (long)count;
    }
    ph_close(store);
    return (double)done / took;
}

struct task {
    const struct bench *bench;
    const struct bench_floor *floor;
    int steps; /* of each join */
};

static double settling(const void *context, bool with)
{
    const struct task *task = context;

    return settle_rate(task->bench, task->floor, with ? task->steps : 0);
}

static void compare_settling(const struct bench *bench, const struct bench_floor *floor)
{
    struct task task = { bench, floor, 10 };

    bench_compare(bench, "ack 500 steps of 50 joins", BENCH_RATE, settling, &task);
    task.steps = 500;
    bench_compare(bench, "ack 500 steps of one join", BENCH_RATE, settling, &task);
}

/* --------------------------------------------------------------- a large crowd */

static double drain_rate(const void *context, bool with)
{
    const struct task *task = context;
    const struct bench *bench = task->bench;
    double start;
    long done;

    task->floor->reset_ours(bench->url);
    if (with)
        task->floor->crowd(bench->url, bench->crowd / 10, bench->crowd, BENCH_FAR_AWAY);
    bench_fill(bench->url, bench->messages, 0);
    start = bench_now();
    done = bench_drain_ours(bench->url, 100, bench->messages);
    return (double)done / (bench_now() - start);
}

/* ------------------------------------------------------------------ scheduling */

/* Due timers into messages, by one scheduler. */
static double schedule_rate(const struct bench *bench, const struct bench_floor *floor)
{
    ph_scheduler *scheduler = NULL;
    ph_schedule done = PH_SCHEDULE_INIT;
    ph_store *store;
    long all = 0;
    double start;
    ph_error err;

    floor->reset_ours(bench->url);
    floor->crowd(bench->url, 0, bench->messages, PH_TIMER_MIN);
    store = bench_open(bench->url);
    bench_must(ph_scheduler_new(store, NULL, &scheduler, &err), &err, "scheduler");
    start = bench_now();
    do {
        bench_must(ph_scheduler_run(scheduler, 0, &done, &err), &err, "schedule");
        all += (long)done.timers;
    } while (done.more);
    start = bench_now() - start;
    if (all != bench->messages)
        bench_die("schedule", "not every timer was turned into a message");
    ph_scheduler_free(scheduler);
    ph_close(store);
    return (double)all / start;
}

/* The same number of messages, stored by a producer in calls of the same size. */
static double enqueue_rate(const struct bench *bench, const struct bench_floor *floor)
{
    ph_message *messages = calloc(TIMERS_PER_RUN, sizeof(*messages));
    ph_message like = PH_MESSAGE_INIT;
    ph_store *store;
    ph_error err;
    double start;

    if (!messages)
        bench_die("enqueue", "out of memory");
    floor->reset_ours(bench->url);
    like.topic = "later";
    like.payload = bench_payload();
    for (int i = 0; i < TIMERS_PER_RUN; i++)
        messages[i] = like;
    store = bench_open(bench->url);
    start = bench_now();
    for (long done = 0; done < bench->messages; done += TIMERS_PER_RUN)
        bench_must(ph_enqueue_many(store, PH_OWN_TX, messages, TIMERS_PER_RUN, 0, NULL, &err), &err,
                   "enqueue");
    start = bench_now() - start;
    free(messages);
    ph_close(store);
    return (double)bench->messages / start;
}

static double scheduling(const void *context, bool ours)
{
    const struct task *task = context;

    return (ours ? schedule_rate : enqueue_rate)(task->bench, task->floor);
}

int main(int argc, char **argv)
{
    struct bench bench = { .messages = 50000, .crowd = 1000000, .rounds = 3 };
    struct task task = { .bench = &bench };

    task.floor = bench_begin(&bench, argc, argv,
                             "Measures what joins and timers cost beside plain messages.");
    bench.messages -= bench.messages % TIMERS_PER_RUN; /* whole batches */
    compare_settling(&bench, task.floor);
    bench_compare(&bench, "timers into messages, one scheduler", BENCH_RATE, scheduling, &task);
    bench_compare(&bench, "drain beside open joins and timers", BENCH_RATE, drain_rate, &task);
    return 0;
}
