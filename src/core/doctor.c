/* doctor.c - the findings that are alike on every backend, and the report. */
#include "core/call.h"
#include "core/error.h"
#include "core/options.h"
#include "util/alloc.h"
#include "util/assert.h"
#include "util/buffer.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CLOCK_WARN_MS 1000
#define READY_WARN_MS (5 * 60 * 1000)
#define FINDING_MAX 1024
#define NAME_SIZE (PH_NAME_MAX * 4 + 1)
#define STREAMS_PAGE 1000
#define STREAMS_PAGES_MAX 10

struct finding {
    ph_finding finding;
    struct finding *next;
};

struct ph_report {
    struct ph__arena arena;
    struct finding *first, **last;
    size_t count;
    bool failed; /* memory ran out */
};

/* Those of a cure in the words of C are the remedy's own, if it has any. */
static const char *advice_of(const struct ph__remedy *remedy)
{
    if (remedy->cure == PH_CURE_NONE)
        return NULL;
    return remedy->advice ? remedy->advice : ph_cure_text(remedy->cure);
}

static const char *copy(ph_report *report, const char *text)
{
    const char *copied = ph__arena_copy(&report->arena, text, strlen(text));

    report->failed |= !copied;
    return copied;
}

void ph__finding(struct ph__examination *examination, const char *check, ph_finding_level level,
                 struct ph__remedy remedy, const char *format, ...)
{
    ph_report *report = examination->report;
    struct finding *added = ph__arena_alloc(&report->arena, sizeof(*added));
    char text[FINDING_MAX];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    report->failed |= !added;
    if (added)
        added->finding = (ph_finding){
            .check = check,
            .level = level,
            .text = copy(report, text),
            .advice = advice_of(&remedy),
            .cure = remedy.cure,
            .door = remedy.door,
            .subject = remedy.subject ? copy(report, remedy.subject) : NULL,
        };
    if (report->failed)
        return;
    PH__ASSERT(!*report->last); /* the end of the list */
    *report->last = added;
    report->last = &added->next;
    report->count++;
}

void ph__finding_joins(struct ph__examination *examination, int64_t joins, int64_t wrong,
                       ph_join_id example)
{
    char id[PH_ID_TEXT_SIZE];

    ph_id_text(example.b, id);
    if (wrong > 0)
        ph__finding(examination, "joins", PH_FINDING_ERROR,
                    ((struct ph__remedy){ .cure = PH_CURE_JOINS, .subject = id }),
                    "of %" PRId64 " joins %" PRId64 " are wrong (counters that are not what the "
                    "steps show, or waits left behind), for example %s",
                    joins, wrong, id);
    else
        ph__finding(examination, "joins", PH_FINDING_OK, PH__FINE,
                    "each of %" PRId64 " joins has counted what its steps show", joins);
}

void ph__finding_identity(struct ph__examination *examination, int64_t store_id)
{
    char number[20];

    snprintf(number, sizeof(number), "%07" PRIx64, store_id);
    ph__finding(examination, "identity", PH_FINDING_OK, ((struct ph__remedy){ .subject = number }),
                "this database is %s; all ids made here contain it", number);
}

static int examine_schema(struct ph__call *call, struct ph__examination *examination)
{
    ph_schema_status status = PH_SCHEMA_STATUS_INIT;
    int r = call->store->backend->inspect(call, &status);

    if (r == PH_ESTATE) /* something foreign is in the way, which the backend names */
        return ph__ok(call->err);
    if (r < 0)
        return r;
    examination->usable = status.usable;
    if (status.installed == 0)
        ph__finding(examination, "schema", PH_FINDING_ERROR, PH__REMEDY(MIGRATE),
                    "no schema is installed");
    else if (!status.usable)
        ph__finding(examination, "schema", PH_FINDING_ERROR,
                    status.installed < status.library ? PH__REMEDY(MIGRATE) : PH__REMEDY(UPGRADE),
                    "schema version %d is installed, which this library cannot use (it needs %d)",
                    status.installed, status.library);
    else if (status.pending)
        ph__finding(examination, "schema", PH_FINDING_WARNING, PH__REMEDY(MIGRATE),
                    "schema version %d is installed; version %d is available", status.installed,
                    status.library);
    else
        ph__finding(examination, "schema", PH_FINDING_OK, PH__FINE, "version %d is installed",
                    status.installed);
    return 0;
}

