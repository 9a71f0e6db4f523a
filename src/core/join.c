/* join.c - joins: what is asked of them, checked; and what became of them in a call. */
#include "core/join.h"

#include "core/call.h"
#include "core/error.h"
#include "core/id.h"
#include "core/list.h"
#include "core/log.h"
#include "core/message.h"
#include "core/options.h"
#include "util/alloc.h"
#include "util/assert.h"
#include "util/text.h"

#include <stdio.h>
#include <string.h>

#define MEMBERS_SHOWN 1000
#define LIST_LIMIT 50

const char *ph_join_state_text(ph_join_state state)
{
    static const char *const words[] = { "pending", "completed", "failed", "cancelled" };

    return state >= PH_JOIN_PENDING && state <= PH_JOIN_CANCELLED ? words[state] : "unknown";
}

/* The same words as in store/postgres/sql/functions/join_problem.sql. */
int ph__join_problem(ph_error *err, enum ph__join_problem problem, ph_join_id join,
                     const ph_message_id *message)
{
    char j[PH_ID_TEXT_SIZE], m[PH_ID_TEXT_SIZE] = "";

    ph_id_text(join.b, j);
    if (message)
        ph_id_text(message->b, m);
    switch (problem) {
    case PH__JOIN_FINE:
        return 0;
    case PH__JOIN_UNKNOWN:
        return ph__fail(err, PH_ENOTFOUND,
                        "there is no join %s; start one, or see whether retention has deleted it",
                        j);
    case PH__JOIN_MESSAGE_UNKNOWN:
        return ph__fail(err, PH_ENOTFOUND,
                        "there is no outbox message %s: it was not enqueued, or was settled and "
                        "deleted; enqueue it with the join instead",
                        m);
    case PH__JOIN_CLOSED:
        return ph__fail(err, PH_ESTATE,
                        "join %s is closed: it was cancelled, or its deadline has passed; start "
                        "another",
                        j);
    case PH__JOIN_FULL:
        return ph__fail(err, PH_ESTATE,
                        "join %s has all the steps it expects; start it with more expected_steps",
                        j);
    case PH__JOIN_NO_MEMBER:
        return ph__fail(err, PH_ENOTFOUND, "message %s is not a step of join %s; attach it first",
                        m, j);
    case PH__JOIN_IS_WAIT:
        return ph__fail(err, PH_ESTATE, "message %s is a wait, which cannot be a step", m);
    case PH__JOIN_DEADLINE:
        return ph__fail(err, PH_EINVAL, "deadline is not ahead of the database's clock");
    case PH__JOIN_PAYLOAD:
        return ph__fail(err, PH_EINVAL,
                        "the payload of a continuation is longer than its queue allows; raise "
                        "max_payload_bytes, or store it elsewhere and send a reference");
    }
    return ph__fail(err, PH_EDATABASE, "the schema's functions do not fit this library");
}

/* ----------------------------------------------------- what became of joins */

ph_join_end *ph__join_ends_add(struct ph__join_ends *ends)
{
    return PH__ARENA_ADD(&ends->arena, ends->joins, ends->join_count, ends->join_room);
}

struct ph__wait_end *ph__join_ends_add_wait(struct ph__join_ends *ends)
{
    return PH__ARENA_ADD(&ends->arena, ends->waits, ends->wait_count, ends->wait_room);
}

bool ph__join_ends_add_repeated(struct ph__join_ends *ends, size_t index)
{
    size_t at = ends->repeated_count;

    if (!PH__ARENA_ADD(&ends->arena, ends->repeated, ends->repeated_count, ends->repeated_room))
        return false;
    for (; at > 0 && ends->repeated[at - 1] > index; at--)
        ends->repeated[at] = ends->repeated[at - 1]; /* mostly they come in order */
    ends->repeated[at] = index;
    PH__ASSERT(at == 0 || ends->repeated[at - 1] <= index);
    return true;
}

static void log_join(const ph_store *store, const ph_join_end *join)
{
    char id[PH_ID_TEXT_SIZE], expected[16], completed[16], failed[16], waits[16];
    ph_log_field fields[] = { { "join_id", ph_id_text(join->id.b, id) },
                              { "state", ph_join_state_text(join->state) },
                              { "expected_steps", expected },
                              { "completed_steps", completed },
                              { "failed_steps", failed },
                              { "waits", waits } };

    snprintf(expected, sizeof(expected), "%d", join->expected_steps);
    snprintf(completed, sizeof(completed), "%d", join->completed_steps);
    snprintf(failed, sizeof(failed), "%d", join->failed_steps);
    snprintf(waits, sizeof(waits), "%d", join->waits);
    ph__log(store, PH_LOG_INFO, "join", "ended", fields, sizeof(fields) / sizeof(*fields));
}

