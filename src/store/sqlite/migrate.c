#include "store/sqlite/migrate.h"

#include "core/error.h"
#include "store/sqlite/foreign_code.h"
#include "store/sqlite/sql_text.h"
#include "store/sqlite/transaction.h"
#include "store/sqlite/verbs.h"

#include <stdlib.h>

int ph__sqlite_version_check(int version, int serves_from, ph_error *err)
{
    if (version < PH__SCHEMA_VERSION)
        return ph__cure(err,
                        ph__fail(err, PH_ETOOOLD,
                                 "the schema has version %d, and this library needs %d", version,
                                 PH__SCHEMA_VERSION),
                        PH_CURE_MIGRATE);
    if (serves_from > PH__SCHEMA_VERSION)
        return ph__cure(err,
                        ph__fail(err, PH_ETOONEW,
                                 "the schema has version %d and serves libraries from %d on, this "
                                 "one knows %d",
                                 version, serves_from, PH__SCHEMA_VERSION),
                        PH_CURE_UPGRADE);
    return 0;
}

static int query_versions(struct ph__sqlite_tx *tx, int *ret_version, int *ret_serves_from)
{
    struct ph__query query = ph__query(tx, PH__SQL_store_get);
    int r = ph__query_row(&query);

    *ret_version = *ret_serves_from = 0;
    if (r == PH_ENOSCHEMA)
        return ph__ok(tx->call->err);
    if (r > 0) {
        *ret_version = (int)ph__column_int(&query, 1);
        *ret_serves_from = (int)ph__column_int(&query, 2);
        ph__query_end(&query);
    }
    return r < 0 ? r : 0;
}

/* Both 0 if there is no schema. Tables and views are examined before they are read or migrated. */
static int read_versions(struct ph__sqlite_tx *tx, int *ret_version, int *ret_serves_from)
{
    int r = tx->own ? ph__sqlite_check_tables(tx) : 0;

    if (r == 0)
        r = query_versions(tx, ret_version, ret_serves_from);
    if (r == 0 && tx->own && *ret_version == PH__SCHEMA_VERSION)
        r = ph__sqlite_check_views(tx);
    return r;
}

/* The log lets readers and the writer work at the same time; the file remembers
 * the mode. Two connections that change it at once disturb each other, so it is
 * tried again. Where it cannot be had we work without it. */
static void use_wal(struct ph__call *call, sqlite3 *db)
{
    while (sqlite3_exec(db, "PRAGMA journal_mode = WAL", NULL, NULL, NULL) == SQLITE_BUSY &&
           ph__deadline_left_ms(call->deadline) > 0)
        ph__deadline_nap(call->deadline, 5);
}

int ph__sqlite_check_schema(struct ph__call *call)
{
    struct ph__sqlite_tx tx;
    int r = ph__sqlite_begin_read(&tx, call);

    if (r == 0)
        r = ph__sqlite_end(&tx, 0);
    if (r == 0)
        use_wal(call, tx.db);
    return r;
}

static int run(struct ph__sqlite_tx *tx, struct ph__buffer *sql)
{
    int r = 0;

    if (sql->failed)
        r = ph__fail_memory(tx->call->err);
    else if (sqlite3_exec(tx->db, sql->data, NULL, NULL, NULL) != SQLITE_OK)
        r = ph__sqlite_tx_fail(tx);
    ph__buffer_free(sql);
    return r;
}

static int apply(struct ph__sqlite_tx *tx, const struct ph__embedded *entry)
{
    struct ph__buffer sql = { 0 };

    ph__sqlite_expand(&sql, entry->text, tx->call->store->prefix);
    return run(tx, &sql);
}

/* Views are made anew as a whole, as functions are on PostgreSQL: migrations know of tables only. */
static int drop_views(struct ph__sqlite_tx *tx)
{
    int r = 0;

    for (const struct ph__embedded *v = ph__sqlite_view_texts; r == 0 && v->name; v++) {
        struct ph__buffer sql = { 0 };

        ph__buffer_printf(&sql, "DROP VIEW IF EXISTS main.\"%s%s\"", tx->call->store->prefix,
                          v->name);
        r = run(tx, &sql);
    }
    return r;
}

static int make_views(struct ph__sqlite_tx *tx)
{
    int r = 0;

    for (const struct ph__embedded *v = ph__sqlite_view_texts; r == 0 && v->name; v++)
        r = apply(tx, v);
    return r;
}

