/* dispatch.h - what the files of the dispatcher share.
 *
 * A store as the dispatcher serves it is a database: the one store that it was
 * made with, or one for each database of a set. The threads that talk to
 * databases are the pollers: each picks a database, which is then busy and its own,
 * serves it, and picks the next. Handler threads in transactions have stores of
 * their own. One lock guards everything below it in struct ph_dispatcher, and in
 * each database. Nobody calls the database, a handler or the log while holding it.
 *
 * The life of a work:
 *     (behind) → waiting → running → (kept) → decided → settled
 * Whoever decides first (the handler's verdict, ph_work_settle(), the time
 * limit, the stop) puts the work on its database's list of decided ones; later
 * verdicts are ignored. The pollers settles what is decided. A work stays in memory
 * until it is settled and its handler has let go of it; so does its batch, and
 * so does the dispatcher itself.
 *
 * Works of one stream stand together in a batch, in order: a run. Only its
 * first is waiting, the others are behind: each gets its turn when the one
 * before it is done (run.c). */
#ifndef PH_DISPATCH_DISPATCH_H
#define PH_DISPATCH_DISPATCH_H

#include "core/log.h"
#include "dispatch/lock.h"
#include "set/set.h"
#include "store/store.h"
#include "util/boot.h"
#include "util/condition.h"

#include <pthread.h>
#include <stdatomic.h>

#define PH__HOST_SIZE 256
#define PH__SETTLE_MAX 500       /* settlements in one exchange */
#define PH__CLAIM_MAX 1000       /* messages in one claim, and in one renewal: neither takes long */
#define PH__CANCEL_GRACE_MS 5000 /* from a handler's time limit until it is given up */
#define PH__STOP_GRACE_MS 1000   /* from the stop's cancelling until handlers are given up */
#define PH__WARNED_TOPICS_MAX 64
#define PH__SLOTS 1024
#define PH__POLLERS_MAX 16      /* threads that talk to databases */
#define PH__SLOW_US 500000   /* a call that takes longer is kept from occupying every poller */
#define PH__HELD_UP_US 50000 /* who waits so long for transactions is in the way of nobody */
#define PH__WATCH_SLOTS 256
#define PH__SIDES 2 /* doors that have handlers: PH__OUTBOX and PH__INBOX, by their numbers */

/* ------------------------------------------------------------------ the work half */

enum ph__work_state { PH__BEHIND, PH__WAITING, PH__RUNNING, PH__DECIDED, PH__SETTLED };

/* What its handler, or who keeps it, does with a work. */
struct ph__hold {
    struct ph_work *newer, *older; /* in the list of held ones */
    bool active;                   /* the handler has not let go of it */
    bool returned, kept;           /* what the handler did */
    bool user_settled;             /* ph_work_settle() was called */
    bool given_up;                 /* nobody waits for the handler any more */
    int64_t started_us;            /* when the handler was called; 0: not yet */
    int64_t limit_us;              /* when its time is over; INT64_MAX: never, or not yet called */
};

/* What is to be told to the database. */
struct ph__decision {
    ph_verdict verdict; /* 0: nobody's */
    ph_settle_verb verb;
    char *error;      /* what the handler said; ph__alloc */
    int64_t delay_ms; /* PH_DELAY_POLICY: none given */
};

struct ph_work {
    struct ph__batch *batch;
    size_t refs; /* not settled, held by a handler, held by a poller for a moment */
    const ph_delivery *delivery;
    ph_lease_ref lease;
    const ph_handler *handler;
    struct ph_work *next;      /* in the list of waiting or decided ones */
    struct ph_work *slot_next; /* in its slot */
    struct ph_work *behind;    /* the next of its run; NULL: none */
    enum ph__work_state state;
    struct ph__hold hold;
    struct ph__decision decision;
    ph_tx tx;
    ph_store *store;           /* that of tx */
    atomic_bool cancelled;     /* written under the lock */
    atomic_bool maybe_settled; /* an earlier try may have reached the database */
    bool stop_cancelled;       /* by the stop: a retry is then a release */
    bool no_handler;
    /* Unhandled, with another of its run: perhaps it is not ours by now, which is fine. */
    bool given_back;
    bool settling; /* a call about it is under way */
    bool reserved; /* it waits, and a thread is kept for it */
    bool evicted;  /* forgotten, since the instance was taken for dead */
};

