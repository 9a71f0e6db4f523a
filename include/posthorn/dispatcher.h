/* dispatcher.h - handlers that run: the worker's loop, ready made.
 *
 * SPDX-License-Identifier: MIT
 *
 * Included by posthorn.h. A dispatcher claims messages, hands each to the
 * handler of its topic on a pool of threads, renews leases while handlers run,
 * and settles their verdicts in batches, together with the next claim.
 *
 *     static ph_verdict on_order(void *context, ph_work *work)
 *     {
 *         return send_mail(ph_work_delivery(work)->payload) ? PH_VERDICT_DONE : PH_VERDICT_RETRY;
 *     }
 *
 *     ph_dispatcher_new(store, NULL, &dispatcher, &err);
 *     ph_dispatcher_handle(dispatcher, &(ph_handler){ sizeof(ph_handler), "order.placed", on_order }, &err);
 *     ph_dispatcher_start(dispatcher, &err);
 *     ...
 *     ph_dispatcher_stop(dispatcher, 10000, &err);
 *     ph_dispatcher_free(dispatcher);
 *
 * WHAT IS PROMISED
 *   Each message reaches its handler at least once. It is never in two
 *   handlers of one dispatcher at once; another process may get it after the
 *   lease was lost, which ph_work_cancelled() then reports. A handler that runs in
 *   a transaction has its effect exactly once. Handlers get the messages of one
 *   stream one after the other, in order: the next one when the one before is done.
 *   Any verdict but done sends the rest of the stream back to the database; it comes
 *   again in its turn.
 *
 * THREADS
 *   ph_dispatcher_start() starts opts.threads threads for handlers and one that
 *   talks to the database, or two with a connection each (opts.connections);
 *   ph_dispatcher_stop() ends them. They take no signals. The store belongs to
 *   the dispatcher from _new to _free: calls on it fail with PH_ESTATE, unless
 *   they are inside transactions of yours. A handler that enqueues opens a store
 *   of its own, or has in_transaction and passes ph_work_store() with
 *   ph_work_tx(). Any thread may call the functions of a dispatcher, but only one
 *   may call _free, last. These threads call the store's callbacks (log,
 *   join_ended), one at a time; callbacks must not call the dispatcher.
 *
 * MANY DATABASES
 *   A dispatcher of a set (set.h) serves all of its databases, with one pool of
 *   handler threads, one thread per connection (up to 16) that talks to
 *   databases, and one that asks the sources of the set. A database that is down,
 *   slow or locked does not hold up the others: at most a quarter of these
 *   threads try it again, ever more slowly. If its schema is missing, too old or
 *   too new, or if the role lacks a right or its credentials are refused, the
 *   dispatcher reports the database, sets it aside and tries it less and less
 *   often, at last every 30 s; a drain does not wait for it. A database that
 *   leaves the set is drained. One without a connection cannot ring (PostgreSQL):
 *   the dispatcher looks there in turn, as often as a few per cent of a processor
 *   allow, and at least once a minute. */
#include <posthorn/posthorn.h> /* first: it includes all of them, in order */

#ifndef POSTHORN_DISPATCHER_H
#define POSTHORN_DISPATCHER_H

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------ handlers */

typedef struct ph_dispatcher ph_dispatcher;

/* One message in the hands of a handler. */
typedef struct ph_work ph_work;

/* The verdict of a handler. Any other value counts as PH_VERDICT_RETRY, with an
 * error that says so. */
typedef enum {
    PH_VERDICT_DONE = 1,  /* ack */
    PH_VERDICT_RETRY = 2, /* abandon: again after the backoff, or dead if attempts are spent */
    PH_VERDICT_FAIL = 3,  /* dead letter at once */
    PH_VERDICT_DEFER = 4, /* again later, and this attempt does not count */
    PH_VERDICT_KEEP = 5   /* the handler keeps the work, and settles it later: ph_work_settle() */
} ph_verdict;

/* Runs on a thread of the dispatcher. Must return (it may be asked to hurry by
 * ph_work_cancelled), and must not throw a C++ exception or jump out. If a handler
 * ends its thread, the message loses the attempt, and the thread is replaced. */
typedef ph_verdict (*ph_handler_fn)(void *context, ph_work *work);

