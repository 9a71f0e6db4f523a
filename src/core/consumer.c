/* consumer.c - receptors of a message, and checkpoints of consumers in a stream. */
#include "core/call.h"
#include "core/coordination.h"
#include "core/error.h"
#include "core/list.h"
#include "core/log.h"
#include "core/message.h"
#include "core/options.h"
#include "util/text.h"

#include <stdio.h>

int ph__result_problem(ph_error *err, enum ph__result_problem problem, size_t index, size_t count)
{
    char at[40] = "";

    if (count > 1)
        snprintf(at, sizeof(at), "result %zu: ", index);
    switch (problem) {
    case PH__RESULT_OK:
        return 0;
    case PH__RESULT_NO_MESSAGE:
        return ph__fail(err, PH_ENOTFOUND,
                        "%sthere is no such message in outbox or inbox; it may have been deleted "
                        "by retention",
                        at);
    case PH__RESULT_NO_STREAM:
        return ph__fail(err, PH_ENOTFOUND,
                        "%sthere is no such stream; a stream begins with its first message", at);
    case PH__RESULT_BEYOND:
        return ph__fail(err, PH_ENOTFOUND, "%sseq lies above the stream's last message", at);
    case PH__RESULT_TOO_MANY:
        return ph__fail(err, PH_ESTATE,
                        "%sthe checkpoint has more than %d gaps; complete what lies below first",
                        at, PH_CHECKPOINT_AHEAD_MAX);
    }
    return ph__fail(err, PH_EDATABASE, "the schema's functions do not fit this library");
}

static int count_check(const void *results, size_t count, ph_error *err)
{
    if (!results)
        return ph__fail(err, PH_EINVAL, "results is NULL");
    if (count < 1 || count > PH_BATCH_MAX)
        return ph__fail(err, PH_EINVAL, "%zu results; give 1 to %d", count, PH_BATCH_MAX);
    return 0;
}

/* An error text made fit to store; *text may be NULL. */
static int mend(const char **text, struct ph__arena *arena, ph_error *err)
{
    struct ph__buffer mended = { 0 };

    if (!*text)
        return 0;
    ph__buffer_text(&mended, "");
    ph__text_mend(&mended, *text, PH_ERROR_TEXT_MAX);
    *text = mended.failed ? NULL : ph__arena_copy(arena, mended.data, mended.length);
    ph__buffer_free(&mended);
    return *text ? 0 : ph__fail_memory(err);
}

/* Puts "result 3: " before an error, if there are several. */
static int at_index(size_t index, size_t count, int r, ph_error *err)
{
    return r == PH_EINVAL && count > 1 ? ph__prefix(err, r, "result %zu: ", index) : r;
}

int ph__receptors_load(const ph_receptor_result *from, size_t count, struct ph__arena *arena,
                       ph_receptor_result **ret_to, ph_error *err)
{
    ph_receptor_result *to = ph__arena_alloc(arena, count * sizeof(*to));
    int r = to ? 0 : ph__fail_memory(err);

    for (size_t i = 0; r == 0 && i < count; i++) {
        to[i] = from[i];
        r = ph__name_check(to[i].receptor, "receptor", false, err);
        if (!to[i].failed)
            to[i].error = NULL;
        if (r == 0)
            r = mend(&to[i].error, arena, err);
        if (r < 0)
            return at_index(i, count, r, err);
    }
    *ret_to = to;
    return r;
}

int ph__checkpoints_load(const ph_checkpoint_result *from, size_t count, struct ph__arena *arena,
                         struct ph__checkpoint **ret_to, ph_error *err)
{
    struct ph__checkpoint *to = ph__arena_alloc(arena, count * sizeof(*to));
    int r = to ? 0 : ph__fail_memory(err);

    for (size_t i = 0; r == 0 && i < count; i++) {
        to[i] = (struct ph__checkpoint){ .consumer = from[i].consumer,
                                         .seq = from[i].seq,
                                         .failed = from[i].failed,
                                         .error = from[i].failed ? from[i].error : NULL };
        r = ph__stream_load(&to[i].stream, from[i].door, from[i].ns, from[i].stream, err);
        if (r == 0)
            r = ph__name_check(to[i].consumer, "consumer", false, err);
        if (r == 0 && to[i].seq < 1)
            r = ph__fail(err, PH_EINVAL, "seq is %lld; they begin with 1", (long long)to[i].seq);
        if (r == 0)
            r = mend(&to[i].error, arena, err);
        if (r < 0)
            return at_index(i, count, r, err);
    }
    *ret_to = to;
    return r;
}

