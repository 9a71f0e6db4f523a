#include "store/sqlite/long_read.h"

#include "core/error.h"

int ph__long_read_begin(struct ph__long_read *read, struct ph__call *call)
{
    int r = ph__sqlite_begin_read(&read->tx, call);

    if (r == 0 && read->tx.own) {
        read->tx.own->tick = read->tick;
        read->tx.own->tick_context = read->tick_context;
    }
    return r;
}

int ph__long_read_end(struct ph__long_read *read, int r)
{
    ph_error *err = read->tx.call->err;

    if (read->tx.own)
        read->tx.own->tick = NULL;
    if (r < 0 && read->tx.own && (err->native & 0xff) == SQLITE_INTERRUPT)
        r = ph__fail_flags(err,
                           ph__fail(err, PH_ETIMEOUT,
                                    "there is more to read than the time limit allowed; give the "
                                    "call more time"),
                           PH_RETRY);
    return ph__sqlite_end(&read->tx, r);
}
