/* floor.h - the floor that ours is measured against, per backend. */
#ifndef BENCH_FLOOR_H
#define BENCH_FLOOR_H

#include "bench.h"

/* Of all our tables. */
struct bench_size {
    double mebibytes, dead_rows;
};

struct bench_floor {
    void (*reset_ours)(const char *url);
    void (*reset)(const char *url);
    void (*fill)(const char *url, long count);
    long (*drain)(const char *url, int batch, long most); /* returns how many; most 0: all */
    void (*enqueue)(const char *url, long count);         /* one per transaction */
    void (*bulk)(const char *url, long count, int per_call);
    void *(*old_tx_begin)(const char *url); /* a transaction that holds back vacuum */
    void (*old_tx_end)(void *connection);
    /* So many open joins with a step each that is due in the year 2100, and timers. */
    void (*crowd)(const char *url, long joins, long timers, int64_t due_at);
    struct bench_size (*size)(const char *url);
    int (*server_pid)(const char *url); /* of a server on this machine; 0: there is none */
    /* Another database on the same server, or file in a folder beside: its URL; made new with our
     * schema; removed. */
    void (*beside)(const char *url, int number, char *ret_url, size_t size);
    void (*beside_make)(const char *url, int number);
    void (*beside_remove)(const char *url, int number);
};

#define BENCH_FAR_AWAY INT64_C(4102444800000000) /* the year 2100 */

extern const struct bench_floor bench_floor_pg, bench_floor_sqlite;

#endif
