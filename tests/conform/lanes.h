/* lanes.h - small words that tests of streams, the inbox, instances and the one exchange share.
 *
 * A test writes messages as words: "a1" is the payload of a message in the stream "a" (its first
 * letter), "-x" one without a stream. So what a claim has taken, and how a stream stands, are
 * short texts that can be compared. */
#ifndef CONFORM_LANES_H
#define CONFORM_LANES_H

#include "doors.h"

#define SERVICE "svc"
#define TOPIC "work" /* of all messages that are written as words */

/* A test that is run on the outbox and on the inbox. */
#define LANE_TEST(name)                                                                            \
    static void name(const struct door *door);                                                     \
    TEST(outbox_##name)                                                                            \
    {                                                                                              \
        name(&outbox_door);                                                                        \
    }                                                                                              \
    TEST(inbox_##name)                                                                             \
    {                                                                                              \
        name(&inbox_door);                                                                         \
    }                                                                                              \
    static void name(const struct door *door)

/* The same; on the inbox only in a long run, for the engine does not know of doors there. */
#define LANE_TEST_LONG(name)                                                                       \
    static void name(const struct door *door);                                                     \
    TEST(outbox_##name)                                                                            \
    {                                                                                              \
        name(&outbox_door);                                                                        \
    }                                                                                              \
    TEST(inbox_##name)                                                                             \
    {                                                                                              \
        if (!t_soak())                                                                             \
            t_not_here("in a long run only");                                                      \
        name(&inbox_door);                                                                         \
    }                                                                                              \
    static void name(const struct door *door)

/* A store with the fake clock at T_EPOCH. */
ph_store *open_at_epoch(void);

/* Stores the messages that the words say, in one call, in the namespace given (NULL: ""). The id at
 * the source of an inbox message is its payload. */
void fill_in(const struct door *door, ph_store *store, const char *ns, const char *words);
void fill(const struct door *door, ph_store *store, const char *words);
/* A message of the outbox in a stream, everything else by default. */
ph_message in_stream(const char *stream, const char *payload);
/* The newest message with this payload; there must be one. */
ph_work_id named(const struct door *door, ph_store *store, const char *payload);
struct seen see_named(const struct door *door, ph_store *store, const char *payload);

/* The delivery with this payload, which must be there. */
const ph_delivery *delivered(const ph_batch *batch, const char *payload);
/* Settles messages of a batch in one call, in the order given: "ack a1, abandon a2, release+500 b1"
 * (the number is the delay; without one it is 0). Answers the outcomes: "acked stale released".
 * Valid until the next call, as all texts here. */
const char *settled(const struct door *door, ph_store *store, ph_owner owner, const ph_batch *batch,
                    const char *items);
/* Claims up to n, and answers the payloads; they stay leased. */
const char *claimed(const struct door *door, ph_store *store, ph_owner owner, int n);
/* Claims up to n and acks all of it; answers the payloads. */
const char *worked(const struct door *door, ph_store *store, ph_owner owner, int n);
int64_t door_reaped(const struct door *door, ph_store *store);

/* How the messages of a stream stand, in order: "a1=done a2=dead a3=leased a4=ready a5=scheduled
 * a6=parked"; "": there is none. */
const char *lane(const struct door *door, ph_store *store, const char *stream);
const char *lane_in(const struct door *door, ph_store *store, const char *ns, const char *stream);
/* Their numbers: "1 2 3". */
const char *numbers(const struct door *door, ph_store *store, const char *stream);

/* What ph_stream_list() says of a stream, by value. */
struct lane_seen {
    bool there;
    ph_stream_state state;
    int partition, head_attempts;
    int64_t last_seq, next_seq, unsettled, head_due_at, locked_until, created_at;
    ph_work_id head;
    ph_owner owner, affinity_owner;
    char affinity_service[64]; /* "": none */
};
/* Among the instances of SERVICE. */
struct lane_seen see_lane(const struct door *door, ph_store *store, const char *stream);
/* The keys that the list gives, joined by blanks. */
const char *listed(ph_store *store, const ph_stream_list_opts *opts);

/* Sets one queue's way with dead heads. */
void set_dead_head(const struct door *door, ph_store *store, ph_dead_head dead_head);
void set_door_queue(const struct door *door, ph_store *store, const ph_queue_settings *settings);

/* ------------------------------------------------------------- the one exchange */

/* A call of an instance of SERVICE that claims nothing; the rest by default. */
ph_work_batch_opts a_call(ph_owner instance);
/* The same, claims up to n of each door. */
ph_work_batch_opts a_claim(ph_owner instance, int n);
/* Must succeed; the caller frees it. */
ph_work_batch *work(ph_store *store, const ph_work_batch_opts *opts);
/* Must succeed; what it gave is freed. */
void work_only(ph_store *store, const ph_work_batch_opts *opts);
int try_work(ph_store *store, const ph_work_batch_opts *opts);
/* Registers an instance, or beats its heart. */
void beat(ph_store *store, ph_owner instance);
/* The instance claims from outbox and inbox, all topics, and gets nothing: they are paused. */
void come(ph_store *store, ph_owner instance);
/* What a claim of an instance gets of the outbox; it stays leased. */
const char *instance_claimed(ph_store *store, ph_owner instance, int n);

/* What ph_instance_list() says of an instance, by value. */
struct instance_seen {
    bool there;
    ph_instance_state state;
    char service[64], host[64], metadata[200]; /* metadata "": none */
    int process_id, lease_s, stale_threshold_s, partition_count;
    int64_t started_at, last_heartbeat_at, ended_at, in_progress;
};
struct instance_seen see_instance(ph_store *store, ph_owner instance);

/* The tear-down: every message is in its place, every stream in order, and the doctor, who looks at
 * everything, has nothing to complain about. */
void all_is_well(ph_store *store);

#endif
