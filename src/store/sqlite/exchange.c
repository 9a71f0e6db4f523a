#include "store/sqlite/exchange.h"

#include "store/sqlite/verbs.h"

/* With nothing to settle it is a claim, which takes no lock if it finds nothing. */
int ph__sqlite_exchange(struct ph__call *call, const ph_settlement *items, size_t count,
                        ph_outcome *ret_outcomes, const struct ph__claim *claim, ph_batch *batch)
{
    struct ph__sqlite_tx tx;
    int r;

    if (count == 0)
        return ph__sqlite_claim(call, claim, batch);
    r = ph__sqlite_begin_write(&tx, call);
    if (r < 0)
        return r;
    r = ph__settle_under_lock(&tx, claim->door, claim->owner, items, count, ret_outcomes, false);
    if (r == 0)
        r = ph__claim_under_lock(&tx, claim, batch);
    return ph__sqlite_end(&tx, r);
}