typedef struct {
    size_t size;          /* set by PH_HANDLER_INIT; new members are only appended */
    const char *topic;    /* NULL: every topic without a handler of its own */
    ph_handler_fn handle; /* required */
    void *context;
    bool in_transaction;  /* run it inside a transaction that commits together with the ack */
    int time_limit_ms;    /* then the handler is cancelled; if it has not returned 5 s later, its
                             message is abandoned and its thread replaced. 0: none */
    bool inbox;           /* for messages of the inbox (inbox.h); otherwise of the outbox */
} ph_handler;
#define PH_HANDLER_INIT { sizeof(ph_handler), NULL, NULL, NULL, false, 0, false }

/* The message. Borrowed; valid until the handler returns, or until
 * ph_work_settle() if the handler keeps the work. */
PH_API const ph_delivery *ph_work_delivery(const ph_work *work);

/* Should the handler give up? True once the lease is lost (also because the
 * dispatcher was taken for dead) or has run out on the boot-time clock (so also
 * after the machine was suspended), the handler's time limit is over, or a
 * stopping dispatcher has waited long enough. Cheap; any thread. */
PH_API bool ph_work_cancelled(const ph_work *work);

/* Sleeps until the work is cancelled, at most timeout_ms; true if it was. */
PH_API bool ph_work_wait(ph_work *work, int timeout_ms);

/* The error text to keep with the attempt (verdicts retry and fail); copied,
 * cut at PH_ERROR_TEXT_MAX. NULL: none. The last call counts. */
PH_API void ph_work_error(ph_work *work, const char *text);

/* The delay after retry or defer, instead of the backoff policy or opts.defer_ms;
 * a negative one is ignored. */
PH_API void ph_work_delay(ph_work *work, int64_t delay_ms);

/* The transaction of a handler with in_transaction: for statements of your own
 * (ph_tx_pg_connection(), ph_tx_sqlite_connection()) and for verbs such as
 * ph_enqueue(). The dispatcher begins it before it calls the handler.
 * PH_VERDICT_DONE acks the message and commits; any other verdict rolls back. A
 * commit that fails costs the attempt, like PH_VERDICT_RETRY. If the lease was
 * lost in the meantime, the dispatcher rolls back too: the worker that took the
 * message over has the effect. Do not end the transaction yourself. Without
 * in_transaction: PH_OWN_TX. On SQLite it holds the file's write lock for as long
 * as the handler runs. */
PH_API ph_tx ph_work_tx(const ph_work *work);

/* The store to pass along with ph_work_tx(); calls on it without that transaction
 * are PH_ESTATE. Without in_transaction: NULL. */
PH_API ph_store *ph_work_store(const ph_work *work);

/* The id of the store that holds the message; borrowed like the message. */
PH_API const char *ph_work_store_id(const ph_work *work);

/* Settles a work that its handler kept (PH_VERDICT_KEEP). Call it exactly once, on
 * any thread, also before the handler has returned, and also after the dispatcher
 * was stopped or freed (then it changes nothing). The lease is renewed until then;
 * the work is gone afterwards. Set error and delay before.
 * Errors: PH_EINVAL (not a verdict, or PH_VERDICT_KEEP, or its handler has a
 * transaction: the work stays). */
PH_API PH_MUST_CHECK int ph_work_settle(ph_work *work, ph_verdict verdict, ph_error *reterr);

/* ---------------------------------------------------------------- dispatcher */

typedef enum {
    PH_DOORBELL_AUTO = 0, /* where the database can ring: PostgreSQL without a pooler, SQLite on
                             Linux */
    PH_DOORBELL_OFF = 1   /* only poll */
} ph_doorbell;

/* The order in which a dispatcher claims from the stores of a set. It skips a store that had no
 * messages until its doorbell rings or poll_ms is over. The order does not delay settling. */
typedef enum {
    PH_SELECT_ROUND_ROBIN = 0, /* one batch from each, in the order of their ids, over and over */
    PH_SELECT_DRAIN_FIRST = 1  /* from the same store until it has no more, then from the next */
} ph_selection;

