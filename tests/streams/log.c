/* log.c - the handlers' log: written by many at once, read when all is over. */
#include "fleet.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define SEQS_MAX (PRODUCERS * NUMBERS_MAX)

_Static_assert(sizeof(struct record) == 64, "a record does not lie across two pages");

/* ------------------------------------------------------------------- writing */

int log_open(const struct fleet *fleet)
{
    int log = open(fleet->log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);

    CHECK(log >= 0);
    return log;
}

void log_write(int log, struct record record)
{
    struct timespec now;

    clock_gettime(CLOCK_BOOTTIME, &now);
    record.at_ms = now.tv_sec * 1000 + now.tv_nsec / 1000000;
    if (record.kind != RECORD_KILLED)
        record.pid = (int32_t)getpid();
    if (write(log, &record, sizeof(record)) != sizeof(record))
        abort();
}

/* ------------------------------------------------------------------- reading */

/* The last handler that had a message. */
struct handled {
    int32_t pid;
    int64_t at_ms; /* when it began */
};

/* How a lane stands while its records are read: a stream, or a message without one. */
struct lane {
    int64_t seq;             /* the last one that has begun; 0: none */
    int64_t highest;         /* that ever has */
    bool settled;            /* somebody has done it, or given it up */
    bool open;               /* its handler has not ended yet */
    bool comes_again;        /* its last handler asked for that */
    struct handled *handled; /* by number; SEQS_MAX of them */
};

struct reading {
    const struct fleet *fleet;
    struct record *records;
    size_t count, at;
    bool killed[1 << 22]; /* by pid */
    struct lane lanes[STREAMS_MAX];
    struct lane (*plain)[NUMBERS_MAX]; /* of each producer */
    int next[PRODUCERS][STREAMS_MAX];
    size_t begun, after_kill, after_retry, after_lease, failed;
    const char *problem; /* the first one; NULL: none so far */
};

static const char *const kinds[] = {
    "", "begun", "done", "failed", "retried", "deferred", "killed"
};

static void show_lane(const struct reading *reading, const struct record *at)
{
    for (size_t i = 0; i < reading->count; i++) {
        const struct record *r = &reading->records[i];

        if (r->kind != RECORD_KILLED &&
            (r->stream != at->stream ||
             (at->stream == 0 && (r->number != at->number || r->producer != at->producer))))
            continue;
        printf("%s%lld pid %d %s stream %d seq %lld (%d of producer %d), attempt %d\n",
               i == reading->at ? "> " : "  ", (long long)r->at_ms, r->pid, kinds[r->kind],
               r->stream, (long long)r->seq, r->number, r->producer, r->attempts);
    }
}

/* The first problem is the one; shows everything about its lane. */
static void wrong(struct reading *reading, const char *what)
{
    if (reading->problem)
        return;
    reading->problem = what;
    show_lane(reading, &reading->records[reading->at]);
}

static struct lane *lane_of(struct reading *reading, const struct record *record)
{
    return record->stream ? &reading->lanes[record->stream]
                          : &reading->plain[record->producer][record->number];
}

/* Nobody who knew what became of this message has told the database: its process was killed, or
 * the lease may have run out. */
static bool was_lost(struct reading *reading, const struct handled *handled,
                     const struct record *record)
{
    if (reading->killed[handled->pid]) {
        reading->after_kill++;
        return true;
    }
    if (record->at_ms - handled->at_ms >= reading->fleet->plan.lease_s * 1000) {
        reading->after_lease++;
        return true;
    }
    return false;
}

/* A message that has come before: its last handler has asked for that, or it and what had come
 * after it are lost. What was done in one process is stored a little later, together. */
static void check_again(struct reading *reading, const struct lane *lane,
                        const struct record *record, int64_t seq)
{
    if (seq == lane->seq && lane->comes_again) {
        reading->after_retry++;
        return;
    }
    for (int64_t i = seq; i <= lane->seq; i++) {
        if (!was_lost(reading, &lane->handled[i], record))
            wrong(reading, i == lane->seq && lane->open ? "a message is in two handlers at once"
                           : i > seq                    ? "a stream goes back"
                                                        : "a message that was settled comes again");
    }
}

/* The next message of a stream: the one before must be settled, and a producer's messages come in
 * the order in which it committed them. */
static void check_next(struct reading *reading, const struct lane *lane,
                       const struct record *record)
{
    if (lane->seq > 0 && !lane->settled)
        wrong(reading, "a message comes before the one in front of it is settled");
    if (lane->seq > 0 && lane->open && !was_lost(reading, &lane->handled[lane->seq], record))
        wrong(reading, "two messages of a stream are in handlers at once");
    if (record->stream && record->seq > lane->highest &&
        record->number != reading->next[record->producer][record->stream]++)
        wrong(reading, "a producer's messages do not come in the order of its commits");
}

