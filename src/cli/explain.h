/* explain.h - what the files of posthorn explain share. */
#ifndef POSTHORN_CLI_EXPLAIN_H
#define POSTHORN_CLI_EXPLAIN_H

#include "stream.h"

#define EXPLAIN_OTHERS_MAX 4
#define EXPLAIN_REASONS_MAX 32 /* including joins; more are left out */

struct story {
    struct cli *cli;
    const struct cli_door *door;
    const ph_message_info *info;
    int64_t now;
    bool paused;
    int64_t ready;    /* messages of its queue */
    int64_t grace_us; /* of its queue: how long a head is reserved for its partition's owner */
    ph_streams *streams;
    const ph_stream_info *stream; /* NULL: it is in none, or the stream is gone */
    const char *state;
    struct explain_reason {
        const char *code, *text;
    } reasons[EXPLAIN_REASONS_MAX];
    size_t reason_count;
    const char *advice;
    const char *others[EXPLAIN_OTHERS_MAX]; /* alternatives to the advice; ended by NULL */
};

/* The first reason that posthorn explain gives for where a message is; NULL: it is gone. Returns an
 * exit code. */
int explain_why(struct cli *cli, const struct cli_door *door, ph_work_id id, const char **ret_text);

/* One more reason: a stable word, and a sentence. */
void explain_because(struct story *story, const char *code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* "2024-05-01T12:00:00.000000Z (in 3 min)" */
const char *explain_when(const struct story *story, int64_t time);

/* The command that takes back expired leases. */
const char *explain_reap(const struct story *story);

/* " --door inbox --namespace n", without what is the default. */
const char *explain_queue_options(const struct story *story);

/* --------------------------------------------------------- explain_stream.c */

/* Looks the message's stream up. Returns an exit code. */
int explain_stream_look(struct story *story);

/* Why it waits behind its stream's head, and what the head waits for. */
void explain_parked(struct story *story);

/* What its stream adds if it waits to be claimed, is leased or dead. */
void explain_head(struct story *story);
void explain_run(struct story *story);
void explain_dead_head(struct story *story);

#endif
