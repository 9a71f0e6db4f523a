/* unclaimed.c - finds messages that this dispatcher could claim, but has no handler for, and that
 * no live instance claims: operators should know. It looks once a minute, with a visit that is made
 * anyway. */
#include "dispatch/poll/poll.h"

#include "core/call.h"
#include "util/alloc.h"

#include <stdio.h>
#include <string.h>

#define FIRST_US 10000000 /* after the first visit: others may be starting, too */
#define EVERY_US 60000000
#define AGAIN_US INT64_C(3600000000) /* before a topic is named again */

/* Is it time to name the topic? With log_lock held. */
static bool is_news(ph_dispatcher *dispatcher, int door, const char *topic, int64_t now_us)
{
    size_t at = 0;

    while (at < dispatcher->logging.unclaimed_count &&
           (dispatcher->logging.unclaimed[at].door != door ||
            strcmp(dispatcher->logging.unclaimed[at].topic, topic) != 0))
        at++;
    if (at < dispatcher->logging.unclaimed_count) {
        if (now_us < dispatcher->logging.unclaimed[at].said_us + AGAIN_US)
            return false;
    } else {
        char *copy = at < PH__WARNED_TOPICS_MAX ? ph__strdup(topic) : NULL;

        if (!copy)
            return false;
        dispatcher->logging.unclaimed[at].topic = copy;
        dispatcher->logging.unclaimed[at].door = door;
        dispatcher->logging.unclaimed_count++;
    }
    dispatcher->logging.unclaimed[at].said_us = now_us;
    return true;
}

static void warn(struct ph__db *db, int door, const struct ph__unclaimed *found, size_t at,
                 int64_t now_us)
{
    char count[24], oldest[24];
    ph_log_field fields[] = { { "topic", found->items[at].topic },
                              { "door", door == PH_INBOX ? "inbox" : "outbox" },
                              { "namespace", db->dispatcher->opts.ns },
                              { "count", count },
                              { "oldest_s", oldest } };
    bool news;

    pthread_mutex_lock(&db->dispatcher->logging.lock);
    news = is_news(db->dispatcher, door, found->items[at].topic, now_us);
    pthread_mutex_unlock(&db->dispatcher->logging.lock);
    if (!news || !ph__log_source_wants(&db->log, PH_LOG_WARN))
        return;
    snprintf(count, sizeof(count), "%lld", (long long)found->items[at].count);
    snprintf(oldest, sizeof(oldest), "%lld",
             (long long)(found->now - found->items[at].oldest) / 1000000);
    ph__log_from(&db->log, PH_LOG_WARN, "dispatcher",
                 "messages are due that no live instance claims, and there is no handler for them "
                 "here",
                 fields, 5);
}

static int look(struct ph__db *db, int door, int64_t now_us)
{
    struct ph__unclaimed found = { 0 };
    PH__CALL(call);
    int r = ph__call_own(&call, db->store, db->health.chore_ms, NULL);

    if (r == 0)
        r = db->store->backend->unclaimed(&call, (ph_door)door, db->dispatcher->opts.ns, &found);
    for (size_t i = 0; r == 0 && i < found.count; i++)
        warn(db, door, &found, i, now_us);
    ph__arena_free(&found.arena);
    return r;
}

/* No poller wakes up for it. */
static int64_t due_us(const struct ph__chore_look *look)
{
    return look->db->leaving || look->now_us < look->db->unclaimed_us ? INT64_MAX : 0;
}

/* It goes with a visit that is made anyway. */
static int64_t visit_us(const struct ph__chore_look *look)
{
    (void)look;
    return INT64_MAX;
}

static void run(struct ph__db *db, int64_t now_us)
{
    int r = 0;

    if (db->unclaimed_us == 0) {
        db->unclaimed_us = now_us + FIRST_US;
        return;
    }
    db->unclaimed_us = now_us + EVERY_US;
    for (int door = 0; r == 0 && door < PH__SIDES; door++) {
        if (db->dispatcher->handlers.sides[door]
                .topics) /* otherwise it claims all of them itself */
            r = look(db, door, now_us);
    }
}

const struct ph__chore ph__chore_unclaimed = {
    .apart = true, .due_us = due_us, .visit_us = visit_us, .run = run
};

void ph__unclaimed_free(ph_dispatcher *dispatcher)
{
    for (size_t i = 0; i < dispatcher->logging.unclaimed_count; i++)
        ph__dealloc(dispatcher->logging.unclaimed[i].topic);
}
