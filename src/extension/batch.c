/* batch.c - posthorn_process_work_batch: results, new messages, renewals and the next work in one
 * call. */
#include "core/call.h"
#include "core/error.h"
#include "extension/arguments.h"
#include "extension/delivery.h"
#include "extension/message.h"
#include "store/sqlite/verbs.h"

#include <math.h>
#include <string.h>

#define REPORT_LATE 8 /* asked for, and said of a row: a settlement or renewal came too late */
#define FLAGS_MOST 15
#define DELAY_MAX_S 1e11 /* the library cuts at a year; this only keeps the product finite */

/* The arguments, in order. */
/* clang-format off */
enum { INSTANCE_ID, SERVICE_NAME, HOST_NAME, PROCESS_ID, METADATA,
       OUTBOX_COMPLETIONS, OUTBOX_FAILURES, INBOX_COMPLETIONS, INBOX_FAILURES,
       RECEPTOR_COMPLETIONS, RECEPTOR_FAILURES, CHECKPOINT_COMPLETIONS, CHECKPOINT_FAILURES,
       NEW_OUTBOX_MESSAGES, NEW_INBOX_MESSAGES, RENEW_OUTBOX_IDS, RENEW_INBOX_IDS,
       FLAGS, NAMESPACE, TOPICS, BATCH_SIZE, PARTITION_COUNT, MAX_PARTITIONS, LEASE_SECONDS,
       STALE_THRESHOLD_SECONDS };
/* clang-format on */

/* ------------------------------------------------------------------ results */

/* The members that an element of a list of results can have. */
struct result {
    ph_work_id work_id;
    int64_t fence, seq, delay_ms;
    const char *error, *receptor, *stream, *consumer, *ns;
    bool permanent;
    ph_door door;
};

enum kind { WORK_ID, NUMBER, TEXT, FLAG, DELAY, DOOR };

static const struct key {
    const char *name;
    enum kind kind;
    size_t offset; /* of the member of struct result */
} keys[] = {
    { "work_id", WORK_ID, offsetof(struct result, work_id) },
    { "fence", NUMBER, offsetof(struct result, fence) },
    { "error", TEXT, offsetof(struct result, error) },
    { "permanent", FLAG, offsetof(struct result, permanent) },
    { "delay", DELAY, offsetof(struct result, delay_ms) },
    { "receptor", TEXT, offsetof(struct result, receptor) },
    { "stream", TEXT, offsetof(struct result, stream) },
    { "consumer", TEXT, offsetof(struct result, consumer) },
    { "seq", NUMBER, offsetof(struct result, seq) },
    { "namespace", TEXT, offsetof(struct result, ns) },
    { "door", DOOR, offsetof(struct result, door) },
};
#define KEY_COUNT (sizeof(keys) / sizeof(*keys))

/* Which of them the elements of a list have, and must have: bits by their places above. */
struct form {
    int argument;
    unsigned allowed, required;
};
#define KEY(place) (1u << (place))
#define SETTLED (KEY(0) | KEY(1))
#define FAILED (SETTLED | KEY(2) | KEY(3) | KEY(4))
#define RECEPTOR (KEY(0) | KEY(5))
#define POSITION (KEY(6) | KEY(7) | KEY(8))
#define CHECKPOINT (POSITION | KEY(9) | KEY(10))

static const struct form outbox_completions = { OUTBOX_COMPLETIONS, SETTLED, KEY(0) };
static const struct form outbox_failures = { OUTBOX_FAILURES, FAILED, KEY(0) };
static const struct form inbox_completions = { INBOX_COMPLETIONS, SETTLED, KEY(0) };
static const struct form inbox_failures = { INBOX_FAILURES, FAILED, KEY(0) };
static const struct form receptor_completions = { RECEPTOR_COMPLETIONS, RECEPTOR, RECEPTOR };
static const struct form receptor_failures = { RECEPTOR_FAILURES, RECEPTOR | KEY(2), RECEPTOR };
static const struct form checkpoint_completions = { CHECKPOINT_COMPLETIONS, CHECKPOINT, POSITION };
static const struct form checkpoint_failures = { CHECKPOINT_FAILURES, CHECKPOINT | KEY(2),
                                                 POSITION };