/* One claimed batch: one lease. */
struct ph__batch {
    ph_dispatcher *dispatcher;
    struct ph__db *db;
    enum ph__door door;
    ph_owner owner; /* who claimed it */
    struct ph__batch *next, *previous;
    ph_batch *messages; /* NULL: each work has its delivery for itself */
    size_t count;
    bool last;                  /* of one work, whose last attempt it is */
    size_t unsettled;           /* works */
    size_t live;                /* works that somebody holds */
    int64_t claimed_us;         /* when the batch had come */
    int64_t renew_us;           /* next renewal */
    _Atomic(int64_t) fenced_us; /* from then on the lease counts as lost */
    struct ph_work works[];
};

struct ph__work_list {
    struct ph_work *first, **last;
    size_t count;
};

struct ph__thread {
    pthread_t id;
    ph_dispatcher *dispatcher;
    struct ph__thread *next;
    struct ph_work *work; /* what it runs */
    ph_store *store;      /* its own, for transactions; NULL until needed */
    uint64_t serial;      /* of the database that it is of */
    uint64_t uses;        /* the same, as others may know it: with the lock held */
    bool leave_store;     /* that database is no more: the connection is to be closed */
    bool given_up;        /* its handler hangs: it ends when that returns */
    bool detached;        /* nobody joins it */
    bool maybe_settled;   /* the commit of its handler's transaction got no answer */
};

/* The handlers of one door. */
struct ph__side {
    const ph_handler *handlers;  /* by topic, the one for the rest last */
    size_t count;                /* 0: the door is not worked on */
    const ph_handler *catch_all; /* NULL: none */
    const char **topics;         /* to claim; NULL: all */
};

static inline int64_t ph__earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* -------------------------------------------------------------- one database, in parts */

/* A file of a set, watched through its folder without a connection. */
struct ph__watch {
    struct ph__db *next; /* in the table of watched files */
    char *name;          /* the file's name in its folder; NULL: not watched */
    bool lost;           /* the folder is no more */
    int folder;          /* the number of the watch */
};

/* What the database itself says when there are messages. */
struct ph__doorbell {
    int fd;           /* -1: none; of who visits it */
    bool armed;       /* the pollers wait for it */
    bool hear;        /* it may have rung */
    bool rung;        /* since the last claim */
    int64_t rung_us;  /* when that was last; 0: never */
    int64_t heard_us; /* when it was last looked whether it had rung */
    int false_alarms; /* claims in a row for which it had rung, and there was nothing */
};

/* How a database is doing; health.c has a table of what each means. */
enum ph__health {
    PH__NEW,        /* not reached yet */
    PH__UNDEPLOYED, /* … and its schema is to be made, which may take long */
    PH__WELL,
    PH__SLOW,    /* its last call took long */
    PH__SUSPECT, /* another on its server took long, and failed */
    PH__FAILING, /* its last call failed */
    PH__REFUSED  /* schema, rights or credentials will not do */
};

/* How many of the pollers may be with such ones at the same time: a quarter; all but a quarter, if
 * there are others; any number. */
enum ph__share { PH__SHARE_ALL, PH__SHARE_MOST, PH__SHARE_FEW };

/* What a state of health means. */
struct ph__health_meaning {
    enum ph__share share;
    bool holds_room; /* what may come with its claim takes room from others */
    int64_t first_us, longest_us, longest_set_us; /* pauses before it is tried again */
};

/* What the pollers are doing. */
struct ph__pollers_use {
    int pollers, failing, slow; /* all; those with a share of few; of most */
    bool others_well;
};

struct ph__db_health {
    enum ph__health state;
    _Atomic(int64_t) retry_us; /* failing, refused: not before; 0: it is neither */
    int64_t step_us;           /* the pause before that */
    int limit_ms;              /* of a call; more after one that took longer */
    int chore_ms;              /* … of the retention and the scheduler */
    uint32_t said_codes;       /* of this outage */
    bool exchange_failed;      /* in this outage: a renewal alone cannot end it */
    bool connected;            /* the last call reached the database */
    ph_error last_error;       /* of the present outage; code 0: none */
    int64_t outages;
};

struct ph__claim_state {
    int64_t next_us;       /* not before */
    int64_t at_us;         /* when the last one had come; 0: there was none yet */
    int last_count;        /* how many it brought; -1: there was none yet */
    int max;               /* at most so many at once: fewer after a claim that took long */
    int under_way;         /* messages that may come with the one under way */
    unsigned door_turn;    /* of the doors, where there is not room for both */
    bool found;            /* the last one found something */
    bool through;          /* … and there was nothing more to find */
    bool in_hand;          /* all that is due seems to be of streams that are worked on here */
    bool stream_free;      /* a run has come to its end: there may be more of its stream */
    bool empty[PH__SIDES]; /* the last one of this door found nothing */
    int64_t backoff_us;
    uint64_t dry[PH__SIDES]; /* which one found nothing there, and nothing in flight; 0: none */
    uint64_t drained;        /* the last that found nothing, with nothing in flight anywhere from
                                its beginning */
    uint64_t drained_arrivals; /* how many claims had brought something by then */
    int64_t total;             /* messages */
};

