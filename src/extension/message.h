/* message.h - a message, and the settings of a queue, from JSON. */
#ifndef PH_EXTENSION_MESSAGE_H
#define PH_EXTENSION_MESSAGE_H

#include "extension/call.h"

/* JSON is parsed with this: numbers may then be larger than 64 bits, which headers can hold. */
#define PH__EXT_JSON_FLAGS JSON_DECODE_INT_AS_REAL

/* Sets what the object names. Its keys are the arguments of enqueue; text is the same object as it
 * was given. topic and payload are keys only if all is set. What the message points to lives as
 * long as the call. */
int ph__ext_message_load(struct ph__ext_call *call, const json_t *object, const char *text,
                         bool all, ph_message *message);

/* Sets what the object names. */
int ph__ext_settings_load(struct ph__ext_call *call, const json_t *object,
                          ph_queue_settings *settings);

/* A whole number from least to most. */
int ph__ext_whole(struct ph__ext_call *call, const char *name, const json_t *value, int64_t least,
                  int64_t most, int64_t *ret_number);

#endif
