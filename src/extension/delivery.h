/* delivery.h - a claimed message as a row. */
#ifndef PH_EXTENSION_DELIVERY_H
#define PH_EXTENSION_DELIVERY_H

#include "extension/verbs.h"

/* As in CREATE TABLE, and how many they are. source is that of inbox messages, whose message_id is
 * the one that they have there. */
#define PH__DELIVERY_COLUMNS                                                                       \
    "work_id TEXT, message_id TEXT, fence INTEGER, topic TEXT, payload TEXT, tenant_id TEXT, "     \
    "dedupe_key TEXT, correlation_id TEXT, stream TEXT, headers TEXT, attempts INTEGER, "          \
    "retry_count INTEGER, created_at TEXT, due_at TEXT, last_error TEXT"
#define PH__DELIVERY_COLUMN_COUNT 15
#define PH__INBOX_COLUMNS PH__DELIVERY_COLUMNS ", source TEXT"
#define PH__INBOX_COLUMN_COUNT (PH__DELIVERY_COLUMN_COUNT + 1)

void ph__delivery_column(const ph_delivery *message, int column, sqlite3_context *result);

#endif