/* Where it stands in the order of claims. */
struct ph__turn {
    bool owed;     /* its turn came when it was busy, or there was no room: it comes first */
    bool met;      /* it was claimed from, or has failed */
    bool greeting; /* it is busy, and was not when that began */
};

/* What a database needs, as far as can be seen without asking it. */
struct ph__plan {
    bool act;    /* an exchange is due, whether or not it may claim */
    bool claim;  /* … or it would be, to claim */
    bool renew;  /* leases must be renewed */
    bool outage; /* … and nothing else is tried yet */
    bool chores; /* something else is due: the doorbell, the retention, the scheduler, its end */
    bool retention, schedule; /* … of them */
    int room;                 /* messages to claim; 0: none */
    int64_t wake_us;          /* otherwise: when to look again */
    int64_t urge_us;          /* when it must act even if it is not its turn to claim */
};

/* A poller's visit. */
struct ph__visit {
    bool busy;                /* it is under way */
    bool woken;               /* … and since then there may be more */
    bool finished;            /* the last one is over */
    int64_t began_us;
    enum ph__share share;     /* … of the pollers that it has for it */
    int64_t cost_us;          /* of one that had to connect, lately */
    int64_t worked_us;        /* when it last had messages */
    struct ph__plan plan;     /* when it was last looked at */
};

/* Last attempts, for which handler threads are kept. */
struct ph__last_attempts {
    bool waits;            /* one stands first, and waits for a thread */
    bool came;             /* the last claim brought one: the next may */
    int reserved;          /* threads that are kept for those that it may claim */
    int64_t until_us;      /* … if the claim does not begin before */
    int64_t not_before_us; /* none is kept, since the last one was not used */
};

/* Its works, by state. */
struct ph__works_of_db {
    size_t waiting, running, in_flight;
    size_t behind; /* those that wait for another of their stream */
    int64_t done, exchanges;
};

/* Handler threads that wait for its transactions to begin or be acknowledged. */
struct ph__tx_state {
    int waiting;
    int64_t full_us;  /* since when they are so many that no other may; 0: they are not */
    int64_t retry_us; /* none is begun before; 0: at any time */
    int64_t step_us;
};

struct ph__settle_state {
    struct ph__work_list decided;
    int64_t since_us; /* when that list began */
};

struct ph__lease_state {
    struct ph__batch *batches;
    int64_t renew_us; /* the next renewal */
};

/* The instance that the dispatcher is there. */
struct ph__heart {
    ph_owner owner; /* its id; another one after an eviction */
    bool registered;
    int64_t beat_us; /* the next beat */
};

struct ph__schedule_state {
    ph_scheduler *scheduler; /* NULL: none was asked for */
    int64_t due_us;          /* its next run */
    int64_t next_us;         /* … if nobody plans anything before */
};

/* One database. All with the lock held, but: dispatcher, entry, store, serial, server, id and log
 * do not change; schedule, retention_us, unclaimed_us, doorbell.fd, the parts of health but state
 * and last_error, claim.found, .backoff_us, .max, .empty, .in_hand and .door_turn and
 * heart.registered and .beat_us belong to who visits it, and to who holds the lock while nobody does. */
struct ph__db {
    ph_dispatcher *dispatcher;
    struct ph__entry *entry; /* of the set; NULL: the store is the user's */
    ph_store *store;
    uint64_t serial; /* never used again, unlike its address */
    char *server;    /* where others may have the same trouble; NULL: it is alone */
    char *id;        /* of its own: a handler that hangs may outlive the store */
    struct ph__log_source log;
    struct ph__watch watch;
    struct ph__doorbell doorbell;
    struct ph__db_health health;
    struct ph__claim_state claim;
    struct ph__turn turn;
    struct ph__visit visit;
    struct ph__last_attempts last;
    struct ph__works_of_db works;
    struct ph__tx_state tx;
    struct ph__settle_state settle;
    struct ph__lease_state leases;
    struct ph__heart heart;
    struct ph__schedule_state schedule;
    int64_t retention_us;   /* next run; 0: never */
    int64_t unclaimed_us;   /* next look for topics that nobody claims */
    int64_t leaving_us;     /* since when it is leaving */
    bool leaving;           /* the set has it no more: it is drained */
    bool has_connection;
};

/* ------------------------------------------------------------------ the poll half */

