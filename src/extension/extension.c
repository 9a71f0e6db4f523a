/* extension.c - the entry point, and the state of one connection of the host. */
#include "core/error.h"
#include "extension/arguments.h"
#include "extension/rows.h"
#include "util/alloc.h"
#include "util/time_text.h"

#include <string.h>

#define OLDEST_SQLITE 3040000
#define FLAGS (SQLITE_UTF8 | SQLITE_DIRECTONLY)
/* Newer hosts want to be told that a result may be marked as JSON; older ones ignore the flag. */
#define RESULT_SUBTYPE 0x001000000
#define JSON_SUBTYPE 'J' /* the mark of results of SQLite's own JSON functions */
#define URL "sqlite:the connection that loaded the extension"

const sqlite3_api_routines *sqlite3_api; /* the host's SQLite: see through_host.h */

/* ------------------------------------------------------------------- results */

void ph__result_id(sqlite3_context *result, const uint8_t id[16])
{
    char text[PH_ID_TEXT_SIZE];

    if (!ph_id_is_zero(id))
        sqlite3_result_text(result, ph_id_text(id, text), -1, SQLITE_TRANSIENT);
}

void ph__result_text(sqlite3_context *result, const char *text)
{
    if (text)
        sqlite3_result_text(result, text, -1, SQLITE_TRANSIENT);
}

void ph__result_time(sqlite3_context *result, int64_t time)
{
    char text[PH__TIME_TEXT_SIZE];

    sqlite3_result_text(result, ph__time_text(time, text), -1, SQLITE_TRANSIENT);
}

int ph__result_json(struct ph__ext_call *call, sqlite3_context *result, char *json)
{
    if (!json)
        return ph__fail_memory(&call->err);
    sqlite3_result_text(result, json, -1, sqlite3_free);
    sqlite3_result_subtype(result, JSON_SUBTYPE);
    return 0;
}

/* ---------------------------------------------------------------- connection */

static void let_go(struct ph__ext *ext)
{
    if (--ext->holders > 0)
        return;
    ph_close(ext->store);
    ph__dealloc(ext);
}

/* SQLite calls it when a function goes: when the connection is closed. */
static void unbind(void *context)
{
    struct ph__binding *binding = context;

    let_go(binding->ext);
    ph__dealloc(binding);
}

static struct ph__binding *bind(struct ph__ext *ext)
{
    struct ph__binding *binding = ph__alloc_zero(1, sizeof(*binding));

    if (binding) {
        binding->ext = ext;
        ext->holders++;
    }
    return binding;
}

static int store_open(const char *prefix, ph_store **ret_store, ph_error *err)
{
    ph_store_opts opts = PH_STORE_OPTS_INIT;

    opts.table_prefix = prefix;
    return ph_open_lazy(URL, &opts, ret_store, err);
}

int ph__ext_use_prefix(struct ph__ext_call *call, const char *prefix)
{
    ph_store *store;
    int r = store_open(prefix, &store, &call->err);

    if (r == 0) {
        ph_close(call->ext->store);
        call->ext->store = store;
    }
    return r;
}

/* ----------------------------------------------------------------- functions */

static void on_scalar(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    const struct ph__binding *binding = sqlite3_user_data(context);
    const struct ph__scalar_verb *verb = binding->scalar;
    struct ph__ext_call call = { .ext = binding->ext,
                                 .signature = &verb->signature,
                                 .door = verb->door };
    char *text;
    int r = ph__arg_count_check(&call, argc);

    for (int i = 0; r == 0 && i < argc; i++)
        call.arguments[i] = argv[i];
    if (r == 0)
        r = verb->run(&call, context);
    r = ph__ext_end(&call, r);
    if (r == 0)
        return;
    text = ph__ext_error_text(&call);
    sqlite3_result_error(context, text ? text : "out of memory", -1);
    sqlite3_result_error_code(context, ph__ext_error_code(&call));
    sqlite3_free(text);
}

static int add_scalar(struct ph__ext *ext, const struct ph__scalar_verb *verb, int argc, int flags)
{
    struct ph__binding *binding = bind(ext);

    if (!binding)
        return SQLITE_NOMEM;
    binding->scalar = verb;
    return sqlite3_create_function_v2(ext->db, verb->signature.name, argc, flags | RESULT_SUBTYPE,
                                      binding, on_scalar, NULL, NULL, unbind);
}

static int add_rows(struct ph__ext *ext, const struct ph__rows_verb *verb)
{
    struct ph__binding *binding = bind(ext);

    if (!binding)
        return SQLITE_NOMEM;
    binding->rows = verb;
    return sqlite3_create_module_v2(ext->db, verb->signature.name, &ph__rows_module, binding,
                                    unbind);
}

