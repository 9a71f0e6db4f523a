/* coordination.c - instances, receptors, checkpoints, and reading a stream. */
#include "core/error.h"
#include "extension/arguments.h"
#include "extension/delivery.h"
#include "extension/verbs.h"

#define READ_COUNT 50

static int instance_leave(struct ph__ext_call *call, sqlite3_context *result)
{
    bool left = false;
    ph_owner instance;
    int r = ph__arg_owner(call, 0, &instance);

    if (r == 0)
        r = ph__ext_begin(call);
    if (r == 0)
        r = ph_instance_leave(call->ext->store, call->tx, instance, 0, &left, &call->err);
    sqlite3_result_int(result, left);
    return r;
}

/* ---------------------------------------------------------------- receptors */

static int receptor(struct ph__ext_call *call, bool failed)
{
    ph_receptor_result report = { .failed = failed };
    int r = ph__arg_id(call, 0, report.work_id.b);

    if (r == 0)
        r = ph__arg_text(call, 1, &report.receptor);
    if (r == 0 && failed)
        r = ph__arg_text(call, 2, &report.error);
    if (r == 0)
        r = ph__ext_begin(call);
    return r < 0 ? r : ph_receptor_report(call->ext->store, call->tx, &report, 1, 0, &call->err);
}

static int receptor_complete(struct ph__ext_call *call, sqlite3_context *result)
{
    (void)result; /* NULL */
    return receptor(call, false);
}

static int receptor_fail(struct ph__ext_call *call, sqlite3_context *result)
{
    (void)result;
    return receptor(call, true);
}

/* -------------------------------------------------------------- checkpoints */

/* stream, consumer and seq come first in every verb; namespace and door have a place of their own. */
static int checkpoint_load(struct ph__ext_call *call, int64_t least, int ns_index,
                           ph_checkpoint_result *to)
{
    int r = ph__arg_text(call, 0, &to->stream);

    if (r == 0)
        r = ph__arg_text(call, 1, &to->consumer);
    if (r == 0)
        r = ph__arg_number(call, 2, least, INT64_MAX, &to->seq);
    if (r == 0)
        r = ph__arg_text(call, ns_index, &to->ns);
    return r < 0 ? r : ph__arg_door(call, ns_index + 1, &to->door);
}

/* Where a checkpoint is. */
static int checkpoint_get(struct ph__ext_call *call, const ph_checkpoint_result *of,
                          int64_t *ret_seq)
{
    ph_checkpoint_list_opts opts = PH_CHECKPOINT_LIST_OPTS_INIT;
    ph_checkpoints *list = NULL;
    int r;

    opts.door = of->door;
    opts.ns = of->ns;
    opts.stream = of->stream;
    opts.consumer = of->consumer;
    r = ph_checkpoint_list(call->ext->store, call->tx, &opts, 0, &list, &call->err);
    if (r == 0 && ph_checkpoints_count(list) > 0)
        *ret_seq = ph_checkpoints_at(list, 0)->seq;
    ph_checkpoints_free(list);
    return r;
}

static int checkpoint_complete(struct ph__ext_call *call, sqlite3_context *result)
{
    ph_checkpoint_result report = { .failed = false };
    int64_t seq = 0;
    int r = checkpoint_load(call, 1, 3, &report);

    if (r == 0)
        r = ph__ext_begin_steps(call);
    if (r == 0)
        r = ph_checkpoint_report(call->ext->store, call->tx, &report, 1, 0, &call->err);
    if (r == 0)
        r = checkpoint_get(call, &report, &seq);
    sqlite3_result_int64(result, seq);
    return r;
}

static int checkpoint_fail(struct ph__ext_call *call, sqlite3_context *result)
{
    ph_checkpoint_result report = { .failed = true };
    int r = checkpoint_load(call, 1, 4, &report);

    (void)result;
    if (r == 0)
        r = ph__arg_text(call, 3, &report.error);
    if (r == 0)
        r = ph__ext_begin(call);
    return r < 0 ? r : ph_checkpoint_report(call->ext->store, call->tx, &report, 1, 0, &call->err);
}

static int checkpoint_rewind(struct ph__ext_call *call, sqlite3_context *result)
{
    ph_checkpoint_result to = { .failed = false };
    int64_t old = 0;
    int r = checkpoint_load(call, 0, 3, &to);

    if (r == 0)
        r = ph__ext_begin(call);
    if (r == 0)
        r = ph_checkpoint_rewind(call->ext->store, call->tx, to.door, to.ns, to.stream, to.consumer,
                                 to.seq, 0, &old, &call->err);
    sqlite3_result_int64(result, old);
    return r;
}

/* ------------------------------------------------------------------ streams */

static int stream_read(struct ph__ext_call *call, struct ph__answer *answer)
{
    int64_t after = 0, count = READ_COUNT;
    const char *stream, *ns;
    ph_door door;
    int r = ph__arg_text(call, 0, &stream);

    if (r == 0)
        r = ph__arg_number(call, 1, 0, INT64_MAX, &after);
    if (r == 0)
        r = ph__arg_number(call, 2, 1, PH_BATCH_MAX, &count);
    if (r == 0)
        r = ph__arg_text(call, 3, &ns);
    if (r == 0)
        r = ph__arg_door(call, 4, &door);
    if (r == 0)
        r = ph__ext_begin_read(call);
    if (r == 0)
        r = ph_stream_read(call->ext->store, call->tx, door, ns, stream, after, (int)count, 0,
                           &answer->messages, &call->err);
    answer->count = ph_messages_count(answer->messages);
    return r;
}

static const enum ph__delivery_column read_columns[] = {
    PH__SEQ,       PH__WORK_ID,        PH__MESSAGE_ID, PH__TOPIC,      PH__PAYLOAD,
    PH__TENANT_ID, PH__CORRELATION_ID, PH__HEADERS,    PH__CREATED_AT,
};

static void read_column(const struct ph__answer *answer, size_t row, int column,
                        sqlite3_context *result)
{
    ph__delivery_column(ph_messages_at(answer->messages, row)->message, read_columns[column],
                        result);
}

/* --------------------------------------------------------------- the tables */

const struct ph__scalar_verb ph__coordination_scalars[] = {
    { { "posthorn_instance_leave", 1, { "instance_id" } }, .run = instance_leave },
    { { "posthorn_receptor_complete", 2, { "work_id", "receptor" } }, .run = receptor_complete },
    { { "posthorn_receptor_fail", 2, { "work_id", "receptor", "error" } }, .run = receptor_fail },
    { { "posthorn_checkpoint_complete", 3, { "stream", "consumer", "seq", "namespace", "door" } },
      .run = checkpoint_complete },
    { { "posthorn_checkpoint_fail",
        3,
        { "stream", "consumer", "seq", "error", "namespace", "door" } },
      .run = checkpoint_fail },
    { { "posthorn_checkpoint_rewind", 3, { "stream", "consumer", "seq", "namespace", "door" } },
      .run = checkpoint_rewind },
    { .run = NULL },
};

const struct ph__rows_verb ph__coordination_rows[] = {
    { { "posthorn_stream_read", 1, { "stream", "after_seq", "batch_size", "namespace", "door" } },
      .columns = "seq INTEGER, work_id TEXT, message_id TEXT, topic TEXT, payload TEXT, "
                 "tenant_id TEXT, correlation_id TEXT, headers TEXT, created_at TEXT",
      .column_count = sizeof(read_columns) / sizeof(*read_columns),
      .repeats = true,
      .run = stream_read,
      .column = read_column },
    { .run = NULL },
};