/* A thread that talks to databases, with what it needs for an exchange. */
struct ph__poller {
    ph_dispatcher *dispatcher;
    pthread_t id;
    struct ph_work *settling[PH__SETTLE_MAX];
    ph_settlement settlements[PH__SIDES][PH__SETTLE_MAX];
    ph_outcome outcomes[PH__SIDES][PH__SETTLE_MAX];
};

struct ph__pollers {
    struct ph__poller *items[PH__POLLERS_MAX];
    int count, waiting;
    bool maintaining; /* one of them looks after what concerns no database */
    bool watched;     /* one of them waits for wake-ups (or is about to) */
    bool asleep;      /* … and sleeps */
    int64_t asleep_until_us;
    int64_t heard_us; /* when wake-ups were last looked for */
};

struct ph__wakeups {
    int wake_fd;    /* an eventfd on which the pollers sleep */
    int poll_fd;    /* an epoll of that and of the doorbells */
    int inotify_fd; /* of files that are watched without a connection; -1: none */
    struct ph__db *watched_files[PH__WATCH_SLOTS]; /* by folder and name */
    int64_t quiet_until_us;                        /* so long the watched folders are left alone */
    bool folders_armed;
};

struct ph__connections {
    int taken;    /* from the set's budget */
    int max;      /* of them for databases */
    int used;     /* databases that have one */
    int handlers; /* those of handler threads */
    bool left_set; /* the others were given back to it */
};

struct ph__dbs {
    struct ph__db **items; /* by id */
    size_t count, room;
    struct ph__db *retired; /* gone, but with works in the hands of handlers; by watch.next */
    bool changed;           /* the set has other databases than these */
    int64_t update_us;      /* … which is not looked at before */
    uint64_t last_serial;
};

/* Which database comes next. */
struct ph__pick {
    int failing;           /* visits to those that have few of the pollers */
    int slow;              /* … most of them */
    bool any_well;         /* there is one that is neither */
    bool urgent_first;     /* it is their turn, not that of a claim */
    bool selecting;        /* the callback is being asked: no database is freed */
    bool others_ready;     /* there was more to do than for the one who picked last */
    size_t urgent_turn;    /* where the search for urgent ones begins */
    size_t claim_turn;     /* where the search for the next one begins */
    struct ph__db *chosen; /* to be claimed from next; NULL: not chosen yet */
    uint64_t last_chosen;  /* its serial; 0: none */
    int64_t choose_us;     /* the callback wants to be asked again then */
    uint64_t asked_mark;   /* … or when others are ready than those of this mark */
};

struct ph__discovery {
    pthread_t thread;
    bool has_thread; /* it must be joined */
    bool running;    /* it has not ended */
    bool done;       /* the sources were asked once */
};

/* ------------------------------------------------------------------ the dispatcher */

struct ph__times {
    int call_timeout_ms;
    int64_t lease_us, fence_margin_us;
    int64_t limit_us; /* the next time limit of a handler; with the lock held */
};

struct ph__handlers {
    ph_handler *items; /* by door and topic, after the start; topics are copies */
    size_t count;
    struct ph__side sides[PH__SIDES];
};

struct ph__logging {
    pthread_mutex_t lock;
    ph_log_fn log; /* the stores' own */
    void *log_context;
    ph_join_fn join_ended; /* likewise */
    void *join_context;
    bool silent; /* freed: nobody may be called any more */
    char *warned_topics[PH__WARNED_TOPICS_MAX];
    size_t warned_count;
    struct { /* said to be claimed by nobody */
        char *topic;
        int door;
        int64_t said_us;
    } unclaimed[PH__WARNED_TOPICS_MAX];
    size_t unclaimed_count;
};

struct ph__conditions {
    pthread_cond_t work_ready;    /* for handler threads */
    pthread_cond_t pollers_ready; /* for pollers that do not wait for wake-ups */
    pthread_cond_t discover;      /* for the thread that asks the sources */
    pthread_cond_t changed;       /* for drain, stop and ph_work_wait */
};

struct ph__phase {
    bool starting, started, stopping, ending, stopped;
};

struct ph__room {
    long wake_at;       /* wake also for room: so many that wait, or fewer; -1: not */
    bool short_of_it;   /* … for a handler that ends: there was no thread, or too much in flight */
    int claiming;       /* messages that may come with claims under way */
    int doubtful;       /* … from databases that may be long about it */
    size_t held_up;     /* works that wait for transactions of their database, when last looked */
    int64_t usual_run_us; /* how long handlers take, lately */
};

struct ph__pool {
    struct ph__thread *threads;
    int missing, hung, idle;
    bool helper_called;  /* an idle thread was woken to stand by, or stands by */
    bool no_transaction; /* the last handler that needed one got none */
};