static void log_wait(const ph_store *store, const struct ph__wait_end *wait)
{
    char id[PH_ID_TEXT_SIZE], join[PH_ID_TEXT_SIZE], sent[PH_ID_TEXT_SIZE];
    bool any = !ph_id_is_zero(wait->continuation.b);
    ph_log_field fields[] = { { "work_id", ph_id_text(wait->wait.b, id) },
                              { "join_id", ph_id_text(wait->join.b, join) },
                              { "continuation",
                                any ? ph_id_text(wait->continuation.b, sent) : NULL } };
    const char *what = wait->failure ? any ? "failed: the message for failure was enqueued"
                                           : "failed: there is no message for failure"
                                     : "succeeded: the message for success was enqueued";

    ph__log(store, PH_LOG_DEBUG, "join_wait", what, fields, 3);
}

/* What a wait has sent was enqueued, too. */
static void log_continuation(const ph_store *store, const struct ph__wait_end *wait)
{
    char work_id[PH_ID_TEXT_SIZE], join[PH_ID_TEXT_SIZE];
    ph_log_field fields[] = { { "topic", wait->topic },
                              { "namespace", wait->ns && *wait->ns ? wait->ns : NULL },
                              { "work_id", ph_id_text(wait->continuation.b, work_id) },
                              { "message_id", work_id },
                              { "join_id", ph_id_text(wait->join.b, join) } };

    if (!ph_id_is_zero(wait->continuation.b))
        ph__log(store, PH_LOG_INFO, "enqueue", "stored", fields, sizeof(fields) / sizeof(*fields));
}

static void log_reaped(const ph_store *store, int64_t count)
{
    char number[24];
    ph_log_field field = { "count", number };

    snprintf(number, sizeof(number), "%lld", (long long)count);
    ph__log(store, PH_LOG_INFO, "reap", "leases taken back", &field, 1);
}

void ph__attached_log(const struct ph__call *call, ph_join_id join, const ph_message_id *message,
                      size_t index, size_t *repeated)
{
    const struct ph__join_ends *ends = &call->ends;
    char id[PH_ID_TEXT_SIZE], text[PH_ID_TEXT_SIZE];
    ph_log_field fields[] = { { "join_id", ph_id_text(join.b, id) },
                              { "message_id", ph_id_text(message->b, text) } };
    bool again;

    PH__ASSERT(*repeated <= ends->repeated_count);
    while (*repeated < ends->repeated_count && ends->repeated[*repeated] < index)
        ++*repeated;
    again = *repeated < ends->repeated_count && ends->repeated[*repeated] == index;
    ph__log(call->store, PH_LOG_DEBUG, "join", again ? "attached before, not again" : "attached",
            fields, 2);
}

int ph__call_joins(struct ph__call *call, int r)
{
    const ph_store *store = call->store;
    const struct ph__join_ends *ends = &call->ends;

    PH__ASSERT(ends->joins || ends->join_count == 0);
    PH__ASSERT(ends->waits || ends->wait_count == 0);
    PH__ASSERT(ends->reaped >= 0);
    if (r == 0 && ends->reaped > 0 && ph__log_wants(store, PH_LOG_INFO))
        log_reaped(store, ends->reaped);
    for (size_t i = 0; r == 0 && i < ends->join_count; i++) {
        if (ph__log_wants(store, PH_LOG_INFO))
            log_join(store, &ends->joins[i]);
        if (store->opts.join_ended)
            store->opts.join_ended(store->opts.join_context, &ends->joins[i]);
    }
    for (size_t i = 0; r == 0 && i < ends->wait_count && ph__log_wants(store, PH_LOG_INFO); i++) {
        log_wait(store, &ends->waits[i]);
        log_continuation(store, &ends->waits[i]);
    }
    ph__arena_free(&call->ends.arena); /* the next verb of this call begins anew */
    call->ends = (struct ph__join_ends){ 0 };
    return r;
}

/* ------------------------------------------------------------------- verbs */

