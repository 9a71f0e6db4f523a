/* sql_text.h - the embedded SQL, with the store's names put in. */
#ifndef PH_STORE_SQLITE_SQL_TEXT_H
#define PH_STORE_SQLITE_SQL_TEXT_H

#include "util/buffer.h"
#include "util/embedded.h"

/* The statements in sql/ (by enum ph__sqlite_statement), sql/migrations/ (in order) and sql/views/;
 * each ends with a NULL name. */
extern const struct ph__embedded ph__sqlite_statement_texts[];
extern const struct ph__embedded ph__sqlite_migration_texts[];
extern const struct ph__embedded ph__sqlite_view_texts[];
/* The definitions that these make, as SQLite keeps them: of tables, indexes, and the views that
 * statements use. */
extern const struct ph__embedded ph__sqlite_schema_texts[];

/* Appends a migration or a view to `to`. {p}name becomes the quoted "<prefix>name", {prefix} the
 * bare prefix. */
void ph__sqlite_expand(struct ph__buffer *to, const char *text, const char *prefix);

/* The same for a statement: {p}name becomes main."<prefix>name", since a temporary table of the same
 * name on a caller's connection would go before ours. (In views names are those of the view's own
 * database anyway, and definitions cannot be qualified everywhere.) */
void ph__sqlite_expand_statement(struct ph__buffer *to, const char *text, const char *prefix);

#endif
