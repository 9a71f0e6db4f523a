/* operate.c - the verbs of operators, and those about the connection. */
#include "core/call.h"
#include "core/error.h"
#include "extension/arguments.h"
#include "extension/message.h"
#include "extension/verbs.h"
#include "store/sqlite/migrate.h"

#include <string.h>

#define RETENTION_LIMIT_MAX 100000

/* ------------------------------------------------------------- dead letters */

struct retried {
    ph_work_id old, new;
};

static int dead_retry(struct ph__ext_call *call, struct ph__answer *answer)
{
    ph_work_id *ids, *new_ids = NULL;
    struct retried *retried = NULL;
    size_t count;
    int r = ph__arg_ids(call, 0, &ids, &count);

    if (r == 0) {
        new_ids = ph__arena_alloc(&call->arena, (count + 1) * sizeof(*new_ids));
        retried = ph__arena_alloc(&answer->arena, (count + 1) * sizeof(*retried));
        r = new_ids && retried ? ph__ext_begin(call) : ph__fail_memory(&call->err);
    }
    if (r == 0)
        r = ph_dead_retry(call->ext->store, call->tx, ids, count, 0, new_ids, &call->err);
    for (size_t i = 0; r == 0 && i < count; i++) {
        if (!ph_id_is_zero(new_ids[i].b))
            retried[answer->count++] = (struct retried){ ids[i], new_ids[i] };
    }
    answer->items = retried;
    return r;
}

static void retried_column(const struct ph__answer *answer, size_t row, int column,
                           sqlite3_context *result)
{
    const struct retried *retried = (const struct retried *)answer->items + row;

    ph__result_id(result, column == 0 ? retried->old.b : retried->new.b);
}

static int dead_discard(struct ph__ext_call *call, sqlite3_context *result)
{
    ph_work_id *ids;
    int64_t deleted = 0;
    size_t count;
    int r = ph__arg_ids(call, 0, &ids, &count);

    if (r == 0)
        r = ph__ext_begin(call);
    if (r == 0)
        r = ph_dead_discard(call->ext->store, call->tx, ids, count, 0, &deleted, &call->err);
    sqlite3_result_int64(result, deleted);
    return r;
}

/* ------------------------------------------------------------------- queues */

static int queue_set(struct ph__ext_call *call, sqlite3_context *result)
{
    ph_queue_settings settings = PH_QUEUE_SETTINGS_INIT;
    const char *ns;
    ph_door door;
    int r = ph__arg_door(call, 0, &door);

    (void)result; /* NULL */
    if (r == 0)
        r = ph__arg_text(call, 1, &ns);
    if (r == 0)
        r = ph__arg_json(call, 2, JSON_OBJECT, PH__EXT_JSON_FLAGS, NULL);
    if (r == 0)
        r = ph__ext_settings_load(call, call->json, &settings);
    if (r == 0)
        r = ph__ext_begin(call);
    return r < 0 ? r : ph_queue_set(call->ext->store, call->tx, door, ns, &settings, 0, &call->err);
}

/* A queue is named by door and namespace; then begins. */
static int queue_named(struct ph__ext_call *call, ph_door *ret_door, const char **ret_ns)
{
    int r = ph__arg_door(call, 0, ret_door);

    if (r == 0)
        r = ph__arg_text(call, 1, ret_ns);
    return r < 0 ? r : ph__ext_begin(call);
}

static int queue_pause(struct ph__ext_call *call, sqlite3_context *result)
{
    const char *ns;
    ph_door door;
    int r = queue_named(call, &door, &ns);

    (void)result;
    return r < 0 ? r : ph_queue_pause(call->ext->store, call->tx, door, ns, 0, &call->err);
}

static int queue_resume(struct ph__ext_call *call, sqlite3_context *result)
{
    const char *ns;
    ph_door door;
    int r = queue_named(call, &door, &ns);

    (void)result;
    return r < 0 ? r : ph_queue_resume(call->ext->store, call->tx, door, ns, 0, &call->err);
}

static int queue_delete(struct ph__ext_call *call, sqlite3_context *result)
{
    bool deleted = false;
    const char *ns;
    ph_door door;
    int r = queue_named(call, &door, &ns);

    if (r == 0)
        r = ph_queue_delete(call->ext->store, call->tx, door, ns, 0, &deleted, &call->err);
    sqlite3_result_int(result, deleted);
    return r;
}

