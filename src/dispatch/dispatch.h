/* dispatch.h - what the files of the dispatcher share.
 *
 * A store as the dispatcher serves it is a station: the one store that it was
 * made with, or one for each database of a set. The threads that talk to
 * databases are the crew: each picks a station, which is then busy and its own,
 * serves it, and picks the next. Handler threads in transactions have stores of
 * their own. One lock guards everything below it in struct ph_dispatcher, and in
 * each station. Nobody calls the database, a handler or the log while holding it.
 *
 * The life of a work:
 *     (behind) → waiting → running → (kept) → decided → settled
 * Whoever decides first (the handler's verdict, ph_work_settle(), the time
 * limit, the stop) puts the work on its station's list of decided ones; later
 * verdicts are ignored. The crew settles what is decided. A work stays in memory
 * until it is settled and its handler has let go of it; so does its flight, and
 * so does the dispatcher itself.
 *
 * Works of one stream stand together in a flight, in order: a run. Only its
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
#define PH__CREW_MAX 16      /* threads that talk to databases */
#define PH__SLOW_US 500000   /* a call that takes longer is kept from occupying the whole crew */
#define PH__CLOGGED_US 50000 /* who waits so long for transactions is in the way of nobody */
#define PH__SIDES 2 /* doors that have handlers: PH__OUTBOX and PH__INBOX, by their numbers */

enum ph__work_state { PH__BEHIND, PH__WAITING, PH__RUNNING, PH__DECIDED, PH__SETTLED };

struct ph_work {
    struct ph__flight *flight;
    size_t refs; /* not settled, held by a handler, held by the crew for a moment */
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
    /* Unhandled, with another of its run: perhaps it is not ours by now, which is fine. */
    bool given_back;
    bool settling; /* a call about it is under way */
    bool reserved; /* it waits, and a thread is kept for it */
    bool evicted;  /* forgotten, since the instance was taken for dead */
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
    struct ph__station *station;
    enum ph__door door;
    ph_owner owner; /* who claimed it */
    struct ph__flight *next, *previous;
    ph_batch *batch; /* NULL: each work has its delivery for itself */
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
    uint64_t serial;      /* of the station whose database that is */
    uint64_t uses;        /* the same, as others may know it: with the lock held */
    bool leave_store;     /* that station is no more: the connection is to be closed */
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

/* What a station needs, as far as can be seen without asking the database. */
struct ph__plan {
    bool act;    /* an exchange is due, whether or not it may claim */
    bool claim;  /* … or it would be, to claim */
    bool renew;  /* leases must be renewed */
    bool outage; /* … and nothing else is tried yet */
    bool chores; /* something else is due: the bell, the retention, the scheduler, its end */
    bool retention, schedule; /* … of them */
    int room;                 /* messages to claim; 0: none */
    int64_t wake_us;          /* otherwise: when to look again */
    int64_t urge_us;          /* when it must act even if it is not its turn to claim */
};

/* One store, and all that concerns it alone. */
struct ph__station {
    ph_dispatcher *dispatcher;
    struct ph__entry *entry; /* of the set; NULL: the store is the user's */
    ph_store *store;
    uint64_t serial; /* never used again, unlike its address */
    char *server;    /* where others may have the same trouble; NULL: it is alone */
    /* Of its own: a handler that hangs may outlive the store. */
    char *id;
    struct ph__log_source log;
    struct ph__station *bell_next; /* in the table of watched files */
    char *bell_name;               /* the file's name in its folder; NULL: not watched */
    bool bell_lost;                /* the folder is no more; with the lock held */
    int bell_folder;               /* the number of the watch */

