/* foreign_code.c - triggers on our tables that are not ours, and views in their place.
 *
 * A file brings its triggers along, and they would run in the midst of our statements: for ever, or
 * with effects that nobody expects. On the caller's connections they are the caller's affair. */
#include "store/sqlite/foreign_code.h"

#include "core/error.h"

#define NAME_SHOWN 60

/* A name that somebody else has chosen, fit for one line. */
static void show(const struct ph__query *query, int column, char text[NAME_SHOWN])
{
    const unsigned char *name = sqlite3_column_text(query->stmt, column);
    size_t i = 0;

    for (; name && name[i] && i < NAME_SHOWN - 1; i++)
        text[i] = name[i] >= ' ' && name[i] < 0x7f && name[i] != '"' ? (char)name[i] : '?';
    text[i] = '\0';
}

int ph__sqlite_check_code(struct ph__sqlite_tx *tx, int schema_changes)
{
    char type[NAME_SHOWN], name[NAME_SHOWN], table[NAME_SHOWN];
    struct ph__query query;
    int r;

    if (tx->own->code_checked && tx->own->schema_changes == schema_changes)
        return 0;
    query = ph__query(tx, PH__SQL_foreign_code);
    r = ph__query_row(&query);
    if (r > 0) {
        show(&query, 0, type);
        show(&query, 1, name);
        show(&query, 2, table);
        ph__query_end(&query);
        return ph__fail(tx->call->err, PH_ESTATE,
                        "the %s \"%s\" on %s is not Posthorn's, and would run inside its "
                        "statements; drop it, or put it on a table of your own",
                        type, name, table);
    }
    tx->own->code_checked = r == 0;
    tx->own->schema_changes = schema_changes;
    return r;
}

int ph__sqlite_examine_code(struct ph__call *call, struct ph__examination *examination)
{
    char type[NAME_SHOWN], name[NAME_SHOWN], table[NAME_SHOWN];
    struct ph__sqlite_tx tx;
    struct ph__query query;
    int r, count = 0;

    ph__sqlite_prepare_tx(&tx, call, false);
    query = ph__query(&tx, PH__SQL_foreign_code);
    while ((r = ph__query_row(&query)) > 0) {
        show(&query, 0, type);
        show(&query, 1, name);
        show(&query, 2, table);
        ph__finding(examination, "triggers", PH_FINDING_ERROR,
                    "drop it, or put it on a table of your own",
                    "the %s \"%s\" on %s is not Posthorn's: nothing can be stored until it is gone",
                    type, name, table);
        count++;
    }
    if (r == 0 && count == 0)
        ph__finding(examination, "triggers", PH_FINDING_OK, NULL,
                    "no foreign triggers on Posthorn's tables");
    return r;
}
