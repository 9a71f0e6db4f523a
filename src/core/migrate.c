/* migrate.c - the schema: bring it up, look at it, print it; and the clock. */
#include "core/migrate.h"

#include "core/call.h"
#include "core/error.h"
#include "core/log.h"
#include "core/options.h"

#include <stdio.h>

int ph_schema_version(void)
{
    return PH__SCHEMA_VERSION;
}

int ph__migrate(struct ph__call *call, int *ret_applied)
{
    const ph_store *store = call->store;
    int applied = 0;
    int r = store->backend->migrate(call, &applied);

    if (r < 0)
        return r;
    if (ph__log_wants(store, PH_LOG_INFO)) {
        char number[16], version[16];
        ph_log_field fields[] = { { "applied", number }, { "version", version } };

        snprintf(number, sizeof(number), "%d", applied);
        snprintf(version, sizeof(version), "%d", PH__SCHEMA_VERSION);
        ph__log(store, PH_LOG_INFO, "migrate", applied ? "schema brought up" : "nothing to do",
                fields, 2);
    }
    if (ret_applied)
        *ret_applied = applied;
    return 0;
}

int ph_migrate(ph_store *store, int timeout_ms, int *ret_applied, ph_error *reterr)
{
    PH__CALL(call);
    int r = ph__call_begin(&call, store, PH_OWN_TX, timeout_ms, reterr);

    r = ph__call_connect_bare(&call, r);
    return r < 0 ? r : ph__migrate(&call, ret_applied);
}

int ph_schema_inspect(ph_store *store, int timeout_ms, ph_schema_status *ret_status,
                      ph_error *reterr)
{
    ph_schema_status status = PH_SCHEMA_STATUS_INIT;
    PH__CALL(call);
    int r = ph__call_begin(&call, store, PH_OWN_TX, timeout_ms, reterr);

    r = ph__call_wants(&call, r, ret_status, "ret_status");
    if (r == 0)
        r = ph__options_check(ret_status->size, "ph_schema_status", call.err);
    r = ph__call_connect_bare(&call, r);
    if (r == 0)
        r = store->backend->inspect(&call, &status);
    if (r == 0)
        ph__options_store(ret_status, &status, sizeof(status));
    return r;
}

int ph_migrate_sql(ph_store *store, bool roles, char **ret_sql, ph_error *reterr)
{
    ph__ok(reterr);
    if (!store || !ret_sql)
        return ph__fail(reterr, PH_EINVAL, "%s is NULL", store ? "ret_sql" : "store");
    return store->backend->migrate_sql(store, roles, ret_sql, reterr);
}

int ph_clock(ph_store *store, ph_tx tx, int timeout_ms, int64_t *ret_time, ph_error *reterr)
{
    PH__CALL(call);
    int64_t time = 0;
    int r = ph__call_begin(&call, store, tx, timeout_ms, reterr);

    r = ph__call_connect(&call, ph__call_wants(&call, r, ret_time, "ret_time"));
    if (r == 0)
        r = store->backend->clock(&call, &time);
    if (r == 0)
        *ret_time = time;
    return r;
}
