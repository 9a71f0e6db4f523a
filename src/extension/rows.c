/* rows.c - functions whose answer is a table.
 *
 * The arguments are hidden columns. The verb acts when SQLite asks for the
 * first row, and the answer is kept in memory: so it has happened before a row
 * is seen, and however many rows are read.
 *
 * SQLite may ask for the table again, once per row of another table with which
 * it is joined. The verb must not act again then. Asked with the same
 * arguments, most verbs give the same answer once more; with others they act,
 * since then those come from that other table. */
#include "extension/rows.h"

#include "core/error.h"
#include "extension/arguments.h"
#include "util/alloc.h"
#include "util/assert.h"
#include "util/buffer.h"

#include <string.h>

#define COST_GOOD 1
#define OMITTED_MOST 16            /* conditions and arguments that SQLite leaves to us alone */
#define COST_ARGUMENT_MISSING 1e12 /* the error comes when it runs, and says which */

struct table {
    sqlite3_vtab base; /* first */
    const struct ph__binding *binding;
};

struct cursor {
    sqlite3_vtab_cursor base;                    /* first */
    bool answered;                               /* answer is valid */
    sqlite3_value *given[PH__EXT_ARGUMENTS_MAX]; /* copies of the arguments */
    struct ph__answer answer;
    size_t row;
};

static const struct ph__rows_verb *verb_of(const sqlite3_vtab *vtab)
{
    return ((const struct table *)vtab)->binding->rows;
}

static int connect(sqlite3 *db, void *context, int argc, const char *const *argv,
                   sqlite3_vtab **ret_vtab, char **ret_error)
{
    const struct ph__binding *binding = context;
    const struct ph__rows_verb *verb = binding->rows;
    struct ph__buffer sql = { 0 };
    struct table *table;
    int rc;

    (void)argc;
    if (strcmp(argv[2], argv[0]) != 0) {
        *ret_error = sqlite3_mprintf("%s is a function, and there is by that name only", argv[0]);
        return SQLITE_ERROR;
    }
    ph__buffer_printf(&sql, "CREATE TABLE x(%s", verb->columns);
    for (int i = 0; verb->signature.arguments[i]; i++)
        ph__buffer_printf(&sql, ", %s HIDDEN", verb->signature.arguments[i]);
    ph__buffer_text(&sql, ")");
    rc = sql.failed ? SQLITE_NOMEM : sqlite3_declare_vtab(db, sql.data);
    ph__buffer_free(&sql);
    if (rc == SQLITE_OK)
        rc = sqlite3_vtab_config(db, SQLITE_VTAB_DIRECTONLY);
    if (rc != SQLITE_OK)
        return rc;
    table = ph__alloc_zero(1, sizeof(*table));
    if (!table)
        return SQLITE_NOMEM;
    table->binding = binding;
    *ret_vtab = &table->base;
    return SQLITE_OK;
}

static int disconnect(sqlite3_vtab *vtab)
{
    ph__dealloc(vtab);
    return SQLITE_OK;
}

static int refuse(sqlite3_vtab *vtab, const char *why)
{
    sqlite3_free(vtab->zErrMsg);
    vtab->zErrMsg = sqlite3_mprintf("%s: %s", verb_of(vtab)->signature.name, why);
    return vtab->zErrMsg ? SQLITE_ERROR : SQLITE_NOMEM;
}

/* The argument that a condition gives; -1: none. */
static int argument_of(const struct ph__rows_verb *verb,
                       const struct sqlite3_index_constraint *constraint)
{
    if (constraint->op != SQLITE_INDEX_CONSTRAINT_EQ)
        return -1;
    if (verb->alias && constraint->iColumn == verb->alias)
        return verb->aliased;
    return constraint->iColumn < verb->column_count ? -1 : constraint->iColumn - verb->column_count;
}

static bool is_condition(const struct sqlite3_index_constraint *constraint)
{
    return constraint->op != SQLITE_INDEX_CONSTRAINT_LIMIT &&
           constraint->op != SQLITE_INDEX_CONSTRAINT_OFFSET;
}