static int set_number(struct ph__ext_call *call, const char *name, const json_t *value, int64_t *to)
{
    if (!json_is_integer(value) || json_integer_value(value) < 0)
        return ph__fail(&call->err, PH_EINVAL, "%s is not a whole number of 0 or more", name);
    *to = json_integer_value(value);
    return 0;
}

static int set_delay(struct ph__ext_call *call, const char *name, const json_t *value, int64_t *to)
{
    double seconds = json_number_value(value);

    if (!json_is_number(value) || seconds < 0)
        return ph__fail(&call->err, PH_EINVAL, "%s is not a number of seconds", name);
    *to = (int64_t)llround(fmin(seconds, DELAY_MAX_S) * 1000);
    return 0;
}

static int set_door(struct ph__ext_call *call, const char *text, ph_door *to)
{
    *to = text && strcmp(text, "inbox") == 0 ? PH_INBOX : PH_OUTBOX;
    if (*to == PH_OUTBOX && (!text || strcmp(text, "outbox") != 0))
        return ph__fail(&call->err, PH_EINVAL, "door: give \"outbox\" or \"inbox\"");
    return 0;
}

static int set(struct ph__ext_call *call, const struct key *key, const json_t *value,
               struct result *to)
{
    const char *text = json_string_value(value);
    void *member = (char *)to + key->offset;

    switch (key->kind) {
    case WORK_ID:
        if (!text || ph_id_parse(text, member) < 0)
            return ph__fail(&call->err, PH_EINVAL, "%s is not a UUID", key->name);
        return 0;
    case NUMBER:
        return set_number(call, key->name, value, member);
    case TEXT:
        if (!text)
            return ph__fail(&call->err, PH_EINVAL, "%s is not a JSON string", key->name);
        memcpy(member, &text, sizeof(text));
        return 0;
    case FLAG:
        if (!json_is_boolean(value))
            return ph__fail(&call->err, PH_EINVAL, "%s is not true or false", key->name);
        to->permanent = json_is_true(value);
        return 0;
    case DELAY:
        return set_delay(call, key->name, value, member);
    case DOOR:
        return set_door(call, text, member);
    }
    return 0;
}

static int element_load(struct ph__ext_call *call, const struct form *form, const json_t *element,
                        struct result *to)
{
    unsigned given = 0;
    const char *name;
    json_t *value;

    *to = (struct result){ .delay_ms = PH_DELAY_POLICY };
    if (!json_is_object(element))
        return ph__fail(&call->err, PH_EINVAL, "it is not a JSON object");
    json_object_foreach((json_t *)(uintptr_t)element, name, value)
    {
        size_t i = 0;
        int r = 0;

        while (i < KEY_COUNT && strcmp(keys[i].name, name) != 0)
            i++;
        if (i == KEY_COUNT || !(form->allowed & KEY(i)))
            return ph__fail(&call->err, PH_EINVAL, "there is no key \"%s\"", name);
        if (!json_is_null(value)) {
            given |= KEY(i);
            r = set(call, &keys[i], value, to);
        }
        if (r < 0)
            return r;
    }
    for (size_t i = 0; i < KEY_COUNT; i++) {
        if (form->required & ~given & KEY(i))
            return ph__fail(&call->err, PH_EINVAL, "%s is missing", keys[i].name);
    }
    return 0;
}

/* A list, appended to the results of another one; *count rises. */
static int results_load(struct ph__ext_call *call, const struct form *form, struct result **results,
                        size_t *count)
{
    const char *part = call->signature->arguments[form->argument];
    struct result *all;
    json_t *element;
    size_t i;
    int r = ph__arg_json(call, form->argument, JSON_ARRAY, 0, NULL);

    if (r < 0 || !call->json || json_array_size(call->json) == 0)
        return r;
    all = ph__arena_alloc(&call->arena, (*count + json_array_size(call->json)) * sizeof(*all));
    if (!all)
        return ph__fail_memory(&call->err);
    if (*count)
        memcpy(all, *results, *count * sizeof(*all));
    *results = all;
    json_array_foreach(call->json, i, element)
    {
        r = element_load(call, form, element, &all[(*count)++]);
        if (r < 0)
            return ph__prefix(&call->err, r, "%s: element %zu: ", part, i);
    }
    return 0;
}

