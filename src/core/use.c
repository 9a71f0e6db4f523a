#include "core/use.h"

#include "core/error.h"
#include "util/assert.h"

enum {
    CALLED = 1, /* a call is under way */
    KEPT = 2,   /* it belongs to a dispatcher */
    LENT = 4    /* a handler has the connection, in its transaction */
};

static _Thread_local const void *acting_for;

void ph__use_act_for(const void *keeper)
{
    acting_for = keeper;
}

static int refuse(unsigned state, ph_error *err)
{
    if (state & LENT)
        return ph__fail(err, PH_ESTATE,
                        "this store is for the handler's transaction alone; pass ph_work_tx() with "
                        "it, or open another store");
    if (state & KEPT)
        return ph__fail(err, PH_ESTATE,
                        "the store belongs to a dispatcher until ph_dispatcher_free(); open "
                        "another one, or, in a handler with in_transaction, pass ph_work_store() "
                        "with ph_work_tx()");
    return ph__fail(err, PH_ESTATE,
                    "the store is in use by a call of another thread or by the call that runs this "
                    "callback; open a store (or make a router) for each thread, or pass "
                    "transactions of your own");
}

int ph__use_begin(ph_store *store, ph_error *err)
{
    _Atomic unsigned *use = store->use;
    unsigned state = atomic_load_explicit(use, memory_order_acquire);

    if ((state & LENT) || ((state & KEPT) && atomic_load(&store->keeper) != acting_for))
        return refuse(state, err);
    state = atomic_fetch_or_explicit(use, CALLED, memory_order_acquire);
    return state & CALLED ? refuse(state & ~KEPT, err) : 0;
}

/* While a call is under way only its own thread changes the state. */
void ph__use_end(ph_store *store)
{
    unsigned state = atomic_load_explicit(store->use, memory_order_relaxed);

    PH__ASSERT(state & CALLED);
    atomic_store_explicit(store->use, state & ~(unsigned)CALLED, memory_order_release);
}

int ph__use_keep(ph_store *store, const void *keeper, ph_error *err)
{
    int r = ph__use_begin(store, err);

    if (r < 0)
        return r;
    atomic_store(&store->keeper, keeper);
    atomic_fetch_or_explicit(store->use, KEPT, memory_order_release);
    ph__use_end(store);
    return 0;
}

void ph__use_keep_end(ph_store *store)
{
    atomic_fetch_and_explicit(store->use, ~(unsigned)KEPT, memory_order_release);
    atomic_store(&store->keeper, NULL);
}

void ph__use_lend(ph_store *store)
{
    PH__ASSERT(!(atomic_load(store->use) & LENT));
    atomic_fetch_or_explicit(store->use, LENT, memory_order_release);
}

void ph__use_lend_end(ph_store *store)
{
    PH__ASSERT(atomic_load(store->use) & LENT);
    atomic_fetch_and_explicit(store->use, ~(unsigned)LENT, memory_order_release);
}