/* Threads that are kept for last attempts. */
struct ph__reserve {
    int count;
    size_t waiting;   /* databases that wait for one */
    size_t turn;      /* where the search for the next of them begins */
    bool others_turn; /* … but first a thread is for what waits in memory */
};

struct ph__works {
    struct ph__work_list waiting;
    size_t behind;  /* those that wait for another of their stream */
    size_t decided; /* those that are decided, of all databases */
    struct ph_work *active; /* newest first */
    size_t running, kept, in_flight;
    size_t bytes;                     /* of their messages */
    struct ph_work *slots[PH__SLOTS]; /* by work id */
    uint64_t claims;                  /* how many were begun */
    uint64_t arrivals;                /* how many brought something */
};

struct ph__stop {
    int drain_waiters;
    int64_t until_us;         /* until then handlers may end by themselves */
    bool in_grace;            /* they were cancelled, and have a moment that nobody cuts short */
    atomic_bool leave_failed; /* not everybody heard it */
    int64_t leave_us;         /* until then they are told good-bye */
    int64_t finish_us;        /* until then the pollers try to settle the last ones */
    int result;
    ph_error error;
};

/* All with the lock held, but: set, opts, host, handlers, times (without limit_us) and the file
 * descriptors of wakeups do not change after the start; logging has a lock of its own. */
struct ph_dispatcher {
    ph_set *set; /* NULL: one store */
    struct ph__set_observer observer;
    ph_dispatcher_opts opts; /* filled; texts are copies */
    char host[PH__HOST_SIZE];
    struct ph__times times;
    struct ph__handlers handlers;
    struct ph__logging logging;
    struct ph__lock lock;
    struct ph__conditions wait;
    size_t refs; /* the user, threads, batches */
    struct ph__phase phase;
    struct ph__pollers pollers;
    struct ph__wakeups wakeups;
    struct ph__connections connections;
    struct ph__dbs dbs;
    struct ph__pick pick;
    struct ph__discovery discovery;
    struct ph__room room;
    struct ph__pool pool;
    struct ph__reserve reserve;
    struct ph__works works;
    struct ph__stop stop;
    ph_dispatcher_stats stats;
};

/* dispatcher.c */
void ph__dispatcher_drop(ph_dispatcher *dispatcher); /* one reference; the lock not held */
/* Gives its connections back to the set, and hears of it no more; no lock. */
void ph__dispatcher_leave_set(ph_dispatcher *dispatcher);

/* handlers.c */
const ph_handler *ph__handler_of(const struct ph__side *side, const char *topic);
/* Sorts them and finds out what to claim; with the lock held. */
int ph__handlers_prepare(ph_dispatcher *dispatcher, ph_error *err);
void ph__handlers_free(ph_dispatcher *dispatcher);

/* instance.c: what it is for others */
int ph__instance_options(ph_dispatcher_opts *opts, ph_error *err); /* defaults, and checks */
int ph__instance_init(ph_dispatcher *dispatcher, ph_error *err);   /* copies what the options say */
void ph__instance_free(ph_dispatcher *dispatcher);
struct ph__instance ph__instance_of(const struct ph__db *db); /* the pollers */
/* It was taken for dead: nothing that it has claimed is its own any more. The pollers; no lock. */
void ph__instance_evicted(struct ph__db *db);
bool ph__instance_leave(struct ph__db *db); /* the pollers; no lock; false: in vain */

/* batch.c: all with the lock held unless they say otherwise */
/* Room for so many messages, made before they are claimed; no lock. */
struct ph__batch *ph__batch_new(struct ph__db *db, enum ph__door door, int capacity);
/* Takes the batch over; asked_us: when the claim was sent; no lock. */
void ph__batch_fill(struct ph__batch *batch, ph_batch *messages, int64_t asked_us);
/* Adds the batch and queues its works. */
void ph__batch_add(struct ph__batch *batch);
/* Is a handler still busy with an earlier delivery of this message, whose lease was lost or which
 * was settled before the handler returned? Then for so long it is put off; 0: it is not. */
int64_t ph__put_off_ms(const struct ph_work *work);
/* Is another delivery of its message in the call under way? Of one given twice the first counts. */
bool ph__settles_other(const struct ph_work *work);
/* Ends a reference; with the last one the work is gone. True: so is its batch, and the caller
 * drops a reference of the dispatcher after unlocking. */
