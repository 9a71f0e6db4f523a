/* set.h - what a dispatcher needs of a set. */
#ifndef PH_SET_SET_H
#define PH_SET_SET_H

#include "store/store.h"

/* One database of a set. Never changes; lives until its last holder lets go. */
struct ph__entry;

const char *ph__entry_id(const struct ph__entry *entry);
/* The store of an entry, not connected, with the set's options and the entry's id, schema and
 * prefix; and as its log callback the set's. With deploy_schema the first call on its connection
 * brings the schema up. */
int ph__entry_open(ph_set *set, const struct ph__entry *entry, ph_store **ret_store, ph_error *err);
void ph__entry_unref(ph_set *set, struct ph__entry *entry);

/* The entries of now, by id, each held for the caller, and the version of the list. The same
 * database keeps the same entry from version to version. *ret_entries: ph__dealloc(). */
int ph__set_entries(ph_set *set, struct ph__entry ***ret_entries, size_t *ret_count,
                    uint64_t *ret_version, ph_error *err);
/* Rises with every change of the list. */
uint64_t ph__set_version(ph_set *set);

/* An observer of changes: called without the set's lock, from any thread, after the version has
 * risen; and when there is a new source to be asked. It must not begin or end observing itself, and
 * a thread that ends it must hold no lock that changed() takes. */
struct ph__set_observer {
    struct ph__set_observer *next;
    void (*changed)(void *context);
    void *context;
};
/* While there is an observer, it refreshes the set: routers leave that to it. When remove has
 * returned, changed() is not called any more. */
void ph__set_observe(ph_set *set, struct ph__set_observer *observer);
void ph__set_observe_end(ph_set *set, struct ph__set_observer *observer);

/* How long until the sources are due, on the boot-time clock: 0: now; INT64_MAX: never. For a
 * caller that has a thread for it: a look that failed is due again after 10 s at the latest. */
int64_t ph__set_refresh_in_us(ph_set *set);

/* A dispatcher, and with it a source that never returns, may outlive ph_set_free(). */
void ph__set_ref(ph_set *set);
void ph__set_unref(ph_set *set);

/* How many connections the whole budget has. */
int ph__set_connections(const ph_set *set);
/* Takes up to so many connections of the budget; returns how many it got. */
int ph__set_take(ph_set *set, int most);
void ph__set_give(ph_set *set, int count);

const ph_store_opts *ph__set_store_opts(const ph_set *set); /* filled; texts are copies */

#endif