/* Two lists, of completions and of failures, as one. */
struct both {
    const struct result *results;
    size_t well, count; /* how many are of the first list; of both */
    void *items;        /* room for as many, of a size; NULL: none */
};

static int both_load(struct ph__ext_call *call, const struct form *well, const struct form *failed,
                     size_t size, struct both *ret)
{
    struct result *results = NULL;
    int r;

    *ret = (struct both){ 0 };
    r = results_load(call, well, &results, &ret->count);
    ret->well = ret->count;
    if (r == 0)
        r = results_load(call, failed, &results, &ret->count);
    ret->results = results;
    if (r == 0 && ret->count > 0) {
        ret->items = ph__arena_alloc(&call->arena, ret->count * size);
        r = ret->items ? 0 : ph__fail_memory(&call->err);
    }
    return r;
}

static int settlements_load(struct ph__ext_call *call, const struct form *well,
                            const struct form *failed, const ph_settlement **ret_items,
                            size_t *ret_count)
{
    struct both both;
    int r = both_load(call, well, failed, sizeof(ph_settlement), &both);
    ph_settlement *items = both.items;

    for (size_t i = 0; r == 0 && i < both.count; i++) {
        const struct result *result = &both.results[i];

        items[i] = (ph_settlement){
            .lease = { .work_id = result->work_id, .fence = result->fence },
            .verb = i < both.well       ? PH_ACK
                    : result->permanent ? PH_FAIL
                                        : PH_ABANDON,
            .error = result->error,
            .delay_ms = result->delay_ms,
        };
    }
    *ret_items = items;
    *ret_count = both.count;
    return r;
}

static int receptors_load(struct ph__ext_call *call, ph_work_batch_opts *to)
{
    struct both both;
    int r = both_load(call, &receptor_completions, &receptor_failures, sizeof(ph_receptor_result),
                      &both);
    ph_receptor_result *items = both.items;

    for (size_t i = 0; r == 0 && i < both.count; i++) {
        const struct result *result = &both.results[i];

        items[i] = (ph_receptor_result){ result->work_id, result->receptor, i >= both.well,
                                         result->error };
    }
    to->receptors = items;
    to->receptor_count = both.count;
    return r;
}

static int checkpoints_load(struct ph__ext_call *call, ph_work_batch_opts *to)
{
    struct both both;
    int r = both_load(call, &checkpoint_completions, &checkpoint_failures,
                      sizeof(ph_checkpoint_result), &both);
    ph_checkpoint_result *items = both.items;

    for (size_t i = 0; r == 0 && i < both.count; i++) {
        const struct result *result = &both.results[i];

        items[i] =
            (ph_checkpoint_result){ result->door, result->ns,     result->stream, result->consumer,
                                    result->seq,  i >= both.well, result->error };
    }
    to->checkpoints = items;
    to->checkpoint_count = both.count;
    return r;
}

/* ------------------------------------------------------------- the other parts */

static int renewals_load(struct ph__ext_call *call, int index, const ph_lease_ref **ret_leases,
                         size_t *ret_count)
{
    ph_lease_ref *leases = NULL;
    ph_work_id *ids;
    int r = ph__arg_ids(call, index, &ids, ret_count);

    if (r == 0 && *ret_count > 0) {
        leases = ph__arena_alloc(&call->arena, *ret_count * sizeof(*leases));
        r = leases ? 0 : ph__fail_memory(&call->err);
    }
    for (size_t i = 0; r == 0 && i < *ret_count; i++)
        leases[i].work_id = ids[i];
    *ret_leases = leases;
    return r;
}

static int parts_load(struct ph__ext_call *call, ph_work_batch_opts *to)
{
    int r = settlements_load(call, &outbox_completions, &outbox_failures, &to->outbox,
                             &to->outbox_count);

    if (r == 0)
        r = settlements_load(call, &inbox_completions, &inbox_failures, &to->inbox,
                             &to->inbox_count);
    if (r == 0)
        r = receptors_load(call, to);
    if (r == 0)
        r = checkpoints_load(call, to);
    if (r == 0)
        r = ph__ext_messages_load(call, NEW_OUTBOX_MESSAGES, &to->new_outbox,
                                  &to->new_outbox_count);
    if (r == 0)
        r = ph__ext_inbox_messages_load(call, NEW_INBOX_MESSAGES, &to->new_inbox,
                                        &to->new_inbox_count);
    if (r == 0)
        r = renewals_load(call, RENEW_OUTBOX_IDS, &to->renew_outbox, &to->renew_outbox_count);
    return r < 0 ? r
                 : renewals_load(call, RENEW_INBOX_IDS, &to->renew_inbox, &to->renew_inbox_count);
}