static int id_check(ph_join_id join, ph_error *err)
{
    if (ph_id_is_zero(join.b))
        return ph__cure(err, ph__fail(err, PH_EINVAL, "join id is empty"), PH_CURE_JOIN_ID);
    return 0;
}

static int message_check(const ph_message_id *message, ph_error *err)
{
    if (ph_id_is_zero(message->b))
        return ph__cure(err, ph__fail(err, PH_EINVAL, "message id is empty"), PH_CURE_MESSAGE_ID);
    return 0;
}

static int text_check(const char *text, const char *what, size_t most, ph_error *err)
{
    size_t length = strlen(text);

    if (length > most)
        return ph__fail(err, PH_EINVAL, "%s has %zu bytes; at most %zu are allowed", what, length,
                        most);
    if (!ph__text_valid(text, length, NULL))
        return ph__fail(err, PH_EINVAL, "%s is not valid UTF-8", what);
    return 0;
}

static int join_load(int expected_steps, const ph_join_opts *from, struct ph__join *to,
                     ph_error *err)
{
    ph_join_opts opts = PH_JOIN_OPTS_INIT;
    int r = ph__options_load(&opts, sizeof(opts), from, "ph_join_opts", err);

    *to = (struct ph__join){ .expected_steps = expected_steps,
                             .grouping_key =
                                 opts.grouping_key && *opts.grouping_key ? opts.grouping_key : NULL,
                             .metadata = opts.metadata,
                             .deadline = opts.deadline };
    if (r == 0 && (expected_steps < 1 || expected_steps > PH_JOIN_STEPS_MAX))
        r = ph__fail(err, PH_EINVAL, "expected_steps is %d; give 1 to %d", expected_steps,
                     PH_JOIN_STEPS_MAX);
    if (r == 0 && to->grouping_key)
        r = ph__name_check(to->grouping_key, "grouping_key", false, err);
    if (r == 0 && to->metadata)
        r = text_check(to->metadata, "metadata", PH_JOIN_METADATA_MAX, err);
    if (r == 0 && (to->deadline < PH_TIME_MIN || to->deadline > PH_TIME_MAX))
        r = ph__fail(err, PH_EINVAL, "deadline lies outside the years 1 to 9999");
    return r;
}

int ph_join_start(ph_store *store, ph_tx tx, int expected_steps, const ph_join_opts *opts,
                  int timeout_ms, ph_join_id *ret_join, ph_error *reterr)
{
    char id[PH_ID_TEXT_SIZE], steps[16];
    struct ph__join join;
    ph_join_id made;
    PH__CALL(call);
    int r = ph__call_begin(&call, store, tx, timeout_ms, reterr);

    r = ph__call_wants(&call, r, ret_join, "ret_join");
    if (r == 0)
        r = join_load(expected_steps, opts, &join, call.err);
    r = ph__call_connect(&call, r);
    if (r == 0)
        r = store->backend->join_start(&call, &join, &made);
    if (r < 0)
        return r;
    if (ph__log_wants(store, PH_LOG_INFO)) {
        ph_log_field fields[] = { { "join_id", ph_id_text(made.b, id) },
                                  { "grouping_key", join.grouping_key },
                                  { "expected_steps", steps } };

        snprintf(steps, sizeof(steps), "%d", expected_steps);
        ph__log(store, PH_LOG_INFO, "join", "started", fields, 3);
    }
    *ret_join = made;
    return 0;
}

int ph_join_attach_many(ph_store *store, ph_tx tx, ph_join_id join, const ph_message_id *messages,
                        size_t count, int timeout_ms, ph_error *reterr)
{
    PH__CALL(call);
    int r = ph__call_begin(&call, store, tx, timeout_ms, reterr);

    if (r == 0)
        r = id_check(join, call.err);
    if (r == 0 && (!messages || count < 1 || count > PH_BATCH_MAX))
        r = ph__fail(call.err, PH_EINVAL,
                     !messages ? "messages is NULL" : "%zu messages; give 1 to %d", count,
                     PH_BATCH_MAX);
    for (size_t i = 0; r == 0 && i < count; i++)
        r = message_check(&messages[i], call.err);
    r = ph__call_connect(&call, r);
    if (r < 0)
        return r;
    r = store->backend->join_attach(&call, join, messages, count);
    for (size_t i = 0, k = 0; r == 0 && i < count && ph__log_wants(store, PH_LOG_DEBUG); i++)
        ph__attached_log(&call, join, &messages[i], i, &k);
    return ph__call_joins(&call, r);
}

