/* actor.h - someone who acts on the database: a session of the spec, or the
 * setup. It has a store, a raw connection for its own transactions, and
 * remembers the fences of what it claimed. */
#ifndef ISO_ACTOR_H
#define ISO_ACTOR_H

#include "harness.h"
#include "spec.h"

#include <pthread.h>
#include <stdatomic.h>

#define ISO_NAMES_MAX 32
#define ISO_LEASES_MAX 64
#define ISO_DUE_MAX 4
#define ISO_PATIENCE_MS 20000 /* nothing in a spec may take longer */

/* What the names in a spec stand for in the permutation that runs. */
struct iso_world {
    pthread_mutex_t lock;
    struct {
        const char *name;
        ph_work_id id; /* a join's has the same size */
        ph_message_id message_id;
    } names[ISO_NAMES_MAX];
    size_t name_count;
    char ns[32];
};

/* What a step did: words such as m1:acked, claimed=2 or error=conflict. */
struct iso_result {
    char words[600];    /* each followed by a blank */
    int status;         /* of the first call that failed, or 0 */
    ph_error err;       /* of that call */
    bool blocked;       /* it had to wait for another session */
    int started, ended; /* places in the order of events; 0: not yet */
};

struct iso_actor {
    char name[32]; /* application_name on PostgreSQL */
    struct iso_world *world;
    ph_store *store;
    struct t_conn *conn;
    atomic_bool in_tx;
    bool ended;             /* it met an error inside its transaction: no more steps */
    atomic_bool conn_waits; /* SQLite: conn is in its busy handler */
    struct {
        ph_owner owner;
        ph_lease_ref ref;
    } leases[ISO_LEASES_MAX]; /* newest last */
    size_t lease_count;
    struct {
        char name[32], cron[32];
        int64_t generation, next_at, anchor_at;
    } due[ISO_DUE_MAX]; /* the jobs that its last tick named */
    size_t due_count;
    int64_t due_now; /* when that was */
};

void iso_result_add(struct iso_result *result, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Is this one of the words? "blocked" is asked like a word; '*' at the front
 * of the pattern stands for any name. Returns how often it occurs. */
int iso_result_count(const struct iso_result *result, const char *pattern);

/* Connects; opts also go to ph_open_lazy. Ends the test on failure. */
void iso_actor_open(struct iso_actor *actor, const char *name, struct iso_world *world,
                    const ph_store_opts *opts);
void iso_actor_close(struct iso_actor *actor);

/* BEGIN, COMMIT or ROLLBACK on the raw connection; 0 or a negative status.
 * isolation: "" (the default), "repeatable_read" or "serializable"; SQLite
 * knows but one. */
int iso_actor_begin(struct iso_actor *actor, const char *isolation, ph_error *err);
int iso_actor_commit(struct iso_actor *actor, ph_error *err);
int iso_actor_rollback(struct iso_actor *actor, ph_error *err);
/* The open transaction of the actor, or PH_OWN_TX. */
ph_tx iso_actor_tx(struct iso_actor *actor);

/* Fences. */
void iso_actor_remember(struct iso_actor *actor, ph_owner owner, const ph_delivery *delivery);
ph_lease_ref iso_actor_lease(const struct iso_actor *actor, ph_owner owner, ph_work_id id);

/* Names. The ids of a name that stands for nothing yet are zero; the name of an
 * unknown id is NULL. */
void iso_world_name(struct iso_world *world, const char *name, ph_work_id id,
                    ph_message_id message_id);
void iso_world_name_join(struct iso_world *world, const char *name, ph_join_id id);
ph_work_id iso_world_id(struct iso_world *world, const char *name);
ph_message_id iso_world_message_id(struct iso_world *world, const char *name);
ph_join_id iso_world_join_id(struct iso_world *world, const char *name);
const char *iso_world_name_of(struct iso_world *world, ph_work_id id);
ph_owner iso_owner(const char *name);

#endif