static int instance_load(struct ph__ext_call *call, ph_work_batch_opts *to)
{
    int64_t process_id = 0;
    int r = ph__arg_owner(call, INSTANCE_ID, &to->instance_id);

    if (r == 0)
        r = ph__arg_text(call, SERVICE_NAME, &to->service_name);
    if (r == 0)
        r = ph__arg_text(call, HOST_NAME, &to->host_name);
    if (r == 0)
        r = ph__arg_number(call, PROCESS_ID, 0, INT32_MAX, &process_id);
    to->process_id = (int)process_id;
    return r < 0 ? r : ph__arg_text(call, METADATA, &to->metadata);
}

static int numbers_load(struct ph__ext_call *call, ph_work_batch_opts *to, bool *ret_late)
{
    const struct {
        int argument;
        int64_t most;
        int *to;
    } numbers[] = {
        { BATCH_SIZE, PH_BATCH_MAX, &to->batch_size },
        { PARTITION_COUNT, PH_PARTITIONS_MAX, &to->partition_count },
        { MAX_PARTITIONS, PH_PARTITIONS_MAX, &to->max_partitions },
        { LEASE_SECONDS, PH_LEASE_MAX_S, &to->instance_lease_s },
        { STALE_THRESHOLD_SECONDS, PH_STALE_THRESHOLD_MAX_S, &to->stale_threshold_s },
    };
    int64_t flags = 0;
    int r = ph__arg_number(call, FLAGS, 0, FLAGS_MOST, &flags);

    to->flags = (unsigned)flags & ~(unsigned)REPORT_LATE;
    *ret_late = flags & REPORT_LATE;
    for (size_t i = 0; r == 0 && i < sizeof(numbers) / sizeof(*numbers); i++) {
        int64_t number = 0;

        r = ph__arg_number(call, numbers[i].argument, 1, numbers[i].most, &number);
        *numbers[i].to = (int)number;
    }
    return r;
}

/* -------------------------------------------------------------- what was too late */

struct late {
    bool inbox;
    ph_work_id id;
};

/* One door's settlements and renewals, and their outcomes. */
struct brought {
    const ph_settlement *settled;
    const ph_lease_ref *renewed;
    const ph_outcome *settle_outcomes, *renew_outcomes;
    size_t settle_count, renew_count;
    bool inbox;
};

static bool is_late(ph_outcome outcome)
{
    return outcome == PH_OUTCOME_STALE || outcome == PH_OUTCOME_UNKNOWN;
}

static size_t find_late(const struct brought *from, struct late *to)
{
    size_t count = 0;

    for (size_t i = 0; i < from->settle_count; i++) {
        if (is_late(from->settle_outcomes[i]))
            to[count++] = (struct late){ from->inbox, from->settled[i].lease.work_id };
    }
    for (size_t i = 0; i < from->renew_count; i++) {
        if (is_late(from->renew_outcomes[i]))
            to[count++] = (struct late){ from->inbox, from->renewed[i].work_id };
    }
    return count;
}

/* Adds them behind the rows of claimed messages. The call has happened: without memory for the
 * report it fails, and so is undone. */
static int late_load(struct ph__ext_call *call, const ph_work_batch_opts *opts,
                     struct ph__answer *answer)
{
    const struct brought outbox = { opts->outbox,
                                    opts->renew_outbox,
                                    answer->work->outbox_outcomes,
                                    answer->work->renew_outbox_outcomes,
                                    opts->outbox_count,
                                    opts->renew_outbox_count,
                                    false };
    const struct brought inbox = { opts->inbox,
                                   opts->renew_inbox,
                                   answer->work->inbox_outcomes,
                                   answer->work->renew_inbox_outcomes,
                                   opts->inbox_count,
                                   opts->renew_inbox_count,
                                   true };
    size_t most = outbox.settle_count + outbox.renew_count + inbox.settle_count + inbox.renew_count;
    struct late *late = ph__arena_alloc(&answer->arena, most * sizeof(*late));
    size_t count;

