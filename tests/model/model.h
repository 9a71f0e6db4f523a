/* model.h - docs/states.md as a data structure: what a store must answer and
 * show, without a database. It is flat, so that an assignment is a snapshot:
 * that is how the model takes part in a transaction that is rolled back.
 *
 * What only the store can know (ids, fences, jittered delays) is adopted from
 * its answers, after they were checked against what is allowed. */
#ifndef M_MODEL_H
#define M_MODEL_H

#include <posthorn/posthorn.h>

#define M_NAMESPACES 3
#define M_TOPICS 3
#define M_OWNERS 3
#define M_KEYS 5
#define M_STREAMS 2
#define M_TENANT_KEY (M_KEYS - 1)
#define M_ERRORS 4
#define M_MESSAGES 28 /* of one sequence, retried ones included */
#define M_HISTORY 32  /* coming back takes two steps, so 50 steps do not fill it */
#define M_LEASES 20   /* what one claim takes back at most */
#define M_ANY_TOPIC ((1u << M_TOPICS) - 1)
#define M_NO_FENCE 0
#define M_SECOND INT64_C(1000000)

extern const char *const m_namespaces[M_NAMESPACES];
extern const char *const m_topics[M_TOPICS];
extern const char *const m_keys[M_KEYS];
extern const char *const m_errors[M_ERRORS]; /* the first is NULL */
extern const char *const m_streams[M_STREAMS];
extern const ph_priority m_priorities[4]; /* by the level that SQL has */

enum m_place { M_PENDING = 0, M_LEASED = 1, M_DONE = 2, M_DEAD = 3, M_PARKED = 5, M_GONE = 6 };
enum m_kind { M_ABANDONED, M_FAILED, M_RELEASED, M_LOST, M_EXPIRED };
enum m_reason { M_NOT_DEAD, M_DEAD_FAILED, M_DEAD_ATTEMPTS, M_DEAD_LOST, M_DEAD_EXPIRED };

extern const ph_tenant_id m_tenant; /* m_keys[M_TENANT_KEY] begins with it */

/* What an enqueue is given. */
struct m_draft {
    int ns, topic;
    int key;    /* -1: none */
    int stream; /* -1: none */
    int number; /* makes the payload and, if there are any, correlation id and headers */
    bool tenant, correlated, headed;
    int level, max_attempts; /* the level as SQL has it: 0 urgent … 3 bulk */
    int64_t due_at, expires_at;
    ph_message_id message_id; /* zero: made by the store */
};

struct m_attempt {
    enum m_kind kind;
    int attempt, error, owner; /* owner -1: none */
    int64_t at, next_due;      /* next_due 0: it ended there */
};

struct m_message {
    ph_work_id id;
    ph_message_id message_id;
    struct m_draft draft;
    enum m_place place;
    enum m_reason reason;
    int attempts, lost;
    int64_t created_at, claimed_at, ended_at;
    int64_t due;
    int64_t due_low; /* not 0: due is the highest and this the lowest that the policy allows */
    int64_t fence, last_fence; /* of its lease, while leased; of the newest one */
    int owner;                 /* leased: who; ended: by whom, -1 for nobody */
    int retried_as;            /* an index, -1: not retried */
    int64_t seq;               /* in its stream */
    int history_count;
    struct m_attempt history[M_HISTORY];
};

struct m_lease {
    int64_t fence, claimed_at, until;
    int ns, owner;
};

struct m_queue {
    bool exists, paused, delete_on_ack;
    bool marked; /* deleted, and its row stays: a claim from it still takes back leases of others */
    int max_attempts, max_lease_s;
    ph_backoff backoff;
    int64_t base_ms, max_ms;
    int64_t retention_s, dead_retention_s, dedupe_retention_s;
    ph_dead_head dead_head;
};

struct m_stream {
    int64_t last_seq;
    int blocked; /* by the dead message with this index + 1; 0: it is not */
    bool empty;  /* its token names no message: one that comes is parked until a claim has looked */
    int64_t empty_due;
};

/* A dedupe key that is taken. */
struct m_key {
    bool taken;
    int message;
    int64_t since;
};