int ph_join_attach(ph_store *store, ph_tx tx, ph_join_id join, ph_message_id message,
                   int timeout_ms, ph_error *reterr)
{
    return ph_join_attach_many(store, tx, join, &message, 1, timeout_ms, reterr);
}

static int report(ph_store *store, ph_tx tx, ph_join_id join, ph_message_id message, bool completed,
                  int timeout_ms, ph_error *reterr)
{
    PH__CALL(call);
    int r = ph__call_begin(&call, store, tx, timeout_ms, reterr);

    if (r == 0)
        r = id_check(join, call.err);
    if (r == 0)
        r = message_check(&message, call.err);
    r = ph__call_connect(&call, r);
    if (r == 0)
        r = ph__call_joins(&call, store->backend->join_report(&call, join, message, completed));
    return r;
}

int ph_join_report_completed(ph_store *store, ph_tx tx, ph_join_id join, ph_message_id message,
                             int timeout_ms, ph_error *reterr)
{
    return report(store, tx, join, message, true, timeout_ms, reterr);
}

int ph_join_report_failed(ph_store *store, ph_tx tx, ph_join_id join, ph_message_id message,
                          int timeout_ms, ph_error *reterr)
{
    return report(store, tx, join, message, false, timeout_ms, reterr);
}

static int payload_check(const char *payload, const char *what, ph_error *err)
{
    if (!payload)
        return ph__fail(err, PH_EINVAL, "%s is NULL; it is required, but may be empty", what);
    return text_check(payload, what, PH_PAYLOAD_MAX, err);
}

static int wait_load(const ph_wait *from, struct ph__wait *to, ph_error *err)
{
    ph_wait wait = PH_WAIT_INIT;
    int r;

    if (!from)
        return ph__fail(err, PH_EINVAL, "wait is NULL");
    r = ph__options_load(&wait, sizeof(wait), from, "ph_wait", err);
    *to = (struct ph__wait){
        .fail_if_any_step_failed = wait.fail_if_any_step_failed,
        .on_complete_topic = wait.on_complete_topic,
        .on_complete_payload = wait.on_complete_payload,
        .on_fail_topic = wait.on_fail_topic,
        .on_fail_payload = wait.on_fail_payload ? wait.on_fail_payload : "",
        .ns = wait.ns ? wait.ns : "",
    };
    if (r == 0)
        r = ph__name_check(to->on_complete_topic, "on_complete_topic", false, err);
    if (r == 0)
        r = payload_check(to->on_complete_payload, "on_complete_payload", err);
    if (r == 0 && to->on_fail_topic && !*to->on_fail_topic)
        r = ph__fail(err, PH_EINVAL, "on_fail_topic is empty; leave it out to send nothing");
    if (r == 0 && to->on_fail_topic)
        r = ph__name_check(to->on_fail_topic, "on_fail_topic", false, err);
    if (r == 0)
        r = payload_check(to->on_fail_payload, "on_fail_payload", err);
    return r < 0 ? r : ph__name_check(to->ns, "namespace", true, err);
}

int ph_join_wait(ph_store *store, ph_tx tx, ph_join_id join, const ph_wait *wait, int timeout_ms,
                 ph_work_id *ret_wait, ph_error *reterr)
{
    char id[PH_ID_TEXT_SIZE], work_id[PH_ID_TEXT_SIZE];
    struct ph__wait loaded;
    PH__CALL(call);
    ph_work_id made;
    int r = ph__call_begin(&call, store, tx, timeout_ms, reterr);

    if (r == 0)
        r = id_check(join, call.err);
    if (r == 0)
        r = wait_load(wait, &loaded, call.err);
    r = ph__call_connect(&call, r);
    if (r == 0)
        r = store->backend->join_wait(&call, join, &loaded, &made);
    if (r == 0 && ph__log_wants(store, PH_LOG_INFO)) {
        ph_log_field fields[] = { { "join_id", ph_id_text(join.b, id) },
                                  { "work_id", ph_id_text(made.b, work_id) },
                                  { "namespace", *loaded.ns ? loaded.ns : NULL } };

        ph__log(store, PH_LOG_INFO, "join_wait", "stored", fields, 3);
    }
    r = ph__call_joins(&call, r);
    if (r == 0 && ret_wait)
        *ret_wait = made;
    return r;
}

