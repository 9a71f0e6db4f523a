/* refresh.c - asks the sources: in which thread, when, and what becomes of the answers. */
#include "core/error.h"
#include "set/inner.h"
#include "util/boot.h"
#include "util/condition.h"
#include "util/deadline.h"

#define AGAIN_US 10000000      /* a look that failed is repeated after that at the latest */
#define UNKNOWN_KEY_US 1000000 /* an unknown key is looked for that often at most */

/* -------------------------------------------------------------- one source */

static void say_failing(ph_set *set, struct ph__source *source, const ph_error *err)
{
    ph_log_field fields[] = { { "source", source->name }, { "error", err->message } };

    if (!source->failing)
        ph__set_say(set, PH_LOG_WARN, "a source fails; its previous list stands", fields, 2);
    source->failing = true;
}

static void say_working(ph_set *set, struct ph__source *source)
{
    ph_log_field field = { "source", source->name };

    if (source->failing)
        ph__set_say(set, PH_LOG_INFO, "the source works again", &field, 1);
    source->failing = false;
}

static void say_answer(ph_set *set, struct ph__source *source, struct ph__complaints *complaints)
{
    ph_log_field field = { "source", source->name };
    struct ph__complaints news;

    ph__complaints_settle(complaints, source->fresh);
    news = ph__complaints_news(&source->complaints, complaints);
    ph__complaints_say(&news, set, source->name);
    ph__complaints_free(&news);
    ph__complaints_free(&source->complaints);
    source->complaints = *complaints;
    if (!source->fresh->first && source->list && source->list->first)
        ph__set_say(set, PH_LOG_WARN, "a source names no database any more", &field, 1);
}

/* Its list is written by this thread only. */
static int ask(ph_set *set, struct ph__source *source, int timeout_ms, ph_error *err)
{
    ph_found found = { .set = set, .timeout_ms = timeout_ms, .roster = ph__roster_new() };
    int r;

    ph__ok(err);
    r = found.roster ? source->ask(source, &found, err) : PH_ENOMEM;
    if (r == PH_ENOMEM || found.no_memory)
        r = ph__fail_memory(err);
    if (r < 0) {
        say_failing(set, source, err);
        ph__complaints_free(&found.complaints);
        ph__roster_free(found.roster);
        return r;
    }
    source->fresh = found.roster;
    say_working(set, source);
    say_answer(set, source, &found.complaints);
    return 0;
}

/* ------------------------------------------------------------- all of them */

/* The next source; others may be added meanwhile. */
static struct ph__source *next_of(ph_set *set, struct ph__source *source)
{
    struct ph__source *next;

    if (ph__set_is_freed(set)) /* while the one before took its time */
        return NULL;
    pthread_mutex_lock(&set->lock);
    next = source ? source->next : set->sources;
    pthread_mutex_unlock(&set->lock);
    return next;
}

static void ask_all(ph_set *set, int timeout_ms, ph_set_report *report, ph_error *ret_first)
{
    ph_error err;

    ph__ok(ret_first);
    for (struct ph__source *s = next_of(set, NULL); s; s = next_of(set, s)) {
        if (ask(set, s, timeout_ms, &err) < 0) {
            ph__report_failure(report, s->name, &err);
            if (!ret_first->code)
                *ret_first = err;
        }
        ph__report_complaints(report, &s->complaints, s->name);
    }
}

/* With the lock: the answers count from now on. */
static void put_in(ph_set *set, ph_set_report *report, struct ph__merged *ret_merged, ph_error *err)
{
    ph_error merge_error;

    for (struct ph__source *source = set->sources; source; source = source->next) {
        if (!source->fresh)
            continue;
        ph__roster_free(source->list);
        source->list = source->fresh;
        source->fresh = NULL;
    }
    if (ph__set_merge(set, report, ret_merged, &merge_error) == 0) {
        ph__report_complaints(report, &set->conflicts, NULL);
        return;
    }
    if (report)
        report->failed = true; /* the only reason is memory */
    if (!err->code)
        *err = merge_error;
}

/* With the lock: how the last look went. A report tells of sources that have failed, so they are
 * not an error then. */
static int outcome(const ph_set *set, ph_set_report **ret_report, ph_error *reterr)
{
    if (!ret_report) {
        if (reterr)
            *reterr = set->look_error;
        return set->look_error.code;
    }
    if (!set->report || set->report->failed)
        return ph__fail_memory(reterr);
    ph__report_ref(set->report);
    *ret_report = set->report;
    return ph__ok(reterr);
}

