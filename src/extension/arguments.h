/* arguments.h - the arguments that SQL passes, as the library wants them.
 *
 * index is the argument's place in the signature. An argument that is not
 * given, or NULL, is an error if it is required; otherwise the answer says
 * that there is none. All return 0 or a ph_status with the call's error. */
#ifndef PH_EXTENSION_ARGUMENTS_H
#define PH_EXTENSION_ARGUMENTS_H

#include "extension/call.h"

/* Are there as many arguments as the signature wants? */
int ph__arg_count_check(struct ph__ext_call *call, int count);

/* Text without NUL; none: NULL. */
int ph__arg_text(struct ph__ext_call *call, int index, const char **ret_text);
/* A whole number from least to most; none: *ret_number stays as it is. */
int ph__arg_number(struct ph__ext_call *call, int index, int64_t least, int64_t most,
                   int64_t *ret_number);
/* Seconds, with a fraction if need be, as milliseconds; none: *ret_ms stays as it is. */
int ph__arg_seconds(struct ph__ext_call *call, int index, int64_t *ret_ms);
/* 0 or 1, which TRUE and FALSE are to SQLite; none: *ret_flag stays as it is. */
int ph__arg_flag(struct ph__ext_call *call, int index, bool *ret_flag);
/* A time as text, or seconds since 1970; none: *ret_time stays as it is. Never 0, which means
 * "not given" to the library. */
int ph__arg_time(struct ph__ext_call *call, int index, int64_t *ret_time);
/* The same for a value that has been read: text, or, if that is NULL, seconds. */
int ph__ext_time(struct ph__ext_call *call, const char *name, const char *text, double seconds,
                 int64_t *ret_time);
/* A word, and the number that it stands for; none: *ret_number stays as it is. */
struct ph__word {
    const char *text; /* NULL: the end of the list */
    int number;
};
int ph__arg_word(struct ph__ext_call *call, int index, const struct ph__word *words,
                 int *ret_number);
/* The door of a queue. */
int ph__arg_door(struct ph__ext_call *call, int index, ph_door *ret_door);
/* A UUID that is not zero. */
int ph__arg_owner(struct ph__ext_call *call, int index, ph_owner *ret_owner);
/* A UUID. */
int ph__arg_id(struct ph__ext_call *call, int index, uint8_t ret_id[16]);
/* JSON, of that type, into call->json; none: NULL. *ret_text, if not NULL: as given. */
int ph__arg_json(struct ph__ext_call *call, int index, json_type type, size_t flags,
                 const char **ret_text);
/* A JSON array of texts that are not empty, in the call's arena; none: NULL and 0. */
int ph__arg_texts(struct ph__ext_call *call, int index, const char *const **ret_texts,
                  size_t *ret_count);
/* One id, or a JSON array of them, in the call's arena; none: NULL and 0. */
int ph__arg_ids(struct ph__ext_call *call, int index, ph_work_id **ret_ids, size_t *ret_count);
/* The same with a fence each, or none: one number, or a JSON array of numbers. */
int ph__arg_leases(struct ph__ext_call *call, int ids_index, int fences_index,
                   ph_lease_ref **ret_leases, size_t *ret_count);

#endif