/* A store as a ph_select_fn sees it; new members are only appended. */
typedef struct {
    const char *store;    /* its id */
    bool ready;           /* may be chosen: it may have messages, and no thread talks to it now */
    int last_claimed;     /* messages in its last claim; -1: there was none yet */
    int64_t last_claim_us; /* microseconds since that claim; 0: there was none yet */
    int in_flight;        /* messages of it that are not settled */
} ph_candidate;

/* Returns the index of the store to claim from next, or -1 for none now (the dispatcher asks again
 * when something has changed, or after poll_ms). A store that is not ready counts as -1. last: the
 * index of the store chosen before; count: none was. If another thread has begun to talk to the
 * chosen store meanwhile, the dispatcher claims nothing and asks again: last_claimed then shows how
 * many messages have come. One thread at a time calls it; it must not call the dispatcher, and must
 * not throw or jump. */
typedef int (*ph_select_fn)(void *context, const ph_candidate *stores, size_t count, size_t last);

typedef struct {
    size_t size;         /* set by PH_DISPATCHER_OPTS_INIT; new members are only appended */
    const char *ns;      /* namespace; NULL: "" */
    int threads;         /* handlers at once: 0: 4; at most 1 024 */
    int batch_size;      /* messages per claim: 0: 50; above 1 000 they come in several claims */
    int prefetch;        /* claimed messages that may wait for a thread: 0: 2 × batch_size; -1:
                            none, claim only for idle threads (best when handlers take seconds).
                            Never more than the threads, at their present pace, can begin in half a
                            lease; and none while one waits and PH_CLAIM_BYTES_MAX are held */
    int in_flight_max;   /* messages waiting, running, kept and being settled together: 0: prefetch
                            + threads, and 1 000 or, if that is more, two batches; at most
                            1 000 000 */
    int lease_s;         /* 0: PH_LEASE_S */
    int poll_ms;         /* longest time between two looks: 0: 500, or a third of the lease if that
                            is less; more than a third of the lease is refused */
    int defer_ms;        /* how long a deferred message waits: 0: 60 000 */
    int64_t message_limit; /* stop claiming after this many messages; 0: no limit */
    bool any_topic;      /* claim messages of every topic, and defer those without a handler with a
                            warning; otherwise leave them to other dispatchers */
    ph_doorbell doorbell;
    int retention_ms;    /* how often to call ph_retention_run(), in an idle moment or else after
                            twice this time: 0: 60 000; -1: never */
    bool schedule;       /* also run a scheduler (schedule.h) with its defaults, for all namespaces */
    /* It registers as an instance (coordination.h), with an id of its own at every start. */
    const char *service; /* NULL: the name of the program */
    const char *metadata; /* a JSON object; NULL: none */
    int stale_threshold_s; /* others take it for dead after this time without a heartbeat: 0:
                              PH_STALE_THRESHOLD_S, or twice the lease if that is more; less than
                              twice the lease is refused */
    int partition_count; /* 0: PH_PARTITIONS; the same in all instances of a service */
    int max_partitions;  /* whose streams it works on at the same time, per database; 0: any number */
    /* Of a set: from which store to claim next. */
    ph_selection selection;
    ph_select_fn select; /* not NULL: decides instead */
    void *select_context;
    int connections;     /* of one store, to talk to its database: 0: 2 if the database serves
                            several at once (PostgreSQL), so that it can report new messages while
                            others are being settled, otherwise 1, even if 2 is given; at most 2.
                            Handlers with in_transaction have their own */
} ph_dispatcher_opts;
#define PH_DISPATCHER_OPTS_INIT                                                \
    { sizeof(ph_dispatcher_opts), NULL, 0, 0, 0, 0, 0, 0, 0, 0, false, PH_DOORBELL_AUTO, 0, false, \
      NULL, NULL, 0, 0, 0, PH_SELECT_ROUND_ROBIN, NULL, NULL, 0 }

/* Makes a dispatcher; touches neither the database nor threads. The store is
 * borrowed until ph_dispatcher_free().
 * Errors: PH_EINVAL (says which option; or the store is a router's), PH_ESTATE (the
 * store is in use, or another dispatcher's), PH_ENOMEM. */
PH_API PH_MUST_CHECK int ph_dispatcher_new(ph_store *store, const ph_dispatcher_opts *opts,
                                           ph_dispatcher **ret_dispatcher, ph_error *reterr);