static void begun(struct reading *reading, const struct record *record)
{
    struct lane *lane = lane_of(reading, record);
    int64_t seq = record->stream ? record->seq : 1;

    if (!lane->handled)
        lane->handled = calloc(record->stream ? SEQS_MAX : 2, sizeof(*lane->handled));
    CHECK(lane->handled && seq > 0 && seq < SEQS_MAX);
    reading->begun++;
    if (seq > lane->seq + 1)
        wrong(reading, "a stream has a gap");
    else if (seq > lane->seq)
        check_next(reading, lane, record);
    else
        check_again(reading, lane, record, seq);
    if (seq != lane->seq || !lane->comes_again)
        lane->settled = false;
    lane->seq = seq;
    lane->highest = seq > lane->highest ? seq : lane->highest;
    lane->open = true;
    lane->comes_again = false;
    lane->handled[seq] = (struct handled){ record->pid, record->at_ms };
}

static void ended(struct reading *reading, const struct record *record)
{
    struct lane *lane = lane_of(reading, record);
    int64_t seq = record->stream ? record->seq : 1;
    bool settled = record->kind == RECORD_DONE || record->kind == RECORD_FAILED;

    reading->failed += record->kind == RECORD_FAILED;
    if (seq != lane->seq || record->pid != lane->handled[seq].pid)
        return; /* a late one, whose lease was lost */
    lane->open = false;
    lane->settled = lane->settled || settled;
    lane->comes_again = !settled;
}

static void read_all(struct reading *reading)
{
    FILE *file = fopen(reading->fleet->log, "r");
    struct stat stat;

    CHECK(file && fstat(fileno(file), &stat) == 0);
    CHECK_INT(stat.st_size % (off_t)sizeof(struct record), 0);
    reading->count = (size_t)stat.st_size / sizeof(struct record);
    reading->records = calloc(reading->count + 1, sizeof(struct record));
    CHECK(reading->records != NULL);
    CHECK_INT(fread(reading->records, sizeof(struct record), reading->count, file), reading->count);
    CHECK(fclose(file) == 0);
}

/* Shows everything about its lane; number: of those without a stream. */
static void missing(struct reading *reading, int stream, int producer, int number)
{
    if (reading->problem)
        return;
    reading->problem = "a message is missing";
    printf("stream %d, producer %d: %d begun, %d committed\n", stream, producer,
           reading->next[producer][stream], reading->fleet->in_stream[producer][stream]);
    show_lane(reading,
              &(struct record){ .stream = stream, .producer = producer, .number = number });
}

/* What was committed has come, to the last message. */
static void check_all_came(struct reading *reading)
{
    for (int p = 0; p < PRODUCERS; p++) {
        for (int i = 0; i < reading->fleet->in_stream[p][0]; i++) {
            if (!reading->plain[p][i].settled)
                missing(reading, 0, p, i);
        }
        for (int s = 1; s < STREAMS_MAX; s++) {
            if (reading->next[p][s] != reading->fleet->in_stream[p][s])
                missing(reading, s, p, 0);
        }
    }
    for (int s = 1; s < STREAMS_MAX; s++) {
        if (reading->lanes[s].seq > 0 && !reading->lanes[s].settled)
            missing(reading, s, 0, 0);
    }
}

static void check_records(struct reading *reading)
{
    for (; reading->at < reading->count; reading->at++) {
        const struct record *record = &reading->records[reading->at];

        if (record->kind == RECORD_KILLED)
            reading->killed[record->pid] = true;
        else if (record->kind == RECORD_BEGUN)
            begun(reading, record);
        else
            ended(reading, record);
    }
}

static void reading_free(struct reading *reading)
{
    for (int s = 0; s < STREAMS_MAX; s++)
        free(reading->lanes[s].handled);
    for (int p = 0; p < PRODUCERS; p++) {
        for (int i = 0; i < NUMBERS_MAX; i++)
            free(reading->plain[p][i].handled);
    }
    free(reading->plain);
    free(reading->records);
    free(reading);
}

const char *log_problem(const struct fleet *fleet)
{
    struct reading *reading = calloc(1, sizeof(*reading));
    const char *problem;

    CHECK(reading != NULL);
    reading->fleet = fleet;
    reading->plain = calloc(PRODUCERS, sizeof(*reading->plain));
    CHECK(reading->plain != NULL);
    read_all(reading);
    check_records(reading);
    printf("%d messages, begun %zu times; again %zu after a retry, %zu after a kill, %zu after a "
           "lost lease; %zu failed\n",
           fleet->made, reading->begun, reading->after_retry, reading->after_kill,
           reading->after_lease, reading->failed);
    check_all_came(reading);
    if (!fleet->plan.kills && !reading->problem && reading->after_lease > 0)
        reading->problem = "a lease was lost, though no one was killed";
    problem = reading->problem;
    reading_free(reading);
    return problem;
}
