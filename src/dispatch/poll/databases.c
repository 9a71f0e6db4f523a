/* databases.c - the list of databases, as those of a set come and go. */
#include "dispatch/poll/poll.h"

#include "core/error.h"
#include "util/alloc.h"

#include <string.h>

#define WAIT_MAX_US 60000000
#define NO_MEMORY_US 1000000 /* until the list of the set is looked at again */

/* ------------------------------------------------------------- coming and going */

int ph__databases_add(struct ph__db *db)
{
    ph_dispatcher *dispatcher = db->dispatcher;
    struct ph__dbs *dbs = &dispatcher->dbs;
    struct ph__db **items;
    size_t at;

    ph__lock(dispatcher);
    items = ph__grow(dbs->items, dbs->count + 1, &dbs->room, sizeof(*items));
    if (items) {
        dbs->items = items;
        at = dbs->count++;
        for (; at > 0 && strcmp(items[at - 1]->id, db->id) > 0; at--)
            items[at] = items[at - 1];
        items[at] = db;
        dispatcher->pick.claim_turn += at < dispatcher->pick.claim_turn;
        dispatcher->pick.chosen = NULL; /* it may be its turn */
        db->serial = ++dbs->last_serial;
    }
    ph__unlock(dispatcher);
    return items ? 0 : PH_ENOMEM;
}

/* Those that were kept for the sake of handlers that did not return. */
static void free_retired(ph_dispatcher *dispatcher)
{
    struct ph__db **at = &dispatcher->dbs.retired;

    PH__NEEDS_LOCK(dispatcher);
    while (*at) {
        struct ph__db *db = *at;

        if (db->leases.batches || dispatcher->pick.selecting) {
            at = &db->watch.next;
            continue;
        }
        *at = db->watch.next;
        ph__db_free(db);
    }
}

void ph__databases_remove(struct ph__db *db)
{
    ph_dispatcher *dispatcher = db->dispatcher;
    size_t at = 0;

    PH__NEEDS_LOCK(db->dispatcher);
    while (dispatcher->dbs.items[at] != db)
        at++;
    dispatcher->dbs.count--;
    dispatcher->pick.claim_turn -= at < dispatcher->pick.claim_turn;
    for (; at < dispatcher->dbs.count; at++)
        dispatcher->dbs.items[at] = dispatcher->dbs.items[at + 1];
    if (dispatcher->pick.chosen == db)
        dispatcher->pick.chosen = NULL;
    ph__reserve_leave(db);
    ph__file_unwatch(db);
    db->watch.next = dispatcher->dbs.retired;
    dispatcher->dbs.retired = db;
    free_retired(dispatcher);
    pthread_cond_broadcast(&dispatcher->wait.changed);
}

void ph__databases_each(ph_dispatcher *dispatcher, void (*act)(struct ph__db *db))
{
    PH__NEEDS_LOCK(dispatcher);
    for (size_t i = 0; i < dispatcher->dbs.count; i++)
        act(dispatcher->dbs.items[i]);
}

void ph__databases_free(ph_dispatcher *dispatcher)
{
    for (size_t i = 0; i < dispatcher->dbs.count; i++)
        ph__db_free(dispatcher->dbs.items[i]);
    while (dispatcher->dbs.retired) {
        struct ph__db *db = dispatcher->dbs.retired;

        dispatcher->dbs.retired = db->watch.next;
        ph__db_free(db);
    }
    ph__dealloc(dispatcher->dbs.items);
}

/* --------------------------------------------------------------------- updates */

/* Takes over the reference. */
static int add(ph_dispatcher *dispatcher, struct ph__entry *entry, ph_error *err)
{
    struct ph__db *db = NULL;
    ph_store *store = NULL;
    int r = ph__entry_open(dispatcher->set, entry, &store, err);

    if (r == 0)
        r = ph__db_new(dispatcher, entry, store, &db, err);
    if (r < 0) {
        ph_close(store);
        ph__entry_unref(dispatcher->set, entry);
        return r;
    }
    ph__file_watch(db);
    if (ph__databases_add(db) == 0) {
        ph__say(db, PH_LOG_INFO, "joined: the set has this database", NULL, NULL, NULL);
        return 0;
    }
    ph__lock(dispatcher);
    ph__file_unwatch(db);
    ph__unlock(dispatcher);
    ph__db_free(db);
    return ph__fail_memory(err);
}