static int64_t real_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static int examine_clock(struct ph__call *call, struct ph__examination *examination)
{
    int64_t before = real_us(), there = 0, after, difference_ms;
    int r = call->store->backend->clock(call, &there);

    if (r < 0)
        return r;
    after = real_us();
    difference_ms = (there - (before + (after - before) / 2)) / 1000;
    if (llabs(difference_ms) > CLOCK_WARN_MS)
        ph__finding(
            examination, "clock", PH_FINDING_WARNING,
            PH__ADVISE(CLOCKS,
                       "let both machines follow a time server; due times and leases go by the "
                       "database's clock"),
            "the database's clock is %" PRId64 " ms %s this machine's",
            (int64_t)llabs(difference_ms), difference_ms > 0 ? "ahead of" : "behind");
    else
        ph__finding(examination, "clock", PH_FINDING_OK, PH__FINE,
                    "the database's clock differs by %" PRId64 " ms (asking took %" PRId64 " us)",
                    difference_ms, after - before);
    return 0;
}

static int examine_counts(struct ph__call *call, struct ph__examination *examination)
{
    ph_queue_counts counts = PH_QUEUE_COUNTS_INIT;
    int r = call->store->backend->count(call, PH_OUTBOX, NULL, &counts);

    if (r < 0)
        return r;
    ph__finding(examination, "oldest-ready",
                counts.oldest_ready_ms > READY_WARN_MS ? PH_FINDING_WARNING : PH_FINDING_OK,
                counts.oldest_ready_ms > READY_WARN_MS ? PH__REMEDY(WORKERS) : PH__FINE,
                "%" PRId64 " ready, the oldest for %" PRId64 " s", counts.ready,
                counts.oldest_ready_ms / 1000);
    ph__finding(examination, "expired-leases",
                counts.expired_leases > 0 ? PH_FINDING_WARNING : PH_FINDING_OK,
                counts.expired_leases > 0 ? PH__REMEDY(REAP) : PH__FINE,
                "%" PRId64 " messages under leases that have run out", counts.expired_leases);
    ph__finding(examination, "dead", counts.dead > 0 ? PH_FINDING_INFO : PH_FINDING_OK,
                counts.dead > 0 ? PH__REMEDY(DEAD_LETTERS) : PH__FINE, "%" PRId64 " dead letters",
                counts.dead);
    return 0;
}

/* The findings about the other doors. */
static const struct {
    ph_cure waiting;
    const char *dead;
} doors[] = {
    [PH_INBOX] = { PH_CURE_WORKERS, "look at them with ph_inbox_list()" },
    [PH_TIMERS] = { PH_CURE_SCHEDULER, "look at them with ph_timers_list()" },
    [PH_JOB_RUNS] = { PH_CURE_SCHEDULER, "look at them with ph_job_runs_list()" },
};

/* These are worth a line only if something is wrong: many stores have none. */
static int examine_door(struct ph__call *call, struct ph__examination *examination, ph_door door)
{
    ph_queue_counts counts = PH_QUEUE_COUNTS_INIT;
    int r = call->store->backend->count(call, door, NULL, &counts);

    if (r < 0)
        return r;
    if (counts.oldest_ready_ms > READY_WARN_MS)
        ph__finding(examination, ph_door_text(door), PH_FINDING_WARNING,
                    ((struct ph__remedy){ .cure = doors[door].waiting, .door = door }),
                    "%" PRId64 " are due, the oldest for %" PRId64 " s", counts.ready,
                    counts.oldest_ready_ms / 1000);
    if (counts.dead > 0)
        ph__finding(examination, ph_door_text(door), PH_FINDING_INFO,
                    ((struct ph__remedy){
                        .cure = PH_CURE_DEAD_LETTERS, .advice = doors[door].dead, .door = door }),
                    "%" PRId64 " dead letters", counts.dead);
    return 0;
}

