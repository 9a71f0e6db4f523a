/* beside.c - does what stands beside the messages that are claimed slow the claims down? Ours both
 * times, with and without. */
#include "floor.h"

#define TOPICS 10000

/* What stands beside, and how much of it. */
enum beside { READY, SCHEDULED, OLD_TX };

struct scene {
    const struct bench *bench;
    const struct bench_floor *floor;
    enum beside beside;
};

static double drained_per_s(const struct bench *bench, const char *topic, long count)
{
    double start = bench_now();
    long done = bench_drain_exchanging(bench->url, 100, topic, count);

    if (done < count)
        bench_die("drain", "messages are missing");
    return (double)done / (bench_now() - start);
}

static double rate_beside(const void *context, bool with)
{
    const struct scene *scene = context;
    const struct bench *bench = scene->bench;
    void *old_tx = NULL;
    double rate;

    scene->floor->reset_ours(bench->url);
    if (with && scene->beside == OLD_TX)
        old_tx = scene->floor->old_tx_begin(bench->url);
    if (with && scene->beside == SCHEDULED)
        bench_fill(bench->url, bench->crowd, BENCH_FAR_AWAY);
    bench_fill(bench->url, bench->messages, 0);
    if (with && scene->beside == READY)
        bench_fill(bench->url, bench->crowd, 0);
    rate = drained_per_s(bench, NULL, bench->messages);
    if (old_tx)
        scene->floor->old_tx_end(old_tx);
    return rate;
}

/* Messages of one topic, behind those of others that nobody claims. */
static double rate_behind(const void *context, bool with)
{
    const struct scene *scene = context;
    const struct bench *bench = scene->bench;

    scene->floor->reset_ours(bench->url);
    if (with)
        bench_fill_topics(bench->url, bench->crowd / 10, 10);
    bench_fill(bench->url, bench->messages / 5, 0);
    return drained_per_s(bench, "order.created", bench->messages / 5);
}

static double rate_of_all_topics(const void *context, bool many)
{
    const struct scene *scene = context;
    const struct bench *bench = scene->bench;

    scene->floor->reset_ours(bench->url);
    bench_fill_topics(bench->url, bench->messages, many ? TOPICS : 1);
    return drained_per_s(bench, NULL, bench->messages);
}

int main(int argc, char **argv)
{
    struct bench bench = { .messages = 50000, .crowd = 1000000, .rounds = 3 };
    struct scene scene = { .bench = &bench };

    scene.floor = bench_begin(&bench, argc, argv,
                              "Measures how claims bear what stands beside their messages.");
    scene.beside = READY;
    bench_compare(&bench, "drain with many more ready", BENCH_RATE, rate_beside, &scene);
    scene.beside = SCHEDULED;
    bench_compare(&bench, "drain with many scheduled", BENCH_RATE, rate_beside, &scene);
    scene.beside = OLD_TX;
    bench_compare(&bench, "drain with an old transaction open", BENCH_RATE, rate_beside, &scene);
    bench_compare(&bench, "claim of a topic behind others", BENCH_RATE, rate_behind, &scene);
    bench_compare(&bench, "claim of all topics, 10 000 of them", BENCH_RATE, rate_of_all_topics,
                  &scene);
    return 0;
}
