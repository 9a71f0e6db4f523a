#include "set/report.h"

#include "util/alloc.h"

#include <string.h>

ph_set_report *ph__report_new(void)
{
    ph_set_report *report = ph__alloc_zero(1, sizeof(*report));

    if (report)
        report->refs = 1;
    return report;
}

void ph__report_ref(ph_set_report *report)
{
    report->refs++;
}

static const char *copy(ph_set_report *report, const char *text)
{
    const char *copied = text ? ph__arena_copy(&report->arena, text, strlen(text)) : NULL;

    report->failed |= text && !copied;
    return copied;
}

/* The texts of the change are copied. */
static void add(ph_set_report *report, const ph_set_change *change)
{
    ph_set_change *added =
        report ? PH__ARENA_ADD(&report->arena, report->items, report->count, report->room) : NULL;

    if (report)
        report->failed |= !added;
    if (!added)
        return;
    *added = *change;
    added->id = copy(report, change->id);
    added->key = copy(report, change->key);
    added->source = copy(report, change->source);
    added->reason = copy(report, change->reason);
}

void ph__report_place(ph_set_report *report, ph_set_change_kind kind, const char *id)
{
    add(report, &(ph_set_change){ .kind = kind, .id = id, .count = 1 });
}

void ph__report_complaints(ph_set_report *report, const struct ph__complaints *complaints,
                           const char *source)
{
    for (size_t i = 0; i < complaints->count; i++) {
        const struct ph__complaint *item = &complaints->items[i];

        add(report, &(ph_set_change){ .kind = PH_SET_LEFT_OUT,
                                      .id = item->id,
                                      .key = item->key,
                                      .source = source,
                                      .reason = item->reason,
                                      .count = 1 });
    }
    if (complaints->more)
        add(report, &(ph_set_change){
                        .kind = PH_SET_LEFT_OUT, .source = source, .count = complaints->more });
}

void ph__report_failure(ph_set_report *report, const char *source, const ph_error *err)
{
    add(report, &(ph_set_change){ .kind = PH_SET_FAILED,
                                  .source = source,
                                  .reason = err->message,
                                  .count = 1,
                                  .error = *err });
}

size_t ph_set_report_count(const ph_set_report *report)
{
    return report ? report->count : 0;
}

const ph_set_change *ph_set_report_at(const ph_set_report *report, size_t index)
{
    return report && index < report->count ? &report->items[index] : NULL;
}

void ph_set_report_free(ph_set_report *report)
{
    if (!report || --report->refs > 0)
        return;
    ph__arena_free(&report->arena);
    ph__dealloc(report);
}
