/* fleet.h - a dispatcher of a set under test: its databases, a second store and a connection to each
 * for the test's own eyes, its log with the store of every line, and how many connections it has. */
#ifndef MANY_FLEET_H
#define MANY_FLEET_H

#include "rig.h"

/* -------------------------------------------------------------------- databases */

#define BASES_MAX 256

/* One database of the test, with what the test itself has open there. */
struct base {
    char id[20], url[1200], schema[100];
    bool is_pg;
    ph_store *side;               /* NULL: not open */
    struct t_conn *conn, *locker; /* likewise */
};

/* The nth: "s000", "s001", …: a file in the test's folder, or on PostgreSQL a schema in the test's
 * database. It is there with its schema from the first call on. */
struct base *base_at(int n);
/* The nth without touching it: perhaps it is not there. */
struct base *base_named(int n);
/* From here on the nth is a SQLite file, or this PostgreSQL database, whatever the backend is. */
struct base *base_lite(int n);
struct base *base_on(int n, const char *pg_url);
/* Closes what the test has open there. */
void base_leave(struct base *base);
/* All of them, and forgets where they are. */
void bases_leave(void);

ph_database base_database(const struct base *base);
/* Stores count messages there, with payloads "0", "1", … */
void base_put(struct base *base, const char *topic, int count);
void base_put_stream(struct base *base, const char *topic, const char *stream, int count);
struct t_conn *base_conn(struct base *base);
long long base_number(struct base *base, const char *sql);
void base_sql(struct base *base, const char *sql);
/* Messages that are not settled, leases, and settled ones. */
long long base_open(struct base *base);
long long base_leases(struct base *base);
long long base_done(struct base *base);
long long base_instances(struct base *base);
/* Every message is in one place, no lease is left, and no instance. */
void base_check(struct base *base);
/* A transaction of another that keeps the dispatcher from everything; until base_unlock. */
void base_lock(struct base *base);
void base_unlock(struct base *base);

/* ------------------------------------------------------------------------- log */

/* Lets stores with these options write into the log of the test, at debug level. */
void log_into(ph_store_opts *opts);
/* How many lines have this store, level, event and hold this text (NULL, 0: any). */
int said(const char *store, ph_log_level level, const char *event, const char *text);
void log_print(void);
void log_clear(void);
/* How many lines there are. */
size_t log_length(void);
/* A claim that brought something: the line's number in the log, whose and how many. */
struct claimed {
    size_t line;
    char store[20];
    int count;
};
/* The claims that brought something, in order; returns how many. */
size_t claims_said(struct claimed *ret_claims, size_t room);
/* The stores whose handlers were called, in order, each followed by a blank; valid until the next
 * call. */
const char *calls_said(void);
/* How often the log was called while another call of it was under way. */
int log_overlaps(void);
/* The log callback takes so long. */
extern _Atomic int log_takes_ms;

/* ----------------------------------------------------------------- connections */

/* Connections that the library has now, and the most that it had since the last reset. */
int links_now(void);
int links_most(void);
void links_reset(void);
/* How often it has opened one whose URL or path contains this, or tried to. */
int links_opened(const char *place);
/* Is one open? */
bool links_open(const char *place);
/* How long before the one of this number, from 1, the one before it was. */
double links_gap_s(const char *place, int number);
/* Those of the test itself are made by threads for which this is true. */
extern _Thread_local bool links_uncounted;

/* How long the disk takes for each commit of this thread (SQLite). */
extern _Thread_local int sync_takes_ms;
/* … and of every thread. */
extern _Atomic int disk_takes_ms;

/* ---------------------------------------------------------------------- the set */

struct fleet {
    ph_store_opts stores;
    ph_set_opts set_opts;
    ph_set *set;
    ph_dispatcher_opts opts;
    ph_dispatcher *dispatcher;
};

/* Options: a log at debug level, so many connections, a short polling interval, no schema made. */
void fleet_init(struct fleet *fleet, int connections);
/* The set, as the options say. */
void fleet_set(struct fleet *fleet);
/* Adds bases first … first + count - 1, which are made if need be. */
void fleet_add(struct fleet *fleet, int first, int count);
/* Adds this one as it is. */
void fleet_join(struct fleet *fleet, const struct base *base);
/* Stores messages in the nth, and tells the dispatcher: PostgreSQL cannot ring without a connection. */
void fleet_put(struct fleet *fleet, int n, const char *topic, int count);
void fleet_remove(struct fleet *fleet, const char *id);
/* The dispatcher, as the options say. */
void fleet_new(struct fleet *fleet);
void fleet_handle(struct fleet *fleet, const char *topic, ph_handler_fn function, void *context);
void fleet_handle_in_tx(struct fleet *fleet, const char *topic, ph_handler_fn function,
                        void *context);
void fleet_start(struct fleet *fleet);
/* fleet_new, a handler for all topics, fleet_start. */
void fleet_run(struct fleet *fleet, ph_handler_fn function, void *context);
void fleet_drain(struct fleet *fleet);
void fleet_stop(struct fleet *fleet);
void fleet_free(struct fleet *fleet);
/* Stops and frees dispatcher and set. */
void fleet_end(struct fleet *fleet);
ph_dispatcher_stats fleet_stats(struct fleet *fleet);

/* How the dispatcher stands with a store; there: false if it has none with this id. */
struct standing {
    bool there, connected;
    ph_serving serving;
    int in_flight, error;
    int64_t claimed, done, exchanges, outages;
    ph_owner owner;
};
struct standing standing(struct fleet *fleet, const char *id);
/* "s000:served s001:trying", as they are listed; valid until the next call. */
const char *standings(struct fleet *fleet);

/* -------------------------------------------------------------------- handlers */

/* Counts per store, by id, and which came in which order. */
struct tally {
    pthread_mutex_t mutex;
    struct {
        char id[20];
        int count;
    } stores[BASES_MAX + 64];
    size_t store_count;
    int total;
};
#define TALLY_INIT                                                                                 \
    {                                                                                              \
        .mutex = PTHREAD_MUTEX_INITIALIZER                                                         \
    }
/* A handler: counts, and is done. Its context is a tally. */
ph_verdict count_up(void *context, ph_work *work);
int counted(struct tally *tally, const char *id); /* NULL: all */

#endif
