/* message.h - what makes a message acceptable. */
#ifndef PH_CORE_MESSAGE_H
#define PH_CORE_MESSAGE_H

#include "store/store.h"

/* Checks and normalises one message. index >= 0 is named in the error. */
int ph__message_load(struct ph__message *to, const ph_message *from, long index, ph_error *err);

/* The same for the inbox. own_transaction: the call is not part of one of the caller's. */
int ph__inbox_load(struct ph__message *to, const ph_inbox_message *from, bool own_transaction,
                   long index, ph_error *err);

/* A JSON object: headers, or what describes an instance. NULL is fine. */
int ph__object_check(const char *object, const char *what, bool are_many, ph_error *err);

/* A topic, namespace or key: valid UTF-8, at most PH_NAME_MAX code points. */
int ph__name_check(const char *name, const char *what, bool may_be_empty, ph_error *err);

#endif
