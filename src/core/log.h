/* log.h - one line to the store's log callback. */
#ifndef PH_CORE_LOG_H
#define PH_CORE_LOG_H

#include "store/store.h"

/* True if a line of this level would be seen: check before making fields. */
bool ph__log_wants(const ph_store *store, ph_log_level level);

/* fields: at most PH__LOG_FIELDS; those with a NULL value are left out. The
 * text is "event: what key=value …". */
#define PH__LOG_FIELDS 8
void ph__log(const ph_store *store, ph_log_level level, const char *event, const char *what,
             const ph_log_field *fields, size_t count);

#endif