bool ph__work_unref(struct ph_work *work);
/* What could not be settled before the end: the leases run out instead; returns how many. */
size_t ph__works_forget(struct ph__db *db);
/* The leases are gone: handlers are cancelled, and all works forgotten; returns how many. */
size_t ph__works_evict(struct ph__db *db);
/* The list of those that wait for a thread. */
void ph__waiting_push(struct ph_work *work);
struct ph_work *ph__waiting_pop(ph_dispatcher *dispatcher);
/* Gives back what was claimed at this time or before and has no thread yet. */
void ph__waiting_release(struct ph__db *db, int64_t claimed_us);
void ph__work_push(struct ph__work_list *list, struct ph_work *work);
struct ph_work *ph__work_pop(struct ph__work_list *list);

/* delivery.c: a copy in one piece; NULL: no memory; no lock */
ph_delivery *ph__delivery_copy(const ph_delivery *delivery);

/* stop.c: somebody waits for the end, and this may be it: looks once more where something may have come
 * since; with the lock held */
void ph__drain_look(ph_dispatcher *dispatcher);

/* run.c: works of one stream, one after the other; with the lock held */
/* Finds the runs of a batch; no lock. */
void ph__runs_find(struct ph__batch *batch);
/* Its turn has come: it waits for a thread, or is given back. */
void ph__run_turn(struct ph_work *work);
/* The work is done (and perhaps settled): the turn of the one behind it may have come. */
void ph__run_go_on(struct ph_work *work);
/* The work is not done: what is behind it goes back. */
void ph__run_cut(struct ph_work *work);
/* The work was settled too late: nothing of its run is ours. */
void ph__run_lost(struct ph_work *work);
/* All that is behind others in batches claimed at this time or before. */
void ph__runs_give_back(struct ph__db *db, int64_t claimed_us);

/* work.c: with the lock held */
void ph__work_start(struct ph_work *work);
/* The handler's time begins. Call it only if this says true: the work was not cancelled before. */
bool ph__work_call(struct ph_work *work);
/* Takes the verdict, unless one was taken before. */
void ph__work_decide(struct ph_work *work, ph_verdict verdict);
/* Gives it back as if it had not been claimed; delay_ms 0: at once. */
void ph__work_release(struct ph_work *work, int64_t delay_ms);
/* It has been settled in the database; true as ph__work_unref(). */
bool ph__work_settled(struct ph_work *work, ph_outcome outcome);
/* The handler has returned. True as ph__work_unref(). */
bool ph__work_returned(struct ph_work *work, ph_verdict verdict);
void ph__work_cancel(struct ph_work *work);
/* Replaces the error text; takes a copy; the first NULL-safe. */
void ph__work_set_error(struct ph_work *work, const char *text);

/* transaction.c: no lock. Returns the verdict; *ret_outcome is PH_OUTCOME_ACKED or _STALE if the
 * database has settled it already, else PH_OUTCOME_UNKNOWN. */
ph_verdict ph__run_in_transaction(struct ph__thread *thread, struct ph_work *work,
                                  ph_outcome *ret_outcome);
/* A thread is about to wait for a transaction of this database: others keep away meanwhile. With the
 * lock held, when the work is taken, or all threads might take one before the first waits. */
void ph__transaction_waits(struct ph__db *db);
/* Its database has refused transactions lately: for so long no other is tried; 0: one is. With the
 * lock held. */
int64_t ph__transaction_delay_ms(const struct ph_work *work);
/* The connection of a handler thread; no lock. NULL is fine. */
void ph__handler_store_close(ph_dispatcher *dispatcher, ph_store *store);

/* threads.c */
ph_verdict ph__call_handler(struct ph_work *work);               /* no lock */
int ph__threads_start(ph_dispatcher *dispatcher, ph_error *err); /* no lock */
void ph__threads_replace(ph_dispatcher *dispatcher);             /* no lock; the pollers */
void ph__pollers_join(ph_dispatcher *dispatcher);                   /* no lock */
void ph__threads_join(ph_dispatcher *dispatcher);                /* no lock */
/* Ends the thread that asks the sources; false: it does not return. With the lock held. */
bool ph__discovery_end(ph_dispatcher *dispatcher);
/* Stops waiting for the thread that runs this work; with the lock held. False: it is not running. */
bool ph__thread_give_up(struct ph_work *work);
/* Handler threads must not hold on to a database that nobody serves any more. With the lock held,
 * which it lets go meanwhile. */
void ph__threads_leave(ph_dispatcher *dispatcher, uint64_t serial);
/* Is the caller a handler, or the log callback on a thread of ours? With the lock held. */
bool ph__thread_is_ours(const ph_dispatcher *dispatcher);
/* There are works for handler threads; with the lock held. */
void ph__threads_call(ph_dispatcher *dispatcher);
void ph__wake(ph_dispatcher *dispatcher);        /* with or without the lock */
void ph__wake_asleep(ph_dispatcher *dispatcher); /* with the lock; does nothing if it is awake */
void ph__wake_for(struct ph__db *db);  /* likewise, and if somebody is there already */

