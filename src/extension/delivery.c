#include "extension/delivery.h"

/* clang-format off */
enum column { WORK_ID, MESSAGE_ID, FENCE, TOPIC, PAYLOAD, TENANT_ID, DEDUPE_KEY,
                    CORRELATION_ID, STREAM, HEADERS, ATTEMPTS, RETRY_COUNT, CREATED_AT, DUE_AT,
                    LAST_ERROR, SOURCE };
/* clang-format on */

static const char *text_of(const ph_delivery *m, enum column column)
{
    switch (column) {
    case TOPIC:
        return m->topic;
    case DEDUPE_KEY:
        return m->source_id ? m->source_id : m->dedupe_key;
    case CORRELATION_ID:
        return m->correlation_id;
    case HEADERS:
        return m->headers;
    case LAST_ERROR:
        return m->last_error;
    case STREAM:
        return m->stream;
    case SOURCE:
        return m->source;
    default:
        return NULL;
    }
}

void ph__delivery_column(const ph_delivery *m, int column, sqlite3_context *result)
{
    switch ((enum column)column) {
    case WORK_ID:
        ph__result_id(result, m->work_id.b);
        break;
    case MESSAGE_ID:
        if (m->source_id)
            ph__result_text(result, m->source_id);
        else
            ph__result_id(result, m->message_id.b);
        break;
    case TENANT_ID:
        if (m->tenant_id)
            ph__result_id(result, m->tenant_id->b);
        break;
    case PAYLOAD:
        sqlite3_result_text64(result, m->payload, m->payload_length, SQLITE_TRANSIENT, SQLITE_UTF8);
        break;
    case FENCE:
        sqlite3_result_int64(result, m->fence);
        break;
    case ATTEMPTS:
        sqlite3_result_int(result, m->attempts);
        break;
    case RETRY_COUNT:
        sqlite3_result_int(result, m->retry_count);
        break;
    case CREATED_AT:
        ph__result_time(result, m->created_at);
        break;
    case DUE_AT:
        ph__result_time(result, m->due_at);
        break;
    default:
        ph__result_text(result, text_of(m, (enum column)column));
    }
}
