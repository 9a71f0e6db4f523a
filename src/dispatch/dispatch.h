/* dispatch.h - what the files of the dispatcher share.
 *
 * One lock guards everything below it in struct ph_dispatcher. Only the
 * coordinator's thread talks to the store; handler threads in transactions
 * have stores of their own. Nobody calls the database, a handler or the log
 * while holding the lock.
 *
 * The life of a work:
 *     (behind) → waiting → running → (kept) → decided → settled
 * Whoever decides first (the handler's verdict, ph_work_settle(), the time
 * limit, the stop) puts the work on the list of decided ones; later verdicts
 * are ignored. The coordinator settles what is decided. A work stays in memory
 * until it is settled and its handler has let go of it; so does its flight, and
 * so does the dispatcher itself.
 *
 * Works of one stream stand together in a flight, in order: a run. Only its
 * first is waiting, the others are behind: each gets its turn when the one
 * before it is done (run.c). */
#ifndef PH_DISPATCH_DISPATCH_H
#define PH_DISPATCH_DISPATCH_H

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
#define PH__SIDES 2 /* doors that have handlers: PH__OUTBOX and PH__INBOX, by their numbers */

enum ph__work_state { PH__BEHIND, PH__WAITING, PH__RUNNING, PH__DECIDED, PH__SETTLED };

struct ph_work {
    struct ph__flight *flight;
    size_t refs; /* not settled, held by a handler, held by the coordinator for a moment */
    const ph_delivery *delivery;
    ph_lease_ref lease;
    const ph_handler *handler;
    struct ph_work *next;          /* in the list of waiting or decided ones */
    struct ph_work *newer, *older; /* in the list of active ones */
    struct ph_work *slot_next;     /* in its slot */
    struct ph_work *behind;        /* the next of its run; NULL: none */
    enum ph__work_state state;
    atomic_bool cancelled;     /* written under the lock */
    bool stop_cancelled;       /* by the stop: a retry is then a release */
    bool active;               /* the handler has not let go of it */
    bool given_up;             /* nobody waits for the handler any more */
    bool returned, kept;       /* what the handler did */
    bool user_settled;         /* ph_work_settle() was called */
    atomic_bool maybe_settled; /* an earlier try may have reached the database */
    bool no_handler;
    bool
        given_back; /* unhandled, with another of its run: perhaps not ours by now, which is fine */
    bool settling;  /* the coordinator's call about it is under way */
    bool evicted;   /* forgotten, since the instance was taken for dead */
    /* Times are those of CLOCK_BOOTTIME, here and everywhere. */
    int64_t started_us;  /* when the handler was called; 0: not yet */
    int64_t limit_us;    /* when its time is over; INT64_MAX: never, or not yet called */
    ph_settle_verb verb; /* once decided */
    ph_verdict verdict;
    char *error;      /* what the handler said; ph__alloc */
    int64_t delay_ms; /* PH_DELAY_POLICY: none given */
    ph_tx tx;
    ph_store *store; /* that of tx */
};

/* One claimed batch. */
struct ph__flight {
    ph_dispatcher *dispatcher;
    enum ph__door door;
    ph_owner owner; /* who claimed it */
    struct ph__flight *next, *previous;
    ph_batch *batch; /* NULL: each work has its delivery for itself */
    size_t count;
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

struct ph_dispatcher {
    ph_store *store;
    ph_dispatcher_opts opts; /* filled; texts are copies */
    char host[PH__HOST_SIZE];
    int call_timeout_ms;
    int64_t lease_us, fence_margin_us;
    ph_handler *handlers; /* by door and topic, after the start; topics are copies */
    size_t handler_count;
    struct ph__side sides[PH__SIDES];
    int wake_fd; /* an eventfd on which the coordinator sleeps */

    /* The coordinator's own; no lock. */
    ph_scheduler *scheduler; /* NULL: none was asked for */
    bool registered;         /* as an instance */
    struct ph_work *settling[PH__SETTLE_MAX];
    ph_settlement settlements[PH__SIDES][PH__SETTLE_MAX];
    ph_outcome outcomes[PH__SIDES][PH__SETTLE_MAX];
    char *warned_topics[PH__WARNED_TOPICS_MAX];
    size_t warned_count;