/* database.c */
/* Takes entry and store over, if there is an entry; no lock. */
int ph__db_new(ph_dispatcher *dispatcher, struct ph__entry *entry, ph_store *store,
                    struct ph__db **ret_db, ph_error *err);
void ph__db_free(struct ph__db *db);
void ph__db_give_callbacks_back(struct ph__db *db);
int ph__db_limit_ms(const struct ph__db *db); /* of a call, at first */
/* A call needed longer than that: more for the next one; others wait for the thread, so not at once. */
void ph__db_extend(const struct ph__db *db, const ph_error *err, int *limit_ms);
void ph__db_disconnect(struct ph__db *db); /* by who has it; no lock */
void ph__db_leave(struct ph__db *db);      /* likewise */

/* databases.c: which databases there are */
int ph__databases_add(struct ph__db *db);     /* no lock; PH_ENOMEM */
void ph__databases_remove(struct ph__db *db); /* with the lock; the database may be freed */
void ph__databases_update(ph_dispatcher *dispatcher);   /* from the set; no lock */
void ph__databases_changed(void *dispatcher);           /* the set says so; no lock */
void ph__databases_free(ph_dispatcher *dispatcher);
void *ph__discover(void *dispatcher); /* the thread that asks the sources of the set */

/* plan.c: with the lock held */
/* Do works of it wait, while too many threads wait for its transactions already? */
bool ph__db_is_held_up(const struct ph__db *db, int64_t now_us);
/* So many threads may wait for transactions of one database of a set. */
int ph__tx_waiting_max(const ph_dispatcher *dispatcher);
/* How many messages may be claimed now, and at how many that wait a batch fits in. */
int ph__room(const ph_dispatcher *dispatcher, long *ret_wake_at);
/* May it claim at least one message, however many wait already? */
bool ph__claim_allowed(const ph_dispatcher *dispatcher);
/* What waits for a thread, and not for its database. */
long ph__waiting_count(const ph_dispatcher *dispatcher);
/* Fills database->plan. Of one that is not busy, or by who has it. */
void ph__plan_make(struct ph__db *db, int room, int64_t now_us);
/* Room for the claim of one that is busy is taken, and given back. */
void ph__claim_begin(struct ph__db *db, int room);
void ph__claim_end(struct ph__db *db);

/* reserve.c: handler threads that are kept for last attempts; with the lock held */
#define PH__RESERVED_US                                                                            \
    200000 /* the claim for which a thread is kept must begin within that time */
struct ph__exchange_io;
/* Is all that is free kept for last attempts? */
bool ph__threads_are_reserved(const ph_dispatcher *dispatcher);
/* Is there a thread that can be kept for this database, or is one? */
bool ph__thread_is_free_for(const struct ph__db *db);
/* Keeps a thread for each claim of the exchange that may bring a last attempt, and tells it so. */
void ph__reserve(struct ph__db *db, struct ph__exchange_io *io);
/* What the call has shown (NULL: it failed); threads for which nothing came are given back. */
void ph__reserve_end(struct ph__db *db, const struct ph__exchange_io *io);
/* A thread is free: it is kept for a database that waits for one, if that has its turn. */
void ph__reserve_turn(ph_dispatcher *dispatcher);
/* Gives those back that were not used in time; returns when to look again. */
int64_t ph__reserve_lapse(struct ph__db *db, int64_t now_us);
/* The same for all, by the handler threads: every poller may be away. */
void ph__reserve_lapse_all(ph_dispatcher *dispatcher);
/* It claims nothing more. */
void ph__reserve_leave(struct ph__db *db);

/* select.c: with the lock held */
/* The database to be served next, by its plan; NULL: none before *ret_wake_us. It has a connection, or
 * may make one once *ret_victim (NULL: nobody), which is made busy, has given its own up. Lets go of
 * the lock while it asks a callback. */
struct ph__db *ph__pick(ph_dispatcher *dispatcher, struct ph__db **ret_victim,
                             int64_t *ret_wake_us);

/* links.c: connections, of which there may be fewer than databases; with the lock held */
/* Who has had nothing to do for longest, and does nothing now; NULL: nobody. */
struct ph__db *ph__connection_spare(const ph_dispatcher *dispatcher);
/* Makes sure that the database may connect. *ret_victim: who must give its own up before, and is busy
 * until then; NULL: nobody. False: all connections are in use. */