/* Where each argument is given, from 1. */
static int find_arguments(sqlite3_vtab *vtab, const sqlite3_index_info *plan,
                          int place[PH__EXT_ARGUMENTS_MAX])
{
    const struct ph__rows_verb *verb = verb_of(vtab);

    for (int i = 0; i < plan->nConstraint; i++) {
        const struct sqlite3_index_constraint *constraint = &plan->aConstraint[i];
        int argument = argument_of(verb, constraint);

        if (argument < 0 && verb->leases && is_condition(constraint))
            return refuse(vtab, "a condition on what it answers would filter away messages that "
                                "it has leased; read them all, then choose");
        if (argument < 0)
            continue;
        if (!constraint->usable) /* it comes from a table that this plan reads later */
            return SQLITE_CONSTRAINT;
        if (!place[argument])
            place[argument] = i + 1;
    }
    return SQLITE_OK;
}

/* SQLite compares a late condition or argument with the column, too, although it is asked not to:
 * harmless if the column is the argument's own. */
static bool is_ours(const struct ph__rows_verb *verb, const sqlite3_index_info *plan, int condition,
                    int argument)
{
    return plan->aConstraint[condition].iColumn >= verb->column_count ||
           (condition < OMITTED_MOST && argument <= OMITTED_MOST);
}

/* Takes every argument that is given. The plan's number has a bit for each. */
static int best_index(sqlite3_vtab *vtab, sqlite3_index_info *plan)
{
    const struct ph__rows_verb *verb = verb_of(vtab);
    int place[PH__EXT_ARGUMENTS_MAX] = { 0 };
    int next = 1, rc = find_arguments(vtab, plan, place);

    if (rc != SQLITE_OK)
        return rc;
    plan->estimatedCost = COST_GOOD;
    plan->estimatedRows = 10;
    for (int i = 0; verb->signature.arguments[i]; i++) {
        if (place[i]) {
            if (!is_ours(verb, plan, place[i] - 1, next))
                return refuse(vtab, "flags is given by name after sixteen other arguments; give "
                                    "fewer of them by name, or flags in its place");
            plan->aConstraintUsage[place[i] - 1].argvIndex = next++;
            plan->aConstraintUsage[place[i] - 1].omit = 1;
            plan->idxNum |= 1 << i;
        } else if (i < verb->signature.required) {
            plan->estimatedCost = COST_ARGUMENT_MISSING;
        }
    }
    return SQLITE_OK;
}

static int open_cursor(sqlite3_vtab *vtab, sqlite3_vtab_cursor **ret_cursor)
{
    struct cursor *cursor = ph__alloc_zero(1, sizeof(*cursor));

    (void)vtab;
    if (!cursor)
        return SQLITE_NOMEM;
    *ret_cursor = &cursor->base;
    return SQLITE_OK;
}

static void forget(struct cursor *cursor)
{
    for (int i = 0; i < PH__EXT_ARGUMENTS_MAX; i++) {
        sqlite3_value_free(cursor->given[i]);
        cursor->given[i] = NULL;
    }
    ph_batch_free(cursor->answer.batch);
    ph_messages_free(cursor->answer.messages);
    ph_work_batch_free(cursor->answer.work);
    ph__arena_free(&cursor->answer.arena);
    cursor->answer = (struct ph__answer){ 0 };
    cursor->answered = false;
}

static int close_cursor(sqlite3_vtab_cursor *base)
{
    forget((struct cursor *)base);
    ph__dealloc(base);
    return SQLITE_OK;
}

static bool same_value(sqlite3_value *a, sqlite3_value *b)
{
    int length;

    if (!a || !b)
        return a == b;
    if (sqlite3_value_type(a) != sqlite3_value_type(b))
        return false;
    switch (sqlite3_value_type(a)) {
    case SQLITE_NULL:
        return true;
    case SQLITE_INTEGER:
        return sqlite3_value_int64(a) == sqlite3_value_int64(b);
    case SQLITE_FLOAT:
        return sqlite3_value_double(a) == sqlite3_value_double(b);
    default:
        length = sqlite3_value_bytes(a);
        return length == sqlite3_value_bytes(b) &&
               (length == 0 || memcmp(sqlite3_value_blob(a), sqlite3_value_blob(b), length) == 0);
    }
}

