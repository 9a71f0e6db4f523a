/* state_row.h - a message with its state, as the statement state_get gives it. */
#ifndef PH_STORE_SQLITE_STATE_ROW_H
#define PH_STORE_SQLITE_STATE_ROW_H

#include "store/sqlite/transaction.h"

struct ph__state_wanted {
    struct ph__sqlite_tx *tx;
    struct ph__arena *arena; /* holds the loaded values */
    ph_door door;
    bool with_payload; /* otherwise payload and headers stay NULL */
    size_t bytes;      /* of those loaded for a list: see ph__state_overflows() */
};

/* Loads the message with this number, without its history: 1, or 0 if there is none. */
int ph__state_load(const struct ph__state_wanted *wanted, int64_t number,
                   ph_message_info *ret_info);

/* Would a list of count messages be too many bytes with this one, too? Otherwise it is counted. */
bool ph__state_overflows(struct ph__state_wanted *wanted, const ph_message_info *info,
                         size_t count);

#endif
