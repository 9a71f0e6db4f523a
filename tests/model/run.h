/* run.h - one random sequence: the store, the model beside it, and what has
 * been done so far. A step says what it does (say), does it to both, and
 * compares; the first difference (differ) ends the sequence. */
#ifndef M_RUN_H
#define M_RUN_H

#include "../harness/harness.h"
#include "model.h"

#define STEPS_MAX 64

struct run {
    ph_store *store;
    struct t_conn *raw; /* the caller's side: its transactions, and the view */
    uint64_t seed;
    int sequence;
    uint64_t omitted; /* a bit per step that is left out, to find out what matters */

    struct model model;
    uint64_t random;
    int drafts; /* enqueued so far */
    bool in_tx;
    struct model before_tx;
    int failed_step; /* -1: none */
    char steps[16384], difference[2048];
};

/* A number in 0 … below - 1. */
int roll(struct run *run, int below);
/* True in percent of the cases. */
bool chance(struct run *run, int percent);
int64_t one_of(struct run *run, const int64_t *choices, size_t count);
#define ONE_OF(run, ...)                                                                           \
    one_of(run, (const int64_t[]){ __VA_ARGS__ },                                                  \
           sizeof((const int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t))

void say(struct run *run, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Notes the difference; returns false. */
bool differ(struct run *run, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The call succeeded, or the difference says how not. */
bool went_well(struct run *run, int status, const char *what);
bool same_int(struct run *run, const char *what, int message, int64_t got, int64_t want);
bool same_text(struct run *run, const char *what, int message, const char *got, const char *want);

/* Sets the clock of model and store. */
void set_clock(struct run *run, int64_t time);
/* The transaction that this step's calls belong to. */
ph_tx tx_of(struct run *run);
ph_owner owner_of(int index); /* -1: the zero owner */
/* The message with this id that is not gone, -1: none. */
int message_of(const struct model *model, const uint8_t id[16]);
/* A message as it was enqueued. */
struct words {
    char payload[24], correlation[24], headers[40];
    const char *key;
};
struct words words_of(const struct m_draft *draft);
bool same_delivery(struct run *run, int index, const ph_delivery *got);

/* Where streams have empty tokens, a claim that can take nothing: so that it does not matter which
 * of the next claims would come across them. */
bool look_at_tokens(struct run *run);

/* Steps: each returns false after a difference. */
bool step_enqueue(struct run *run);
bool step_claim(struct run *run);
bool step_settle(struct run *run);
bool step_exchange(struct run *run);
bool step_renew(struct run *run);
bool step_reap(struct run *run);
bool step_dead_retry(struct run *run);
bool step_dead_discard(struct run *run);
bool step_queue_set(struct run *run);
bool step_pause(struct run *run);
bool step_queue_delete(struct run *run);
bool step_retention(struct run *run);
bool step_count(struct run *run);
bool step_find(struct run *run);

/* The view and the tables beneath it against the model. */
void view_prepare(struct t_conn *raw);
bool view_matches(struct run *run);
void view_end(void);
/* Empties the tables, for the next sequence. */
void view_clear(struct t_conn *raw);

#endif