    /* Of whoever has made it busy, or holds the lock while it is not. */
    ph_scheduler *scheduler; /* NULL: none was asked for */
    bool registered;         /* as an instance */
    int64_t backoff_us;
    bool found;       /* the last claim found something */
    int doorbell_fd;  /* -1: none */
    int64_t heard_us; /* when it was last looked whether it had rung */
    bool rung;        /* since the last claim */
    int64_t rung_us;  /* when that was last; 0: never */
    int false_alarms; /* claims in a row for which the bell had rung, and there was nothing */
    int claim_max;    /* at most so many at once: fewer after a claim that took long */
    int64_t retry_us; /* not before; 0: the database is there */
    int64_t retry_step_us;
    int limit_ms;             /* of a call; more after one that took longer */
    int chore_ms;             /* … of the retention and the scheduler */
    uint32_t said_codes;      /* of this outage */
    bool exchange_failed;     /* in this outage: a renewal alone cannot end it */
    int64_t beat_us;          /* the heart is due */
    unsigned turn;            /* of the doors, where there is not room for both */
    bool empty[PH__SIDES];    /* the last claim of this door found nothing */
    uint64_t dry[PH__SIDES];  /* which claim found nothing there, and nothing in flight; 0: none */
    bool in_hand;             /* all that is due seems to be of streams that are worked on here */
    int64_t retention_us;     /* next run; 0: never */
    int64_t unclaimed_us;     /* next look for topics that nobody claims */
    int64_t schedule_us;      /* the scheduler's next run */
    int64_t schedule_next_us; /* … if nobody plans anything before */
    int64_t visit_us;         /* what a look with connecting costs, lately */
    int64_t worked_us;        /* when it last had messages */

    /* With the lock held. */
    bool busy;         /* one of the crew is there */
    bool linked;       /* it has one of the connections */
    bool hear;         /* its bell may have rung */
    bool called;       /* … and has, while it was busy */
    int64_t served_us; /* when it was made busy */
    int64_t claim_us;  /* when the last claim had come; 0: there was none yet. Written when busy */
    int last_claimed;  /* how many it brought; -1: there was none yet */
    bool through;      /* … and there was nothing more to find */
    bool owed;         /* its turn came when it was busy, or there was no room: it comes first */
    bool met;          /* it was claimed from, or has failed */
    bool greeting;     /* it is busy, and was not when that began */
    bool finished;     /* the last words were said */
    bool ailing;       /* it is busy, and was in trouble when that began */
    bool lagging;      /* … and was slow */
    int claiming;      /* … and messages that may come with its claim */
    bool last_waits;   /* a last attempt stands first, which waits for a thread */
    bool last_came;    /* the last claim brought one: the next may */
    int reserved;      /* threads that are kept for the last attempts that it may claim */
    int64_t reserved_until_us; /* … if the claim does not begin before */
    int64_t reserve_us;        /* before that none is kept, since it was not used */
    bool armed;                /* its bell is watched */
    bool slow;                 /* its last call took long */
    bool suspect;         /* it cannot be used, or another took long and failed on its server */
    bool aside;           /* schema, rights or credentials will not do */
    bool deploys;         /* its schema is to be made, which may take long */
    bool draining;        /* it has left the set */
    int64_t drain_us;     /* since when it is draining */
    struct ph__plan plan; /* when it was last looked at */
    ph_owner owner;       /* the instance's id; another one after an eviction */
    struct ph__work_list decided;
    int64_t first_decided_us; /* when that list began */
    struct ph__flight *flights;
    size_t waiting, running, in_flight; /* works of it */
    size_t behind;                      /* works that wait for another of their stream */
    bool stream_free; /* a run has come to its end: there may be more of its stream */
    int64_t renew_us; /* the next renewal */
    int64_t next_claim_us;
    uint64_t drained; /* its last claim that found nothing, with nothing in flight anywhere from
                            its beginning */
    uint64_t drained_landings; /* how many claims had brought something by then */
    int tx_waiting; /* handler threads that wait for its transactions to begin or be acknowledged */
    int64_t tx_full_us;  /* since when they are so many that no other may; 0: they are not */
    int64_t tx_retry_us; /* none is begun before; 0: at any time */
    int64_t tx_step_us;
    bool connected;      /* the last call reached the database */
    ph_error last_error; /* of the present outage; code 0: none */
    int64_t claimed, done, exchanges, outages;
};

/* One of the crew, with what it needs for an exchange. */
struct ph__mate {
    ph_dispatcher *dispatcher;
    pthread_t id;
    struct ph_work *settling[PH__SETTLE_MAX];
    ph_settlement settlements[PH__SIDES][PH__SETTLE_MAX];
    ph_outcome outcomes[PH__SIDES][PH__SETTLE_MAX];
};

#define PH__BELL_SLOTS 256

struct ph_dispatcher {
    ph_set *set; /* NULL: one store */
    struct ph__set_observer observer;
    ph_dispatcher_opts opts; /* filled; texts are copies */
    char host[PH__HOST_SIZE];
    int call_timeout_ms;
    int64_t lease_us, fence_margin_us;
    ph_handler *handlers; /* by door and topic, after the start; topics are copies */
    size_t handler_count;
    struct ph__side sides[PH__SIDES];
    int wake_fd;     /* an eventfd on which the crew sleeps */
    int poll_fd;     /* an epoll of that and of the bells */
    int inotify_fd;  /* of files that are watched without a connection; -1: none */
    int connections; /* taken from the set's budget */
    int links_max;   /* of them for stations */

