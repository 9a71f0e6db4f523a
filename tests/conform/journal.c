#include "journal.h"

struct journal journal;

void write_down(void *context, const ph_log_event *event)
{
    struct journal *to = context;
    struct line *line = &to->lines[to->count];

    CHECK(to->count < LINES_MAX);
    to->count++;
    line->level = event->level;
    snprintf(line->event, sizeof(line->event), "%s", event->event);
    snprintf(line->store, sizeof(line->store), "%s", event->store);
    snprintf(line->text, sizeof(line->text), "%s", event->text);
    CHECK(event->field_count <= 12);
    line->field_count = event->field_count;
    for (size_t i = 0; i < event->field_count; i++) {
        snprintf(line->keys[i], sizeof(line->keys[i]), "%s", event->fields[i].key);
        snprintf(line->values[i], sizeof(line->values[i]), "%s", event->fields[i].value);
    }
}

ph_store *open_logging(ph_log_level level)
{
    ph_store_opts opts = PH_STORE_OPTS_INIT;

    opts.log = write_down;
    opts.log_context = &journal;
    opts.log_level = level;
    opts.store_id = "orders";
    return t_open(&opts);
}

const struct line *newest_with(const char *event, const char *text)
{
    for (size_t i = journal.count; i > 0; i--) {
        const struct line *line = &journal.lines[i - 1];

        if (strcmp(line->event, event) == 0 && strstr(line->text, text))
            return line;
    }
    return NULL;
}

const struct line *newest(const char *event)
{
    return newest_with(event, "");
}

const char *field(const struct line *line, const char *key)
{
    for (size_t i = 0; i < line->field_count; i++) {
        if (strcmp(line->keys[i], key) == 0)
            return line->values[i];
    }
    return NULL;
}
