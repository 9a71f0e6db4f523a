/* work.h - the work half: works, batches, and the functions on them.
 *
 * The life of a work:
 *     (behind) → waiting → running → (kept) → decided → settled
 * The first to decide (the handler's verdict, ph_work_settle(), the time limit, the stop) puts the
 * work on its database's list of decided ones; later verdicts are ignored. A poller settles decided
 * works. A work stays in memory until it is settled and its handler has let go of it; so does its
 * batch, and so does the dispatcher itself.
 *
 * Works of one stream stand together in a batch, in order: a run. Only its first is waiting, the others
 * are behind: each gets its turn when the one before it is done (run.c). */
#ifndef PH_DISPATCH_WORK_WORK_H
#define PH_DISPATCH_WORK_WORK_H

#include "core/log.h"
#include "dispatch/lock.h"
#include "set/set.h"
#include "store/store.h"
#include "util/boot.h"
#include "util/condition.h"

#include <pthread.h>
#include <stdatomic.h>

#define PH__CLAIM_MAX 1000 /* messages in one claim, and in one renewal: neither takes long */
#define PH__SETTLE_MAX PH__CLAIM_MAX /* settlements in one exchange: a whole batch */
#define PH__CANCEL_GRACE_MS 5000     /* from a handler's time limit until it is given up */
#define PH__STOP_GRACE_MS 1000       /* from the stop's cancelling until handlers are given up */
#define PH__HELD_UP_US 50000         /* works held up for so long take no room from others */
#define PH__SIDES 2 /* doors that have handlers: PH_OUTBOX and PH_INBOX, by their numbers */

struct ph__db;

enum ph__work_state { PH__BEHIND, PH__WAITING, PH__RUNNING, PH__DECIDED, PH__SETTLED };

/* The state of a work's handler, or of the program that keeps it. */
struct ph__hold {
    struct ph_work *newer, *older; /* in the list of held ones */
    bool active;                   /* the handler has not let go of it */
    bool returned, kept;           /* the handler has returned, or kept it */
    bool user_settled;             /* ph_work_settle() was called */
    bool given_up;                 /* the dispatcher no longer waits for the handler */
    int64_t started_us;            /* when the handler was called; 0: not yet */
    int64_t limit_us;              /* when its time is over; INT64_MAX: never, or not yet called */
};

/* The settlement for the database. */
struct ph__decision {
    ph_verdict verdict; /* 0: not decided */
    ph_settle_verb verb;
    char *error;      /* the handler's text; ph__alloc */
    int64_t delay_ms; /* PH_DELAY_POLICY: none given */
};

/* The lock guards all members, except that batch, delivery, lease, handler and no_handler do not
 * change, and tx and store belong to the thread that runs it. */
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

/* One claimed batch: one lease. The lock guards all members, except that dispatcher, db, door,
 * owner, messages, count and claimed_us do not change once it is added. */
struct ph__batch {
    ph_dispatcher *dispatcher;
    struct ph__db *db;
    ph_door door;
    ph_owner owner; /* its claimer */
    struct ph__batch *next, *previous;
    ph_batch *messages; /* NULL: each work has its delivery for itself */
    size_t count;
    bool last;                          /* of one work, whose last attempt it is */
    size_t unsettled;                   /* works */
    struct ph__settle_call *settled_by; /* the call under way about some of them; NULL: none */
    uint64_t passed;                    /* the round of settling that has left it out */
    size_t live;                        /* works that are held */
    int64_t claimed_us;                 /* when the batch had come */
    int64_t renew_us;                   /* next renewal */
    _Atomic(int64_t) fenced_us;         /* from then on the lease counts as lost */
    struct ph_work works[];
};

struct ph__work_list {
    struct ph_work *first, **last;
    size_t count;
};

/* A handler thread. The lock guards all members, except that id and dispatcher do not change, and
 * that these belong to the thread itself: serial, maybe_settled, and store while it runs a handler
 * with a transaction. */