struct model {
    int64_t now;
    int64_t newest_fence;
    int message_count, lease_count;
    struct m_message messages[M_MESSAGES];
    struct m_lease leases[M_LEASES + 1];
    struct m_queue queues[M_NAMESPACES];
    struct m_key keys[M_NAMESPACES][M_TOPICS][M_KEYS];
    struct m_stream streams[M_NAMESPACES][M_STREAMS];
    bool tells_again;  /* that the owner has acked it before: not in a caller's transaction */
    bool keeps_tokens; /* of streams whose last message was settled, as PostgreSQL does */
    bool keeps_queues; /* their rows, when they are deleted; likewise */
};

void m_init(struct model *model, int64_t now);
void m_queue_reset(struct model *model, int ns); /* there is none, and the next has the defaults */

/* ret_index: the message that was stored, or the one that has the key. Ids of
 * stored ones are adopted by the caller. Returns whether it is new. */
bool m_enqueue(struct model *model, const struct m_draft *draft, int *ret_index);

struct m_claim {
    int owner, lease_s, batch_size, ns;
    unsigned topics; /* a bit per topic */
    int64_t fence;   /* the store's, if it handed out anything */
    /* What the store has handed out, in order: by PostgreSQL a run that is not the first of its
     * batch may be shorter (docs/states.md). NULL: it may not. */
    const int *got;
    int got_count;
};
/* Returns how many are taken; ret_taken has room for M_MESSAGES. */
int m_claim(struct model *model, const struct m_claim *claim, int *ret_taken);

struct m_item {
    int message; /* -1: an id that was never given out */
    int64_t fence;
    ph_settle_verb verb;
    int error;
    int64_t delay_ms;
};
ph_outcome m_settle_one(struct model *model, struct m_message *message, const struct m_item *item);
void m_settle(struct model *model, int owner, const struct m_item *items, int count,
              ph_outcome *ret_outcomes);
void m_renew(struct model *model, int owner, const struct m_item *items, int count, int lease_s,
             ph_outcome *ret_outcomes);
int64_t m_reap(struct model *model);

/* ret_new: the index of the new message, -1: nothing to retry. */
void m_dead_retry(struct model *model, const int *messages, int count, int *ret_new);
int64_t m_dead_discard(struct model *model, const int *messages, int count);
void m_queue_set(struct model *model, int ns, const ph_queue_settings *settings);
void m_queue_pause(struct model *model, int ns, bool paused);
/* PH_ESTATE: something is in it; otherwise whether there was one. */
int m_queue_delete(struct model *model, int ns);
int64_t m_retention(struct model *model);
/* A claim takes this message. */
void m_take(struct model *model, const struct m_claim *claim, int index);

/* Streams (lane.c). Those that take a message do nothing if it has none. */
struct m_stream *m_stream_of(struct model *model, const struct m_message *message);
/* A new message gets its number and its place. */
void m_lane_enter(struct model *model, struct m_message *message);
/* What was held is settled: the next head. */
void m_lane_go_on(struct model *model, int ns, int stream);
/* The head has died. */
void m_lane_died(struct model *model, int index);
/* The dead message will not block its stream any more; false: it did not. */
bool m_lane_unblock(struct model *model, int index);
/* A message is gone (stream -1: it had none). */
void m_lane_forget(struct model *model, int ns, int stream);
/* Back behind the head, as if it had not been claimed. */
void m_park(struct m_message *message);
/* Takes up to most messages that follow the last one of a run; returns how many. */
int m_follow(struct model *model, const struct m_claim *claim, int last, int most, int *ret_taken);
/* asked, outcomes: by message, what a call asks of those that the caller holds, and where the
 * answer goes. */
void m_settle_runs(struct model *model, const struct m_item *const *asked,
                   ph_outcome *const *outcomes);
/* The lease of this message is taken back: of its run all but the first is parked. Returns that. */
int m_lane_lost(struct model *model, int index);
/* Would a claim look at an empty token? It does. */
bool m_tokens_wait(const struct model *model, int ns);
void m_tokens_look(struct model *model, int ns);

/* ns -1: all. */
void m_count(const struct model *model, int ns, ph_queue_counts *ret_counts);

/* What the view shows of a message. */
int m_attempts_shown(const struct m_message *message);
int m_retry_count(const struct m_message *message);
int m_last_error(const struct m_message *message);
int64_t m_updated_at(const struct m_message *message);
int m_level(const struct m_message *message); /* 0 urgent … 3 bulk */
const struct m_lease *m_lease_of(const struct model *model, const struct m_message *message);

#endif