bool ph__connection_take(struct ph__db *db, struct ph__db **ret_victim);
/* For another's sake; no lock. */
void ph__connection_give_up(struct ph__db *victim);
/* It has none any more. */
void ph__connection_end(struct ph__db *db);

/* pollers.c */
/* Somebody must watch the wake-ups while the caller does something else; with the lock held. */
void ph__poller_call(ph_dispatcher *dispatcher);
void *ph__poll(void *poller);
/* Is it of a set, and was never reached? */
bool ph__db_is_new(const struct ph__db *db);

/* wake-ups.c */
int ph__wakeups_open(ph_dispatcher *dispatcher); /* negative: no file descriptors */
void ph__wakeups_close(ph_dispatcher *dispatcher);
void ph__doorbell_arm(struct ph__db *db);     /* no lock */
void ph__doorbell_disarm(struct ph__db *db);  /* with the lock */
void ph__file_watch(struct ph__db *db);   /* no lock */
void ph__file_unwatch(struct ph__db *db); /* with the lock */
/* Sleeps until something rings; with the lock, which it lets go meanwhile. */
void ph__wakeups_wait(ph_dispatcher *dispatcher, int64_t wait_us);

/* serve.c: by who has the database */
/* unclaimed.c: now and then, warns of what waits here and nobody claims. */
void ph__unclaimed_look(struct ph__db *db, int64_t now_us);
void ph__unclaimed_free(ph_dispatcher *dispatcher);
void ph__serve(struct ph__poller *poller, struct ph__db *db, const struct ph__plan *plan);
void ph__db_finish(struct ph__poller *poller, struct ph__db *db);

/* listen.c: the doorbell of one database */
/* There may be messages; with the lock held. */
void ph__db_rung(struct ph__db *db); /* of one that is not busy, or by who has it */
void ph__db_wake(struct ph__db *db); /* of any */
/* Has it rung? Then it is noted. By who has it; no lock. */
bool ph__db_rang(struct ph__db *db);
/* It is left alone for a while: only its doorbell, or time, brings somebody back. Likewise. */
void ph__db_rest(struct ph__db *db);

/* outage.c: by who has the database; no lock */
const struct ph__health_meaning *ph__health_meaning(enum ph__health health);
/* Are enough of the pollers with such ones? */
bool ph__share_is_used_up(enum ph__share share, const struct ph__pollers_use *use);
/* The pause after this one; 0: the first. */
int64_t ph__retry_step_us(enum ph__health health, int64_t step_us, bool in_set);
void ph__db_failed(struct ph__db *db, const ph_error *err);
void ph__db_succeeded(struct ph__db *db);
void ph__db_took(struct ph__db *db, int64_t took_us); /* a call that succeeded; with the lock held */

/* exchange.c: the one call, by who has the database; no lock. */
struct ph__exchange_io {
    int room[PH__SIDES]; /* messages to claim; 0: none */
    bool any_stream;     /* also those that are left to other instances for a while */
    bool settle;         /* what is decided */
    bool renew;          /* leases whose time has come */
    enum ph__last last[PH__SIDES];
    /* What came of it. */
    int claimed[PH__SIDES];
    bool more[PH__SIDES]; /* there may be more although none came */
    bool last_waits[PH__SIDES], last_came[PH__SIDES];
    bool settled; /* something was settled with it */
    bool plain;   /* messages without a stream came */
};
int ph__exchange(struct ph__poller *poller, struct ph__db *db, struct ph__exchange_io *io,
                 ph_error *err);

/* upkeep.c: renewals and time limits; the pollers; no lock. */
void ph__limits_enforce(ph_dispatcher *dispatcher);
/* Adds the leases that must be renewed to the batch, and holds their works. *ret_renewal NULL:
 * there were none. */
struct ph__renewal;
int ph__renewal_begin(struct ph__db *db, struct ph__work_batch *batch,
                      struct ph__renewal **ret_renewal, ph_error *err);
/* r: what the call returned; asked_us: when it was sent. NULL is fine. */
void ph__renewal_end(struct ph__db *db, struct ph__renewal *renewal, int r,
                     int64_t asked_us);

/* say.c: the log; no lock */
void ph__log_serially(void *dispatcher, const ph_log_event *event);
void ph__join_serially(void *dispatcher, const ph_join_end *join);
void ph__say(const struct ph__db *db, ph_log_level level, const char *what,
             const struct ph_work *work, const char *key, const char *value);
/* What came of a handler; outcome as in ph__run_in_transaction(). */
void ph__say_verdict(const struct ph_work *work, ph_verdict verdict, ph_outcome outcome);

#endif
