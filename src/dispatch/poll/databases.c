/* databases.c - which databases there are, as those of a set come and go. */
#include "dispatch/poll/poll.h"

#include "core/error.h"
#include "util/alloc.h"

#include <stdlib.h>
#include <string.h>

#define ROOM_FIRST 16
#define WAIT_MAX_US 60000000
#define NO_MEMORY_US 1000000 /* until the list of the set is looked at again */

/* ------------------------------------------------------------- coming and going */

/* With the lock held. */
static int make_room(ph_dispatcher *dispatcher)
{
    size_t room = dispatcher->dbs.room ? dispatcher->dbs.room * 2 : ROOM_FIRST;
    struct ph__db **grown;

    if (dispatcher->dbs.count < dispatcher->dbs.room)
        return 0;
    grown = ph__realloc(dispatcher->dbs.items, room * sizeof(*grown));
    if (!grown)
        return PH_ENOMEM;
    dispatcher->dbs.items = grown;
    dispatcher->dbs.room = room;
    return 0;
}

int ph__databases_add(struct ph__db *db)
{
    ph_dispatcher *dispatcher = db->dispatcher;
    size_t at;
    int r;

    ph__lock(dispatcher);
    r = make_room(dispatcher);
    if (r == 0) {
        at = dispatcher->dbs.count++;
        for (; at > 0 && strcmp(dispatcher->dbs.items[at - 1]->id, db->id) > 0; at--)
            dispatcher->dbs.items[at] = dispatcher->dbs.items[at - 1];
        dispatcher->dbs.items[at] = db;
        dispatcher->pick.claim_turn += at < dispatcher->pick.claim_turn;
        dispatcher->pick.chosen = NULL; /* it may be its turn */
        db->serial = ++dispatcher->dbs.last_serial;
    }
    ph__unlock(dispatcher);
    return r;
}

/* Those that were kept for the sake of handlers that did not return. */
static void free_retired(ph_dispatcher *dispatcher)
{
    struct ph__db **at = &dispatcher->dbs.retired;

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

static int by_address(const void *left, const void *right)
{
    uintptr_t a = *(const uintptr_t *)left, b = *(const uintptr_t *)right;

    return (a > b) - (a < b);
}

static bool has(struct ph__entry *const *entries, size_t count, const struct ph__entry *entry)
{
    return count > 0 && bsearch(&entry, entries, count, sizeof(*entries), by_address);
}

/* What the set has no more is claimed from no more. With the lock held. */
static void drain_others(ph_dispatcher *dispatcher, struct ph__entry *const *sorted, size_t count)
{
    for (size_t i = 0; i < dispatcher->dbs.count; i++) {
        struct ph__db *db = dispatcher->dbs.items[i];

        if (db->leaving || has(sorted, count, db->entry))
            continue;
        db->leaving = true;
        db->leaving_us = ph__boot_us();
        ph__waiting_release(db, INT64_MAX);
    }
}

/* There was no memory for all that has changed: another time. With the lock held. */
static void update_later(ph_dispatcher *dispatcher)
{
    dispatcher->dbs.changed = true;
    dispatcher->dbs.update_us = ph__boot_us() + NO_MEMORY_US;
}

/* Which of them have no database yet, by id; with the lock held. */
static size_t keep_new(ph_dispatcher *dispatcher, struct ph__entry **entries, size_t count)
{
    struct ph__entry **known = ph__alloc_zero(count + 1, sizeof(*known));
    size_t known_count = 0, kept = 0;

    for (size_t i = 0; known && i < dispatcher->dbs.count && known_count < count; i++) {
        if (!dispatcher->dbs.items[i]->leaving)
            known[known_count++] = dispatcher->dbs.items[i]->entry;
    }
    if (known)
        qsort(known, known_count, sizeof(*known), by_address);
    for (size_t i = 0; i < count; i++) {
        if (known && !has(known, known_count, entries[i]))
            entries[kept++] = entries[i];
        else
            ph__entry_unref(dispatcher->set, entries[i]);
    }
    if (!known)
        update_later(dispatcher);
    ph__dealloc(known);
    return kept;
}

/* Those that are missing; false: not all of them could be made. */
static bool add_all(ph_dispatcher *dispatcher, struct ph__entry *const *entries, size_t count)
{
    bool all = true;
    ph_error err;

    for (size_t i = 0; i < count; i++)
        all &= add(dispatcher, entries[i], &err) == 0;
    return all;
}

void ph__databases_update(ph_dispatcher *dispatcher)
{
    struct ph__entry **entries = NULL, **sorted = NULL;
    size_t count = 0;
    uint64_t version;
    ph_error err;
    bool whole = ph__set_entries(dispatcher->set, &entries, &count, &version, &err) == 0;

    if (whole)
        sorted = ph__alloc_zero(count + 1, sizeof(*sorted));
    if (sorted) {
        memcpy(sorted, entries, count * sizeof(*sorted));
        qsort(sorted, count, sizeof(*sorted), by_address);
    }
    ph__lock(dispatcher);
    if (sorted)
        drain_others(dispatcher, sorted, count);
    count = keep_new(dispatcher, entries, count);
    free_retired(dispatcher);
    ph__unlock(dispatcher);
    whole = add_all(dispatcher, entries, count) && sorted;
    if (!whole) {
        ph__lock(dispatcher);
        update_later(dispatcher);
        ph__unlock(dispatcher);
    }
    ph__dealloc(sorted);
    ph__dealloc(entries);
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

/* Who drains waits for that; with the lock held. */
static void set_discovered(ph_dispatcher *dispatcher)
{
    if (!dispatcher->discovery.done)
        pthread_cond_broadcast(&dispatcher->wait.changed);
    dispatcher->discovery.done = true;
}

void *ph__discover(void *context)
{
    ph_dispatcher *dispatcher = context;

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
        (void)!ph_set_refresh(dispatcher->set, 0, &err); /* says itself what is wrong */
        ph__lock(dispatcher);
        set_discovered(dispatcher);
    }
    dispatcher->discovery.running = false;
    pthread_cond_broadcast(&dispatcher->wait.changed);
    ph__unlock(dispatcher);
    ph__dispatcher_drop(dispatcher);
    return NULL;
}
