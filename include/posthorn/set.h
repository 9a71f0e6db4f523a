/* set.h - many databases: a set of stores that changes, and the way to the right one.
 *
 * SPDX-License-Identifier: MIT
 *
 * Included by posthorn.h. A set knows each database by a stable id: you add some,
 * and its sources find others (a callback of yours, a query on a control database,
 * a folder of SQLite files, a file that lists them). A dispatcher serves all of
 * them (ph_dispatcher_new_set() in dispatcher.h); a router gives producers the
 * store of a key.
 *
 *     ph_set_new(NULL, &set, &err);
 *     ph_set_add_folder(set, "/var/lib/shop/tenants", NULL, &err);
 *     ph_router_new(set, NULL, &router, &err);
 *     ph_router_get(router, "tenant-17", 0, &store, &err);
 *     ph_enqueue(store, ph_tx_sqlite(db), &message, 0, NULL, &err);
 *
 * REFRESH
 *   The set asks a new source as soon as a dispatcher or a router uses the set, then
 *   every refresh_ms: on a thread of a running dispatcher, or else in
 *   ph_router_get() and ph_set_refresh() on the caller's thread. A new database is
 *   served from then on; an unchanged one keeps its store and its connection; one
 *   that is gone is drained: nothing more of it is claimed, and messages in flight
 *   are finished and settled. A source that fails (or takes for ever) keeps its old
 *   list, and a dispatcher asks it again within ten seconds. An entry that
 *   makes no sense (no id, an invalid URL, an id with two URLs) is left out
 *   with a warning, and so is a key that another database has; the rest of the
 *   answer counts. For a set file the warning names the line.
 *
 * CONNECTIONS
 *   One budget for the whole set: the dispatcher and the routers together never
 *   have more connections than that, however many databases there are. The
 *   databases that have been idle for longest give theirs up.
 *
 * THREADS
 *   Any number of threads may use a set. One thread at a time may use a router,
 *   like a store: while a call uses the connection owned by one of its stores,
 *   others fail with PH_ESTATE. But threads that pass a transaction of their own with
 *   every call can share a router. Nothing is atomic across databases, and a join
 *   stays within one. */
#include <posthorn/posthorn.h> /* first: it includes all of them, in order */

#ifndef POSTHORN_SET_H
#define POSTHORN_SET_H