static bool asked_before(const struct cursor *cursor, sqlite3_value *const *arguments)
{
    for (int i = 0; i < PH__EXT_ARGUMENTS_MAX; i++) {
        if (!same_value(cursor->given[i], arguments[i]))
            return false;
    }
    return cursor->answered;
}

static int keep_arguments(struct cursor *cursor, struct ph__ext_call *call)
{
    for (int i = 0; i < PH__EXT_ARGUMENTS_MAX; i++) {
        if (!call->arguments[i])
            continue;
        cursor->given[i] = sqlite3_value_dup(call->arguments[i]);
        if (!cursor->given[i])
            return ph__fail_memory(&call->err);
    }
    return 0;
}

static int fail_repeated(struct ph__ext_call *call)
{
    return ph__fail(&call->err, PH_EINVAL,
                    "one statement asks for the same again, for another row of the table it is "
                    "joined with; call it in a statement of its own, or use posthorn_enqueue for "
                    "each row");
}

static int filter(sqlite3_vtab_cursor *base, int given, const char *name, int argc,
                  sqlite3_value **argv)
{
    struct cursor *cursor = (struct cursor *)base;
    const struct ph__rows_verb *verb = verb_of(base->pVtab);
    struct ph__ext_call call = { .ext = ((struct table *)base->pVtab)->binding->ext,
                                 .signature = &verb->signature,
                                 .door = verb->door };
    int r, rc = SQLITE_OK;

    (void)name, (void)argc;
    PH__ASSERT(argc == __builtin_popcount((unsigned)given)); /* the plan of best_index */
    for (int i = 0; i < PH__EXT_ARGUMENTS_MAX; i++)
        call.arguments[i] = given & (1 << i) ? *argv++ : NULL;
    cursor->row = 0;
    if (asked_before(cursor, call.arguments)) {
        if (verb->repeats)
            return SQLITE_OK;
        r = fail_repeated(&call);
    } else {
        forget(cursor);
        r = keep_arguments(cursor, &call);
        if (r == 0)
            r = verb->run(&call, &cursor->answer);
    }
    r = ph__ext_end(&call, r);
    PH__ASSERT(r <= 0 && cursor->row == 0);
    cursor->answered = r == 0;
    if (r < 0) {
        cursor->answer.count = 0;
        sqlite3_free(base->pVtab->zErrMsg);
        base->pVtab->zErrMsg = ph__ext_error_text(&call);
        rc = ph__ext_error_code(&call);
    }
    return rc;
}

static int next_row(sqlite3_vtab_cursor *base)
{
    ((struct cursor *)base)->row++;
    return SQLITE_OK;
}

static int at_end(sqlite3_vtab_cursor *base)
{
    const struct cursor *cursor = (const struct cursor *)base;

    return cursor->row >= cursor->answer.count;
}

static int column(sqlite3_vtab_cursor *base, sqlite3_context *result, int index)
{
    const struct cursor *cursor = (const struct cursor *)base;
    const struct ph__rows_verb *verb = verb_of(base->pVtab);

    PH__ASSERT(cursor->row < cursor->answer.count);
    PH__ASSERT(index >= 0 && index < verb->column_count + PH__EXT_ARGUMENTS_MAX);
    if (index < verb->column_count)
        verb->column(&cursor->answer, cursor->row, index, result);
    else if (cursor->given[index - verb->column_count])
        sqlite3_result_value(result, cursor->given[index - verb->column_count]);
    return SQLITE_OK;
}

static int row_id(sqlite3_vtab_cursor *base, sqlite3_int64 *ret_id)
{
    *ret_id = (sqlite3_int64)((const struct cursor *)base)->row + 1;
    return SQLITE_OK;
}

/* With xCreate the same as xConnect the table exists by the module's name alone, too. */
const sqlite3_module ph__rows_module = {
    .xCreate = connect,
    .xConnect = connect,
    .xBestIndex = best_index,
    .xDisconnect = disconnect,
    .xDestroy = disconnect,
    .xOpen = open_cursor,
    .xClose = close_cursor,
    .xFilter = filter,
    .xNext = next_row,
    .xEof = at_end,
    .xColumn = column,
    .xRowid = row_id,
};