/* It is claimed from no more. */
static void drain(struct ph__db *db)
{
    PH__NEEDS_LOCK(db->dispatcher);
    if (db->leaving)
        return;
    db->leaving = true;
    db->leaving_us = ph__boot_us();
    ph__waiting_release(db, INT64_MAX);
}

/* Drains databases that the set has no more, and keeps the entries that have no database yet; both
 * lists are by id. */
static size_t compare(ph_dispatcher *dispatcher, struct ph__entry **entries, size_t count)
{
    size_t at = 0, kept = 0;

    PH__NEEDS_LOCK(dispatcher);
    for (size_t i = 0; i < count; i++) {
        bool served = false;

        for (; at < dispatcher->dbs.count; at++) {
            struct ph__db *db = dispatcher->dbs.items[at];

            if (strcmp(db->id, ph__entry_id(entries[i])) > 0)
                break;
            if (db->entry == entries[i] && !db->leaving)
                served = true;
            else
                drain(db);
        }
        if (served)
            ph__entry_unref(dispatcher->set, entries[i]);
        else
            entries[kept++] = entries[i];
    }
    for (; at < dispatcher->dbs.count; at++)
        drain(dispatcher->dbs.items[at]);
    return kept;
}

void ph__databases_update(ph_dispatcher *dispatcher)
{
    struct ph__entry **entries = NULL;
    size_t count = 0;
    uint64_t version;
    ph_error err;
    bool whole = ph__set_entries(dispatcher->set, &entries, &count, &version, &err) == 0;

    ph__lock(dispatcher);
    if (whole)
        count = compare(dispatcher, entries, count);
    free_retired(dispatcher);
    ph__unlock(dispatcher);
    for (size_t i = 0; i < count; i++)
        whole &= add(dispatcher, entries[i], &err) == 0;
    ph__dealloc(entries);
    if (whole)
        return;
    ph__lock(dispatcher); /* there was no memory for all changes: again later */
    dispatcher->dbs.changed = true;
    dispatcher->dbs.update_us = ph__boot_us() + NO_MEMORY_US;
    ph__unlock(dispatcher);
}

void ph__databases_changed(void *context)
{
    ph_dispatcher *dispatcher = context;

    ph__lock(dispatcher);
    dispatcher->dbs.changed = true;
    dispatcher->dbs.update_us = 0;
    pthread_cond_broadcast(&dispatcher->wait.discover); /* it may be a source that has come */
    ph__poller_call(dispatcher);
    ph__wake_asleep(dispatcher);
    ph__unlock(dispatcher);
}

/* ------------------------------------------------------------------- discovery */

/* A drain waits for that. */
static void set_discovered(ph_dispatcher *dispatcher)
{
    PH__NEEDS_LOCK(dispatcher);
    if (!dispatcher->discovery.done)
        pthread_cond_broadcast(&dispatcher->wait.changed);
    dispatcher->discovery.done = true;
}

void *ph__discover(void *context)
{
    ph_dispatcher *dispatcher = context;

    ph__thread_begin(dispatcher);
    ph__lock(dispatcher);
    while (!dispatcher->phase.stopping) {
        int64_t wait_us = ph__set_refresh_in_us(dispatcher->set);
        ph_error err;

        if (wait_us > 0) {
            set_discovered(dispatcher);
            ph__wait_us(dispatcher, &dispatcher->wait.discover,
                        wait_us < WAIT_MAX_US ? wait_us : WAIT_MAX_US);
            continue;
        }
        ph__unlock(dispatcher);
        (void)!ph_set_refresh(dispatcher->set, 0, NULL, &err); /* says itself what is wrong */
        ph__lock(dispatcher);
        set_discovered(dispatcher);
    }
    dispatcher->discovery.running = false;
    pthread_cond_broadcast(&dispatcher->wait.changed);
    ph__unlock(dispatcher);
    ph__dispatcher_drop(dispatcher);
    return NULL;
}