/* The findings about instances. */
struct instances {
    int64_t live, late, silent, hasty, apart;
    const ph_instance_info *late_one, *silent_one, *hasty_one, *apart_one; /* the first of each */
    int64_t late_s;
};

/* By service: do it and the one before it share streams by different numbers of partitions? */
static bool is_apart(const ph_instances *list, size_t i)
{
    return i > 0 && strcmp(list->items[i].service, list->items[i - 1].service) == 0 &&
           list->items[i].partition_count != list->items[i - 1].partition_count;
}

/* Three heartbeats are missing: each is written by the first call after a tenth of the threshold,
 * and there is a call every third of a lease. */
static bool is_late(const ph_instance_info *instance, int64_t now)
{
    return now - instance->last_heartbeat_at >
           instance->stale_threshold_s * INT64_C(300000) + instance->lease_s * INT64_C(1000000) / 3;
}

static void count_instances(const ph_instances *list, int64_t now, struct instances *to)
{
    *to = (struct instances){ .live = (int64_t)list->count };
    for (size_t i = list->count; i-- > 0;) {
        const ph_instance_info *each = &list->items[i];

        if (each->last_heartbeat_at + each->stale_threshold_s * INT64_C(1000000) < now) {
            to->silent++;
            to->silent_one = each;
        } else if (is_late(each, now)) {
            to->late++;
            to->late_one = each;
            to->late_s = (now - each->last_heartbeat_at) / 1000000;
        }
        if (each->stale_threshold_s < 2 * (int64_t)each->lease_s) {
            to->hasty++;
            to->hasty_one = each;
        }
        if (is_apart(list, i)) {
            to->apart++;
            to->apart_one = each;
        }
    }
}

static void report_instances(struct ph__examination *examination, const struct instances *found)
{
    char id[PH_ID_TEXT_SIZE];

    if (found->hasty > 0)
        ph__finding(
            examination, "instances", PH_FINDING_WARNING,
            PH__ADVISE(SETTINGS,
                       "raise the stale threshold to twice the lease or more, or lower the lease"),
            "%" PRId64 " instances would be taken for dead after less than twice their "
            "lease, for example %s of %s: %d s, and its lease is %d s",
            found->hasty, ph_id_text(found->hasty_one->id.b, id), found->hasty_one->service,
            found->hasty_one->stale_threshold_s, found->hasty_one->lease_s);
    if (found->silent > 0)
        ph__finding(
            examination, "instances", PH_FINDING_WARNING,
            PH__ADVISE(
                INSTANCES,
                "it has died or hangs; the next call of another instance removes it and takes "
                "back what it had claimed"),
            "%" PRId64 " live instances have stopped beating, for example %s of "
            "%s on %s",
            found->silent, ph_id_text(found->silent_one->id.b, id), found->silent_one->service,
            found->silent_one->host);
    if (found->late > 0)
        ph__finding(
            examination, "instances", PH_FINDING_WARNING,
            PH__ADVISE(
                INSTANCES,
                "see whether it still runs; its messages come back when their leases run out"),
            "%" PRId64 " live instances have missed three heartbeats, for example %s of %s "
            "on %s: last seen %" PRId64 " s ago",
            found->late, ph_id_text(found->late_one->id.b, id), found->late_one->service,
            found->late_one->host, found->late_s);
    if (found->apart > 0)
        ph__finding(
            examination, "instances", PH_FINDING_WARNING,
            PH__ADVISE(SETTINGS, "give all instances of a service the same number of partitions"),
            "live instances of the service %s share streams by different numbers of "
            "partitions, for example %s by %d: they do not agree on whose turn it is",
            found->apart_one->service, ph_id_text(found->apart_one->id.b, id),
            found->apart_one->partition_count);
    if (found->silent + found->late + found->hasty + found->apart == 0)
        ph__finding(examination, "instances", PH_FINDING_OK, PH__FINE, "%" PRId64 " live instances",
                    found->live);
}

static int examine_instances(struct ph__call *call, struct ph__examination *examination)
{
    ph_instances list = { 0 };
    struct instances found;
    int64_t now = 0;
    int r = call->store->backend->instance_list(call, NULL, false, &list);

    if (r == 0)
        r = call->store->backend->clock(call, &now);
    if (r == 0) {
        count_instances(&list, now, &found);
        report_instances(examination, &found);
    }
    ph__arena_free(&list.arena);
    return r;
}

