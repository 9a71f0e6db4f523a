#include "core/log.h"

#include "util/text.h"

struct ph__log_source ph__log_source_of(const char *id, const ph_store_opts *opts)
{
    return (struct ph__log_source){ id, opts->log, opts->log_context, opts->log_level };
}

bool ph__log_source_wants(const struct ph__log_source *source, ph_log_level level)
{
    return source->log && level <= source->level;
}

bool ph__log_wants(const ph_store *store, ph_log_level level)
{
    return store->opts.log && level <= store->opts.log_level;
}

void ph__log(const ph_store *store, ph_log_level level, const char *event, const char *what,
             const ph_log_field *fields, size_t count)
{
    struct ph__log_source source = ph__log_source_of(store->id, &store->opts);

    ph__log_from(&source, level, event, what, fields, count);
}

void ph__log_from(const struct ph__log_source *source, ph_log_level level, const char *event,
                  const char *what, const ph_log_field *fields, size_t count)
{
    ph_log_field kept[PH__LOG_FIELDS];
    struct ph__buffer text = { 0 };
    ph_log_event line = { level, event, source->id, kept, 0, NULL };

    if (!ph__log_source_wants(source, level))
        return;
    ph__buffer_printf(&text, "%s: %s store=", event, what);
    ph__text_escape(&text, source->id);
    for (size_t i = 0; i < count && line.field_count < PH__LOG_FIELDS; i++) {
        if (!fields[i].value)
            continue;
        kept[line.field_count++] = fields[i];
        ph__buffer_printf(&text, " %s=", fields[i].key);
        ph__text_escape(&text, fields[i].value);
    }
    line.text = text.failed ? event : text.data;
    source->log(source->context, &line);
    ph__buffer_free(&text);
}
