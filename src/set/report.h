/* report.h - the findings of a refresh, for every caller that asked for one, in whichever thread it
 * ran. */
#ifndef PH_SET_REPORT_H
#define PH_SET_REPORT_H

#include "set/complaints.h"

#include <posthorn/set.h>

/* Never changes once it is handed out; lives until its last holder lets go. */
struct ph_set_report {
    _Atomic unsigned refs;
    struct ph__arena arena;
    ph_set_change *items; /* from the arena */
    size_t count, room;
    bool failed; /* memory ran out: it is not whole */
};

/* One reference; NULL when memory is out. The functions below take that, too. */
ph_set_report *ph__report_new(void);
void ph__report_ref(ph_set_report *report);

void ph__report_place(ph_set_report *report, ph_set_change_kind kind, const char *id);
/* source NULL: all together. */
void ph__report_complaints(ph_set_report *report, const struct ph__complaints *complaints,
                           const char *source);
void ph__report_failure(ph_set_report *report, const char *source, const ph_error *err);

#endif
