/* dispatch.h - the dispatcher: what its files share.
 *
 * The threads that talk to databases are the pollers: each picks a database, which is then busy and its
 * own, visits it, and picks the next. Handler threads in transactions have stores of their own. One lock
 * guards everything below it in struct ph_dispatcher, and in each database. No thread calls a
 * database, a handler or the log while holding it. */
#ifndef PH_DISPATCH_DISPATCH_H
#define PH_DISPATCH_DISPATCH_H

#include "dispatch/database.h"

#define PH__HOST_SIZE 256
#define PH__WARNED_TOPICS_MAX 64
#define PH__SLOTS 1024
#define PH__POLLERS_MAX 16 /* threads that talk to databases */
#define PH__SLOW_US 500000 /* a call that takes longer is kept from occupying every poller */
#define PH__WATCH_SLOTS 256

/* ------------------------------------------------------------ parts of the poll half */

/* A thread that talks to databases, with what it needs for an exchange: its own affair, without the
 * lock, but that the works of a call are held and let go under it. */
struct ph__poller {
    ph_dispatcher *dispatcher;
    pthread_t id;
    ph_store *store; /* of its own (second.c); NULL: it uses that of the database it visits */
    struct ph__settle_call settle;
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
    int taken;     /* from the set's budget */
    int max;       /* of them for databases */
    int used;      /* databases that have one */
    int handlers;  /* those of handler threads */
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
    bool others_ready;     /* the last pick left something for others to do */
    size_t urgent_turn;    /* where the search for urgent ones begins */
    size_t claim_turn;     /* where the search for the next one begins */
    struct ph__db *chosen; /* to be claimed from next; NULL: not chosen yet */
    uint64_t last_chosen;  /* its serial; 0: none */
    int64_t choose_us;     /* the callback wants to be asked again then */
    uint64_t asked_mark;   /* … or when others are ready than those of this mark */
};

/* A second poller for one database (second.c). */
struct ph__second {
    bool running;
    bool calling;         /* it waits for the database */
    bool said;            /* the log knows that it cannot be used */
    int claiming;         /* messages that may come with its call */
    int64_t off_until_us; /* its last call has failed; 0: it has not */
    int64_t off_us;       /* how long that is */
    unsigned turn;        /* of the doors */
};

struct ph__discovery {
    pthread_t thread;
    bool has_thread; /* it must be joined */
    bool running;    /* it has not ended */
    bool done;       /* the sources were asked once */
};

/* ------------------------------------------------------------ parts of both, and the whole */

struct ph__times {
    int call_timeout_ms;
    int64_t lease_us, fence_margin_us;
    int64_t limit_us; /* the next time limit of a handler; with the lock held */
};

struct ph__handlers {
    ph_handler *items; /* by door and topic, after the start; topics are copies */
    size_t count, room;
    struct ph__side sides[PH__SIDES];
};

struct ph__logging {
    pthread_mutex_t lock;
    ph_log_fn log; /* the stores' own */
    void *log_context;
    ph_join_fn join_ended; /* likewise */
    void *join_context;
    bool silent; /* freed: no callback may be called any more */
    char *warned_topics[PH__WARNED_TOPICS_MAX];
    size_t warned_count;
    struct { /* reported as claimed by no instance */
        char *topic;
        int door;
        int64_t said_us;
    } unclaimed[PH__WARNED_TOPICS_MAX];
    size_t unclaimed_count;
};

struct ph__conditions {
    pthread_cond_t work_ready;    /* for handler threads */
    pthread_cond_t pollers_ready; /* for pollers that do not wait for wake-ups */
    pthread_cond_t second_ready;  /* for the second poller of one database */
    pthread_cond_t discover;      /* for the thread that asks the sources */
    pthread_cond_t changed;       /* for drain, stop and ph_work_wait */
};

struct ph__phase {
    bool starting, started, stopping, ending, stopped;
};

struct ph__room {
    long wake_at;     /* wake also for room: so many that wait, or fewer; -1: not */
    bool short_of_it; /* … for a handler that ends: there was no thread, or too much in flight */
    int claiming;     /* messages that may come with claims under way */
    int doubtful;     /* … from databases that may be long about it */
    size_t held_up;   /* works that wait for transactions of their database, when last looked */
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
    bool others_turn; /* … but the next free thread is for works that wait in memory */
};

