/* bench.h - what the parts of the benchmark share. */
#ifndef BENCH_H
#define BENCH_H

#include <posthorn/posthorn.h>

#include <stdbool.h>

struct bench {
    const char *url;
    long messages; /* how many are drained per run */
    int workers, batch;
    int rounds; /* the median of so many is reported */
    bool json;
    const char *only; /* NULL: all cases */
    bool list;        /* only name the cases, and run none */
};

/* The options that programs share: d(b), m(essages), r(ounds), o(nly), j(son), l(ist). False: it is
 * another. */
bool bench_option(struct bench *bench, int option);
bool bench_is_fit(const struct bench *bench);

#define BENCH_PAYLOAD_SIZE 185 /* bytes: what the design's numbers were measured with */
const char *bench_payload(void);

double bench_now(void); /* seconds, monotonic */

/* Runs work(context, index) in count processes at once; returns the seconds
 * from the start of the first to the end of the last. Exits if one fails. */
double bench_in_parallel(int count, void (*work)(const void *context, int index),
                         const void *context);

#define BENCH_ROUNDS_MAX 15
double bench_median(double *values, int count); /* sorts them */
/* Is this case asked for? Names it if that is all that is wanted. */
bool bench_wanted(const struct bench *bench, const char *name);
/* One line: ours, what stands beside it, and the ratio. */
void bench_report(const struct bench *bench, const char *name, double rate, double base,
                  double aim);

/* Ours. */
ph_store *bench_open(const char *url);
void bench_fill(const char *url, long count, int64_t due_at);
/* So many streams, the messages dealt to them in turn. */
void bench_fill_streams(const char *url, long count, long streams);
long bench_drain_ours(const char *url, int batch, long most); /* returns how many; most 0: all */
/* Settles the last batch and claims the next in one call, like the loop of a worker, until nothing
 * is left. */
void bench_drain_exchanging(const char *url, int batch);
void bench_enqueue_ours(const char *url, long count);

/* Ends the program with the error if r is negative. */
void bench_must(int r, const ph_error *err, const char *what);
void bench_die(const char *what, const char *why) __attribute__((noreturn));

#endif