static int retention_run(struct ph__ext_call *call, sqlite3_context *result)
{
    int64_t limit = 0, count = 0;
    int r = ph__arg_number(call, 0, 1, RETENTION_LIMIT_MAX, &limit);

    if (r == 0)
        r = ph__ext_begin(call);
    if (r == 0)
        r = ph_retention_run(call->ext->store, call->tx, (int)limit, 0, &count, &call->err);
    sqlite3_result_int64(result, count);
    return r;
}

/* ----------------------------------------------------------- the connection */

/* The file remembers the mode, which cannot be changed inside a transaction; where it cannot be
 * had at all (a database in memory) everything works without it. */
static void use_wal(sqlite3 *db)
{
    if (sqlite3_get_autocommit(db))
        sqlite3_exec(db, "PRAGMA journal_mode = WAL", NULL, NULL, NULL);
}

static int migrate(struct ph__ext_call *call, sqlite3_context *result)
{
    PH__CALL(inner);
    int applied = 0, r = ph__ext_alone(call, "tables cannot be made");

    if (r < 0)
        return r;
    use_wal(call->ext->db);
    r = ph__ext_begin(call);
    if (r == 0)
        r = ph__call_begin(&inner, call->ext->store, call->tx, 0, &call->err);
    if (r == 0)
        r = ph__sqlite_migrate_within(&inner, &applied);
    sqlite3_result_int(result, applied);
    return r;
}

static int the_clock(struct ph__ext_call *call, sqlite3_context *result)
{
    int64_t now = 0;
    int r = ph__ext_begin_read(call);

    if (r == 0)
        r = ph_clock(call->ext->store, call->tx, 0, &now, &call->err);
    if (r == 0)
        ph__result_time(result, now);
    return r;
}

static int version(struct ph__ext_call *call, sqlite3_context *result)
{
    (void)call;
    sqlite3_result_text(result, ph_version(), -1, SQLITE_STATIC);
    return 0;
}

static int owner_new(struct ph__ext_call *call, sqlite3_context *result)
{
    ph_owner owner = ph_owner_new();

    (void)call;
    ph__result_id(result, owner.b);
    return 0;
}

static int config(struct ph__ext_call *call, sqlite3_context *result)
{
    const char *name, *value;
    int r = ph__arg_text(call, 0, &name);

    if (r == 0)
        r = ph__arg_text(call, 1, &value);
    if (r < 0)
        return r;
    if (strcmp(name, "table_prefix") == 0)
        r = ph__ext_use_prefix(call, value);
    else if (strcmp(name, "triggers") != 0)
        r = ph__fail(&call->err, PH_EINVAL, "name: there are table_prefix and triggers");
    else if (strcmp(value, "allow") != 0)
        r = ph__fail(&call->err, PH_EINVAL,
                     "triggers: 'allow' is the only value; it lasts as long as the connection");
    else
        r = ph__ext_allow_triggers(call);
    if (r == 0)
        sqlite3_result_value(result, call->arguments[1]);
    return r;
}

const struct ph__scalar_verb ph__operate_scalars[] = {
    { { "posthorn_dead_discard", 1, { "work_ids" } }, .run = dead_discard },
    { { "posthorn_queue_set", 3, { "door", "namespace", "settings" } }, .run = queue_set },
    { { "posthorn_queue_pause", 2, { "door", "namespace" } }, .run = queue_pause },
    { { "posthorn_queue_resume", 2, { "door", "namespace" } }, .run = queue_resume },
    { { "posthorn_queue_delete", 2, { "door", "namespace" } }, .run = queue_delete },
    { { "posthorn_retention_run", 0, { "limit" } }, .run = retention_run },
    { { "posthorn_migrate", 0, { NULL } }, .run = migrate },
    { { "posthorn_clock", 0, { NULL } }, .run = the_clock },
    { { "posthorn_version", 0, { NULL } }, .run = version },
    { { "posthorn_owner_new", 0, { NULL } }, .run = owner_new },
    { { "posthorn_config", 2, { "name", "value" } }, .run = config },
    { .run = NULL },
};

const struct ph__rows_verb ph__operate_rows[] = {
    { { "posthorn_dead_retry", 1, { "work_ids" } },
      .columns = "old TEXT, new TEXT",
      .column_count = 2,
      .repeats = true,
      .run = dead_retry,
      .column = retried_column },
    { .run = NULL },
};