    if (!late)
        return ph__fail_memory(&call->err);
    count = find_late(&outbox, late);
    count += find_late(&inbox, late + count);
    answer->items = late;
    answer->count += count;
    return 0;
}

/* A worker in SQL may know nothing but this call: it takes its turn at retention. */
static int tidy(struct ph__ext_call *call)
{
    PH__CALL(core);
    int r = ph__call_begin(&core, call->ext->store, call->tx, 0, &call->err);

    return r < 0 ? r : ph__sqlite_retention_in_turn(&core);
}

static int process_work_batch(struct ph__ext_call *call, struct ph__answer *answer)
{
    ph_work_batch_opts opts = PH_WORK_BATCH_OPTS_INIT;
    bool late = false;
    int r = instance_load(call, &opts);

    if (r == 0)
        r = parts_load(call, &opts);
    if (r == 0)
        r = numbers_load(call, &opts, &late);
    if (r == 0)
        r = ph__arg_text(call, NAMESPACE, &opts.ns);
    if (r == 0)
        r = ph__arg_texts(call, TOPICS, &opts.topics, &opts.topic_count);
    if (r == 0)
        r = ph__ext_begin(call);
    if (r == 0)
        r = ph__ext_handled_check(call, opts.new_inbox, opts.new_inbox_count);
    if (r == 0)
        r = tidy(call);
    if (r == 0)
        r = ph_process_work_batch(call->ext->store, call->tx, &opts, 0, &answer->work, &call->err);
    if (r == 0)
        answer->count = ph_batch_count(answer->work->outbox) + ph_batch_count(answer->work->inbox);
    return r == 0 && late ? late_load(call, &opts, answer) : r;
}

/* ------------------------------------------------------------------ the answer */

/* All but the door, the flags and the id is null. */
static void late_column(const struct late *late, int index, sqlite3_context *result)
{
    if (index == 0)
        ph__result_text(result, late->inbox ? "inbox" : "outbox");
    else if (index == 1)
        sqlite3_result_int64(result, REPORT_LATE);
    else if (index == 2)
        ph__result_id(result, late->id.b);
}

static void column(const struct ph__answer *answer, size_t row, int index, sqlite3_context *result)
{
    size_t outbox = ph_batch_count(answer->work->outbox);
    size_t claimed = outbox + ph_batch_count(answer->work->inbox);
    bool is_inbox = row >= outbox;
    const ph_delivery *m = is_inbox ? ph_batch_at(answer->work->inbox, row - outbox)
                                    : ph_batch_at(answer->work->outbox, row);

    if (row >= claimed)
        late_column((const struct late *)answer->items + (row - claimed), index, result);
    else if (index == 0)
        ph__result_text(result, is_inbox ? "inbox" : "outbox");
    else if (index == 1)
        sqlite3_result_int64(result, m->flags);
    else
        ph__delivery_column(m, index - 2, result);
}

const struct ph__rows_verb ph__batch_rows[] = {
    { { "posthorn_process_work_batch",
        4,
        { "instance_id",
          "service_name",
          "host_name",
          "process_id",
          "metadata",
          "outbox_completions",
          "outbox_failures",
          "inbox_completions",
          "inbox_failures",
          "receptor_completions",
          "receptor_failures",
          "checkpoint_completions",
          "checkpoint_failures",
          "new_outbox_messages",
          "new_inbox_messages",
          "renew_outbox_ids",
          "renew_inbox_ids",
          "call_flags",
          "namespace",
          "topics",
          "batch_size",
          "partition_count",
          "max_partitions_per_instance",
          "lease_seconds",
          "stale_threshold_seconds" } },
      .columns = "door TEXT, flags INTEGER, " PH__INBOX_COLUMNS,
      .column_count = PH__INBOX_COLUMN_COUNT + 2,
      .repeats = true,
      .leases = true,
      .alias = 1, /* flags */
      .aliased = FLAGS,
      .run = process_work_batch,
      .column = column },
    { .run = NULL },
};
