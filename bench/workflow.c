/* workflow.c - what joins, timers and jobs cost beside plain messages, and what they cost others. */
#include "floor.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static void compare_settling(const struct bench *bench, const struct bench_floor *floor)
{
    static const struct {
        int steps;
        const char *name;
    } cases[] = { { 10, "ack 500 steps of 50 joins" }, { 500, "ack 500 steps of one join" } };

    for (size_t c = 0; c < sizeof(cases) / sizeof(*cases); c++) {
        double with[BENCH_ROUNDS_MAX], without[BENCH_ROUNDS_MAX];

        if (!bench_wanted(bench, cases[c].name))
            continue;
        for (int i = 0; i < bench->rounds; i++) {
            without[i] = settle_rate(bench, floor, 0);
            with[i] = settle_rate(bench, floor, cases[c].steps);
        }
        bench_report(bench, cases[c].name, bench_median(with, bench->rounds),
                     bench_median(without, bench->rounds), 0.5);
    }
}

/* --------------------------------------------------------------- a large crowd */

static double drain_rate(const struct bench *bench, const struct bench_floor *floor, long joins,
                         long timers)
{
    double start;
    long done;

    floor->reset_ours(bench->url);
    if (joins + timers > 0)
        floor->crowd(bench->url, joins, timers, BENCH_FAR_AWAY);
    bench_fill(bench->url, bench->messages, 0);
    start = bench_now();
    done = bench_drain_ours(bench->url, 100, bench->messages);
    return (double)done / (bench_now() - start);
}

static void compare_crowd(const struct bench *bench, const struct bench_floor *floor, long crowd)
{
    const char *name = "drain beside open joins and timers";
    double with[BENCH_ROUNDS_MAX], without[BENCH_ROUNDS_MAX];

    if (!bench_wanted(bench, name))
        return;
    for (int i = 0; i < bench->rounds; i++) {
        without[i] = drain_rate(bench, floor, 0, 0);
        with[i] = drain_rate(bench, floor, crowd / 10, crowd);
    }
    bench_report(bench, name, bench_median(with, bench->rounds),
                 bench_median(without, bench->rounds), 0.8);
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

static void compare_scheduling(const struct bench *bench, const struct bench_floor *floor)
{
    const char *name = "timers into messages, one scheduler";
    double ours[BENCH_ROUNDS_MAX], base[BENCH_ROUNDS_MAX];

    if (!bench_wanted(bench, name))
        return;
    for (int i = 0; i < bench->rounds; i++) {
        base[i] = enqueue_rate(bench, floor);
        ours[i] = schedule_rate(bench, floor);
    }
    bench_report(bench, name, bench_median(ours, bench->rounds), bench_median(base, bench->rounds),
                 0.3);
}

static void usage(void)
{
    puts("usage: bench_workflow --db URL [--messages N] [--crowd N] [--rounds N] [--only TEXT] "
         "[--json]\n"
         "\n"
         "Measures what joins and timers cost beside plain messages.\n"
         "  --db URL       sqlite:FILE or postgresql://… (the schema posthorn_bench is dropped!)\n"
         "  --messages N   per run (default 50000)\n"
         "  --crowd N      so many timers, and a tenth of it open joins, stand beside (default "
         "1000000)\n"
         "  --rounds N     the median of so many counts (default 3, at most 15)\n"
         "  --only TEXT    only the cases whose name holds TEXT\n"
         "  --json         one line of JSON per case");
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        { "db", 1, NULL, 'd' },     { "messages", 1, NULL, 'm' }, { "crowd", 1, NULL, 'c' },
        { "rounds", 1, NULL, 'r' }, { "only", 1, NULL, 'o' },     { "json", 0, NULL, 'j' },
        { "help", 0, NULL, 'h' },   { NULL, 0, NULL, 0 },
    };
    struct bench bench = { NULL, 50000, 1, 100, 3, false, NULL, false };
    const struct bench_floor *floor;
    long crowd = 1000000;
    int option;

    while ((option = getopt_long(argc, argv, "h", options, NULL)) != -1) {
        if (option == 'c') {
            crowd = atol(optarg);
        } else if (option == 'h') {
            usage();
            return 0;
        } else if (!bench_option(&bench, option)) {
            usage();
            return 2;
        }
    }
    if (!bench_is_fit(&bench) || crowd < 0) {
        usage();
        return 2;
    }
    bench.messages -= bench.messages % TIMERS_PER_RUN; /* whole batches */
    floor = strncmp(bench.url, "sqlite:", 7) == 0 ? &bench_floor_sqlite : &bench_floor_pg;
    if (!bench.json)
        printf("%-44s %11s  %11s  %5s\n", "case", "ours", "beside it", "ratio");
    compare_settling(&bench, floor);
    compare_scheduling(&bench, floor);
    compare_crowd(&bench, floor, crowd);
    return 0;
}