/* Under the write lock: sees what another process did meanwhile. */
static int apply_missing(struct ph__sqlite_tx *tx, int *ret_applied)
{
    int version, serves_from;
    int r = read_versions(tx, &version, &serves_from);

    if (r == 0 && version > PH__SCHEMA_VERSION) /* never back; it may still serve us */
        r = ph__sqlite_version_check(version, serves_from, tx->call->err);
    if (r < 0 || version >= PH__SCHEMA_VERSION)
        return r;
    r = drop_views(tx);
    for (const struct ph__embedded *m = ph__sqlite_migration_texts; r == 0 && m->name; m++) {
        if (atoi(m->name) <= version)
            continue;
        r = apply(tx, m);
        ++*ret_applied;
    }
    return r == 0 ? make_views(tx) : r;
}

static int migrate_under_lock(struct ph__call *call, int *ret_applied)
{
    struct ph__sqlite_tx tx;
    struct ph__query query;
    int r;

    ph__sqlite_prepare_tx(&tx, call, true);
    r = ph__query(&tx, PH__SQL_rollback).failed; /* prepared in time: see transaction.c */
    query = ph__query(&tx, PH__SQL_begin_write);
    if (r == 0)
        r = ph__query_run(&query);
    if (r == 0)
        r = apply_missing(&tx, ret_applied);
    return ph__sqlite_end(&tx, r);
}

int ph__sqlite_migrate(struct ph__call *call, int *ret_applied)
{
    int version, serves_from, applied = 0;
    struct ph__sqlite_tx tx;
    int r = ph__sqlite_create(call);

    if (r < 0)
        return r;
    ph__sqlite_prepare_tx(&tx, call, false);
    r = read_versions(&tx, &version, &serves_from);
    if (r == 0 && version == 0)
        use_wal(call, tx.db);
    if (r == 0 && version != PH__SCHEMA_VERSION)
        r = migrate_under_lock(call, &applied);
    if (r == 0)
        *ret_applied = applied;
    return r;
}

int ph__sqlite_migrate_within(struct ph__call *call, int *ret_applied)
{
    struct ph__sqlite_tx tx;
    int applied = 0;
    int r = ph__sqlite_begin_bare(&tx, call);

    if (r == 0)
        r = ph__sqlite_end(&tx, apply_missing(&tx, &applied));
    if (r == 0)
        *ret_applied = applied;
    return r;
}

int ph__sqlite_inspect(struct ph__call *call, ph_schema_status *ret_status)
{
    const struct ph__sqlite *own = call->store->own;
    int version = 0, serves_from = 0, r = 0;
    struct ph__sqlite_tx tx;

    if (own->db) {
        ph__sqlite_prepare_tx(&tx, call, false);
        r = read_versions(&tx, &version, &serves_from);
    }
    if (r < 0)
        return r;
    ret_status->installed = version;
    ret_status->serves_from = serves_from;
    ret_status->library = PH__SCHEMA_VERSION;
    ret_status->usable = ph__sqlite_version_check(version, serves_from, NULL) == 0;
    ret_status->pending = version < PH__SCHEMA_VERSION;
    return 0;
}

int ph__sqlite_migrate_sql(ph_store *store, bool roles, char **ret_sql, ph_error *err)
{
    struct ph__buffer sql = { 0 };

    if (roles) {
        ph__buffer_text(&sql,
                        "-- SQLite has no roles: users who can write the file (and its folder) can "
                        "do everything,\n-- and users who can read it can read everything.\n");
    } else {
        ph__buffer_text(&sql, "PRAGMA journal_mode = WAL;\nBEGIN IMMEDIATE;\n");
        for (const struct ph__embedded *m = ph__sqlite_migration_texts; m->name; m++) {
            ph__buffer_text(&sql, "\n");
            ph__sqlite_expand(&sql, m->text, store->prefix);
        }
        for (const struct ph__embedded *v = ph__sqlite_view_texts; v->name; v++) {
            ph__buffer_text(&sql, "\n");
            ph__sqlite_expand(&sql, v->text, store->prefix);
        }
        ph__buffer_text(&sql, "\nCOMMIT;\n");
    }
    if (sql.failed) {
        ph__buffer_free(&sql);
        return ph__fail_memory(err);
    }
    *ret_sql = sql.data;
    return 0;
}
