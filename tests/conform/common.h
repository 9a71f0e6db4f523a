/* common.h - small words the conformance tests share on top of the harness. */
#ifndef CONFORM_COMMON_H
#define CONFORM_COMMON_H

#include "harness.h"

/* A message with topic and payload, everything else by default. */
ph_message a_message(const char *topic, const char *payload);
/* Enqueues it in the store's own transaction; must succeed. */
ph_enqueued put(ph_store *store, const ph_message *message);
/* Enqueues n messages of one topic; the payloads are "0", "1", … */
void put_many(ph_store *store, const char *topic, size_t n, ph_enqueued *ret_enqueued);
/* Enqueues and returns the status, in the transaction given. */
int try_put(ph_store *store, ph_tx tx, const ph_message *message);

/* What ph_outbox_find says, by value, so that nothing has to be freed. */
struct seen {
    bool there; /* false: PH_ENOTFOUND, and nothing else is set */
    ph_message_state status;
    int attempts, retry_count, max_attempts;
    int64_t fence, created_at, due_at, requested_due_at, expires_at;
    int64_t locked_until, processed_at, updated_at, next_attempt_at;
    ph_owner owner;
    ph_work_id retried_as;
    ph_message_id message_id;
    size_t history_count;
    char kinds[512];                        /* of the history, oldest first: "abandoned,lost" */
    char dead_reason[16];                   /* "" : not dead */
    char last_error[PH_ERROR_TEXT_MAX + 1]; /* "" also for none */
    bool has_error;
};
struct seen see(ph_store *store, ph_work_id id);
/* The same with the find of another door. */
typedef int find_function(ph_store *store, ph_tx tx, ph_work_id id, int timeout_ms,
                          ph_message_info **ret_info, ph_error *reterr);
struct seen see_by(find_function *find, ph_store *store, ph_work_id id);

/* Claims with a lease of 30 s and hands out the references; the batch is freed. */
size_t take(ph_store *store, ph_owner owner, int n, ph_lease_ref *ret_refs);
/* Claims one message; there must be one. */
ph_lease_ref take_one(ph_store *store, ph_owner owner);
/* Claims with these options; must succeed. */
ph_batch *claim_with(ph_store *store, ph_owner owner, const ph_claim_opts *opts);
/* How many a claim of up to n gets; they stay leased. */
size_t claimable(ph_store *store, int n);
/* The payloads of a batch, joined by blanks; valid until the next call. */
const char *payloads(const ph_batch *batch);
const char *claimed_payloads(ph_store *store, ph_owner owner, int n);

/* Settles one message in the store's own transaction; must succeed. */
ph_outcome settle(ph_store *store, ph_owner owner, ph_lease_ref ref, ph_settle_verb verb,
                  const char *error, int64_t delay_ms);
ph_outcome ack(ph_store *store, ph_owner owner, ph_lease_ref ref);
ph_outcome renew(ph_store *store, ph_owner owner, ph_lease_ref ref, int lease_s);
int64_t reap(ph_store *store);

/* Sets one member of the settings of the namespace "". */
void set_queue(ph_store *store, const ph_queue_settings *settings);
void set_max_attempts(ph_store *store, int max_attempts);

bool same_id(const uint8_t a[16], const uint8_t b[16]);
/* 'character' repeated count times (of any UTF-8 length); freed at the end of the process. */
char *repeated(const char *character, size_t count);

/* Runs body(index, argument) in count processes at once and waits for them; each must end well.
 * Open no store or connection before it: SQLite's must not cross a fork. */
void in_processes(int count, void (*body)(int index, void *argument), void *argument);
/* Zeroed memory that the processes share. */
void *shared_memory(size_t size);

#endif