#ifdef __cplusplus
extern "C" {
#endif

/* ----------------------------------------------------------------------- set */

typedef struct ph_set ph_set;

#define PH_SET_CONNECTIONS 8
#define PH_SET_CONNECTIONS_MAX 10000
#define PH_SET_REFRESH_MS 300000
#define PH_SET_NO_REFRESH (-1)

typedef struct {
    size_t size;                 /* set by PH_SET_OPTS_INIT; new members are only appended */
    const ph_store_opts *stores; /* of every store; copied, except the contexts of callbacks.
                                    store_id is ignored. With deploy_schema each store is migrated
                                    at its first use. The threads of a dispatcher call log and
                                    join_ended one at a time, backoff concurrently; callbacks must
                                    not use a router of the set. NULL: defaults */
    int connections;             /* the most at the same time: 0: PH_SET_CONNECTIONS; up to
                                    PH_SET_CONNECTIONS_MAX */
    int refresh_ms;              /* how often to ask the sources: 0: PH_SET_REFRESH_MS;
                                    PH_SET_NO_REFRESH: only in ph_set_refresh() */
} ph_set_opts;
#define PH_SET_OPTS_INIT { sizeof(ph_set_opts), NULL, 0, 0 }

/* A database of a set. Everything is borrowed. */
typedef struct {
    size_t size;                       /* set by PH_DATABASE_INIT; new members are only appended */
    const char *id;                    /* its name in the log; always the same for the same
                                          database, and unique in the set. Not empty, at most
                                          PH_NAME_MAX code points */
    const char *url;                   /* as for ph_open() */
    const char *key;                   /* the routing key; NULL: the id. For several keys add the
                                          database several times */
    const char *schema, *table_prefix; /* NULL: those of the set's options */
} ph_database;
#define PH_DATABASE_INIT { sizeof(ph_database), NULL, NULL, NULL, NULL, NULL }

/* Makes an empty set; touches no database.
 * Errors: PH_EINVAL (says which option), PH_ENOMEM. */
PH_API PH_MUST_CHECK int ph_set_new(const ph_set_opts *opts, ph_set **ret_set, ph_error *reterr);

/* Frees it; first free everything that uses it. NULL is fine. */
PH_API void ph_set_free(ph_set *set);

/* Adds a database; at any time. Adding it again changes nothing; adding it again
 * with another key adds the key.
 * Errors: PH_EINVAL (bad member, no URL, the id has another URL, or the key
 * another id), PH_EUNSUPPORTED, PH_ENOMEM. */
PH_API PH_MUST_CHECK int ph_set_add(ph_set *set, const ph_database *database, ph_error *reterr);

/* Removes a database that was added with ph_set_add(); at any time. It is
 * drained, unless a source names it, too. Errors: PH_ENOTFOUND, PH_ENOMEM. */
PH_API PH_MUST_CHECK int ph_set_remove(ph_set *set, const char *id, ph_error *reterr);

/* ------------------------------------------------------------------- sources */

/* The answer of a source. */
typedef struct ph_found ph_found;

/* Calls ph_found_add() for every database that exists now. Returns 0, or a
 * negative ph_status with reterr filled: then its previous list stands. It may
 * take its time: only callers of ph_set_refresh() and ph_router_get() wait for
 * it. Must not call the set, and must not throw or jump. */
typedef int (*ph_discover_fn)(void *context, ph_found *found, ph_error *reterr);

/* For a ph_discover_fn: names a database. One that makes no sense is refused,
 * logged as a warning and left out; go on with the others.
 * Errors: as ph_set_add(). */
PH_API PH_MUST_CHECK int ph_found_add(ph_found *found, const ph_database *database,
                                      ph_error *reterr);

/* Adds a callback as a source. This call, like those below, does not ask it.
 * Errors: PH_EINVAL, PH_ENOMEM. */
PH_API PH_MUST_CHECK int ph_set_add_discovery(ph_set *set, ph_discover_fn discover, void *context,
                                              ph_error *reterr);

/* Adds a query on a control database, which needs no schema of ours. Its columns
 * are id, url and, if there are more, key, schema and table_prefix; more rows with
 * the same id and url name more keys. It must not write. The connection is closed
 * after each refresh; all queries together count as one connection of the budget.
 * Errors: PH_EINVAL, PH_EUNSUPPORTED, PH_ESTATE (no connection is left), PH_ENOMEM. */
PH_API PH_MUST_CHECK int ph_set_add_query(ph_set *set, const char *url, const char *sql,
                                          ph_error *reterr);

/* Adds a folder of SQLite files: every regular file in it whose name fits the
 * pattern (NULL: "*.db"; * and ? and [...] as in a shell) is a store; its id is
 * the name without the pattern's ending after the last "*". Files whose name
 * begins with a dot, and the files that SQLite puts beside a database (-wal, -shm,
 * -journal), are left out. A folder that cannot be read is a source that fails.
 * Errors: PH_EINVAL, PH_EUNSUPPORTED (no SQLite in this build), PH_ENOMEM. */
PH_API PH_MUST_CHECK int ph_set_add_folder(ph_set *set, const char *path, const char *pattern,
                                           ph_error *reterr);

/* Adds a set file: a text that each refresh reads anew. Words are separated by
 * blanks; a word with blanks stands in double quotes (\" and \\ within); a word
 * that begins with # begins a comment. Relative paths start at the file's folder,
 * also those that its queries return. To change the file, write another one and
 * rename it.
 *     store  ID URL [KEY]...
 *     folder PATH [PATTERN]
 *     query  URL SQL
 * A line that cannot be read, or whose folder or query fails, makes the file a
 * source that fails; the error names the line. Its queries share the connection of
 * ph_set_add_query(). This call reserves it if the file has a query now, or cannot
 * be read yet; a query that is added later needs a connection left in the budget.
 * Errors: PH_EINVAL, PH_ESTATE, PH_ENOMEM. */
PH_API PH_MUST_CHECK int ph_set_add_file(ph_set *set, const char *path, ph_error *reterr);

/* The kinds of news in a report. */
typedef enum {
    PH_SET_ADDED = 1,    /* a database has come, or is at another place now */
    PH_SET_REMOVED = 2,  /* a database has gone, or was at another place before */
    PH_SET_LEFT_OUT = 3, /* a database, or only a key of it, is invalid; also one in the old list of
                            a source that has failed */
    PH_SET_FAILED = 4    /* a source has failed: its old list stands */
} ph_set_change_kind;

/* We allocate it; new members are only appended. */
typedef struct {
    ph_set_change_kind kind;
    const char *id;     /* the database; NULL: a source has failed, or these were only counted */
    const char *key;    /* only this key is left out; NULL: the whole database */
    const char *source; /* the source that says so; NULL: all of them together */
    const char *reason; /* why it is left out, or the source has failed; NULL otherwise */
    size_t count;       /* 1; or how many more are left out, without any details */
    ph_error error;     /* of a source that has failed */
} ph_set_change;

typedef struct ph_set_report ph_set_report;

/* Asks every source now: afterwards the set knows every database that a source
 * could name before the call. If another thread is asking, it waits for the end of
 * that, then asks once more; one thread asks for all that wait. timeout_ms bounds
 * the waiting and each query, not a callback of yours; 0: 30 000.
 * ret_report (may be NULL) is owned by the caller: ph_set_report_free(). It lists
 * databases that the sources name, or no longer name, since the refresh before (not
 * the effects of ph_set_add() and ph_set_remove()), everything that is left out now,
 * and the sources that have failed; these are then no error of the call. If several
 * threads refresh, it is the report of the last refresh.
 * Errors: PH_EINVAL, PH_ETIMEOUT, PH_ENOMEM; without ret_report also the error of the first source
 * that failed (its old list stands, the others are refreshed). */
PH_API PH_MUST_CHECK int ph_set_refresh(ph_set *set, int timeout_ms, ph_set_report **ret_report,
                                        ph_error *reterr);
PH_API size_t ph_set_report_count(const ph_set_report *report);
/* Borrowed until ph_set_report_free(); NULL if index is out of range. */
PH_API const ph_set_change *ph_set_report_at(const ph_set_report *report, size_t index);
PH_API void ph_set_report_free(ph_set_report *report);

typedef struct {
    size_t size;    /* set by PH_DATABASE_LIST_OPTS_INIT; new members are only appended */
    const char *id; /* only this one; NULL: all */
} ph_database_list_opts;
#define PH_DATABASE_LIST_OPTS_INIT { sizeof(ph_database_list_opts), NULL }

typedef struct ph_databases ph_databases;

/* Lists the databases that the set knows now, by id. key is the first of its keys;
 * NULL: other databases have all of them. Asks no source: call ph_set_refresh()
 * first. URLs may hold passwords. Lists: see inspect.h.
 * Errors: PH_EINVAL, PH_ENOMEM. */
PH_API PH_MUST_CHECK int ph_database_list(ph_set *set, const ph_database_list_opts *opts,
                                          ph_databases **ret_list, ph_error *reterr);
PH_API size_t ph_databases_count(const ph_databases *list);
PH_API const ph_database *ph_databases_at(const ph_databases *list, size_t index);
PH_API void ph_databases_free(ph_databases *list);

/* -------------------------------------------------------------------- router */

typedef struct ph_router ph_router;

#define PH_ROUTER_NO_CONNECTIONS (-1)

typedef struct {
    size_t size;     /* set by PH_ROUTER_OPTS_INIT; new members are only appended */
    int connections; /* its share of the set's budget: so many of its stores are connected at a
                        time. 0: 1; PH_ROUTER_NO_CONNECTIONS: none, for calls inside transactions of
                        yours only */
} ph_router_opts;
#define PH_ROUTER_OPTS_INIT { sizeof(ph_router_opts), 0 }

/* Makes a router, which takes its share of the budget. Make routers before you start
 * the dispatcher of the same set, which takes the rest.
 * Errors: PH_EINVAL, PH_ESTATE (not so many connections are left), PH_ENOMEM. */
PH_API PH_MUST_CHECK int ph_router_new(ph_set *set, const ph_router_opts *opts,
                                       ph_router **ret_router, ph_error *reterr);

/* Returns the store of a key: always the same one while the database does not
 * change. It belongs to the router and stays valid until ph_router_free(), even if
 * the database has left the set. It connects when you first use it without a
 * transaction of yours; with more stores than connections, those not used for
 * longest are disconnected, and connect again when you use them. A key that is a
 * UUID is found in any spelling (case, hyphens).
 * The call asks the sources first if a refresh is due and nobody else refreshes the
 * set, or if the key is unknown and the last refresh was more than a second ago;
 * with PH_SET_NO_REFRESH it never does.
 * timeout_ms as in ph_set_refresh().
 * Errors: PH_ENOTFOUND (no database has this key; with PH_RETRY: a source failed,
 * or the last refresh is too recent for another), PH_EINVAL, PH_ETIMEOUT (the key is
 * unknown, and the refresh has not ended in time), PH_ENOMEM. */
PH_API PH_MUST_CHECK int ph_router_get(ph_router *router, const char *key, int timeout_ms,
                                       ph_store **ret_store, ph_error *reterr);

/* The same by the 16 bytes of a UUID: the member b of a ph_tenant_id, say. */
PH_API PH_MUST_CHECK int ph_router_get_uuid(ph_router *router, const uint8_t key[16],
                                            int timeout_ms, ph_store **ret_store, ph_error *reterr);

/* Closes its stores and gives its connections back to the set. NULL is fine. */
PH_API void ph_router_free(ph_router *router);

#ifdef __cplusplus
}
#endif

#endif /* POSTHORN_SET_H */
