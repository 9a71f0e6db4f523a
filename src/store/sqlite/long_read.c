#include "store/sqlite/long_read.h"

#include "core/error.h"

#define STEPS 20000 /* of SQLite's machine between two looks at the clock: about a millisecond */

static int on_progress(void *context)
{
    struct ph__long_read *read = context;

    if (read->tick)
        read->tick(read->tick_context);
    return ph__deadline_left_ms(read->tx.call->deadline) == 0;
}

int ph__long_read_begin(struct ph__long_read *read, struct ph__call *call)
{
    int r = ph__sqlite_begin_read(&read->tx, call);

    if (r == 0 && read->tx.own)
        sqlite3_progress_handler(read->tx.db, STEPS, on_progress, read);
    return r;
}

int ph__long_read_end(struct ph__long_read *read, int r)
{
    ph_error *err = read->tx.call->err;

    if (read->tx.own)
        sqlite3_progress_handler(read->tx.db, 0, NULL, NULL);
    if (r < 0 && read->tx.own && (err->native & 0xff) == SQLITE_INTERRUPT)
        r = ph__fail_flags(err,
                           ph__fail(err, PH_ETIMEOUT,
                                    "there is more to read than the time limit allowed; give the "
                                    "call more time"),
                           PH_RETRY);
    return ph__sqlite_end(&read->tx, r);
}