int ph_receptor_report(ph_store *store, ph_tx tx, const ph_receptor_result *results, size_t count,
                       int timeout_ms, ph_error *reterr)
{
    struct ph__arena arena = { 0 };
    ph_receptor_result *loaded = NULL;
    PH__CALL(call);
    int r = ph__call_begin(&call, store, tx, timeout_ms, reterr);

    if (r == 0)
        r = count_check(results, count, call.err);
    if (r == 0)
        r = ph__receptors_load(results, count, &arena, &loaded, call.err);
    r = ph__call_connect(&call, r);
    if (r == 0)
        r = store->backend->receptor_report(&call, loaded, count);
    ph__arena_free(&arena);
    return r;
}

int ph_receptor_list(ph_store *store, ph_tx tx, const ph_receptor_list_opts *opts, int timeout_ms,
                     ph_receptors **ret_list, ph_error *reterr)
{
    ph_receptor_list_opts wanted = PH_RECEPTOR_LIST_OPTS_INIT;
    PH__CALL(call);
    int r = ph__call_begin(&call, store, tx, timeout_ms, reterr);

    r = ph__call_wants(&call, r, ret_list, "ret_list");
    if (r == 0)
        r = ph__options_load(&wanted, sizeof(wanted), opts, "ph_receptor_list_opts", call.err);
    if (r == 0 && ph_id_is_zero(wanted.work_id.b))
        r = ph__fail(call.err, PH_EINVAL, "work_id is empty; pass the message's work id");
    PH__LIST_RETURN(receptors, &call, r, ret_list,
                    store->backend->receptor_list(&call, wanted.work_id, list));
}

PH__LIST_FUNCTIONS(receptors, ph_receptor_info)

int ph_checkpoint_report(ph_store *store, ph_tx tx, const ph_checkpoint_result *results,
                         size_t count, int timeout_ms, ph_error *reterr)
{
    struct ph__arena arena = { 0 };
    struct ph__checkpoint *loaded = NULL;
    PH__CALL(call);
    int r = ph__call_begin(&call, store, tx, timeout_ms, reterr);

    if (r == 0)
        r = count_check(results, count, call.err);
    if (r == 0)
        r = ph__checkpoints_load(results, count, &arena, &loaded, call.err);
    r = ph__call_connect(&call, r);
    if (r == 0)
        r = store->backend->checkpoint_report(&call, loaded, count);
    ph__arena_free(&arena);
    return r;
}

static void log_rewind(const ph_store *store, const struct ph__stream *stream, const char *consumer,
                       int64_t old, int64_t seq)
{
    char from[24], to[24];
    ph_log_field fields[] = { { "stream", stream->key },
                              { "consumer", consumer },
                              { "from", from },
                              { "to", to },
                              { "namespace", *stream->ns ? stream->ns : NULL } };

    if (!ph__log_wants(store, PH_LOG_WARN))
        return;
    snprintf(from, sizeof(from), "%lld", (long long)old);
    snprintf(to, sizeof(to), "%lld", (long long)seq);
    ph__log(store, PH_LOG_WARN, "checkpoint", "set by hand", fields, 5);
}

int ph_checkpoint_rewind(ph_store *store, ph_tx tx, ph_door door, const char *ns,
                         const char *stream, const char *consumer, int64_t seq, int timeout_ms,
                         int64_t *ret_old, ph_error *reterr)
{
    struct ph__stream name;
    int64_t old = 0;
    PH__CALL(call);
    int r = ph__stream_begin(&call, store, tx, door, ns, stream, timeout_ms, reterr, &name);

    if (r == 0)
        r = ph__name_check(consumer, "consumer", false, call.err);
    if (r == 0 && seq < 0)
        r = ph__fail(call.err, PH_EINVAL, "seq is negative; give 0 for the beginning");
    r = ph__call_connect(&call, r);
    if (r == 0)
        r = store->backend->checkpoint_rewind(&call, &name, consumer, seq, &old);
    if (r < 0)
        return r;
    log_rewind(store, &name, consumer, old, seq);
    if (ret_old)
        *ret_old = old;
    return 0;
}

int ph_checkpoint_list(ph_store *store, ph_tx tx, const ph_checkpoint_list_opts *opts,
                       int timeout_ms, ph_checkpoints **ret_list, ph_error *reterr)
{
    ph_checkpoint_list_opts wanted = PH_CHECKPOINT_LIST_OPTS_INIT;
    struct ph__stream name;
    PH__CALL(call);
    int r = ph__call_begin(&call, store, tx, timeout_ms, reterr);

    r = ph__call_wants(&call, r, ret_list, "ret_list");
    if (r == 0)
        r = ph__options_load(&wanted, sizeof(wanted), opts, "ph_checkpoint_list_opts", call.err);
    if (r == 0)
        r = ph__stream_load(&name, wanted.door, wanted.ns, wanted.stream, call.err);
    if (r == 0 && wanted.consumer)
        r = ph__name_check(wanted.consumer, "consumer", false, call.err);
    PH__LIST_RETURN(checkpoints, &call, r, ret_list,
                    store->backend->checkpoint_list(&call, &name, wanted.consumer, list));
}

PH__LIST_FUNCTIONS(checkpoints, ph_checkpoint_info)
