/* database.h - one database as the dispatcher serves it: the store that it was made with, or one for each
 * database of a set. Between the two halves, and made of parts: each belongs to one file. */
#ifndef PH_DISPATCH_DATABASE_H
#define PH_DISPATCH_DATABASE_H

#include "dispatch/work/work.h"

/* A file of a set, watched through its folder without a connection. */
struct ph__watch {
    struct ph__db *next; /* in the table of watched files */
    char *name;          /* the file's name in its folder; NULL: not watched */
    bool lost;           /* the folder is no more */
    int folder;          /* the number of the watch */
};

/* How the database itself tells of messages. */
struct ph__doorbell {
    int fd;           /* -1: none; belongs to the visitor */
    bool armed;       /* the pollers wait for it */
    bool hear;        /* it may have rung */
    bool rung;        /* since the last claim */
    int64_t rung_us;  /* when that was last; 0: never */
    int64_t heard_us; /* when it was last looked whether it had rung */
    int false_alarms; /* claims in a row for which it had rung, and there was nothing */
};

/* How a database is doing; health.c has a table of what each means. */
enum ph__health {
    PH__NEW,      /* not reached yet */
    PH__DOUBTFUL, /* it may take long: its schema is to be made, or another on its server failed so */
    PH__WELL,
    PH__SLOW,    /* its last call took long */
    PH__FAILING, /* its last call failed */
    PH__REFUSED  /* schema, rights or credentials will not do */
};

/* How many of the pollers may be with databases of such health at the same time: all; all but a
 * quarter, if there are others; a quarter. */
enum ph__share { PH__SHARE_ALL, PH__SHARE_MOST, PH__SHARE_FEW };

/* The meaning of a state of health. */
struct ph__health_meaning {
    enum ph__share share;
    bool holds_room; /* the messages that its claim may bring take room from others */
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
    bool more;             /* … and there is more: it found all that it asked for */
    bool through;          /* … and there was nothing more to find */
    bool in_hand;          /* all that is due seems to be of streams that are worked on here */
    bool stream_free;      /* a run has come to its end: there may be more of its stream */
    bool empty[PH__SIDES]; /* the last one of this door found nothing */
    int64_t backoff_us;
    uint64_t dry[PH__SIDES];   /* which one found nothing there, and nothing in flight; 0: none */
    uint64_t dry_arrivals;     /* how many claims had brought something when that was noted */
    uint64_t drained;          /* the last that found nothing, with nothing in flight anywhere from
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

/* The needs of a database, as far as can be seen without asking it. */
struct ph__plan {
    bool act;        /* an exchange is due, whether or not it may claim */
    bool claim;      /* … or it would be, to claim */
    bool outage;     /* it cannot be used: only things that must not wait are done */
    bool chores;     /* something else is due that is worth a visit */
    unsigned due;    /* chores, a bit each, whether or not they are worth a visit of their own */
    int room;        /* messages to claim; 0: none */
    int64_t wake_us; /* when something else comes due */
};

/* A poller's visit. */
struct ph__visit {
    bool busy;     /* it is under way */
    bool woken;    /* … and since then there may be more */
    bool finished; /* the last one is over */
    int64_t began_us;
    enum ph__share share; /* … of the pollers that it has for it */
    int64_t cost_us;      /* of one that had to connect, lately */
    int64_t worked_us;    /* when it last had messages */
    struct ph__plan plan; /* when it was last looked at */
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
    int64_t since_us; /* when that list began; 0: one of them is waited for */
    bool blocked;     /* calls under way are about all of their batches */
    uint64_t round;   /* counts the calls that settle */
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
    int64_t next_us;         /* … unless something is planned before */
};

/* One database. The lock guards all members, except that dispatcher, entry, store, serial, server,
 * id and log do not change, and that these belong to the poller that visits it, and between visits
 * to the holder of the lock: schedule, retention_us, unclaimed_us, visit.cost_us and .worked_us, of
 * doorbell all but armed and hear, of health all but state, connected, outages and last_error
 * (which are shown to others), claim.next_us, .found, .backoff_us, .empty, .in_hand and .door_turn,
 * heart.registered and .beat_us. */
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
    int64_t retention_us; /* next run; 0: never */
    int64_t unclaimed_us; /* next look for topics that no instance claims */
    int64_t leaving_us;   /* since when it is leaving */
    bool leaving;         /* the set has it no more: it is drained */
    bool has_connection;
};

#endif
