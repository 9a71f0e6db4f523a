/* engine.c - the engine against the floor, run beside each other.
 *
 * Every number is a ratio to something measured in the same run: machines
 * differ and are noisy. Rounds alternate between ours and the floor, and the
 * median counts. */
#include "floor.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------- measures */

struct side {
    const struct bench *bench;
    const struct bench_floor *floor;
    bool ours;
};

static void drain_work(const void *context, int index)
{
    const struct side *side = context;

    (void)index;
    if (side->ours)
        bench_drain_ours(side->bench->url, side->bench->batch, 0);
    else
        side->floor->drain(side->bench->url, side->bench->batch);
}

static double drain_rate(const struct bench *bench, const struct bench_floor *floor, bool ours)
{
    struct side side = { bench, floor, ours };

    if (ours) {
        floor->reset_ours(bench->url);
        bench_fill(bench->url, bench->messages, 0);
    } else {
        floor->reset(bench->url);
        floor->fill(bench->url, bench->messages);
    }
    return (double)bench->messages / bench_in_parallel(bench->workers, drain_work, &side);
}

static void enqueue_work(const void *context, int index)
{
    const struct side *side = context;
    long count = side->bench->messages / side->bench->workers;

    (void)index;
    if (side->ours)
        bench_enqueue_ours(side->bench->url, count);
    else
        side->floor->enqueue(side->bench->url, count);
}

static double enqueue_rate(const struct bench *bench, const struct bench_floor *floor, bool ours)
{
    struct side side = { bench, floor, ours };

    if (ours)
        floor->reset_ours(bench->url);
    else
        floor->reset(bench->url);
    return (double)bench->messages / bench_in_parallel(bench->workers, enqueue_work, &side);
}

/* Drains bench->messages beside something that must not slow it down. */
enum beside { NOTHING, READY, SCHEDULED, OLD_TX };

static double drain_beside(const struct bench *bench, const struct bench_floor *floor,
                           enum beside beside, long how_many)
{
    void *old_tx = NULL;
    double start, took;
    long done;

    floor->reset_ours(bench->url);
    if (beside == OLD_TX)
        old_tx = floor->old_tx_begin(bench->url);
    if (beside == SCHEDULED)
        bench_fill(bench->url, how_many, BENCH_FAR_AWAY);
    bench_fill(bench->url, bench->messages, 0);
    if (beside == READY)
        bench_fill(bench->url, how_many, 0);
    start = bench_now();
    done = bench_drain_ours(bench->url, bench->batch, bench->messages);
    took = bench_now() - start;
    if (old_tx)
        floor->old_tx_end(old_tx);
    return (double)done / took;
}

/* ---------------------------------------------------------------------- report */

typedef double (*measure)(const struct bench *bench, const struct bench_floor *floor, bool ours);

static void compare(const struct bench *bench, const struct bench_floor *floor, const char *name,
                    measure rate, double aim)
{
    double ours[BENCH_ROUNDS_MAX], base[BENCH_ROUNDS_MAX];

    if (!bench_wanted(bench, name))
        return;
    for (int i = 0; i < bench->rounds; i++) {
        base[i] = rate(bench, floor, false);
        ours[i] = rate(bench, floor, true);
    }
    bench_report(bench, name, bench_median(ours, bench->rounds), bench_median(base, bench->rounds),
                 aim);
}

static void compare_beside(const struct bench *bench, const struct bench_floor *floor, long crowd)
{
    static const struct {
        enum beside beside;
        const char *name;
    } cases[] = { { READY, "drain with many more ready" },
                  { SCHEDULED, "drain with many scheduled" },
                  { OLD_TX, "drain with an old transaction open" } };

    for (size_t c = 0; c < sizeof(cases) / sizeof(*cases); c++) {
        double with[BENCH_ROUNDS_MAX], without[BENCH_ROUNDS_MAX];

        if (!bench_wanted(bench, cases[c].name))
            continue;
        for (int i = 0; i < bench->rounds; i++) {
            without[i] = drain_beside(bench, floor, NOTHING, 0);
            with[i] = drain_beside(bench, floor, cases[c].beside, crowd);
        }
        bench_report(bench, cases[c].name, bench_median(with, bench->rounds),
                     bench_median(without, bench->rounds), 0.75);
    }
}

static void run_all(const struct bench *given, const struct bench_floor *floor, long crowd)
{
    struct bench bench = *given;
    char name[64];

    if (!bench.json)
        printf("%-44s %11s  %11s  %5s\n", "case", "ours", "beside it", "ratio");
    for (size_t i = 0; i < 3; i++) {
        static const struct {
            int batch, workers;
            double aim;
        } drains[] = { { 500, 2, 0.4 }, { 100, 1, 0.4 }, { 10, 2, 0.3 } };

        bench = *given;
        bench.batch = drains[i].batch;
        bench.workers = drains[i].workers;
        if (bench.batch < 100)
            bench.messages = given->messages / 4;
        snprintf(name, sizeof(name), "claim + ack, batch %d × %d workers", bench.batch,
                 bench.workers);
        compare(&bench, floor, name, drain_rate, drains[i].aim);
    }
    bench = *given;
    bench.workers = floor == &bench_floor_pg ? 8 : 1;
    bench.messages = given->messages / 5;
    snprintf(name, sizeof(name), "enqueue one per transaction × %d", bench.workers);
    compare(&bench, floor, name, enqueue_rate, 0.85);
    bench = *given;
    bench.batch = 100;
    compare_beside(&bench, floor, crowd);
}

static void usage(void)
{
    puts("usage: bench_engine --db URL [--messages N] [--crowd N] [--rounds N] [--only TEXT] "
         "[--json]\n"
         "\n"
         "Measures the engine against the floor: bare rows in the same database.\n"
         "  --db URL       sqlite:FILE or postgresql://… (the schema posthorn_bench is dropped!)\n"
         "  --messages N   per run (default 200000)\n"
         "  --crowd N      how many more ready or scheduled messages stand beside (default "
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
    struct bench bench = { NULL, 200000, 1, 100, 3, false, NULL, false };
    long crowd = 1000000;
    int option;

    while ((option = getopt_long(argc, argv, "h", options, NULL)) != -1) {
        switch (option) {
        case 'c':
            crowd = atol(optarg);
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
    if (!bench_is_fit(&bench) || crowd < 0) {
        usage();
        return 2;
    }
    run_all(&bench, strncmp(bench.url, "sqlite:", 7) == 0 ? &bench_floor_sqlite : &bench_floor_pg,
            crowd);
    return 0;
}