struct ph__thread {
    pthread_t id;
    ph_dispatcher *dispatcher;
    struct ph__thread *next;
    struct ph_work *work; /* the work that it runs */
    ph_store *store;      /* its own, for transactions; NULL until needed */
    uint64_t serial;      /* of the database that it is of */
    uint64_t uses;        /* the same, as others may know it: with the lock held */
    bool leave_store;     /* that database is no more: the connection is to be closed */
    bool given_up;        /* its handler hangs: it ends when that returns */
    bool detached;        /* no thread joins it */
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

/* Works that are being settled by one call. */
struct ph__settle_call {
    size_t count;
    bool claims; /* it also claims: it can find the messages that it frees */
    struct ph_work *works[PH__SETTLE_MAX];
    ph_settlement settlements[PH__SIDES][PH__SETTLE_MAX];
    ph_outcome outcomes[PH__SIDES][PH__SETTLE_MAX];
};

/* One call's requests and results, apart from works. */
struct ph__exchange_io {
    int room[PH__SIDES]; /* messages to claim; 0: none */
    bool any_stream;     /* also those that are left to other instances for a while */
    bool settle;         /* decided works */
    bool renew;          /* leases whose time has come */
    enum ph__last last[PH__SIDES];
    /* The results. */
    int claimed[PH__SIDES];
    bool more[PH__SIDES]; /* there may be more although none came */
    bool last_waits[PH__SIDES], last_came[PH__SIDES];
    bool settled; /* something was settled with it */
    bool alone;   /* … and nothing else was in flight */
    bool plain;   /* messages without a stream came */
};

/* handlers.c */
const ph_handler *ph__handler_of(const struct ph__side *side, const char *topic);
/* Sorts them and finds out what to claim; with the lock held. */
int ph__handlers_prepare(ph_dispatcher *dispatcher, ph_error *err);
void ph__handlers_free(ph_dispatcher *dispatcher);

/* batch.c: all with the lock held unless they say otherwise */
/* Room for so many messages, made before they are claimed; no lock. */
struct ph__batch *ph__batch_new(struct ph__db *db, ph_door door, ph_owner owner, int capacity);
/* Takes the batch over; asked_us: when the claim was sent; no lock. */
void ph__batch_fill(struct ph__batch *batch, ph_batch *messages, int64_t asked_us);
/* Its lease is lost already: its works will be given back when they are added. */
void ph__batch_lose(struct ph__batch *batch);
/* Adds the batch and queues its works. */
void ph__batch_add(struct ph__batch *batch);
/* Is a handler still busy with an earlier delivery of this message, whose lease was lost or which
 * was settled before the handler returned? Then for so long it is put off; 0: it is not. */
int64_t ph__put_off_ms(const struct ph_work *work);
/* Is another delivery of its message in a call under way? Of one given twice the first counts. */
bool ph__settles_other(const struct ph_work *work);
/* Ends a reference; with the last one the work is gone. True: so is its batch, and the caller
 * drops a reference of the dispatcher after unlocking. */
bool ph__work_unref(struct ph_work *work);
/* Drops works that could not be settled before the end: their leases run out instead; returns how
 * many. */
size_t ph__works_forget(struct ph__db *db);
/* The leases are gone: handlers are cancelled, and all works forgotten; returns how many. */
size_t ph__works_evict(struct ph__db *db);

/* waiting.c: with the lock held */
/* The list of those that wait for a thread. */
void ph__waiting_push(struct ph_work *work);
/* Takes those of a database that were claimed at this time or before. */
void ph__waiting_take(struct ph__db *db, int64_t claimed_us, struct ph__work_list *taken);
struct ph_work *ph__waiting_pop(ph_dispatcher *dispatcher);
/* Gives back works that were claimed at this time or before and have no thread yet. */
void ph__waiting_release(struct ph__db *db, int64_t claimed_us);
void ph__work_push(struct ph__work_list *list, struct ph_work *work);
struct ph_work *ph__work_pop(struct ph__work_list *list);

/* settle.c */
/* Takes decided works off the list of the database, in their order, and adds them to the batch; with the
 * lock held. */
void ph__settle_begin(struct ph__settle_call *call, struct ph__db *db,
                      struct ph__work_batch *batch);
/* r: the call's result, err why. Works not settled are decided again, in their order; no lock. */
void ph__settle_end(struct ph__settle_call *call, struct ph__db *db, int r, const ph_error *err);

/* renew.c: no lock */
struct ph__renewal;
/* Adds the leases that must be renewed to the batch, and holds their works. *ret_renewal NULL: there were
 * none. */
int ph__renewal_begin(struct ph__db *db, struct ph__work_batch *batch,
                      struct ph__renewal **ret_renewal, ph_error *err);
/* r: the call's result; asked_us: when it was sent. NULL is fine. */
void ph__renewal_end(struct ph__db *db, struct ph__renewal *renewal, int r, int64_t asked_us);

/* limits.c: no lock */
void ph__limits_enforce(ph_dispatcher *dispatcher);

/* delivery.c: a copy in one piece; NULL: no memory; no lock */
ph_delivery *ph__delivery_copy(const ph_delivery *delivery);

/* run.c: works of one stream, one after the other; with the lock held */
/* Finds the runs of a batch; no lock. */
void ph__runs_find(struct ph__batch *batch);
/* Its turn has come: it waits for a thread, or is given back. */
void ph__run_turn(struct ph_work *work);
/* The work is done (and perhaps settled): the turn of the one behind it may have come. */
void ph__run_go_on(struct ph_work *work);
/* The work is not done: those behind it go back. */
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
/* The handler, or the program that kept it, holds it no longer. True as ph__work_unref(). */
bool ph__work_let_go(struct ph_work *work);
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
/* replaces: one that is missing, which counts before the new one can have done anything; no lock */
bool ph__thread_start(ph_dispatcher *dispatcher, bool replaces);
ph_verdict ph__call_handler(struct ph_work *work);   /* no lock */
void ph__threads_replace(ph_dispatcher *dispatcher); /* no lock */
void ph__threads_join(ph_dispatcher *dispatcher);    /* no lock */
/* Stops waiting for the thread that runs this work; with the lock held. False: it is not running. */
bool ph__thread_give_up(struct ph_work *work);
/* Handler threads must not hold on to a database that is no longer served. With the lock held,
 * which it lets go meanwhile. */
void ph__threads_leave(ph_dispatcher *dispatcher, uint64_t serial);
/* There are works for handler threads; with the lock held. */
void ph__threads_call(ph_dispatcher *dispatcher);

/* room.c: with the lock held */
/* Do works of it wait, while too many threads wait for its transactions already? */
bool ph__db_is_held_up(const struct ph__db *db, int64_t now_us);
/* So many threads may wait for transactions of one database of a set. */
int ph__tx_waiting_max(const ph_dispatcher *dispatcher);
/* How many messages may be claimed now, and at how many that wait a batch fits in. */
int ph__room(const ph_dispatcher *dispatcher, long *ret_wake_at);
/* May it claim at least one message, however many wait already? */
bool ph__claim_allowed(const ph_dispatcher *dispatcher);
/* The works that wait for a thread, and not for their database. */
long ph__waiting_count(const ph_dispatcher *dispatcher);
/* Room for the claim of one that is busy is taken, and given back. */
void ph__claim_begin(struct ph__db *db, int room);
void ph__claim_end(struct ph__db *db);

#endif
