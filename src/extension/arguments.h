/* arguments.h - what SQL passes, as the library wants it.
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
/* A UUID that is not zero. */
int ph__arg_owner(struct ph__ext_call *call, int index, ph_owner *ret_owner);
/* JSON, of that type; kept in call->json, at most one per call. *ret_text, if not NULL: as given. */
int ph__arg_json(struct ph__ext_call *call, int index, json_type type, size_t flags,
                 const char **ret_text);
/* A JSON array of texts that are not empty, in the call's arena; none: NULL and 0. */
int ph__arg_texts(struct ph__ext_call *call, int index, const char *const **ret_texts,
                  size_t *ret_count);
/* One work id, or a JSON array of them, in the call's arena. */
int ph__arg_ids(struct ph__ext_call *call, int index, ph_work_id **ret_ids, size_t *ret_count);
/* The same with a fence each, or none: one number, or a JSON array of numbers. */
int ph__arg_leases(struct ph__ext_call *call, int ids_index, int fences_index,
                   ph_lease_ref **ret_leases, size_t *ret_count);
/* The word for a queue's door. */
int ph__arg_door(struct ph__ext_call *call, int index);

#endif
