/* journal.h - every line that a store has logged. */
#ifndef CONFORM_JOURNAL_H
#define CONFORM_JOURNAL_H

#include "harness.h"

#define LINES_MAX 200

struct journal {
    size_t count;
    struct line {
        ph_log_level level;
        char event[24], store[200], text[2000];
        char keys[12][24], values[12][600];
        size_t field_count;
    } lines[LINES_MAX];
};
extern struct journal journal;

/* A ph_log_fn; its context is a journal. */
void write_down(void *context, const ph_log_event *event);
/* A store, called "orders", that writes into the journal. */
ph_store *open_logging(ph_log_level level);
/* The newest line of an event, NULL: none. */
const struct line *newest(const char *event);
/* The newest line of an event that holds this text, NULL: none. */
const struct line *newest_with(const char *event, const char *text);
/* The value of a field, NULL: there is none. */
const char *field(const struct line *line, const char *key);

#endif
