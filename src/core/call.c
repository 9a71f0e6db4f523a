#include "core/call.h"

#include "core/error.h"
#include "core/migrate.h"
#include "core/use.h"
#include "util/assert.h"

static int set_up(struct ph__call *call, ph_store *store, int timeout_ms, ph_error *reterr)
{
    /* All of it: verbs free what a call holds whether it began or not. */
    *call = (struct ph__call){ .store = store, .err = reterr ? reterr : &call->spare };
    ph__ok(call->err);
    if (!store)
        return ph__fail(call->err, PH_EINVAL, "store is NULL; open one with ph_open()");
    if (timeout_ms < 0)
        return ph__fail(call->err, PH_EINVAL,
                        "timeout_ms is %d; give 0 for the store's default, or more", timeout_ms);
    call->deadline = ph__deadline_in(timeout_ms ? timeout_ms : store->timeout_ms);
    return 0;
}

/* As ph_open() does it, for a store that was opened without a connection. */
static int deploy(struct ph__call *call)
{
    int r = call->store->backend->connect(call, false);

    if (r == 0)
        r = ph__migrate(call, NULL);
    if (r == 0)
        call->store->deploy = false;
    return r;
}

static int connect(struct ph__call *call, bool check_schema)
{
    ph_store *store = call->store;
    int r;

    PH__ASSERT(!call->uses_own && !call->connection);
    r = ph__use_begin(store, call->err);
    if (r < 0)
        return r;
    call->uses_own = true;
    if (store->admit)
        r = store->admit(store->admit_context, call->err);
    if (r == 0 && check_schema && store->deploy)
        r = deploy(call);
    if (r == 0)
        r = store->backend->connect(call, check_schema);
    PH__ASSERT(r < 0 || store->own);
    if (r < 0) /* the thread that called may close the store now */
        ph__call_end(call);
    return r;
}

void ph__call_end(struct ph__call *call)
{
    ph__arena_free(&call->ends.arena);
    call->ends = (struct ph__join_ends){ 0 };
    if (call->uses_own)
        ph__use_end(call->store);
    call->uses_own = false;
    PH__ASSERT(!call->ends.arena.chunks && call->ends.join_count == 0);
}

int ph__call_begin(struct ph__call *call, ph_store *store, ph_tx tx, int timeout_ms,
                   ph_error *reterr)
{
    int r = set_up(call, store, timeout_ms, reterr);

    if (r < 0 || (!tx.backend && !tx.connection))
        return r;
    if (!tx.connection)
        return ph__fail(call->err, PH_EINVAL,
                        "the transaction's connection is NULL; use PH_OWN_TX for none");
    if (tx.backend != store->backend)
        return ph__fail(call->err, PH_EINVAL, "a transaction of %s was given to a store of %s",
                        tx.backend ? tx.backend->name : "nothing", store->backend->name);
    call->connection = tx.connection;
    return store->backend->check_tx(tx.connection, call->err);
}

int ph__call_wants(struct ph__call *call, int checked, const void *argument, const char *name)
{
    PH__ASSERT(checked <= 0 && call->err);
    return checked < 0 || argument ? checked : ph__fail(call->err, PH_EINVAL, "%s is NULL", name);
}

int ph__call_connect(struct ph__call *call, int checked)
{
    return checked < 0 || call->connection ? checked : connect(call, true);
}

int ph__call_connect_bare(struct ph__call *call, int checked)
{
    return checked < 0 || call->connection ? checked : connect(call, false);
}

int ph__call_own(struct ph__call *call, ph_store *store, int timeout_ms, ph_error *reterr)
{
    return ph__call_connect(call, ph__call_begin(call, store, PH_OWN_TX, timeout_ms, reterr));
}