int ph_join_cancel(ph_store *store, ph_tx tx, ph_join_id join, int timeout_ms, bool *ret_cancelled,
                   ph_error *reterr)
{
    bool cancelled = false;
    PH__CALL(call);
    int r = ph__call_begin(&call, store, tx, timeout_ms, reterr);

    if (r == 0)
        r = id_check(join, call.err);
    r = ph__call_connect(&call, r);
    if (r == 0)
        r = ph__call_joins(&call, store->backend->join_cancel(&call, join, &cancelled));
    if (r == 0 && ret_cancelled)
        *ret_cancelled = cancelled;
    return r;
}

/* -------------------------------------------------------------------- look */

int ph_join_find(ph_store *store, ph_tx tx, ph_join_id join, int member_limit, int timeout_ms,
                 ph_join_info **ret_info, ph_error *reterr)
{
    struct ph__join_found *found;
    PH__CALL(call);
    int r = ph__call_begin(&call, store, tx, timeout_ms, reterr);

    r = ph__call_wants(&call, r, ret_info, "ret_info");
    if (r == 0 && (member_limit < 0 || member_limit > PH_BATCH_MAX))
        r = ph__fail(call.err, PH_EINVAL, "member_limit is %d; give 1 to %d, or 0 for %d",
                     member_limit, PH_BATCH_MAX, MEMBERS_SHOWN);
    if (r == 0)
        r = id_check(join, call.err);
    r = ph__call_connect(&call, r);
    if (r < 0)
        return r;
    found = ph__alloc_zero(1, sizeof(*found));
    if (!found)
        return ph__fail_memory(call.err);
    r = store->backend->join_find(&call, join, member_limit ? member_limit : MEMBERS_SHOWN, found);
    if (r < 0) {
        ph_join_info_free(&found->info);
        return r;
    }
    *ret_info = &found->info;
    return 0;
}

void ph_join_info_free(ph_join_info *info)
{
    struct ph__join_found *whole = (struct ph__join_found *)info;

    if (!whole)
        return;
    ph__arena_free(&whole->arena);
    ph__dealloc(whole);
}

static int query_load(const ph_join_list_opts *from, struct ph__join_query *to, ph_error *err)
{
    ph_join_list_opts opts = PH_JOIN_LIST_OPTS_INIT;
    ph_work_id after; /* a join's id has the same layout */
    int64_t number;
    uint64_t salt;
    int r = ph__options_load(&opts, sizeof(opts), from, "ph_join_list_opts", err);

    *to = (struct ph__join_query){ .grouping_key = opts.grouping_key,
                                   .state = opts.state,
                                   .limit = opts.limit ? opts.limit : LIST_LIMIT,
                                   .after = opts.after,
                                   .oldest_first = opts.oldest_first,
                                   .step = opts.step };
    if (r < 0)
        return r;
    if (to->state < PH_JOIN_ANY || to->state > PH_JOIN_CANCELLED)
        return ph__fail(err, PH_EINVAL, "state %d is not a ph_join_state; PH_JOIN_ANY lists all",
                        to->state);
    if (to->limit < 0 || to->limit > PH_BATCH_MAX)
        return ph__fail(err, PH_EINVAL, "limit is %d; give 1 to %d, or 0 for %d", to->limit,
                        PH_BATCH_MAX, LIST_LIMIT);
    memcpy(after.b, to->after.b, sizeof(after.b));
    if (!ph_id_is_zero(after.b) && !ph__id_split(after, &number, &salt))
        return ph__fail(err, PH_EINVAL,
                        "after is not a join id; give the last one of the page before, or zero");
    return to->grouping_key ? ph__name_check(to->grouping_key, "grouping_key", false, err) : 0;
}

int ph_join_list(ph_store *store, ph_tx tx, const ph_join_list_opts *opts, int timeout_ms,
                 ph_joins **ret_list, ph_error *reterr)
{
    struct ph__join_query query;
    PH__CALL(call);
    int r = ph__call_begin(&call, store, tx, timeout_ms, reterr);

    r = ph__call_wants(&call, r, ret_list, "ret_list");
    if (r == 0)
        r = query_load(opts, &query, call.err);
    PH__LIST_RETURN(joins, &call, r, ret_list, store->backend->join_list(&call, &query, list));
}

PH__LIST_FUNCTIONS(joins, ph_join_info)
