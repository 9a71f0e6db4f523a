/* fleet.h - instances that come and go, producers, and the log that handlers write: what is
 * promised about streams is checked from that log alone, and from what producers have committed. */
#ifndef STREAMS_FLEET_H
#define STREAMS_FLEET_H

#include "common.h"

#include <stdatomic.h>
#include <sys/types.h>

#define PRODUCERS 3
#define STREAMS_MAX 2001 /* number 0: no stream */
#define NUMBERS_MAX 8192 /* of one producer, in one stream */
#define INSTANCES_MAX 50

#define STEP "step"
#define STEP_IN_TX "step.tx" /* its handler runs in a transaction */

/* How a run is to be. */
struct plan {
    int streams;
    int messages;    /* of each producer */
    int duration_ms; /* over which the producers spread them */
    int instances;   /* at most so many at once */
    int lease_s;
    bool kills; /* instances come and go, and some are killed; otherwise all of them stay */
    bool in_transactions; /* some messages have a handler with a transaction */
};

/* What the processes share. */
struct fleet {
    struct plan plan;
    char log[300];            /* the path of the handlers' log */
    atomic_int made, settled; /* messages that were committed; that handlers have done or failed */
    atomic_int in_stream[PRODUCERS][STREAMS_MAX];            /* how many of each are committed */
    atomic_uchar ended[PRODUCERS][STREAMS_MAX][NUMBERS_MAX]; /* counted in settled */
};

/* What a handler did, or what became of a process. A power of two in size: so no record lies
 * across two pages of the file, and one whose writer is killed is there wholly or not at all. */
enum record_kind {
    RECORD_BEGUN = 1,
    RECORD_DONE,
    RECORD_FAILED,
    RECORD_RETRIED,
    RECORD_DEFERRED,
    RECORD_KILLED /* the process of this pid is no more */
};
struct record {
    int64_t at_ms; /* boot time */
    int64_t seq;   /* what the delivery says */
    int32_t kind, pid;
    int32_t stream, producer, number; /* what the message says: its number of this producer there */
    int32_t attempts;
    char reserved[24];
};

/* Opens the log for writing; ends the process if that fails. */
int log_open(const struct fleet *fleet);
/* at_ms and pid are filled in. May be called by several threads and processes at once. */
void log_write(int log, struct record record);
/* Reads the log when everything has ended, and says what is wrong with it, and where; NULL: nothing. */
const char *log_problem(const struct fleet *fleet);

/* A producer, until it has stored its messages. */
void produce(struct fleet *fleet, int number);
/* An instance, until it gets SIGTERM. */
void work(struct fleet *fleet);

#endif
