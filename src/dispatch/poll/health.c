/* health.c - how a database is doing, what that means for its share of the pollers, and how it is
 * retried when it cannot be used: ever more slowly, and logged once. */
#include "dispatch/poll/poll.h"

#include "util/random.h"

#include <stdio.h>
#include <string.h>

/* A pause is somewhere between half of its length and all of it, and doubled each time. Refused:
 * the database may just be being made, or an operator must change something. In a set others wait
 * for the connection. */
static const struct ph__health_meaning meanings[] = {
    [PH__NEW] = { PH__SHARE_ALL, true, 0, 0, 0 },
    [PH__DOUBTFUL] = { PH__SHARE_FEW, false, 0, 0, 0 },
    [PH__WELL] = { PH__SHARE_ALL, true, 0, 0, 0 },
    [PH__SLOW] = { PH__SHARE_MOST, false, 0, 0, 0 },
    [PH__FAILING] = { PH__SHARE_FEW, false, 50000, 5000000, 15000000 },
    [PH__REFUSED] = { PH__SHARE_FEW, false, 500000, 30000000, 30000000 },
};

const struct ph__health_meaning *ph__health_meaning(enum ph__health health)
{
    PH__ASSERT(health >= PH__NEW && health <= PH__REFUSED);
    return &meanings[health];
}

bool ph__share_is_used_up(enum ph__share share, const struct ph__pollers_use *use)
{
    int quarter = use->pollers / 4 > 0 ? use->pollers / 4 : 1;

    switch (share) {
    case PH__SHARE_FEW:
        return use->pollers > 1 && use->failing >= quarter;
    case PH__SHARE_MOST:
        return use->pollers > 1 && use->others_well &&
               use->failing + use->slow >= use->pollers - quarter;
    case PH__SHARE_ALL:
    default:
        return false;
    }
}

int64_t ph__retry_step_us(enum ph__health health, int64_t step_us, bool in_set)
{
    const struct ph__health_meaning *meaning = ph__health_meaning(health);
    int64_t longest_us = in_set ? meaning->longest_set_us : meaning->longest_us;

    step_us *= 2;
    if (step_us < meaning->first_us)
        step_us = meaning->first_us;
    return step_us < longest_us ? step_us : longest_us;
}

static int64_t retry_us(const struct ph__chore_look *look)
{
    return look->db->health.retry_us ? look->db->health.retry_us : INT64_MAX;
}

const struct ph__chore ph__chore_retry = { .in_outage = true, .due_us = retry_us };

/* Against some errors only an operator helps, not time. */
static enum ph__health health_after(const struct ph__db *db, const ph_error *err)
{
    bool for_others = err->code == PH_EPERM || err->code == PH_EAUTH || err->code == PH_ENOSCHEMA ||
                      err->code == PH_ETOOOLD || err->code == PH_ETOONEW;

    return db->entry && for_others ? PH__REFUSED : PH__FAILING;
}

static const char *what_failed(const struct ph__db *db, const ph_error *err)
{
    if (health_after(db, err) != PH__REFUSED)
        return "the database cannot be used; trying again until it can";
    if (err->code == PH_EAUTH)
        return "set aside: the credentials were refused; looking again, ever more rarely";
    if (err->code == PH_EPERM)
        return "set aside: the role lacks a right; looking again, ever more rarely";
    return "set aside: its schema cannot be used; looking again, ever more rarely";
}

static void set_retry(struct ph__db *db, enum ph__health after, int64_t now_us)
{
    struct ph__db_health *health = &db->health;
    bool same = (after == PH__REFUSED) == (health->state == PH__REFUSED);

    PH__NEEDS_LOCK(db->dispatcher);
    if (now_us < health->retry_us) /* it was a renewal, which is tried in between */
        return;
    health->step_us = ph__retry_step_us(after, same ? health->step_us : 0, db->entry != NULL);
    health->retry_us = now_us + health->step_us / 2 +
                       (int64_t)(ph__random_u64() % (uint64_t)(health->step_us / 2 + 1));
}

