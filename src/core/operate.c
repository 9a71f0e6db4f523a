/* operate.c - what operators do: look, count, retry, discard, set, pause, clean up. */
#include "core/call.h"
#include "core/door.h"
#include "core/error.h"
#include "core/job.h"
#include "core/log.h"
#include "core/message.h"
#include "core/options.h"
#include "util/alloc.h"

#include <string.h>

#define RETENTION_LIMIT 1000
#define RETENTION_LIMIT_MAX 100000
#define SECONDS_MAX (INT64_C(100) * 366 * 86400)
#define BACKOFF_MAX_MS (INT64_C(366) * 86400 * 1000)
#define GRACE_MAX_MS 3600000

/* Of a job run: its job and instant, from its headers. */
static bool name_job(struct ph__info *info)
{
    ph_delivery *run = ph__arena_alloc(&info->arena, sizeof(*run));

    if (!run)
        return false;
    *run = *info->info.message;
    info->info.message = run;
    return ph__job_of_headers(&info->arena, run);
}

int ph__door_find(ph_door door, ph_store *store, ph_tx tx, ph_work_id id, int timeout_ms,
                  ph_message_info **ret_info, ph_error *reterr)
{
    struct ph__info *info;
    PH__CALL(call);
    int r = ph__call_begin(&call, store, tx, timeout_ms, reterr);

    r = ph__call_connect(&call, ph__call_wants(&call, r, ret_info, "ret_info"));
    if (r < 0)
        return r;
    info = ph__alloc_zero(1, sizeof(*info));
    if (!info)
        return ph__fail_memory(call.err);
    r = store->backend->find(&call, door, id, info);
    if (r == 0 && door == PH_JOB_RUNS && !name_job(info))
        r = ph__fail_memory(call.err);
    if (r < 0) {
        char text[PH_ID_TEXT_SIZE];

        ph_message_info_free(&info->info);
        if (r == PH_ENOTFOUND)
            ph__fail(call.err, r, "there is no %s %s; it may have been deleted by retention",
                     door == PH_OUTBOX   ? "message"
                     : door == PH_INBOX  ? "inbox message"
                     : door == PH_TIMERS ? "timer"
                                         : "job run",
                     ph_id_text(id.b, text));
        return r;
    }
    *ret_info = &info->info;
    return 0;
}

void ph_message_info_free(ph_message_info *info)
{
    struct ph__info *whole = (struct ph__info *)info;

    if (!whole)
        return;
    ph__arena_free(&whole->arena);
    ph__dealloc(whole);
}

int ph__door_count(ph_door door, ph_store *store, ph_tx tx, const char *ns, int timeout_ms,
                   ph_queue_counts *ret_counts, ph_error *reterr)
{
    ph_queue_counts counts = PH_QUEUE_COUNTS_INIT;
    PH__CALL(call);
    int r = ph__call_begin(&call, store, tx, timeout_ms, reterr);

    r = ph__call_wants(&call, r, ret_counts, "ret_counts");
    if (r == 0)
        r = ph__options_check(ret_counts->size, "ph_queue_counts", call.err);
    if (r == 0 && ns)
        r = ph__name_check(ns, "namespace", true, call.err);
    r = ph__call_connect(&call, r);
    if (r == 0)
        r = store->backend->count(&call, door, ns, &counts);
    if (r == 0)
        ph__options_store(ret_counts, &counts, sizeof(counts));
    return r;
}

static int ids_check(const ph_work_id *ids, size_t count, ph_error *err)
{
    if (count > PH_BATCH_MAX)
        return ph__fail(err, PH_EINVAL, "%zu ids; at most %d are allowed", count, PH_BATCH_MAX);
    if (!ids && count > 0)
        return ph__fail(err, PH_EINVAL, "ids is NULL");
    return 0;
}

