/* foreign_code.c - finds code that a file would run inside our statements, and that is not ours.
 *
 * Triggers and expressions (in constraints, columns, indexes and views) come with the file. They
 * could run for ever, since no time limit is checked inside a single function, or have unexpected
 * effects. On the caller's connections they are the caller's affair. */
#include "store/sqlite/foreign_code.h"

#include "core/error.h"
#include "store/sqlite/definition.h"
#include "store/sqlite/sql_text.h"

#include <string.h>

#define NAME_SHOWN 60

/* Why something is foreign, and the cure. */
struct verdict {
    const char *why, *advice;
};

static const struct verdict a_trigger = { "is not Posthorn's, and would run inside its statements",
                                          "drop it, or put it on a table of your own" };
static const struct verdict an_index = { "is not Posthorn's, and has an expression or a condition, "
                                         "or is unique",
                                         "drop it; an index of yours may only have plain columns" };
static const struct verdict changed = { "is not as Posthorn made it, and what it runs is not known",
                                        "restore a backup, or make it again as the migrations do" };

struct object {
    const char *type, *name, *table, *sql; /* NULL: memory ran out */
};

static const char *text_of(const struct ph__query *query, int column)
{
    return (const char *)sqlite3_column_text(query->stmt, column);
}

static const struct ph__embedded *ours(const ph_store *store, const char *name)
{
    size_t length = strlen(store->prefix);
    const struct ph__embedded *entry = ph__sqlite_schema_texts;

    if (sqlite3_strnicmp(name, store->prefix, (int)length) != 0)
        return NULL;
    while (entry->name && sqlite3_stricmp(entry->name, name + length) != 0)
        entry++;
    return entry->name ? entry : NULL;
}

static bool is_view(const struct ph__embedded *entry)
{
    return strncmp(entry->text, "CREATE VIEW", strlen("CREATE VIEW")) == 0;
}

static int compare_one(struct ph__sqlite_tx *tx, const struct ph__embedded *entry, const char *sql,
                       bool *ret_same)
{
    struct ph__buffer expected = { 0 };
    int r = 0;

    ph__sqlite_expand(&expected, entry->text, tx->call->store->prefix);
    if (expected.failed)
        r = ph__fail_memory(tx->call->err);
    else
        *ret_same = ph__sqlite_same_definition(expected.data, sql);
    ph__buffer_free(&expected);
    return r;
}

/* With the definition, and with those of the same name that follow it: older files have those. */
static int compare(struct ph__sqlite_tx *tx, const struct ph__embedded *entry, const char *sql,
                   bool *ret_same)
{
    const char *name = entry->name;
    int r;

    do
        r = compare_one(tx, entry++, sql, ret_same);
    while (r == 0 && !*ret_same && entry->name && strcmp(entry->name, name) == 0);
    return r;
}

static int look_at_index(struct ph__sqlite_tx *tx, const struct object *object, bool *ret_plain)
{
    struct ph__query query = ph__query(tx, PH__SQL_index_is_plain);
    int64_t plain = 0;
    int r;

    ph__query_text(&query, object->name);
    ph__query_text(&query, object->table);
    r = ph__query_one(&query, &plain, 0);
    *ret_plain = plain != 0;
    return r;
}

/* *ret_verdict is NULL if nothing is wrong with the object, or it is the other kind's turn. */
static int judge(struct ph__sqlite_tx *tx, const struct object *object, bool views,
                 const struct verdict **ret_verdict)
{
    const ph_store *store = tx->call->store;
    const struct ph__embedded *entry = ours(store, object->name);
    const struct ph__embedded *table = ours(store, object->table);
    bool fine = true;
    int r = 0;

    *ret_verdict = NULL;
    if (entry) {
        /* A trigger or an index with the name of a view runs also before there are views. */
        if ((is_view(entry) && strcmp(object->type, "view") == 0) == views)
            r = compare(tx, entry, object->sql, &fine);
        *ret_verdict = fine ? NULL : &changed;
    } else if (!views && table && !is_view(table)) {
        if (strcmp(object->type, "trigger") == 0)
            *ret_verdict = &a_trigger;
        else
            r = look_at_index(tx, object, &fine);
        if (!fine)
            *ret_verdict = &an_index;
    }
    return r;
}

