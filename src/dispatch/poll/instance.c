/* instance.c - the dispatcher as an instance that registers, beats its heart with every exchange,
 * is taken for dead when it does not, and says good-bye. */
#include "dispatch/poll/poll.h"

#include "core/error.h"
#include "core/message.h"
#include "util/alloc.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#define UNNAMED "unnamed"

int ph__instance_options(ph_dispatcher_opts *opts, ph_error *err)
{
    int least_s = 2 * opts->lease_s, r = 0;

    if (!opts->stale_threshold_s)
        opts->stale_threshold_s = PH_STALE_THRESHOLD_S > least_s ? PH_STALE_THRESHOLD_S : least_s;
    if (!opts->partition_count)
        opts->partition_count = PH_PARTITIONS;
    if (opts->service)
        r = ph__name_check(opts->service, "service", false, err);
    if (r == 0)
        r = ph__object_check(opts->metadata, "metadata", false, err);
    if (r < 0)
        return r;
    if (opts->stale_threshold_s < least_s || opts->stale_threshold_s > PH_STALE_THRESHOLD_MAX_S)
        return ph__fail(err, PH_EINVAL,
                        "stale_threshold_s is %d; with a lease of %d s, give %d (twice the "
                        "lease) to %d",
                        opts->stale_threshold_s, opts->lease_s, least_s, PH_STALE_THRESHOLD_MAX_S);
    if (opts->partition_count < 1 || opts->partition_count > PH_PARTITIONS_MAX)
        return ph__fail(err, PH_EINVAL, "partition_count is %d; give 1 to %d, or 0 for %d",
                        opts->partition_count, PH_PARTITIONS_MAX, PH_PARTITIONS);
    if (opts->max_partitions < 0)
        return ph__fail(err, PH_EINVAL, "max_partitions is negative; give 0 for any number");
    return 0;
}

/* A name that the system gives us, if it can be used as one. */
static const char *fit(const char *name)
{
    ph_error ignored;

    return ph__name_check(name, "name", false, &ignored) == 0 ? name : UNNAMED;
}

int ph__instance_init(ph_dispatcher *dispatcher, ph_error *err)
{
    ph_dispatcher_opts *opts = &dispatcher->opts;
    const char *metadata = opts->metadata;

    if (gethostname(dispatcher->host, sizeof(dispatcher->host) - 1) < 0 ||
        fit(dispatcher->host) != dispatcher->host)
        snprintf(dispatcher->host, sizeof(dispatcher->host), UNNAMED);
    opts->service = ph__strdup(opts->service ? opts->service : fit(program_invocation_short_name));
    opts->metadata = metadata ? ph__strdup(metadata) : NULL;
    return opts->service && (opts->metadata || !metadata) ? 0 : ph__fail_memory(err);
}

void ph__instance_free(ph_dispatcher *dispatcher)
{
    ph__dealloc((char *)(uintptr_t)dispatcher->opts.service);
    ph__dealloc((char *)(uintptr_t)dispatcher->opts.metadata);
}

struct ph__instance ph__instance_of(const struct ph__db *db, ph_owner owner)
{
    const ph_dispatcher *dispatcher = db->dispatcher;
    const ph_dispatcher_opts *opts = &dispatcher->opts;

    return (struct ph__instance){
        .id = owner,
        .service = opts->service,
        .host = dispatcher->host,
        .metadata = opts->metadata,
        .process_id = (int)getpid(),
        .lease_s = opts->lease_s,
        .stale_s = opts->stale_threshold_s,
        .partition_count = opts->partition_count,
    };
}

ph_owner ph_dispatcher_owner(const ph_dispatcher *dispatcher)
{
    ph_dispatcher *locked = (ph_dispatcher *)(uintptr_t)dispatcher;
    ph_owner owner = { { 0 } };

    if (!dispatcher)
        return owner;
    ph__lock(locked);
    if (!locked->set)
        owner = locked->dbs.items[0]->heart.owner;
    ph__unlock(locked);
    return owner;
}

static int64_t beat_us(const struct ph__chore_look *look)
{
    return look->db->heart.beat_us;
}

const struct ph__chore ph__chore_heartbeat = { .due_us = beat_us };

void ph__instance_evicted(struct ph__db *db)
{
    ph_dispatcher *dispatcher = db->dispatcher;
    char text[24];
    size_t lost;

    ph__lock(dispatcher);
    lost = ph__works_evict(db);
    db->heart.owner = ph_owner_new();
    dispatcher->stats.evictions++;
    db->claim.next_us = 0;
    pthread_cond_broadcast(&dispatcher->wait.changed);
    ph__unlock(dispatcher);
    db->heart.registered = false;
    snprintf(text, sizeof(text), "%zu", lost);
    ph__say(db, PH_LOG_WARN,
            "taken for dead by others; what it had claimed is lost, and it registers anew", NULL,
            "lost", text);
}

bool ph__instance_leave(struct ph__db *db)
{
    ph_error err;

    if (!db->heart.registered)
        return true;
    db->heart.registered = false;
    if (ph_instance_leave(db->store, PH_OWN_TX, db->heart.owner, db->health.limit_ms, NULL, &err) ==
        0)
        return true;
    ph__say(db, PH_LOG_WARN,
            "could not sign off; others will take it for dead after its stale threshold", NULL,
            "error", err.message);
    return false;
}
