/* join.c - the verbs of joins. */
#include "core/error.h"
#include "extension/arguments.h"
#include "extension/verbs.h"

#include <string.h>

static int start(struct ph__ext_call *call, sqlite3_context *result)
{
    ph_join_opts opts = PH_JOIN_OPTS_INIT;
    int64_t expected_steps = 0;
    ph_join_id join;
    int r = ph__arg_number(call, 0, 1, PH_JOIN_STEPS_MAX, &expected_steps);

    if (r == 0)
        r = ph__arg_text(call, 1, &opts.grouping_key);
    if (r == 0)
        r = ph__arg_text(call, 2, &opts.metadata);
    if (r == 0)
        r = ph__arg_time(call, 3, &opts.deadline);
    if (r == 0)
        r = ph__ext_begin(call);
    if (r == 0)
        r = ph_join_start(call->ext->store, call->tx, (int)expected_steps, &opts, 0, &join,
                          &call->err);
    if (r == 0)
        ph__result_id(result, join.b);
    return r;
}

/* join_id and message_id; then begins. */
static int step_named(struct ph__ext_call *call, ph_join_id *ret_join, ph_message_id *ret_message)
{
    int r = ph__arg_id(call, 0, ret_join->b);

    if (r == 0)
        r = ph__arg_id(call, 1, ret_message->b);
    return r < 0 ? r : ph__ext_begin(call);
}

static int attach(struct ph__ext_call *call, sqlite3_context *result)
{
    ph_message_id message;
    ph_join_id join;
    int r = step_named(call, &join, &message);

    (void)result; /* NULL */
    return r < 0 ? r : ph_join_attach(call->ext->store, call->tx, join, message, 0, &call->err);
}

static int attach_many(struct ph__ext_call *call, sqlite3_context *result)
{
    ph_message_id *messages = NULL;
    ph_work_id *ids;
    ph_join_id join;
    size_t count;
    int r = ph__arg_id(call, 0, join.b);

    (void)result;
    if (r == 0)
        r = ph__arg_ids(call, 1, &ids, &count);
    if (r < 0)
        return r;
    messages = ph__arena_alloc(&call->arena, (count + 1) * sizeof(*messages));
    if (!messages)
        return ph__fail_memory(&call->err);
    for (size_t i = 0; i < count; i++)
        memcpy(messages[i].b, ids[i].b, sizeof(messages[i].b));
    r = ph__ext_begin(call);
    return r < 0 ? r
                 : ph_join_attach_many(call->ext->store, call->tx, join, messages, count, 0,
                                       &call->err);
}

static int report_completed(struct ph__ext_call *call, sqlite3_context *result)
{
    ph_message_id message;
    ph_join_id join;
    int r = step_named(call, &join, &message);

    (void)result;
    return r < 0
               ? r
               : ph_join_report_completed(call->ext->store, call->tx, join, message, 0, &call->err);
}

static int report_failed(struct ph__ext_call *call, sqlite3_context *result)
{
    ph_message_id message;
    ph_join_id join;
    int r = step_named(call, &join, &message);

    (void)result;
    return r < 0 ? r
                 : ph_join_report_failed(call->ext->store, call->tx, join, message, 0, &call->err);
}

static int wait_load(struct ph__ext_call *call, ph_wait *wait)
{
    int r = ph__arg_flag(call, 1, &wait->fail_if_any_step_failed);

    if (r == 0)
        r = ph__arg_text(call, 2, &wait->on_complete_topic);
    if (r == 0)
        r = ph__arg_text(call, 3, &wait->on_complete_payload);
    if (r == 0)
        r = ph__arg_text(call, 4, &wait->on_fail_topic);
    if (r == 0)
        r = ph__arg_text(call, 5, &wait->on_fail_payload);
    return r < 0 ? r : ph__arg_text(call, 6, &wait->ns);
}

static int join_wait(struct ph__ext_call *call, sqlite3_context *result)
{
    ph_wait wait = PH_WAIT_INIT;
    ph_work_id id;
    ph_join_id join;
    int r = ph__arg_id(call, 0, join.b);

    if (r == 0)
        r = wait_load(call, &wait);
    if (r == 0)
        r = ph__ext_begin(call);
    if (r == 0)
        r = ph_join_wait(call->ext->store, call->tx, join, &wait, 0, &id, &call->err);
    if (r == 0)
        ph__result_id(result, id.b);
    return r;
}

static int cancel(struct ph__ext_call *call, sqlite3_context *result)
{
    bool cancelled = false;
    ph_join_id join;
    int r = ph__arg_id(call, 0, join.b);

    if (r == 0)
        r = ph__ext_begin(call);
    if (r == 0)
        r = ph_join_cancel(call->ext->store, call->tx, join, 0, &cancelled, &call->err);
    sqlite3_result_int(result, cancelled);
    return r;
}

const struct ph__scalar_verb ph__join_scalars[] = {
    { { "posthorn_join_start", 1, { "expected_steps", "grouping_key", "metadata", "deadline" } },
      .run = start },
    { { "posthorn_join_attach", 2, { "join_id", "message_id" } }, .run = attach },
    { { "posthorn_join_attach_many", 2, { "join_id", "message_ids" } }, .run = attach_many },
    { { "posthorn_join_report_completed", 2, { "join_id", "message_id" } },
      .run = report_completed },
    { { "posthorn_join_report_failed", 2, { "join_id", "message_id" } }, .run = report_failed },
    { { "posthorn_join_wait",
        4,
        { "join_id", "fail_if_any_step_failed", "on_complete_topic", "on_complete_payload",
          "on_fail_topic", "on_fail_payload", "namespace" } },
      .run = join_wait },
    { { "posthorn_join_cancel", 1, { "join_id" } }, .run = cancel },
    { .run = NULL },
};