/* Goes on to the next object that is foreign: 1, and the query stands there; 0 if there is none. */
static int next_foreign(struct ph__query *query, bool views, const struct verdict **ret_verdict)
{
    int r;

    while ((r = ph__query_row(query)) > 0) {
        struct object object = { text_of(query, 0), text_of(query, 1), text_of(query, 2),
                                 text_of(query, 3) };

        if (object.type && object.name && object.table && object.sql)
            r = judge(query->tx, &object, views, ret_verdict);
        else
            r = ph__fail_memory(query->tx->call->err);
        if (r < 0)
            ph__query_end(query);
        if (r < 0 || *ret_verdict)
            return r < 0 ? r : 1;
    }
    return r;
}

/* A foreign name, made fit for one line. */
static void show(const struct ph__query *query, int column, char text[NAME_SHOWN])
{
    const char *name = text_of(query, column);
    size_t i = 0;

    for (; name && name[i] && i < NAME_SHOWN - 1; i++)
        text[i] = name[i] >= ' ' && name[i] < 0x7f && name[i] != '"' ? name[i] : '?';
    text[i] = '\0';
}

static void show_object(const struct ph__query *query, char text[3 * NAME_SHOWN])
{
    char type[NAME_SHOWN], name[NAME_SHOWN], table[NAME_SHOWN];

    show(query, 0, type);
    show(query, 1, name);
    show(query, 2, table);
    if (sqlite3_stricmp(name, table) == 0)
        sqlite3_snprintf(3 * NAME_SHOWN, text, "%s \"%s\"", type, name);
    else
        sqlite3_snprintf(3 * NAME_SHOWN, text, "%s \"%s\" on %s", type, name, table);
}

static int check(struct ph__sqlite_tx *tx, bool views)
{
    struct ph__query query = ph__query(tx, PH__SQL_schema_objects);
    const struct verdict *verdict;
    char object[3 * NAME_SHOWN];
    int r = next_foreign(&query, views, &verdict);

    if (r <= 0)
        return r;
    show_object(&query, object);
    ph__query_end(&query);
    ph__fail(tx->call->err, PH_ESTATE, "the %s %s; %s", object, verdict->why, verdict->advice);
    return ph__cure_in_message(tx->call->err, PH_ESTATE, PH_CURE_FOREIGN);
}

int ph__sqlite_check_tables(struct ph__sqlite_tx *tx)
{
    struct ph__query query = ph__query(tx, PH__SQL_schema_version);
    int64_t version = 0;
    int r = ph__query_one(&query, &version, 0);

    if (r < 0 || (tx->own->code_checked && tx->own->schema_version == version))
        return r;
    tx->own->code_checked = false;
    tx->own->schema_version = version;
    return check(tx, false);
}

int ph__sqlite_check_views(struct ph__sqlite_tx *tx)
{
    int r = tx->own->code_checked ? 0 : check(tx, true);

    tx->own->code_checked = r == 0;
    return r;
}

/* One finding for each; the kinds as in check(). */
static int name_all(struct ph__sqlite_tx *tx, bool views, struct ph__examination *examination,
                    bool *ret_foreign)
{
    struct ph__query query = ph__query(tx, PH__SQL_schema_objects);
    const struct verdict *verdict;
    char object[3 * NAME_SHOWN];
    int r;

    while ((r = next_foreign(&query, views, &verdict)) > 0) {
        show_object(&query, object);
        ph__finding(examination, "foreign", PH_FINDING_ERROR, PH__ADVISE(FOREIGN, verdict->advice),
                    "the %s %s: nothing is read or stored until that is fixed", object,
                    verdict->why);
        *ret_foreign = true;
    }
    return r;
}

/* Those of other versions are different. */
static int has_our_views(struct ph__sqlite_tx *tx, bool *ret_has)
{
    struct ph__query query = ph__query(tx, PH__SQL_store_get);
    int r = ph__query_row(&query);

    *ret_has = r > 0 && ph__column_int(&query, 1) == PH__SCHEMA_VERSION;
    if (r > 0)
        ph__query_end(&query);
    return r == PH_ENOSCHEMA ? ph__ok(tx->call->err) : r < 0 ? r : 0;
}

int ph__sqlite_examine_code(struct ph__call *call, struct ph__examination *examination,
                            bool *ret_foreign)
{
    struct ph__sqlite_tx tx;
    bool views = false;
    int r;

    *ret_foreign = false;
    ph__sqlite_prepare_tx(&tx, call, false);
    r = name_all(&tx, false, examination, ret_foreign);
    if (r == 0 && !*ret_foreign)
        r = has_our_views(&tx, &views);
    if (r == 0 && views)
        r = name_all(&tx, true, examination, ret_foreign);
    if (r == 0 && !*ret_foreign)
        ph__finding(examination, "foreign", PH_FINDING_OK, PH__FINE,
                    "nothing foreign runs in Posthorn's tables");
    return r;
}