/* A call to this server took long and failed, so other databases on it may be no better: only a few
 * pollers shall find out. A server that gave a reason is alive; and an outage of one database
 * raises the doubt only once. */
static void doubt_server(struct ph__db *db, const ph_error *err, int64_t now_us)
{
    ph_dispatcher *dispatcher = db->dispatcher;

    PH__NEEDS_LOCK(dispatcher);
    if (!db->server || now_us - db->visit.began_us < PH__SLOW_US || err->sqlstate[0] ||
        db->health.said_codes)
        return;
    for (size_t i = 0; i < dispatcher->dbs.count; i++) {
        struct ph__db *other = dispatcher->dbs.items[i];

        if (other->health.state < PH__FAILING && other->server &&
            strcmp(other->server, db->server) == 0)
            other->health.state = PH__DOUBTFUL;
    }
}

/* The database has left the set and does not come back: its leases have run out by now. */
static size_t give_up_if_gone(struct ph__db *db, int64_t now_us)
{
    if (!db->leaving || now_us - db->leaving_us < db->dispatcher->times.lease_us)
        return 0;
    return ph__works_forget(db);
}

static void say_failed(struct ph__db *db, const ph_error *err, size_t forgotten)
{
    uint32_t bit = UINT32_C(1) << (-err->code & 31);
    char text[24];

    if (forgotten > 0) {
        snprintf(text, sizeof(text), "%zu", forgotten);
        ph__say(db, PH_LOG_WARN,
                "the database left before these could be settled; their leases have run out", NULL,
                "count", text);
    }
    if (db->health.said_codes & bit)
        return;
    db->health.said_codes |= bit;
    ph__say(db, PH_LOG_WARN, what_failed(db, err), NULL, "error", err->message);
}

void ph__db_failed(struct ph__db *db, const ph_error *err)
{
    ph_dispatcher *dispatcher = db->dispatcher;
    struct ph__db_health *health = &db->health;
    enum ph__health after = health_after(db, err);
    int64_t now_us = ph__boot_us();
    size_t forgotten;

    ph__lock(dispatcher);
    set_retry(db, after, now_us);
    if (health->connected || health->said_codes == 0) {
        dispatcher->stats.outages++;
        health->outages++;
    }
    health->connected = false;
    health->last_error = *err;
    health->state = after;
    if (db->entry) {
        ph__db_extend(db, err, &health->limit_ms);
        doubt_server(db, err, now_us);
    }
    forgotten = give_up_if_gone(db, now_us);
    pthread_cond_broadcast(&dispatcher->wait.changed);
    ph__unlock(dispatcher);
    say_failed(db, err, forgotten);
}

void ph__db_succeeded(struct ph__db *db)
{
    ph_dispatcher *dispatcher = db->dispatcher;

    ph__lock(dispatcher);
    db->health.connected = true;
    if (db->health.state != PH__SLOW)
        db->health.state = PH__WELL;
    db->health.last_error.code = 0;
    if (db->settle.decided.count > 0)
        ph__wake_to_settle(db);
    ph__unlock(dispatcher);
    if (db->health.said_codes)
        ph__say(db, PH_LOG_WARN, "the database is back", NULL, NULL, NULL);
    db->health.said_codes = 0;
    db->health.exchange_failed = false;
    db->health.retry_us = db->health.step_us = 0;
}

void ph__db_took(struct ph__db *db, int64_t took_us)
{
    PH__NEEDS_LOCK(db->dispatcher);
    if (!db->entry || (db->health.state != PH__WELL && db->health.state != PH__SLOW))
        return;
    db->health.state = took_us > PH__SLOW_US ? PH__SLOW : PH__WELL;
    if (took_us < PH__SLOW_US)
        db->health.limit_ms = ph__db_limit_ms(db);
}