    ph_store
        voice; /* what the log needs of the store: a hung handler may outlive the store itself */
    pthread_mutex_t log_lock;
    ph_log_fn log; /* the store's own */
    void *log_context;
    ph_join_fn join_ended; /* likewise */
    void *join_context;
    bool silent; /* freed: nobody may be called any more */

    pthread_mutex_t lock;
    pthread_cond_t work_ready; /* for handler threads */
    pthread_cond_t changed;    /* for drain, stop and ph_work_wait */
    size_t refs;               /* the user, threads, flights */
    ph_owner owner; /* the instance's id; the coordinator takes another after an eviction */
    bool starting, started, stopping, ending, stopped;
    bool asleep;        /* the coordinator waits on wake_fd */
    long wake_at;       /* … also for room: so many that wait, or fewer; -1: not */
    bool short_of_room; /* … for a handler that ends: there was no thread, or too much in flight */
    int64_t limit_us;   /* the next time limit */
    int64_t renew_us;   /* the next renewal */
    struct ph__thread *threads;
    pthread_t coordinator;
    int missing_threads, hung_threads, idle_threads;
    int64_t usual_run_us; /* how long handlers take, lately */
    bool helper_called;   /* an idle thread was woken to stand by, or stands by */
    bool no_transaction;  /* the last handler that needed one got none */
    struct ph__work_list waiting, decided;
    size_t behind;          /* works that wait for another of their stream */
    bool stream_free;       /* a run has come to its end: there may be more of its stream */
    struct ph_work *active; /* newest first */
    size_t running, kept, in_flight;
    struct ph__flight *flights;
    struct ph_work *slots[PH__SLOTS]; /* the works of all flights, by work id */
    int64_t first_decided_us;         /* when the list of decided ones began */
    int64_t next_claim_us;
    uint64_t claims; /* how many were begun */
    uint64_t
        drained; /* the last one that found nothing, with nothing in flight from its beginning */
    int drain_waiters;
    ph_error last_error; /* of the present outage; code 0: none */
    int64_t stop_us;     /* until then handlers may end by themselves */
    bool in_grace;       /* they were cancelled, and have a moment that nobody cuts short */
    int stop_result;
    ph_error stop_error;
    ph_dispatcher_stats stats;
};

/* dispatcher.c */
void ph__dispatcher_drop(ph_dispatcher *dispatcher); /* one reference; the lock not held */

/* handlers.c */
const ph_handler *ph__handler_of(const struct ph__side *side, const char *topic);
/* Sorts them and finds out what to claim; with the lock held. */
int ph__handlers_prepare(ph_dispatcher *dispatcher, ph_error *err);
void ph__handlers_free(ph_dispatcher *dispatcher);

/* instance.c: what it is for others */
int ph__instance_options(ph_dispatcher_opts *opts, ph_error *err); /* defaults, and checks */
int ph__instance_init(ph_dispatcher *dispatcher, ph_error *err);   /* copies what the options say */
void ph__instance_free(ph_dispatcher *dispatcher);
struct ph__instance ph__instance_of(const ph_dispatcher *dispatcher); /* the coordinator */
/* It was taken for dead: nothing that it has claimed is its own any more. The coordinator; no lock. */
void ph__instance_evicted(ph_dispatcher *dispatcher);
void ph__instance_leave(ph_dispatcher *dispatcher); /* the coordinator; no lock */

/* flight.c: all with the lock held unless they say otherwise */
/* Room for so many messages, made before they are claimed; no lock. */
struct ph__flight *ph__flight_new(ph_dispatcher *dispatcher, enum ph__door door, int capacity);
/* Takes the batch over; asked_us: when the claim was sent; no lock. */
void ph__flight_fill(struct ph__flight *flight, ph_batch *batch, int64_t asked_us);
/* Adds the flight and queues its works. */
void ph__flight_land(struct ph__flight *flight);
/* Is a handler still busy with an earlier delivery of this message, whose lease was lost or which
 * was settled before the handler returned? Then for so long it is put off; 0: it is not. */
int64_t ph__put_off_ms(const struct ph_work *work);
/* Is another delivery of its message in the call under way? Of one given twice the first counts. */
bool ph__settles_other(const struct ph_work *work);
/* Ends a reference; with the last one the work is gone. True: so is its flight, and the caller
 * drops a reference of the dispatcher after unlocking. */
bool ph__work_unref(struct ph_work *work);
/* What could not be settled before the end: the leases run out instead. */
void ph__works_forget(ph_dispatcher *dispatcher);
/* The leases are gone: handlers are cancelled, and all works forgotten; returns how many. */
size_t ph__works_evict(ph_dispatcher *dispatcher);
void ph__work_push(struct ph__work_list *list, struct ph_work *work);
struct ph_work *ph__work_pop(struct ph__work_list *list);

/* delivery.c: a copy in one piece; NULL: no memory; no lock */
ph_delivery *ph__delivery_copy(const ph_delivery *delivery);

/* run.c: works of one stream, one after the other; with the lock held */
/* Finds the runs of a batch; no lock. */
void ph__runs_find(struct ph__flight *flight);
/* Its turn has come: it waits for a thread, or is given back. */
void ph__run_turn(struct ph_work *work);
/* The work is done (and perhaps settled): the turn of the one behind it may have come. */
void ph__run_go_on(struct ph_work *work);
/* The work is not done: what is behind it goes back. */
void ph__run_cut(struct ph_work *work);
/* The work was settled too late: nothing of its run is ours. */
void ph__run_lost(struct ph_work *work);
/* All that is behind others in flights claimed at this time or before. */
void ph__runs_give_back(ph_dispatcher *dispatcher, int64_t claimed_us);

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

/* threads.c */
ph_verdict ph__call_handler(struct ph_work *work);               /* no lock */
int ph__threads_start(ph_dispatcher *dispatcher, ph_error *err); /* no lock */
void ph__threads_replace(ph_dispatcher *dispatcher);             /* no lock; the coordinator */
void ph__threads_join(ph_dispatcher *dispatcher);                /* no lock */
/* Stops waiting for the thread that runs this work; with the lock held. False: it is not running. */
bool ph__thread_give_up(struct ph_work *work);
/* Is the caller a handler, or the log callback on a thread of ours? With the lock held. */
bool ph__thread_is_ours(const ph_dispatcher *dispatcher);
/* There are works for handler threads; with the lock held. */
void ph__threads_call(ph_dispatcher *dispatcher);
void ph__wake(ph_dispatcher *dispatcher);        /* with or without the lock */
void ph__wake_asleep(ph_dispatcher *dispatcher); /* with the lock; does nothing if it is awake */

/* coordinator.c */
void *ph__coordinate(void *dispatcher);

/* exchange.c: the coordinator's call; no lock. */
struct ph__trip {
    int room[PH__SIDES]; /* messages to claim; 0: none */
    bool any_stream;     /* also those that are left to other instances for a while */
    bool settle;         /* what is decided */
    bool renew;          /* leases whose time has come */
    /* What came of it. */
    int claimed[PH__SIDES];
    bool more[PH__SIDES]; /* there may be more although none came */
    bool settled;         /* something was settled with it */
    bool plain;           /* messages without a stream came */
};
int ph__exchange(ph_dispatcher *dispatcher, struct ph__trip *trip, ph_error *err);

/* upkeep.c: renewals and time limits; the coordinator; no lock. */
void ph__limits_enforce(ph_dispatcher *dispatcher);
/* Adds the leases that must be renewed to the batch, and holds their works. *ret_renewal NULL:
 * there were none. */
struct ph__renewal;
int ph__renewal_begin(ph_dispatcher *dispatcher, struct ph__work_batch *batch,
                      struct ph__renewal **ret_renewal, ph_error *err);
/* r: what the call returned; asked_us: when it was sent. NULL is fine. */
void ph__renewal_end(ph_dispatcher *dispatcher, struct ph__renewal *renewal, int r,
                     int64_t asked_us);

/* say.c: the log; no lock */
void ph__log_serially(void *dispatcher, const ph_log_event *event);
void ph__join_serially(void *dispatcher, const ph_join_end *join);
void ph__say(ph_dispatcher *dispatcher, ph_log_level level, const char *what,
             const struct ph_work *work, const char *key, const char *value);
/* What came of a handler; outcome as in ph__run_in_transaction(). */
void ph__say_verdict(ph_dispatcher *dispatcher, const struct ph_work *work, ph_verdict verdict,
                     ph_outcome outcome);

#endif