/* Streams that stand still. */
struct blocked {
    int64_t count;
    bool more; /* not all streams were looked at */
    ph_door door;
    ph_work_id head; /* of the first of them */
    char ns[NAME_SIZE], key[NAME_SIZE];
};

static void count_blocked(const ph_streams *page, const char *ns, struct blocked *to)
{
    for (size_t i = 0; i < page->count; i++) {
        const ph_stream_info *stream = &page->items[i];

        if (stream->state != PH_STREAM_BLOCKED || to->count++ > 0)
            continue;
        to->door = stream->door;
        to->head = stream->head;
        snprintf(to->ns, sizeof(to->ns), "%s", ns);
        snprintf(to->key, sizeof(to->key), "%s", stream->stream);
    }
}

/* Page by page, but not without end. */
static int look_at_streams(struct ph__call *call, ph_door door, const char *ns, struct blocked *to)
{
    char last[NAME_SIZE];
    struct ph__stream_query query = {
        .door = door, .ns = ns, .partition_count = PH_PARTITIONS, .limit = STREAMS_PAGE
    };
    int r = 0, pages = 0;

    for (bool on = true; r == 0 && on;) {
        ph_streams page = { 0 };

        r = call->store->backend->stream_list(call, &query, &page);
        count_blocked(&page, ns, to);
        on = r == 0 && page.count == STREAMS_PAGE;
        if (on)
            snprintf(last, sizeof(last), "%s", page.items[page.count - 1].stream);
        query.after_ns = ns;
        query.after_key = last;
        ph__arena_free(&page.arena);
        if (on && ++pages == STREAMS_PAGES_MAX) {
            to->more = true;
            on = false;
        }
    }
    return r;
}

/* A stream can stand still only in a queue that dead heads block and that has dead messages. */
static int look_at_queues(struct ph__call *call, ph_door door, struct blocked *to)
{
    ph_queues list = { 0 };
    int r = call->store->backend->queue_list(call, door, NULL, &list);

    for (size_t i = 0; r == 0 && i < list.count; i++) {
        const ph_queue_info *queue = &list.items[i];

        if (queue->settings.dead_head == PH_DEAD_HEAD_BLOCK && queue->counts.dead > 0)
            r = look_at_streams(call, door, queue->ns, to);
    }
    ph__arena_free(&list.arena);
    return r;
}

static int examine_streams(struct ph__call *call, struct ph__examination *examination)
{
    struct blocked found = { 0 };
    char id[PH_ID_TEXT_SIZE];
    int r = look_at_queues(call, PH_OUTBOX, &found);

    if (r == 0)
        r = look_at_queues(call, PH_INBOX, &found);
    ph_id_text(found.head.b, id);
    if (r == 0 && found.count > 0)
        ph__finding(
            examination, "streams", PH_FINDING_WARNING,
            ((struct ph__remedy){ .cure = PH_CURE_DEAD_HEAD, .door = found.door, .subject = id }),
            "%" PRId64 "%s stand%s still behind a dead head, for example \"%.80s\" in the "
            "%s queue \"%.80s\": %s",
            found.count,
            found.more         ? " streams or more"
            : found.count == 1 ? " stream"
                               : " streams",
            found.count == 1 && !found.more ? "s" : "", found.key,
            found.door == PH_OUTBOX ? "outbox" : "inbox", found.ns, id);
    return r;
}

/* Topics with messages that have waited for so long, and that no live instance claims. */
static int look_for_unclaimed(struct ph__call *call, struct ph__examination *examination,
                              ph_door door, const char *ns)
{
    struct ph__unclaimed found = { 0 };
    int r = call->store->backend->unclaimed(call, door, ns, &found);

    for (size_t i = 0; r == 0 && i < found.count; i++)
        ph__finding(
            examination, "unclaimed", found.worked ? PH_FINDING_WARNING : PH_FINDING_INFO,
            ((struct ph__remedy){ .cure = PH_CURE_HANDLER, .door = door }),
            "%" PRId64 " messages of the topic \"%.80s\" in the %s queue \"%.80s\" are due, "
            "the oldest for %" PRId64 " s, and no live instance claims them",
            found.items[i].count, found.items[i].topic, door == PH_OUTBOX ? "outbox" : "inbox", ns,
            (found.now - found.items[i].oldest) / 1000000);
    ph__arena_free(&found.arena);
    return r;
}

