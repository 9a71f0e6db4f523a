/* poll.h - the poll half: threads that talk to databases, and the choice of the next one. work/
 * does not include it; dispatch.h declares what work/ calls. */
#ifndef PH_DISPATCH_POLL_POLL_H
#define PH_DISPATCH_POLL_POLL_H

#include "dispatch/dispatch.h"

/* instance.c: the dispatcher as an instance */
int ph__instance_options(ph_dispatcher_opts *opts, ph_error *err); /* defaults, and checks */
int ph__instance_init(ph_dispatcher *dispatcher, ph_error *err);   /* copies its options */
void ph__instance_free(ph_dispatcher *dispatcher);
struct ph__instance ph__instance_of(const struct ph__db *db, ph_owner owner);
/* It was taken for dead: nothing that it has claimed is its own any more. The pollers; no lock. */
void ph__instance_evicted(struct ph__db *db);
bool ph__instance_leave(struct ph__db *db); /* the pollers; no lock; false: in vain */

/* database.c */
/* Takes entry and store over, if there is an entry; no lock. */
int ph__db_new(ph_dispatcher *dispatcher, struct ph__entry *entry, ph_store *store,
               struct ph__db **ret_db, ph_error *err);
void ph__db_free(struct ph__db *db);
void ph__db_give_callbacks_back(struct ph__db *db);
/* A call needed longer than that: more for the next one; others wait for the thread, so not at once. */
void ph__db_extend(const struct ph__db *db, const ph_error *err, int *limit_ms);
void ph__db_disconnect(struct ph__db *db); /* the caller has it; no lock */
void ph__db_leave(struct ph__db *db);      /* likewise */

/* databases.c: which databases there are */
int ph__databases_add(struct ph__db *db);             /* no lock; PH_ENOMEM */
void ph__databases_remove(struct ph__db *db);         /* with the lock; the database may be freed */
void ph__databases_update(ph_dispatcher *dispatcher); /* from the set; no lock */
void ph__databases_changed(void *dispatcher);         /* the set says so; no lock */
void ph__databases_free(ph_dispatcher *dispatcher);
void *ph__discover(void *dispatcher); /* the thread that asks the sources of the set */

/* The state that a chore may look at. */
struct ph__chore_look {
    const struct ph__db *db;
    int64_t now_us;
    bool lazy;   /* decided works can wait for its turn to claim */
    bool second; /* the second poller settles */
};

/* Something to be done for a database, apart from claims. The questions are answered from memory, with
 * the lock held. */
struct ph__chore {
    bool apart;     /* it does not go with the exchange */
    bool in_outage; /* it is done also while the database cannot be used */
    int64_t (*due_us)(const struct ph__chore_look *look); /* INT64_MAX: never */
    /* When it is worth a visit; NULL: when due. */
    int64_t (*visit_us)(const struct ph__chore_look *look);
    /* The caller has the database; no lock. NULL: the exchange, or the visit itself, does it. */
    void (*run)(struct ph__db *db, int64_t now_us);
};

/* A chore is a row here, and a ph__chore_… in a file. They are run in this order. */
#define PH__CHORE_MAP(X)                                                                           \
    X(SETTLE, settle)                                                                              \
    X(RENEW, renew)                                                                                \
    X(HEARTBEAT, heartbeat)                                                                        \
    X(RETRY, retry)                                                                                \
    X(LISTEN, listen)                                                                              \
    X(LEAVE, leave)                                                                                \
    X(RETENTION, retention)                                                                        \
    X(SCHEDULE, schedule)                                                                          \
    X(UNCLAIMED, unclaimed)
#define PH__CHORE_DECLARE(NUMBER, name) extern const struct ph__chore ph__chore_##name;
#define PH__CHORE_NUMBER(NUMBER, name) PH__CHORE_##NUMBER,
PH__CHORE_MAP(PH__CHORE_DECLARE)
enum ph__chore_number { PH__CHORE_MAP(PH__CHORE_NUMBER) PH__CHORES };
extern const struct ph__chore *const ph__chores[PH__CHORES];

#define PH__IS_DUE(plan, NUMBER) ((plan)->due & 1u << PH__CHORE_##NUMBER)

/* plan.c: with the lock held */
/* Told from memory alone, and nothing changes by it. */
struct ph__plan ph__plan(const struct ph__db *db, int room, int64_t now_us);
static inline bool ph__plan_is_due(const struct ph__plan *plan)
{
    return plan->act || plan->claim || plan->chores;
}

/* second.c: with the lock held */
void *ph__second_poll(void *poller); /* its thread; no lock */
bool ph__second_is_on(const ph_dispatcher *dispatcher);

/* strategy.c: with the lock held */
#define PH__STUCK_US 1000000 /* a claim that lasts longer does not keep drain-first from the next */
size_t ph__db_index(const ph_dispatcher *dispatcher, uint64_t serial); /* dbs.count: it is gone */
/* No poller is visiting it, it has a connection or can get one, and it is not kept back. */
bool ph__db_can_be_served(const struct ph__db *db, bool connections_left);
bool ph__db_is_ready(const struct ph__db *db, bool connections_left); /* … to be claimed from */
/* Which to claim from next; NULL: none for now. */
struct ph__db *ph__choose(ph_dispatcher *dispatcher, bool connections_left, int64_t now_us);
/* The callback's choice; lets go of the lock while it asks, so afterwards things may be
 * different. */
