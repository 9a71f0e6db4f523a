/* verbs.h - the verbs of the seam, as SQLite has them; described in store/verbs.def. */
#ifndef PH_STORE_SQLITE_VERBS_H
#define PH_STORE_SQLITE_VERBS_H

#include "store/store.h"

#define PH__VERB(type, name, arguments) type ph__sqlite_##name arguments;
#include "store/verbs.def"

int ph__sqlite_outlook(struct ph__call *call, const char *ns, unsigned doors, int64_t *ret_in_us,
                       bool *ret_due);
/* Retention by any worker that knows only the one exchange: a small bite, once a minute, or after a
 * second if there was more. */
int ph__sqlite_retention_in_turn(struct ph__call *call);

#endif