static const struct ph__scalar_verb *const all_scalars[] = {
    ph__enqueue_scalars,  ph__door_scalars,         ph__join_scalars,
    ph__schedule_scalars, ph__coordination_scalars, ph__operate_scalars
};
static const struct ph__rows_verb *const all_rows[] = { ph__enqueue_rows,  ph__door_rows,
                                                        ph__schedule_rows, ph__coordination_rows,
                                                        ph__batch_rows,    ph__operate_rows };

static int add_all(struct ph__ext *ext)
{
    int rc = SQLITE_OK;

    for (size_t i = 0; i < sizeof(all_scalars) / sizeof(*all_scalars); i++) {
        for (size_t j = 0; rc == SQLITE_OK && all_scalars[i][j].run; j++)
            rc = add_scalar(ext, &all_scalars[i][j], -1, FLAGS);
    }
    for (size_t i = 0; i < sizeof(all_rows) / sizeof(*all_rows); i++) {
        for (size_t j = 0; rc == SQLITE_OK && all_rows[i][j].run; j++)
            rc = add_rows(ext, &all_rows[i][j]);
    }
    return rc;
}

/* A function cannot be replaced while a statement runs, and one does: the caller's. But where
 * there is one for any number of arguments, more can be added for a certain number, and SQLite
 * prefers those. */
int ph__ext_allow_triggers(struct ph__ext_call *call)
{
    for (int argc = 2; argc <= 3 && !call->ext->triggers; argc++) {
        if (add_scalar(call->ext, ph__enqueue_verb, argc, SQLITE_UTF8) != SQLITE_OK)
            return ph__fail_memory(&call->err);
    }
    call->ext->triggers = true;
    return 0;
}

/* ------------------------------------------------------------------- loading */

static int refuse(char **ret_error, const sqlite3_api_routines *api, const char *why)
{
    if (ret_error)
        *ret_error = api->mprintf("posthorn: %s", why);
    return SQLITE_ERROR;
}

/* Are we here already? Loading twice is harmless; two versions at once are not. */
static int loaded_before(sqlite3 *db, bool *ret_loaded, bool *ret_same)
{
    sqlite3_stmt *stmt = NULL;

    *ret_loaded = sqlite3_prepare_v2(db, "SELECT posthorn_version()", -1, &stmt, NULL) == SQLITE_OK;
    *ret_same = *ret_loaded && sqlite3_step(stmt) == SQLITE_ROW &&
                strcmp((const char *)sqlite3_column_text(stmt, 0), PH_VERSION) == 0;
    return sqlite3_finalize(stmt);
}

/* By its name alone a table function counts as a table of the main database, and a statement that
 * reads it holds a snapshot of that from its start on. With that a call could not wait for its turn
 * to write. As tables of the private temp database they are found first, and leave main alone.
 * Where that is not allowed they still work, but are told that the database is busy. */
static void put_into_temp(sqlite3 *db)
{
    int rc = SQLITE_OK;

    for (size_t i = 0; i < sizeof(all_rows) / sizeof(*all_rows); i++) {
        for (size_t j = 0; rc == SQLITE_OK && all_rows[i][j].run; j++) {
            const char *name = all_rows[i][j].signature.name;
            char *sql =
                sqlite3_mprintf("CREATE VIRTUAL TABLE IF NOT EXISTS temp.%s USING %s", name, name);

            rc = sql ? sqlite3_exec(db, sql, NULL, NULL, NULL) : SQLITE_NOMEM;
            sqlite3_free(sql);
        }
    }
}

static int start(sqlite3 *db, char **ret_error)
{
    struct ph__ext *ext = ph__alloc_zero(1, sizeof(*ext));
    ph_error err;
    int rc;

    if (!ext)
        return SQLITE_NOMEM;
    ext->db = db;
    ext->holders = 1; /* us, until all is registered */
    rc = store_open(NULL, &ext->store, &err) < 0 ? refuse(ret_error, sqlite3_api, err.message)
                                                 : add_all(ext);
    let_go(ext);
    if (rc == SQLITE_OK)
        put_into_temp(db);
    return rc;
}

/* SQLite finds it by the name of the file, posthorn.so. */
PH_API int sqlite3_posthorn_init(sqlite3 *db, char **ret_error, const sqlite3_api_routines *api);
int sqlite3_posthorn_init(sqlite3 *db, char **ret_error, const sqlite3_api_routines *api)
{
    bool loaded, same;

    if (api->libversion_number() < OLDEST_SQLITE)
        return refuse(ret_error, api,
                      "this program has an SQLite older than 3.40.0, which is needed");
    if (sqlite3_api && sqlite3_api != api)
        return refuse(ret_error, api,
                      "another copy of SQLite in this process has loaded the extension; use one "
                      "copy");
    sqlite3_api = api;
    loaded_before(db, &loaded, &same);
    if (loaded)
        return same ? SQLITE_OK
                    : refuse(ret_error, api, "another version of the extension is loaded already");
    return start(db, ret_error);
}