struct ph__db *ph__ask(ph_dispatcher *dispatcher, bool connections_left, int64_t now_us);
/* The turn moves on to this one. Those before it that are just settling, and may have more, come
 * first afterwards. */
void ph__turn_on(ph_dispatcher *dispatcher, size_t to);

/* pick.c: with the lock held */
/* The database to be served next, by its plan; NULL: none before *ret_wake_us. It has a connection, or
 * may make one once *ret_victim (NULL: none), which is made busy, has given its own up. Lets go of
 * the lock while it asks a callback. */
struct ph__db *ph__pick(ph_dispatcher *dispatcher, struct ph__db **ret_victim,
                        int64_t *ret_wake_us);

/* connections.c: connections, of which there may be fewer than databases; with the lock held */
/* The database that has been idle for longest, and is idle now; NULL: there is none. */
struct ph__db *ph__connection_spare(const ph_dispatcher *dispatcher);
/* Makes sure that the database may connect. *ret_victim: the database that must give its own up
 * before, and is busy until then; NULL: none. False: all connections are in use. */
bool ph__connection_take(struct ph__db *db, struct ph__db **ret_victim);
/* For another's sake; no lock. */
void ph__connection_give_up(struct ph__db *victim);
/* It has none any more. */
void ph__connection_end(struct ph__db *db);

/* poller.c */
/* Another poller must watch the wake-ups while the caller does something else; with the lock
 * held. */
void ph__poller_call(ph_dispatcher *dispatcher);
void *ph__poll(void *poller);
/* Is it of a set, and was never reached? */
bool ph__db_is_new(const struct ph__db *db);

/* wakeups.c */
int ph__wakeups_open(ph_dispatcher *dispatcher); /* negative: no file descriptors */
void ph__wakeups_close(ph_dispatcher *dispatcher);
void ph__doorbell_arm(struct ph__db *db);    /* no lock */
void ph__doorbell_disarm(struct ph__db *db); /* with the lock */
void ph__file_watch(struct ph__db *db);      /* no lock */
void ph__file_unwatch(struct ph__db *db);    /* with the lock */
/* Sleeps until something rings; with the lock, which it lets go meanwhile. */
void ph__wakeups_wait(ph_dispatcher *dispatcher, int64_t wait_us);

/* unclaimed.c: no lock */
void ph__unclaimed_free(ph_dispatcher *dispatcher);

/* visit.c: the caller has the database; no lock */
void ph__serve(struct ph__poller *poller, struct ph__db *db, const struct ph__plan *plan);
void ph__db_finish(struct ph__poller *poller, struct ph__db *db);

/* claim.c: the exchange of a visit, as planned; no lock */
void ph__act(struct ph__poller *poller, struct ph__db *db, const struct ph__plan *plan);

/* listen.c: the doorbell of one database */
/* When a ring is followed: it may have been for others, or they were quicker. */
int64_t ph__ring_us(const struct ph__db *db);
/* When to look for messages that were stored after a ring without a ring of their own; INT64_MAX:
 * no longer. */
int64_t ph__unrung_us(const struct ph__db *db, int64_t now_us);
/* There may be messages. The database is not busy, or the caller has it; with the lock held. */
void ph__db_rung(struct ph__db *db);
/* Has it rung? Then it is noted. The caller has it; no lock. */
bool ph__db_rang(struct ph__db *db);
/* It is left alone for a while: only its doorbell, or time, brings a poller back. Likewise. */
void ph__db_rest(struct ph__db *db);

/* health.c: the caller has the database; no lock */
const struct ph__health_meaning *ph__health_meaning(enum ph__health health);
/* Are enough of the pollers with databases of such health? */
bool ph__share_is_used_up(enum ph__share share, const struct ph__pollers_use *use);
/* The pause after this one; 0: the first. */
int64_t ph__retry_step_us(enum ph__health health, int64_t step_us, bool in_set);
void ph__db_failed(struct ph__db *db, const ph_error *err);
void ph__db_succeeded(struct ph__db *db);
/* A call that succeeded took so long; with the lock held. */
void ph__db_took(struct ph__db *db, int64_t took_us);

/* exchange.c: the one call. The caller has the database; no lock. */
int ph__exchange(struct ph__poller *poller, struct ph__db *db, struct ph__exchange_io *io,
                 ph_error *err);

/* reserve.c: handler threads that are kept for last attempts; with the lock held */
/* Is there a thread that can be kept for this database, or is one? */
bool ph__thread_is_free_for(const struct ph__db *db);
/* Keeps a thread for each claim of the exchange that may bring a last attempt, and tells it so. */
void ph__reserve(struct ph__db *db, struct ph__exchange_io *io);
/* Notes the result of the call (NULL: it failed); threads for which nothing came are given back. */
void ph__reserve_end(struct ph__db *db, const struct ph__exchange_io *io);
/* Gives threads back that were not used in time; returns when to look again. */
int64_t ph__reserve_lapse(struct ph__db *db, int64_t now_us);
/* It claims nothing more. */
void ph__reserve_leave(struct ph__db *db);

#endif