    pthread_mutex_t log_lock;
    ph_log_fn log; /* the stores' own */
    void *log_context;
    ph_join_fn join_ended; /* likewise */
    void *join_context;
    bool silent;                                /* freed: nobody may be called any more */
    char *warned_topics[PH__WARNED_TOPICS_MAX]; /* with log_lock held */
    size_t warned_count;
    struct { /* said to be claimed by nobody; likewise */
        char *topic;
        int door;
        int64_t said_us;
    } unclaimed[PH__WARNED_TOPICS_MAX];
    size_t unclaimed_count;

    struct ph__lock lock;
    pthread_cond_t work_ready; /* for handler threads */
    pthread_cond_t crew_ready; /* for those of the crew who do not watch the bells */
    pthread_cond_t discover;   /* for the thread that asks the sources */
    pthread_cond_t changed;    /* for drain, stop and ph_work_wait */
    size_t refs;               /* the user, threads, flights */
    bool starting, started, stopping, ending, stopped;
    struct ph__mate *crew[PH__CREW_MAX];
    int crew_count, crew_waiting;
    bool watched; /* one of the crew watches the bells (or is about to) */
    bool asleep;  /* … and sleeps */
    int64_t asleep_until_us;
    int64_t heard_us;              /* when the bells were last heard */
    struct ph__station **stations; /* by id */
    size_t station_count, station_room;
    struct ph__station *retired; /* gone, but with works in the hands of handlers; by bell_next */
    struct ph__station *bell_slots[PH__BELL_SLOTS]; /* watched files, by folder and name */
    int64_t quiet_until_us;                         /* so long the watched folders are left alone */
    bool folders_armed;
    bool tending;               /* one of the crew looks after what concerns no station */
    bool stations_changed;      /* the set has other databases than there are stations */
    int64_t update_us;          /* … which is not looked at before */
    uint64_t last_serial;       /* of a station */
    int links;                  /* stations that have a connection */
    int handler_links;          /* connections of handler threads */
    bool left_set;              /* the others were given back to it */
    int ailing;                 /* busy ones that are in trouble */
    int lagging;                /* busy ones that are only slow */
    bool any_well;              /* there is one that is neither */
    size_t urgent_turn;         /* where the search for urgent ones begins */
    bool urgent_first;          /* it is their turn, not that of a claim */
    struct ph__station *chosen; /* to be claimed from next; NULL: not chosen yet */
    uint64_t last_chosen;       /* its serial; 0: none */
    size_t claim_turn;          /* where the search for the next one begins */
    bool selecting;             /* the callback is being asked: no station is freed */
    bool others_ready;          /* there was more to do than for the one who picked last */
    int64_t choose_us;          /* the callback wants to be asked again then */
    uint64_t asked_mark;        /* … or when others are ready than those of this mark */
    long wake_at;               /* wake also for room: so many that wait, or fewer; -1: not */
    bool short_of_room; /* … for a handler that ends: there was no thread, or too much in flight */
    int claiming;       /* messages that may come with claims under way */
    int claiming_doubtful; /* … of stores that are in trouble or slow */
    int64_t limit_us;      /* the next time limit */
    struct ph__thread *threads;
    pthread_t discoverer;
    bool has_discoverer; /* it must be joined */
    bool discovering;    /* it has not ended */
    bool discovered;     /* the sources were asked once */
    int missing_threads, hung_threads, idle_threads;
    int reserved;         /* threads that are kept for last attempts */
    size_t last_waiting;  /* stations that wait for one */
    size_t reserve_turn;  /* where the search for the next of them begins */
    bool others_turn;     /* … but first a thread is for what waits in memory */
    int64_t usual_run_us; /* how long handlers take, lately */
    bool helper_called;   /* an idle thread was woken to stand by, or stands by */
    bool no_transaction;  /* the last handler that needed one got none */
    struct ph__work_list waiting;
    size_t clogged; /* of them: those whose database holds them up, when it was last looked */
    size_t behind;  /* works that wait for another of their stream */
    size_t decided; /* works that are decided, of all stations */
    struct ph_work *active; /* newest first */
    size_t running, kept, in_flight;
    size_t bytes;                     /* of the messages of all works */
    struct ph_work *slots[PH__SLOTS]; /* the works of all flights, by work id */
    uint64_t claims;                  /* how many were begun */
    uint64_t landings;                /* how many brought something */
    int drain_waiters;
    int64_t stop_us;          /* until then handlers may end by themselves */
    bool in_grace;            /* they were cancelled, and have a moment that nobody cuts short */
    atomic_bool leave_failed; /* not everybody heard it */
    int64_t leave_us;         /* until then they are told good-bye */
    int64_t finish_us;        /* until then the crew tries to settle the last ones */
    int stop_result;
    ph_error stop_error;
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
struct ph__instance ph__instance_of(const struct ph__station *station); /* the crew */
/* It was taken for dead: nothing that it has claimed is its own any more. The crew; no lock. */
void ph__instance_evicted(struct ph__station *station);
bool ph__instance_leave(struct ph__station *station); /* the crew; no lock; false: in vain */

/* flight.c: all with the lock held unless they say otherwise */
/* Room for so many messages, made before they are claimed; no lock. */
struct ph__flight *ph__flight_new(struct ph__station *station, enum ph__door door, int capacity);
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
/* What could not be settled before the end: the leases run out instead; returns how many. */
size_t ph__works_forget(struct ph__station *station);
/* The leases are gone: handlers are cancelled, and all works forgotten; returns how many. */
size_t ph__works_evict(struct ph__station *station);
/* The list of those that wait for a thread. */
void ph__waiting_push(struct ph_work *work);
struct ph_work *ph__waiting_pop(ph_dispatcher *dispatcher);
/* Gives back what was claimed at this time or before and has no thread yet. */
void ph__waiting_release(struct ph__station *station, int64_t claimed_us);
void ph__work_push(struct ph__work_list *list, struct ph_work *work);
struct ph_work *ph__work_pop(struct ph__work_list *list);

/* delivery.c: a copy in one piece; NULL: no memory; no lock */
ph_delivery *ph__delivery_copy(const ph_delivery *delivery);

/* stop.c: somebody waits for the end, and this may be it: looks once more where something may have come
 * since; with the lock held */
void ph__drain_look(ph_dispatcher *dispatcher);

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
void ph__runs_give_back(struct ph__station *station, int64_t claimed_us);

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
void ph__transaction_waits(struct ph__station *station);
/* Its database has refused transactions lately: for so long no other is tried; 0: one is. With the
 * lock held. */
int64_t ph__transaction_delay_ms(const struct ph_work *work);
/* The connection of a handler thread; no lock. NULL is fine. */
void ph__handler_store_close(ph_dispatcher *dispatcher, ph_store *store);

/* threads.c */
ph_verdict ph__call_handler(struct ph_work *work);               /* no lock */
int ph__threads_start(ph_dispatcher *dispatcher, ph_error *err); /* no lock */
void ph__threads_replace(ph_dispatcher *dispatcher);             /* no lock; the crew */
void ph__crew_join(ph_dispatcher *dispatcher);                   /* no lock */
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
void ph__wake_for(struct ph__station *station);  /* likewise, and if somebody is there already */

/* station.c */
/* Takes entry and store over, if there is an entry; no lock. */
int ph__station_new(ph_dispatcher *dispatcher, struct ph__entry *entry, ph_store *store,
                    struct ph__station **ret_station, ph_error *err);
void ph__station_free(struct ph__station *station);
void ph__station_give_callbacks_back(struct ph__station *station);
int ph__station_limit_ms(const struct ph__station *station); /* of a call, at first */
/* A call needed longer than that: more for the next one; others wait for the thread, so not at once. */
void ph__station_extend(const struct ph__station *station, const ph_error *err, int *limit_ms);
void ph__station_disconnect(struct ph__station *station); /* by who has it; no lock */
void ph__station_leave(struct ph__station *station);      /* likewise */

/* stations.c: which stations there are */
int ph__stations_add(struct ph__station *station);     /* no lock; PH_ENOMEM */
void ph__stations_remove(struct ph__station *station); /* with the lock; the station may be freed */
void ph__stations_update(ph_dispatcher *dispatcher);   /* from the set; no lock */
void ph__stations_changed(void *dispatcher);           /* the set says so; no lock */
void ph__stations_free(ph_dispatcher *dispatcher);
void *ph__discover(void *dispatcher); /* the thread that asks the sources of the set */

/* plan.c: with the lock held */
/* Do works of it wait, while too many threads wait for its transactions already? */
bool ph__station_is_clogged(const struct ph__station *station, int64_t now_us);
/* So many threads may wait for transactions of one database of a set. */
int ph__tx_waiting_max(const ph_dispatcher *dispatcher);
/* How many messages may be claimed now, and at how many that wait a batch fits in. */
int ph__room(const ph_dispatcher *dispatcher, long *ret_wake_at);
/* May it claim at least one message, however many wait already? */
bool ph__claim_allowed(const ph_dispatcher *dispatcher);
/* What waits for a thread, and not for its database. */
long ph__waiting_count(const ph_dispatcher *dispatcher);
/* Fills station->plan. Of one that is not busy, or by who has it. */
void ph__plan_make(struct ph__station *station, int room, int64_t now_us);
/* Room for the claim of one that is busy is taken, and given back. */
void ph__claim_begin(struct ph__station *station, int room);
void ph__claim_end(struct ph__station *station);

/* reserve.c: handler threads that are kept for last attempts; with the lock held */
#define PH__RESERVED_US                                                                            \
    200000 /* the claim for which a thread is kept must begin within that time */
struct ph__trip;
/* Is all that is free kept for last attempts? */
bool ph__threads_are_reserved(const ph_dispatcher *dispatcher);
/* Is there a thread that can be kept for this station, or is one? */
bool ph__thread_is_free_for(const struct ph__station *station);
/* Keeps a thread for each claim of the trip that may bring a last attempt, and tells it so. */
void ph__reserve(struct ph__station *station, struct ph__trip *trip);
/* What the call has shown (NULL: it failed); threads for which nothing came are given back. */
void ph__reserve_end(struct ph__station *station, const struct ph__trip *trip);
/* A thread is free: it is kept for a station that waits for one, if that has its turn. */
void ph__reserve_turn(ph_dispatcher *dispatcher);
/* Gives those back that were not used in time; returns when to look again. */
int64_t ph__reserve_lapse(struct ph__station *station, int64_t now_us);
/* The same for all, by the handler threads: the whole crew may be away. */
void ph__reserve_lapse_all(ph_dispatcher *dispatcher);
/* It claims nothing more. */
void ph__reserve_leave(struct ph__station *station);

/* select.c: with the lock held */
/* The station to be served next, by its plan; NULL: none before *ret_wake_us. It has a connection, or
 * may make one once *ret_victim (NULL: nobody), which is made busy, has given its own up. Lets go of
 * the lock while it asks a callback. */
struct ph__station *ph__pick(ph_dispatcher *dispatcher, struct ph__station **ret_victim,
                             int64_t *ret_wake_us);

/* links.c: connections, of which there may be fewer than stations; with the lock held */
/* Who has had nothing to do for longest, and does nothing now; NULL: nobody. */
struct ph__station *ph__link_spare(const ph_dispatcher *dispatcher);
/* Makes sure that the station may connect. *ret_victim: who must give its own up before, and is busy
 * until then; NULL: nobody. False: all connections are in use. */
bool ph__station_link(struct ph__station *station, struct ph__station **ret_victim);
/* For another's sake; no lock. */
void ph__link_give_up(struct ph__station *victim);
/* It has none any more. */
void ph__station_unlinked(struct ph__station *station);

/* crew.c */
/* Somebody must watch the bells while the caller does something else; with the lock held. */
void ph__crew_call(ph_dispatcher *dispatcher);
void *ph__crew_work(void *mate);
/* Is it in trouble? */
bool ph__station_ails(const struct ph__station *station);
/* Is it of a set, and was never reached? */
bool ph__station_is_new(const struct ph__station *station);

/* bells.c */
int ph__bells_open(ph_dispatcher *dispatcher); /* negative: no file descriptors */
void ph__bells_close(ph_dispatcher *dispatcher);
void ph__bell_arm(struct ph__station *station);     /* no lock */
void ph__bell_disarm(struct ph__station *station);  /* with the lock */
void ph__bell_watch(struct ph__station *station);   /* no lock */
void ph__bell_unwatch(struct ph__station *station); /* with the lock */
/* Sleeps until something rings; with the lock, which it lets go meanwhile. */
void ph__bells_wait(ph_dispatcher *dispatcher, int64_t wait_us);

/* serve.c: by who has the station */
/* unclaimed.c: now and then, warns of what waits here and nobody claims. */
void ph__unclaimed_look(struct ph__station *station, int64_t now_us);
void ph__unclaimed_free(ph_dispatcher *dispatcher);
void ph__serve(struct ph__mate *mate, struct ph__station *station, const struct ph__plan *plan);
void ph__station_finish(struct ph__mate *mate, struct ph__station *station);

/* listen.c: the bell of one station */
/* There may be messages; with the lock held. */
void ph__station_rung(struct ph__station *station); /* of one that is not busy, or by who has it */
void ph__station_call(struct ph__station *station); /* of any */
/* Has it rung? Then it is noted. By who has it; no lock. */
bool ph__station_rang(struct ph__station *station);
/* It is left alone for a while: only its bell, or time, brings somebody back. Likewise. */
void ph__station_rest(struct ph__station *station);

/* outage.c: by who has the station; no lock */
void ph__station_failed(struct ph__station *station, const ph_error *err);
void ph__station_succeeded(struct ph__station *station);

/* exchange.c: the one call, by who has the station; no lock. */
struct ph__trip {
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
int ph__exchange(struct ph__mate *mate, struct ph__station *station, struct ph__trip *trip,
                 ph_error *err);

/* upkeep.c: renewals and time limits; the crew; no lock. */
void ph__limits_enforce(ph_dispatcher *dispatcher);
/* Adds the leases that must be renewed to the batch, and holds their works. *ret_renewal NULL:
 * there were none. */
struct ph__renewal;
int ph__renewal_begin(struct ph__station *station, struct ph__work_batch *batch,
                      struct ph__renewal **ret_renewal, ph_error *err);
/* r: what the call returned; asked_us: when it was sent. NULL is fine. */
void ph__renewal_end(struct ph__station *station, struct ph__renewal *renewal, int r,
                     int64_t asked_us);

/* say.c: the log; no lock */
void ph__log_serially(void *dispatcher, const ph_log_event *event);
void ph__join_serially(void *dispatcher, const ph_join_end *join);
void ph__say(const struct ph__station *station, ph_log_level level, const char *what,
             const struct ph_work *work, const char *key, const char *value);
/* What came of a handler; outcome as in ph__run_in_transaction(). */
void ph__say_verdict(const struct ph_work *work, ph_verdict verdict, ph_outcome outcome);

#endif