/* The same for a set of stores, which is borrowed until ph_dispatcher_free(). Its
 * start takes the rest of the set's connections; if a handler has in_transaction,
 * each thread needs one of them, and one more must be left. prefetch: 0 means a
 * batch for each connection, and one more. */
PH_API PH_MUST_CHECK int ph_dispatcher_new_set(ph_set *set, const ph_dispatcher_opts *opts,
                                               ph_dispatcher **ret_dispatcher, ph_error *reterr);

/* Registers a handler; before the start, one per door and topic. The dispatcher
 * claims nothing from a door without handlers.
 * Errors: PH_EINVAL (bad topic, no function, topic taken, already started). */
PH_API PH_MUST_CHECK int ph_dispatcher_handle(ph_dispatcher *dispatcher, const ph_handler *handler,
                                              ph_error *reterr);

/* Starts the threads; once per dispatcher. If it cannot reach the database, it
 * warns once, and tries again and again. Without a handler it only runs the
 * scheduler, if opts.schedule is set.
 * Errors: PH_EINVAL (no handler, started before), PH_ESTATE (too few connections
 * are left of the set's), PH_ENOMEM (threads). */
PH_API PH_MUST_CHECK int ph_dispatcher_start(ph_dispatcher *dispatcher, ph_error *reterr);

/* Waits until no due message is left (or the message_limit is reached) and
 * everything claimed is settled in the database. 0: no time limit.
 * Errors: PH_EINVAL (not running, or in a handler); when the time is over, PH_ETIMEOUT, or the last
 * error of a database that the dispatcher could not use. */
PH_API PH_MUST_CHECK int ph_dispatcher_drain(ph_dispatcher *dispatcher, int timeout_ms,
                                             ph_error *reterr);

/* Stops: the dispatcher claims nothing from now on, and releases at once messages
 * that wait for a thread, or behind others of their stream. Running handlers and
 * kept works have limit_ms to end; then they are cancelled, and have another second.
 * Messages that are still not settled are released, their attempts refunded; and a
 * handler that was cancelled by the stop and returns retry costs no attempt. The
 * last settlements are tried until limit_ms is over, and in any case for the time of
 * one call (store options, timeout_ms) after the call that is under way. When
 * the call returns, everything is settled in the database, and the instance has
 * left. Calling it again is harmless, and a shorter limit of a second caller counts
 * for the first, too (the second SIGTERM); calling it from a handler is PH_EINVAL.
 * Errors: PH_ETIMEOUT (handlers are still running; their threads are left behind,
 * and their verdicts are ignored), or the database's error if the last settlements
 * could not be stored (the leases will run out instead). */
PH_API PH_MUST_CHECK int ph_dispatcher_stop(ph_dispatcher *dispatcher, int limit_ms,
                                            ph_error *reterr);

/* Stops at once unless it was stopped, and frees. NULL is fine. Not from a handler. */
PH_API void ph_dispatcher_free(ph_dispatcher *dispatcher);

#define PH_HISTOGRAM_SIZE 32

typedef struct {
    size_t size;       /* set by PH_DISPATCHER_STATS_INIT */
    int64_t claimed;   /* messages taken from the database */
    int64_t started;   /* handler calls */
    int64_t done, retried, failed, deferred; /* verdicts that were settled */
    int64_t dead;      /* of those retried: attempts were spent */
    int64_t released;  /* given back unhandled: when stopping, after a whole lease without a thread,
                          because the lease was about to end, or behind a message of its stream that
                          was not done */
    int64_t stale;     /* settled too late: the lease had been lost */
    int64_t no_handler; /* deferred because no handler has the topic */
    int64_t cancelled; /* handlers that were told to stop */
    int64_t replaced_threads; /* hung, or ended by their handler */
    int64_t exchanges; /* calls that settle, renew and claim */
    int64_t empty_claims; /* claims that found nothing */
    int64_t renewals;  /* exchanges that renewed leases */
    int64_t doorbells; /* how often the doorbell rang */
    int64_t outages;   /* how often the database was lost */
    int waiting, running, kept; /* now; waiting: also for others of their stream */
    bool connected;    /* the last call reached the database */
    /* Bucket i counts times from 2^i up to 2^(i+1) microseconds; the first starts at 0, the last
     * has no end. */
    int64_t wait_us[PH_HISTOGRAM_SIZE]; /* from claim to handler */
    int64_t run_us[PH_HISTOGRAM_SIZE];  /* in the handler */
    int64_t evictions; /* how often it was taken for dead, and registered anew */
} ph_dispatcher_stats;
#define PH_DISPATCHER_STATS_INIT                                               \
    { sizeof(ph_dispatcher_stats), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, false, \
      { 0 }, { 0 }, 0 }

