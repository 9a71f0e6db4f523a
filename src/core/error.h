/* error.h - filling a ph_error. */
#ifndef PH_CORE_ERROR_H
#define PH_CORE_ERROR_H

#include <posthorn/posthorn.h>

/* Clears err (may be NULL) and returns 0. */
int ph__ok(ph_error *err);
/* Fills err (may be NULL) and returns code. */
int ph__fail(ph_error *err, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
int ph__fail_memory(ph_error *err);
/* Adds flags to an error that was just made, and returns its code. */
int ph__fail_flags(ph_error *err, int code, unsigned flags);

#endif
