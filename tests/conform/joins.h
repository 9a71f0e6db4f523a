/* joins.h - small words that tests of joins share. */
#ifndef CONFORM_JOINS_H
#define CONFORM_JOINS_H

#include "common.h"

#define STEP "step"     /* the topic of messages that are steps */
#define GOOD "all.done" /* what waits send */
#define BAD "some.failed"

ph_join_id start_join(ph_store *store, int steps);
ph_join_id start_join_until(ph_store *store, int steps, int64_t deadline);
/* An id that no join has, and one that no message has. */
ph_join_id no_join(void);
ph_message_id no_message(void);

/* Attaches in the store's own transaction; must succeed. */
void attach(ph_store *store, ph_join_id join, ph_message_id message);
/* The same, and returns the status. */
int try_attach(ph_store *store, ph_join_id join, ph_message_id message);
/* A new message of the topic STEP; put_step also attaches it. */
ph_enqueued a_step(ph_store *store);
ph_enqueued put_step(ph_store *store, ph_join_id join);

/* Claims the next message of the topic STEP and settles it so. */
void end_step(ph_store *store, ph_settle_verb verb);
/* Claims all messages of the topic STEP with a lease of 30 s, and returns how many. */
size_t take_steps(ph_store *store, ph_owner owner, ph_lease_ref *ret_refs, int max);

/* A wait that sends GOOD with the payload "good", or BAD with "bad". */
ph_wait a_wait(bool fail_if_any_step_failed);
ph_work_id wait_for(ph_store *store, ph_join_id join, bool fail_if_any_step_failed);
/* How many messages of the topic there are, in any state. */
size_t sent(ph_store *store, const char *topic);
/* "2 good, 1 bad": what the waits of a_wait() have sent. Valid until the next call. */
const char *sent_text(ph_store *store);

bool cancel(ph_store *store, ph_join_id join);

/* ph_join_find, or NULL if there is none; the caller frees it. */
ph_join_info *find_join(ph_store *store, ph_join_id join);
/* "2+1/5 pending": two steps completed and one failed of five; "gone". Valid until the next call. */
const char *standing(ph_store *store, ph_join_id join);
/* The status of each step in the order of attaching: "completed pending failed"; valid until the
 * next call. */
const char *steps_of(ph_store *store, ph_join_id join);
int attached_to(ph_store *store, ph_join_id join);

/* A column of the view joins, as text. */
const char *join_view(struct t_conn *conn, ph_join_id join, const char *column);

/* The member of a flat JSON object of strings, as text; NULL: there is none. Escapes are left as
 * they are. Valid until the next call. */
const char *json_text(const char *json, const char *key);

#endif
