/* outage.c - a database that cannot be used: it is tried again, ever more slowly, and said once. */
#include "dispatch/dispatch.h"

#include "util/random.h"

#include <stdio.h>
#include <string.h>

#define RETRY_FIRST_US 50000 /* after a failed call; doubled each time */
#define RETRY_MAX_US 5000000
#define RETRY_MAX_SET_US 15000000 /* where others are waiting for the connection */
#define ASIDE_FIRST_US 500000     /* a schema, or rights, that will not do: they may just be made */
#define ASIDE_MAX_US 30000000     /* … or it takes somebody to change that */

/* Time does not help, but somebody may. */
static bool is_for_others(const ph_error *err)
{
    return err->code == PH_EPERM || err->code == PH_EAUTH || err->code == PH_ENOSCHEMA ||
           err->code == PH_ETOOOLD || err->code == PH_ETOONEW;
}

static const char *what_failed(const struct ph__station *station, const ph_error *err)
{
    if (!station->entry || !is_for_others(err))
        return "the database cannot be used; trying again until it can";
    if (err->code == PH_EAUTH)
        return "set aside: the credentials were refused; looking again, ever more rarely";
    if (err->code == PH_EPERM)
        return "set aside: the role lacks a right; looking again, ever more rarely";
    return "set aside: its schema cannot be used; looking again, ever more rarely";
}

static void set_retry(struct ph__station *station, const ph_error *err, int64_t now_us)
{
    bool aside = station->entry && is_for_others(err);
    int64_t max_us = aside ? ASIDE_MAX_US : station->entry ? RETRY_MAX_SET_US : RETRY_MAX_US;
    int64_t first_us = aside ? ASIDE_FIRST_US : RETRY_FIRST_US;
    int64_t step_us = station->retry_step_us * 2;

    if (now_us < station->retry_us) /* it was a renewal, which is tried in between */
        return;
    if (step_us < first_us || aside != station->aside)
        step_us = first_us;
    station->retry_step_us = step_us < max_us ? step_us : max_us;
    station->retry_us = now_us + station->retry_step_us / 2 +
                        (int64_t)(ph__random_u64() % (uint64_t)(station->retry_step_us / 2 + 1));
}

/* Who had to wait long for nothing here may have to there: no more than a few of the crew shall find
 * out. A server that has said why is there; and whoever was suspected in vain is so only once. */
static void suspect_server(struct ph__station *station, const ph_error *err, int64_t now_us)
{
    ph_dispatcher *dispatcher = station->dispatcher;

    station->suspect = true;
    if (!station->server || now_us - station->served_us < PH__SLOW_US || err->sqlstate[0] ||
        station->said_codes)
        return;
    for (size_t i = 0; i < dispatcher->station_count; i++) {
        struct ph__station *other = dispatcher->stations[i];

        if (other->server && strcmp(other->server, station->server) == 0)
            other->suspect = true;
    }
}

/* The database has left the set and does not come back: its leases have run out by now. */
static size_t give_up_if_gone(struct ph__station *station, int64_t now_us)
{
    if (!station->draining || now_us - station->drain_us < station->dispatcher->lease_us)
        return 0;
    return ph__works_forget(station);
}

static void say_failed(struct ph__station *station, const ph_error *err, size_t forgotten)
{
    uint32_t bit = UINT32_C(1) << (-err->code & 31);
    char text[24];

    if (forgotten > 0) {
        snprintf(text, sizeof(text), "%zu", forgotten);
        ph__say(station, PH_LOG_WARN,
                "the database left before these could be settled; their leases have run out", NULL,
                "count", text);
    }
    if (station->said_codes & bit)
        return;
    station->said_codes |= bit;
    ph__say(station, PH_LOG_WARN, what_failed(station, err), NULL, "error", err->message);
}

void ph__station_failed(struct ph__station *station, const ph_error *err)
{
    ph_dispatcher *dispatcher = station->dispatcher;
    int64_t now_us = ph__boot_us();
    size_t forgotten;

    set_retry(station, err, now_us);
    ph__lock(dispatcher);
    if (station->connected || station->said_codes == 0) {
        dispatcher->stats.outages++;
        station->outages++;
    }
    station->connected = false;
    station->last_error = *err;
    if (station->entry) {
        ph__station_extend(station, err, &station->limit_ms);
        suspect_server(station, err, now_us);
        station->aside = is_for_others(err);
    }
    forgotten = give_up_if_gone(station, now_us);
    pthread_cond_broadcast(&dispatcher->changed);
    ph__unlock(dispatcher);
    say_failed(station, err, forgotten);
}

void ph__station_succeeded(struct ph__station *station)
{
    ph_dispatcher *dispatcher = station->dispatcher;

    ph__lock(dispatcher);
    station->connected = true;
    station->suspect = station->aside = false;
    station->last_error.code = 0;
    ph__unlock(dispatcher);
    if (station->said_codes)
        ph__say(station, PH_LOG_WARN, "the database is back", NULL, NULL, NULL);
    station->said_codes = 0;
    station->exchange_failed = false;
    station->retry_us = station->retry_step_us = 0;
}
