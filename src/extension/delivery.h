/* delivery.h - a claimed message as a row. */
#ifndef PH_EXTENSION_DELIVERY_H
#define PH_EXTENSION_DELIVERY_H

#include "extension/verbs.h"

/* As in CREATE TABLE, and how many they are. source is that of inbox messages, whose message_id is
 * their id there. */
#define PH__DELIVERY_COLUMNS                                                                       \
    "work_id TEXT, message_id TEXT, fence INTEGER, topic TEXT, payload TEXT, tenant_id TEXT, "     \
    "dedupe_key TEXT, correlation_id TEXT, stream TEXT, headers TEXT, attempts INTEGER, "          \
    "retry_count INTEGER, created_at TEXT, due_at TEXT, last_error TEXT"
#define PH__DELIVERY_COLUMN_COUNT 15
#define PH__INBOX_COLUMNS PH__DELIVERY_COLUMNS ", source TEXT"
#define PH__INBOX_COLUMN_COUNT (PH__DELIVERY_COLUMN_COUNT + 1)

/* In this order, and those that only streams show. */
/* clang-format off */
enum ph__delivery_column { PH__WORK_ID, PH__MESSAGE_ID, PH__FENCE, PH__TOPIC, PH__PAYLOAD,
                           PH__TENANT_ID, PH__DEDUPE_KEY, PH__CORRELATION_ID, PH__STREAM,
                           PH__HEADERS, PH__ATTEMPTS, PH__RETRY_COUNT, PH__CREATED_AT, PH__DUE_AT,
                           PH__LAST_ERROR, PH__SOURCE, PH__SEQ };
/* clang-format on */

void ph__delivery_column(const ph_delivery *message, enum ph__delivery_column column,
                         sqlite3_context *result);

#endif
