/* floor.h - the floor that ours is measured against, per backend. */
#ifndef BENCH_FLOOR_H
#define BENCH_FLOOR_H

#include "bench.h"

struct bench_floor {
    void (*reset_ours)(const char *url);
    void (*reset)(const char *url);
    void (*fill)(const char *url, long count);
    long (*drain)(const char *url, int batch);
    void (*enqueue)(const char *url, long count);
    void *(*old_tx_begin)(const char *url); /* a transaction that holds back vacuum */
    void (*old_tx_end)(void *connection);
};

extern const struct bench_floor bench_floor_pg, bench_floor_sqlite;

#endif
