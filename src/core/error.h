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

/* Adds a cure, and its text, to an error that was just made, whose message names only the cause.
 * Returns code. A cause that leaves no room for it is cut. */
int ph__cure(ph_error *err, int code, ph_cure cure);
/* The same for a message that says by itself what to do. */
int ph__cure_in_message(ph_error *err, int code, ph_cure cure);
/* Takes the cure away, with its text: here it would not help. */
void ph__uncure(ph_error *err);
/* Puts something before the message ("line 3: ") and leaves all else of the error as it is. Returns
 * code. */
int ph__prefix(ph_error *err, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Puts "message 3: " before it: the error is about that one, from 0, of several. Returns code. */
int ph__item(ph_error *err, int code, size_t index);

#endif