/* Reports its work since the start, and what it does now. */
PH_API PH_MUST_CHECK int ph_dispatcher_stats_get(ph_dispatcher *dispatcher, ph_dispatcher_stats *ret_stats,
                                                 ph_error *reterr);

/* The owner under which it claims, which is also the id of its instance; locks and lists show
 * it. An eviction changes it. A dispatcher of a set returns zero: it has one in each store
 * (ph_served_store). */
PH_API ph_owner ph_dispatcher_owner(const ph_dispatcher *dispatcher);

/* The state of a store that a dispatcher serves. */
#define PH_SERVING_MAP(X)                                                      \
    X(NEW, 0, "new")             /* not reached yet */                         \
    X(SERVED, 1, "served")                                                     \
    X(TRYING, 2, "trying")       /* it cannot be used: tried again and again */ \
    X(ASIDE, 3, "set aside")     /* its schema, rights or credentials are wrong */ \
    X(DRAINING, 4, "draining")   /* it has left the set, and has messages in flight */
typedef enum {
#define PH_SERVING_ENUM(name, value, text) PH_SERVING_##name = value,
    PH_SERVING_MAP(PH_SERVING_ENUM)
#undef PH_SERVING_ENUM
        PH_SERVING_FORCE_INT = 0x7fffffff
} ph_serving;

/* "served", "trying", …; never NULL. */
PH_API const char *ph_serving_text(ph_serving serving);

/* We allocate it; new members are only appended. */
typedef struct {
    const char *id;
    ph_serving serving;
    bool connected;     /* it has a connection now */
    int in_flight;      /* messages that are not settled */
    int64_t claimed;    /* messages, since the dispatcher serves it */
    int64_t done;       /* messages among them */
    int64_t exchanges;
    int64_t outages;
    ph_owner owner;     /* the dispatcher claims under it there */
    ph_error last_error; /* trying, set aside: why; otherwise code 0 */
} ph_served_store;

typedef struct {
    size_t size;    /* set by PH_SERVED_STORE_LIST_OPTS_INIT; new members are only appended */
    const char *id; /* only this one; NULL: all */
} ph_served_store_list_opts;
#define PH_SERVED_STORE_LIST_OPTS_INIT { sizeof(ph_served_store_list_opts), NULL }

typedef struct ph_served_stores ph_served_stores;

/* Lists the stores that it serves, by id. A store that is drained because it has left the
 * set, and one that has come back under the same id, both appear. Lists: see inspect.h. Any
 * thread, also a handler's. Errors: PH_EINVAL, PH_ENOMEM. */
PH_API PH_MUST_CHECK int ph_served_store_list(ph_dispatcher *dispatcher,
                                              const ph_served_store_list_opts *opts,
                                              ph_served_stores **ret_list, ph_error *reterr);
PH_API size_t ph_served_stores_count(const ph_served_stores *list);
PH_API const ph_served_store *ph_served_stores_at(const ph_served_stores *list, size_t index);
PH_API void ph_served_stores_free(ph_served_stores *list);

/* Makes the dispatcher look for new messages in the store with this id at once. For producers in
 * the same process, after their commit, where no doorbell rings: behind a pooler, or in a set with
 * more databases than connections. Any thread; cheap; also from a handler.
 * Errors: PH_ENOTFOUND (it serves no such store), PH_EINVAL. */
PH_API PH_MUST_CHECK int ph_dispatcher_wake(ph_dispatcher *dispatcher, const char *store_id,
                                            ph_error *reterr);

#ifdef __cplusplus
}
#endif

#endif /* POSTHORN_DISPATCHER_H */
