/* bench.h - what the parts of "posthorn bench" share. */
#ifndef POSTHORN_CLI_BENCH_H
#define POSTHORN_CLI_BENCH_H

#include "cli.h"

#include <stdatomic.h>

#define BENCH_NAMESPACE "posthorn-bench"
#define BENCH_TOPIC "bench"
#define BENCH_LATENCY_RATE 100 /* messages per second */

struct bench {
    struct cli *cli;
    char *payload; /* the same for every message */
    size_t payload_length;
    int batch, concurrency;
    int64_t messages;   /* per phase; 0: as many as fit into its time */
    int64_t seconds_ms; /* for all of it, roughly */
};

/* What a phase has measured. */
struct bench_result {
    const char *phase; /* a stable word */
    int64_t messages, us;
    bool has_latency;
    int64_t p50_us, p99_us, max_us;
};

void bench_message(const struct bench *bench, ph_message *ret_message);

/* Sorts the times and fills in the percentiles of the result. */
void bench_percentiles(int64_t *times_us, int64_t count, struct bench_result *result);

/* ------------------------------------------------------------- bench_load.c */

/* Each returns an exit code, after reporting any error. limit 0: runs until limit_us is over. */
int bench_enqueue(struct bench *bench, const char *phase, int per_call, int64_t limit,
                  int64_t limit_us, struct bench_result *ret_result);
int bench_claim_and_ack(struct bench *bench, int64_t expected, struct bench_result *ret_result);

/* ------------------------------------------------------- bench_dispatcher.c */

int bench_dispatcher(struct bench *bench, int64_t expected, struct bench_result *ret_result);
/* Two results: from the call of enqueue, and from its return, to the start of the handler. */
int bench_latency(struct bench *bench, int64_t count, struct bench_result ret_results[2]);

#endif