int ph_dead_retry(ph_store *store, ph_tx tx, const ph_work_id *ids, size_t count, int timeout_ms,
                  ph_work_id *ret_new_ids, ph_error *reterr)
{
    ph_work_id *new_ids;
    PH__CALL(call);
    int r = ph__call_begin(&call, store, tx, timeout_ms, reterr);

    if (r == 0)
        r = ids_check(ids, count, call.err);
    r = ph__call_connect(&call, r);
    if (r < 0 || count == 0)
        return r;
    new_ids = ph__alloc_zero(count, sizeof(*new_ids));
    if (!new_ids)
        return ph__fail_memory(call.err);
    r = store->backend->dead_retry(&call, ids, count, new_ids);
    for (size_t i = 0; r == 0 && i < count && ph__log_wants(store, PH_LOG_INFO); i++) {
        char from[PH_ID_TEXT_SIZE], to[PH_ID_TEXT_SIZE];
        ph_log_field fields[] = { { "work_id", ph_id_text(ids[i].b, from) },
                                  { "retried_as", ph_id_text(new_ids[i].b, to) } };

        if (!ph_id_is_zero(new_ids[i].b))
            ph__log(store, PH_LOG_INFO, "dead_retry", "put back", fields, 2);
    }
    if (r == 0 && ret_new_ids)
        memcpy(ret_new_ids, new_ids, count * sizeof(*new_ids));
    ph__dealloc(new_ids);
    return r;
}

int ph_dead_discard(ph_store *store, ph_tx tx, const ph_work_id *ids, size_t count, int timeout_ms,
                    int64_t *ret_count, ph_error *reterr)
{
    PH__CALL(call);
    int64_t deleted = 0;
    int r = ph__call_begin(&call, store, tx, timeout_ms, reterr);

    if (r == 0)
        r = ids_check(ids, count, call.err);
    r = ph__call_connect(&call, r);
    if (r == 0 && count > 0)
        r = store->backend->dead_discard(&call, ids, count, &deleted);
    if (r == 0 && ret_count)
        *ret_count = deleted;
    return r;
}

static int seconds_check(int64_t seconds, const char *what, ph_error *err)
{
    if (seconds < PH_FOREVER || seconds > SECONDS_MAX)
        return ph__fail(err, PH_EINVAL, "%s is %lld; give 1 s to 100 years, or PH_FOREVER", what,
                        (long long)seconds);
    return 0;
}

static int settings_check(const ph_queue_settings *s, ph_error *err)
{
    int r = seconds_check(s->retention_s, "retention_s", err);

    if (r == 0)
        r = seconds_check(s->dead_retention_s, "dead_retention_s", err);
    if (r == 0)
        r = seconds_check(s->dedupe_retention_s, "dedupe_retention_s", err);
    if (r < 0)
        return r;
    if (s->max_attempts < 0 || s->max_attempts > PH_ATTEMPTS_MAX)
        return ph__fail(err, PH_EINVAL, "max_attempts is %d; give 1 to %d", s->max_attempts,
                        PH_ATTEMPTS_MAX);
    if (s->backoff < PH_BACKOFF_KEEP || s->backoff > PH_BACKOFF_EQUAL_JITTER)
        return ph__fail(err, PH_EINVAL, "backoff %d is not a ph_backoff", (int)s->backoff);
    if (s->backoff_base_ms < 0 || s->backoff_base_ms > BACKOFF_MAX_MS || s->backoff_max_ms < 0 ||
        s->backoff_max_ms > BACKOFF_MAX_MS)
        return ph__fail(err, PH_EINVAL,
                        "backoff_base_ms and backoff_max_ms must lie between 1 ms "
                        "and a year");
    if (s->max_payload_bytes < 0 || s->max_payload_bytes > PH_PAYLOAD_MAX)
        return ph__fail(err, PH_EINVAL, "max_payload_bytes is %lld; give 1 to %d",
                        (long long)s->max_payload_bytes, PH_PAYLOAD_MAX);
    if (s->max_lease_s < 0 || s->max_lease_s > PH_LEASE_MAX_S)
        return ph__fail(err, PH_EINVAL, "max_lease_s is %d; give 1 to %d", s->max_lease_s,
                        PH_LEASE_MAX_S);
    if (s->delete_on_ack < -1 || s->delete_on_ack > 1)
        return ph__fail(err, PH_EINVAL, "delete_on_ack is %d; give 1 (yes) or -1 (no)",
                        s->delete_on_ack);
    if (s->dead_head < PH_DEAD_HEAD_KEEP || s->dead_head > PH_DEAD_HEAD_BLOCK)
        return ph__fail(err, PH_EINVAL, "dead_head %d is not a ph_dead_head", (int)s->dead_head);
    if (s->affinity_grace_ms < PH_NO_GRACE || s->affinity_grace_ms > GRACE_MAX_MS)
        return ph__fail(err, PH_EINVAL, "affinity_grace_ms is %d; give 1 to %d, or PH_NO_GRACE",
                        s->affinity_grace_ms, GRACE_MAX_MS);
    return 0;
}

