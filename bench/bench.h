/* bench.h - what the parts of the benchmark share. */
#ifndef BENCH_H
#define BENCH_H

#include <posthorn/posthorn.h>

#include <stdbool.h>

#define BENCH_SERVERS_MAX 8

/* What a program was asked for; its defaults stand here before the options are read. */
struct bench {
    const char *url;
    long messages; /* how many are drained per run */
    long crowd;    /* how many more stand beside */
    int seconds;   /* of what is watched for a time */
    int workers, batch;
    int rounds; /* the median of so many is reported */
    bool json;
    bool list;                              /* only name the cases, and run none */
    const char *only;                       /* part of a name; NULL: all cases */
    const char *exactly;                    /* a whole name; NULL: all cases */
    const char *servers[BENCH_SERVERS_MAX]; /* other servers, a database in each */
    int server_count;
};

#define BENCH_ROUNDS_MAX 15

struct bench_floor;
/* Reads the options, or ends the program: with its help, or because they are wrong. Returns the
 * floor of the URL's backend. */
const struct bench_floor *bench_begin(struct bench *bench, int argc, char **argv,
                                      const char *about);

#define BENCH_PAYLOAD_SIZE 185 /* bytes: what the design's numbers were measured with */
const char *bench_payload(void);
void bench_payload_resize(size_t size);

double bench_now(void); /* seconds, monotonic */

/* Runs work(context, index) in count processes at once; returns the seconds
 * from the start of the first to the end of the last. Exits if one fails. */
double bench_in_parallel(int count, void (*work)(const void *context, int index),
                         const void *context);

double bench_median(double *values, int count); /* sorts them */
/* Is this case asked for? Names it if that is all that is wanted. */
bool bench_wanted(const struct bench *bench, const char *name);
/* Prints one line: the medians and the spread of what was measured in bench->rounds rounds, ours and
 * beside it, and the ratio of the medians. Sorts them. */
void bench_report(const struct bench *bench, const char *name, const char *unit, double *ours,
                  double *base);

#define BENCH_RATE "/s"
/* One case: measures ours and what stands beside it in turns, and reports. */
void bench_compare(const struct bench *bench, const char *name, const char *unit,
                   double (*measure)(const void *context, bool ours), const void *context);

/* Ours. */
ph_store *bench_open(const char *url);
void bench_fill(const char *url, long count, int64_t due_at);
/* So many streams, the messages dealt to them in turn. */
void bench_fill_streams(const char *url, long count, long streams);
/* So many topics, "topic/0" and so on, the messages dealt to them in turn. */
void bench_fill_topics(const char *url, long count, long topics);
/* From now on messages are deleted when they are acked. */
void bench_delete_on_ack(const char *url);
long bench_drain_ours(const char *url, int batch, long most); /* returns how many; most 0: all */
/* Settles the last batch and claims the next in one call, like the loop of a worker, until nothing
 * is left, or so many are settled (0: all). topic NULL: of all topics. Returns how many. */
long bench_drain_exchanging(const char *url, int batch, const char *topic, long most);
void bench_enqueue_ours(const char *url, long count, int per_call);

/* Ends the program with the error if r is negative. */
void bench_must(int r, const ph_error *err, const char *what);
void bench_die(const char *what, const char *why) __attribute__((noreturn));

#endif
