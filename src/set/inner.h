/* inner.h - what the files of sets and routers share.
 *
 * One lock guards everything below it in struct ph_set. No thread calls a source, a database, an
 * observer or the log while holding it. The answers that a refresh gathers belong to its thread
 * alone until they are merged under the lock. */
#ifndef PH_SET_INNER_H
#define PH_SET_INNER_H

#include "core/log.h"
#include "set/complaints.h"
#include "set/report.h"
#include "set/roster.h"
#include "set/set.h"

#include <pthread.h>

struct ph__entry {
    size_t refs; /* under the set's lock */
    struct ph__place place;
    char texts[];
};

struct ph__source {
    struct ph__source *next;
    char *name; /* in the log */
    int (*ask)(struct ph__source *source, ph_found *found, ph_error *err);
    ph_discover_fn discover;
    void *context;
    char *url, *sql, *path, *pattern;
    struct ph__roster *list; /* what it named last */
    /* Those of the thread that refreshes. */
    struct ph__roster *fresh; /* what it names now; NULL: the list stands */
    struct ph__complaints complaints;
    bool failing;
};

/* One question to a source. */
struct ph_found {
    ph_set *set;
    int timeout_ms;
    const char *file; /* the set file that is read, or NULL; and the line of it */
    int line;
    struct ph__roster *roster;
    struct ph__complaints complaints;
    bool no_memory; /* the answer is not whole */
};

struct ph_set {
    ph_store_opts stores;        /* filled; texts are copies */
    int refresh_ms;              /* PH_SET_NO_REFRESH: never by itself */
    struct ph__log_source voice; /* lines that are of no store */

    pthread_mutex_t log_lock; /* held while a callback of the stores is called */
    ph_log_fn log;
    void *log_context;
    ph_join_fn join_ended;
    void *join_context;
    bool silent; /* freed: no callback may be called any more */

    /* Taken before lock. Held while observers are called: so an end waits for them. */
    pthread_mutex_t observers_lock;
    struct ph__set_observer *observers;

    pthread_mutex_t lock;
    size_t refs;     /* the user, dispatchers */
    int connections; /* of the whole budget */
    int left;        /* of the connections */
    bool has_reader; /* one is set apart for queries of sources */
    size_t observer_count;
    struct ph__roster *added; /* by ph_set_add() */
    struct ph__source *sources, **last_source;
    struct ph__roster *known; /* all together */
    struct ph__complaints conflicts;
    uint64_t version;

    bool refreshing;
    bool due;              /* there are sources that were never asked */
    uint64_t looks;        /* refreshes that have ended */
    int64_t looked_us;     /* when the last one did */
    ph_error look_error;   /* of the last one; code 0: none */
    ph_set_report *report; /* of the last one; NULL: none, or there was no memory for it */
    pthread_cond_t looked;
};

/* ------------------------------------------------------------------ set.c */

void ph__set_say(const ph_set *set, ph_log_level level, const char *what,
                 const ph_log_field *fields, size_t count);
/* After the version has risen, or a source has come; without the lock. */
void ph__set_tell(ph_set *set);
bool ph__set_is_freed(ph_set *set);
/* For sources that query databases: sets one connection apart, if none is. */
int ph__set_reserve_reader(ph_set *set, ph_error *err);

/* ------------------------------------------------------------- database.c */

/* A database that makes sense. */
struct ph__checked {
    ph_database database;
    ph_store *store; /* not connected; lends its names to place */
    struct ph__place place;
    const char *key;
};
/* On failure there is nothing to end; ret_checked->database.id is what was given, if anything, and
 * key is set if that is what is wrong. */
int ph__check_begin(const ph_set *set, const ph_database *database, struct ph__checked *ret_checked,
                    ph_error *err);
void ph__check_end(struct ph__checked *checked);

/* ---------------------------------------------------------------- entry.c */

/* NULL when memory is out; one reference. */
struct ph__entry *ph__entry_new(const struct ph__place *place);
/* With the lock. */
void ph__entry_drop(struct ph__entry *entry);

/* ---------------------------------------------------------------- merge.c */

/* The outcome of a merge. */
struct ph__merged {
    size_t databases, appeared, left;
    bool changed;
    struct ph__complaints news; /* conflicts that there were not before */
};
/* With the lock: makes the list of the set anew from the databases that were added and those that
 * the sources named. report, which may be NULL, gets the changes. */
int ph__set_merge(ph_set *set, ph_set_report *report, struct ph__merged *ret_merged, ph_error *err);
/* Without the lock: tells the log and the observers. */
void ph__set_merged(ph_set *set, struct ph__merged *merged);
void ph__roster_drop(struct ph__roster *roster); /* with its entries; with the lock */

/* -------------------------------------------------------------- sources.c */

void ph__source_free(struct ph__source *source);

/* -------------------------------------------------------------- refresh.c */

/* What a refresh does while another one is under way. */
enum ph__look {
    PH__LOOK_ALONE, /* nothing */
    PH__LOOK_JOIN,  /* waits for its end, and is content with that */
    PH__LOOK_SURE   /* waits, and looks once more: as ph_set_refresh() */
};
int ph__set_refresh(ph_set *set, int timeout_ms, enum ph__look look, ph_set_report **ret_report,
                    ph_error *err);
/* Should a router refresh now? Never while another thread does, or an observer will. */
bool ph__set_is_due(ph_set *set);
/* May a look find an unknown key? *ret_later: not yet, since the last one is too recent. */
bool ph__set_may_learn(ph_set *set, bool *ret_later);

/* ----------------------------------------------------------------- list.c */

/* The entry that has a key in its canonical form, held for the caller; NULL: none. */
struct ph__entry *ph__set_find(ph_set *set, const char *canonical);

#endif
