/* stream_read.c - the messages of a stream in order, whatever state they are in. */
#include "store/sqlite/consumer.h"
#include "store/sqlite/long_read.h"
#include "store/sqlite/rows.h"
#include "store/sqlite/state_row.h"
#include "store/sqlite/verbs.h"

static int load_message(const struct ph__query *query, const struct ph__rows *rows, void *item)
{
    struct ph__state_wanted *wanted = rows->context;
    int r = ph__state_load(wanted, ph__column_int(query, 0), item);

    /* the view and the table are of one snapshot: it is there */
    return r < 0 ? r : ph__state_overflows(wanted, item, rows->count);
}

static int load_list(struct ph__state_wanted *wanted, int64_t stream, int64_t after, int limit,
                     ph_messages *list)
{
    struct ph__query query = ph__query(wanted->tx, PH__SQL_stream_after);

    ph__query_int(&query, stream);
    ph__query_int(&query, after);
    ph__query_int(&query, limit);
    return PH__ROWS_LOAD(&query, list, load_message, wanted);
}

int ph__sqlite_stream_read(struct ph__call *call, const struct ph__stream *stream, int64_t after,
                           int limit, ph_messages *ret_list)
{
    struct ph__long_read read = { 0 };
    struct ph__state_wanted wanted = {
        .tx = &read.tx, .arena = &ret_list->arena, .door = stream->door, .with_payload = true
    };
    int64_t id, last_seq;
    int r = ph__long_read_begin(&read, call);

    if (r < 0)
        return r;
    r = ph__stream_by_name(&read.tx, stream, &id, &last_seq);
    if (r > 0)
        r = load_list(&wanted, id, after, limit, ret_list);
    return ph__long_read_end(&read, r);
}
