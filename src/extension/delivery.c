#include "extension/delivery.h"

static const char *text_of(const ph_delivery *m, enum ph__delivery_column column)
{
    switch (column) {
    case PH__TOPIC:
        return m->topic;
    case PH__DEDUPE_KEY:
        return m->source_id ? m->source_id : m->dedupe_key;
    case PH__CORRELATION_ID:
        return m->correlation_id;
    case PH__HEADERS:
        return m->headers;
    case PH__LAST_ERROR:
        return m->last_error;
    case PH__STREAM:
        return m->stream;
    case PH__SOURCE:
        return m->source;
    default:
        return NULL;
    }
}

void ph__delivery_column(const ph_delivery *m, enum ph__delivery_column column,
                         sqlite3_context *result)
{
    switch (column) {
    case PH__WORK_ID:
        ph__result_id(result, m->work_id.b);
        break;
    case PH__MESSAGE_ID:
        if (m->source_id)
            ph__result_text(result, m->source_id);
        else
            ph__result_id(result, m->message_id.b);
        break;
    case PH__TENANT_ID:
        if (m->tenant_id)
            ph__result_id(result, m->tenant_id->b);
        break;
    case PH__PAYLOAD:
        sqlite3_result_text64(result, m->payload, m->payload_length, SQLITE_TRANSIENT, SQLITE_UTF8);
        break;
    case PH__SEQ:
        sqlite3_result_int64(result, m->seq);
        break;
    case PH__FENCE:
        sqlite3_result_int64(result, m->fence);
        break;
    case PH__ATTEMPTS:
        sqlite3_result_int(result, m->attempts);
        break;
    case PH__RETRY_COUNT:
        sqlite3_result_int(result, m->retry_count);
        break;
    case PH__CREATED_AT:
        ph__result_time(result, m->created_at);
        break;
    case PH__DUE_AT:
        ph__result_time(result, m->due_at);
        break;
    default:
        ph__result_text(result, text_of(m, column));
    }
}