int ph_queue_set(ph_store *store, ph_tx tx, ph_door door, const char *ns,
                 const ph_queue_settings *settings, int timeout_ms, ph_error *reterr)
{
    ph_queue_settings loaded = PH_QUEUE_SETTINGS_INIT;
    PH__CALL(call);
    int r = ph__call_begin(&call, store, tx, timeout_ms, reterr);

    if (r == 0 && !settings)
        r = ph__fail(call.err, PH_EINVAL, "settings is NULL");
    if (r == 0)
        r = ph__options_load(&loaded, sizeof(loaded), settings, "ph_queue_settings", call.err);
    if (r == 0)
        r = ph__queue_check(door, ns, call.err);
    if (r == 0)
        r = settings_check(&loaded, call.err);
    if (r == 0 && (loaded.dead_head || loaded.affinity_grace_ms) && door != PH_OUTBOX &&
        door != PH_INBOX)
        r = ph__fail(call.err, PH_EINVAL, "%s is for streams, which only outbox and inbox have",
                     loaded.dead_head ? "dead_head" : "affinity_grace_ms");
    if (r == 0 && loaded.join_wait_topic)
        r = ph__name_check(loaded.join_wait_topic, "join_wait_topic", false, call.err);
    r = ph__call_connect(&call, r);
    return r < 0 ? r : store->backend->queue_set(&call, door, ns ? ns : "", &loaded);
}

int ph_outbox_queue_set(ph_store *store, ph_tx tx, const char *ns,
                        const ph_queue_settings *settings, int timeout_ms, ph_error *reterr)
{
    return ph_queue_set(store, tx, PH_OUTBOX, ns, settings, timeout_ms, reterr);
}

static int set_paused(ph_store *store, ph_tx tx, ph_door door, const char *ns, bool paused,
                      int timeout_ms, ph_error *reterr)
{
    PH__CALL(call);
    int r = ph__call_begin(&call, store, tx, timeout_ms, reterr);

    if (r == 0)
        r = ph__queue_check(door, ns, call.err);
    r = ph__call_connect(&call, r);
    return r < 0 ? r : store->backend->queue_pause(&call, door, ns ? ns : "", paused);
}

int ph_queue_pause(ph_store *store, ph_tx tx, ph_door door, const char *ns, int timeout_ms,
                   ph_error *reterr)
{
    return set_paused(store, tx, door, ns, true, timeout_ms, reterr);
}

int ph_queue_resume(ph_store *store, ph_tx tx, ph_door door, const char *ns, int timeout_ms,
                    ph_error *reterr)
{
    return set_paused(store, tx, door, ns, false, timeout_ms, reterr);
}

int ph_outbox_queue_pause(ph_store *store, ph_tx tx, const char *ns, int timeout_ms,
                          ph_error *reterr)
{
    return set_paused(store, tx, PH_OUTBOX, ns, true, timeout_ms, reterr);
}

int ph_outbox_queue_resume(ph_store *store, ph_tx tx, const char *ns, int timeout_ms,
                           ph_error *reterr)
{
    return set_paused(store, tx, PH_OUTBOX, ns, false, timeout_ms, reterr);
}

int ph_retention_run(ph_store *store, ph_tx tx, int limit, int timeout_ms, int64_t *ret_count,
                     ph_error *reterr)
{
    PH__CALL(call);
    int64_t count = 0;
    int r = ph__call_begin(&call, store, tx, timeout_ms, reterr);

    if (r == 0 && (limit < 0 || limit > RETENTION_LIMIT_MAX))
        r = ph__fail(call.err, PH_EINVAL, "limit is %d; give 1 to %d, or 0 for %d", limit,
                     RETENTION_LIMIT_MAX, RETENTION_LIMIT);
    r = ph__call_connect(&call, r);
    if (r == 0)
        r = store->backend->retention(&call, limit ? limit : RETENTION_LIMIT, &count);
    if (r == 0 && ret_count)
        *ret_count = count;
    return r;
}
