#include "core/log.h"

#include "util/text.h"

bool ph__log_wants(const ph_store *store, ph_log_level level)
{
    return store->opts.log && level <= store->opts.log_level;
}

void ph__log(const ph_store *store, ph_log_level level, const char *event, const char *what,
             const ph_log_field *fields, size_t count)
{
    ph_log_field kept[PH__LOG_FIELDS];
    struct ph__buffer text = { 0 };
    ph_log_event line = { level, event, store->id, kept, 0, NULL };

    if (!ph__log_wants(store, level))
        return;
    ph__buffer_printf(&text, "%s: %s store=", event, what);
    ph__text_escape(&text, store->id);
    for (size_t i = 0; i < count && line.field_count < PH__LOG_FIELDS; i++) {
        if (!fields[i].value)
            continue;
        kept[line.field_count++] = fields[i];
        ph__buffer_printf(&text, " %s=", fields[i].key);
        ph__text_escape(&text, fields[i].value);
    }
    line.text = text.failed ? event : text.data;
    store->opts.log(store->opts.log_context, &line);
    ph__buffer_free(&text);
}