static int examine_topics(struct ph__call *call, struct ph__examination *examination, ph_door door)
{
    ph_queues list = { 0 };
    int r = call->store->backend->queue_list(call, door, NULL, &list);

    for (size_t i = 0; r == 0 && i < list.count; i++) {
        if (list.items[i].counts.oldest_ready_ms >= PH__UNCLAIMED_S * 1000)
            r = look_for_unclaimed(call, examination, door, list.items[i].ns);
    }
    ph__arena_free(&list.arena);
    return r;
}

static void no_progress(void *context, int64_t done, int64_t total)
{
    (void)context;
    (void)done;
    (void)total;
}

static int examine(struct ph__call *call, struct ph__examination *examination)
{
    int r = examine_schema(call, examination);

    if (r == 0 && examination->usable)
        r = examine_clock(call, examination);
    if (r == 0 && examination->usable)
        r = examine_counts(call, examination);
    if (r == 0 && examination->usable)
        r = examine_door(call, examination, PH_INBOX);
    if (r == 0 && examination->usable)
        r = examine_door(call, examination, PH_TIMERS);
    if (r == 0 && examination->usable)
        r = examine_door(call, examination, PH_JOB_RUNS);
    if (r == 0 && examination->usable)
        r = examine_instances(call, examination);
    if (r == 0 && examination->usable)
        r = examine_streams(call, examination);
    if (r == 0 && examination->usable)
        r = examine_topics(call, examination, PH_OUTBOX);
    if (r == 0 && examination->usable)
        r = examine_topics(call, examination, PH_INBOX);
    if (r == 0)
        r = call->store->backend->examine(call, examination);
    if (r == 0 && examination->report->failed)
        r = ph__fail_memory(call->err);
    return r;
}

int ph_doctor(ph_store *store, const ph_doctor_opts *opts, int timeout_ms, ph_report **ret_report,
              ph_error *reterr)
{
    ph_doctor_opts loaded = PH_DOCTOR_OPTS_INIT;
    struct ph__examination examination;
    PH__CALL(call);
    ph_report *report;
    int r = ph__call_begin(&call, store, PH_OWN_TX, timeout_ms, reterr);

    r = ph__call_wants(&call, r, ret_report, "ret_report");
    if (r == 0)
        r = ph__options_load(&loaded, sizeof(loaded), opts, "ph_doctor_opts", call.err);
    r = ph__call_connect_bare(&call, r);
    if (r < 0)
        return r;
    report = ph__alloc_zero(1, sizeof(*report));
    if (!report)
        return ph__fail_memory(call.err);
    report->last = &report->first;
    examination = (struct ph__examination){ loaded.deep, false,
                                            loaded.progress ? loaded.progress : no_progress,
                                            loaded.progress_context, report };
    r = examine(&call, &examination);
    if (r < 0) {
        ph_report_free(report);
        return r;
    }
    *ret_report = report;
    return 0;
}

size_t ph_report_count(const ph_report *report)
{
    return report ? report->count : 0;
}

const ph_finding *ph_report_at(const ph_report *report, size_t index)
{
    const struct finding *at = report ? report->first : NULL;

    while (at && index-- > 0)
        at = at->next;
    return at ? &at->finding : NULL;
}

ph_finding_level ph_report_worst(const ph_report *report)
{
    ph_finding_level worst = PH_FINDING_OK;

    for (const struct finding *at = report ? report->first : NULL; at; at = at->next) {
        if (at->finding.level > worst)
            worst = at->finding.level;
    }
    return worst;
}

void ph_report_free(ph_report *report)
{
    if (!report)
        return;
    ph__arena_free(&report->arena);
    ph__dealloc(report);
}
