/* message.h - a message, and the settings of a queue, from JSON. */
#ifndef PH_EXTENSION_MESSAGE_H
#define PH_EXTENSION_MESSAGE_H

#include "extension/call.h"

/* JSON is parsed with this: numbers may then be larger than 64 bits, which headers can hold. */
#define PH__EXT_JSON_FLAGS JSON_DECODE_INT_AS_REAL

/* Sets the members that the object names. Its keys are the arguments of the verb; text is the same
 * object as it was given. Those that the verb has by place (topic and payload, say) are keys only
 * if all is set. The memory that the message points to lives as long as the call. */
int ph__ext_message_load(struct ph__ext_call *call, const json_t *object, const char *text,
                         bool all, ph_message *message);
int ph__ext_inbox_message_load(struct ph__ext_call *call, const json_t *object, const char *text,
                               bool all, ph_inbox_message *message);
/* The argument at index, a JSON array of such objects; none, or empty: NULL and 0. */
int ph__ext_messages_load(struct ph__ext_call *call, int index, const ph_message **ret_messages,
                          size_t *ret_count);
int ph__ext_inbox_messages_load(struct ph__ext_call *call, int index,
                                const ph_inbox_message **ret_messages, size_t *ret_count);

/* Sets the members that the object names. */
int ph__ext_settings_load(struct ph__ext_call *call, const json_t *object,
                          ph_queue_settings *settings);

/* A whole number from least to most. */
int ph__ext_whole(struct ph__ext_call *call, const char *name, const json_t *value, int64_t least,
                  int64_t most, int64_t *ret_number);

#endif
