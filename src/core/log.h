/* log.h - one line to a log callback. */
#ifndef PH_CORE_LOG_H
#define PH_CORE_LOG_H

#include "store/store.h"

/* The name and the callback for log lines: of a store, or of something that outlives it or has
 * none. */
struct ph__log_source {
    const char *id; /* "store=" in the line */
    ph_log_fn log;  /* NULL: no log */
    void *context;
    ph_log_level level;
};
struct ph__log_source ph__log_source_of(const char *id, const ph_store_opts *opts);

/* True if a line of this level would be seen: check before making fields. */
bool ph__log_wants(const ph_store *store, ph_log_level level);
bool ph__log_source_wants(const struct ph__log_source *source, ph_log_level level);

/* fields: at most PH__LOG_FIELDS; those with a NULL value are left out. The
 * text is "event: what key=value …". */
#define PH__LOG_FIELDS 8
void ph__log(const ph_store *store, ph_log_level level, const char *event, const char *what,
             const ph_log_field *fields, size_t count);
void ph__log_from(const struct ph__log_source *source, ph_log_level level, const char *event,
                  const char *what, const ph_log_field *fields, size_t count);

#endif