struct ph__works {
    struct ph__work_list waiting;
    size_t behind;          /* those that wait for another of their stream */
    size_t decided;         /* those that are decided, of all databases */
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
    int64_t asked_us;         /* the shortest time limit of the calls that asked */
    bool in_grace;            /* they were cancelled, and have a moment that no call cuts short */
    atomic_bool leave_failed; /* not all stores heard it */
    int64_t leave_us;         /* until then they are told good-bye */
    int64_t finish_us;        /* until then the pollers try to settle the last ones */
    int64_t finish_least_us;  /* … at least: after the second poller has tried in vain */
    int result;
    ph_error error;
};

/* The lock guards all members, except that set, opts, host, handlers, times (without limit_us) and
 * the file descriptors of wakeups do not change after the start; logging has a lock of its own. */
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
    struct ph__second second;
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
/* Gives its connections back to the set, and stops observing it; no lock. */
void ph__dispatcher_leave_set(ph_dispatcher *dispatcher);

/* options.c */
void ph__opts_fill(ph_dispatcher_opts *opts, int batches); /* so many are fetched ahead */
int ph__opts_check(ph_dispatcher_opts *opts, ph_error *err);

/* start.c */
int ph__threads_start(ph_dispatcher *dispatcher, ph_error *err); /* no lock */
void ph__pollers_join(ph_dispatcher *dispatcher);                /* no lock */
/* Ends the thread that asks the sources; false: it does not return. With the lock held. */
bool ph__discovery_end(ph_dispatcher *dispatcher);
void ph__thread_begin(const ph_dispatcher *dispatcher); /* this thread is one of its own */
/* Is the caller a handler, or the log callback on a thread of ours? */
bool ph__thread_is_ours(const ph_dispatcher *dispatcher);

/* The functions of the poll half (poll/) that the work half calls: with the lock held, unless they
 * say otherwise. */
void ph__wake(ph_dispatcher *dispatcher);        /* with or without the lock */
void ph__wake_asleep(ph_dispatcher *dispatcher); /* with the lock; does nothing if it is awake */
void ph__wake_for(struct ph__db *db);            /* likewise, and if a poller is there already */
/* A poller has to settle the decided works. */
void ph__wake_to_settle(struct ph__db *db);
void ph__db_wake(struct ph__db *db);          /* there may be messages; busy or not */
int ph__db_limit_ms(const struct ph__db *db); /* of a call, at first; no lock */
void ph__databases_each(ph_dispatcher *dispatcher, void (*act)(struct ph__db *db));
/* drained.c: a caller waits for the end, and this may be it: looks once more where something may have
 * come since. */
void ph__drain_look(ph_dispatcher *dispatcher);
/* Has every database been looked at since that claim, and nothing been there? One that was set aside
 * is not waited for; nor is one that has left. */
bool ph__databases_are_drained(const ph_dispatcher *dispatcher, uint64_t before);
/* Of a database that is waited for and cannot be used; NULL: all can. */
const ph_error *ph__drain_error(const ph_dispatcher *dispatcher);
/* reserve.c: handler threads that are kept for last attempts. The claim for which a thread is kept must
 * begin within that time. */
#define PH__RESERVED_US 200000
/* Is all that is free kept for last attempts? */
bool ph__threads_are_reserved(const ph_dispatcher *dispatcher);
/* A thread is free: it is kept for a database that waits for one, if that has its turn. */
void ph__reserve_turn(ph_dispatcher *dispatcher);
/* Gives those back that were not used in time, of all databases: every poller may be away. */
void ph__reserve_lapse_all(ph_dispatcher *dispatcher);

/* say.c: the log; no lock */
void ph__log_serially(void *dispatcher, const ph_log_event *event);
void ph__join_serially(void *dispatcher, const ph_join_end *join);
void ph__say(const struct ph__db *db, ph_log_level level, const char *what,
             const struct ph_work *work, const char *key, const char *value);
/* The result of a handler; outcome as in ph__run_in_transaction(). */
void ph__say_verdict(const struct ph_work *work, ph_verdict verdict, ph_outcome outcome);

#endif