static int refresh(ph_set *set, int timeout_ms, ph_set_report **ret_report, ph_error *reterr)
{
    ph_set_report *report = ph__report_new();
    struct ph__merged merged = { 0 };
    ph_error err;
    int r;

    ask_all(set, timeout_ms, report, &err);
    pthread_mutex_lock(&set->lock);
    put_in(set, report, &merged, &err);
    ph_set_report_free(set->report);
    set->report = report;
    set->refreshing = false;
    set->looks++;
    set->looked_us = ph__boot_us();
    set->look_error = err;
    r = outcome(set, ret_report, reterr);
    pthread_cond_broadcast(&set->looked);
    pthread_mutex_unlock(&set->lock);
    ph__set_merged(set, &merged);
    return r;
}

/* With the lock. The look under way may have asked a source before this call came. A call that must
 * be sure waits for the next look, which the first such call begins; *ret_mine: this one does. */
static int wait_for_look(ph_set *set, ph__deadline deadline, bool sure, bool *ret_mine,
                         ph_set_report **ret_report, ph_error *reterr)
{
    uint64_t wanted = set->looks + (set->refreshing && sure ? 2 : 1);

    while (set->refreshing && set->looks < wanted) {
        if (ph__deadline_left_ms(deadline) == 0)
            return ph__fail_flags(
                reterr,
                ph__fail(reterr, PH_ETIMEOUT,
                         "the sources of the set are being asked, and have not answered within the "
                         "time limit; try again, or look at what they wait for"),
                PH_RETRY);
        ph__cond_wait_us(&set->looked, &set->lock, (int64_t)ph__deadline_left_ms(deadline) * 1000);
    }
    *ret_mine = set->looks < wanted;
    return *ret_mine ? 0 : outcome(set, ret_report, reterr);
}

int ph__set_refresh(ph_set *set, int timeout_ms, enum ph__look look, ph_set_report **ret_report,
                    ph_error *err)
{
    ph__deadline deadline = ph__deadline_in(timeout_ms ? timeout_ms : PH__TIMEOUT_MS);
    bool mine = false;
    int r = 0, left_ms;

    ph__ok(err);
    pthread_mutex_lock(&set->lock);
    if (look != PH__LOOK_ALONE || !set->refreshing)
        r = wait_for_look(set, deadline, look == PH__LOOK_SURE, &mine, ret_report, err);
    if (mine) {
        set->refreshing = true;
        set->due = false;
    }
    pthread_mutex_unlock(&set->lock);
    left_ms = ph__deadline_left_ms(deadline);
    return mine ? refresh(set, left_ms > 0 ? left_ms : 1, ret_report, err) : r;
}

int ph_set_refresh(ph_set *set, int timeout_ms, ph_set_report **ret_report, ph_error *reterr)
{
    ph__ok(reterr);
    if (!set)
        return ph__fail(reterr, PH_EINVAL, "set is NULL");
    if (timeout_ms < 0)
        return ph__fail(reterr, PH_EINVAL, "timeout_ms is %d; give 0 for the default, or more",
                        timeout_ms);
    return ph__set_refresh(set, timeout_ms, PH__LOOK_SURE, ret_report, reterr);
}

/* --------------------------------------------------------------------- when */

/* With the lock. */
static int64_t due_in_us(const ph_set *set, int64_t pause_us)
{
    int64_t left_us;

    if (!set->sources || set->refresh_ms == PH_SET_NO_REFRESH)
        return INT64_MAX;
    if (set->due)
        return 0;
    left_us = set->looked_us + pause_us - ph__boot_us();
    return left_us > 0 ? left_us : 0;
}

int64_t ph__set_refresh_in_us(ph_set *set)
{
    int64_t pause_us = (int64_t)set->refresh_ms * 1000, in_us;

    pthread_mutex_lock(&set->lock);
    if (set->look_error.code && pause_us > AGAIN_US)
        pause_us = AGAIN_US;
    in_us = due_in_us(set, pause_us);
    pthread_mutex_unlock(&set->lock);
    return in_us;
}

/* A failed look, too, is repeated only when the next is due: producers would wait for it. */
bool ph__set_is_due(ph_set *set)
{
    bool due;

    pthread_mutex_lock(&set->lock);
    due = !set->refreshing && set->observer_count == 0 &&
          due_in_us(set, (int64_t)set->refresh_ms * 1000) == 0;
    pthread_mutex_unlock(&set->lock);
    return due;
}

bool ph__set_may_learn(ph_set *set, bool *ret_later)
{
    int64_t in_us;
    bool may;

    pthread_mutex_lock(&set->lock);
    in_us = due_in_us(set, UNKNOWN_KEY_US);
    may = set->refresh_ms != PH_SET_NO_REFRESH && (set->refreshing || in_us == 0);
    *ret_later = may ? set->refreshing : in_us != INT64_MAX;
    pthread_mutex_unlock(&set->lock);
    return may;
}
