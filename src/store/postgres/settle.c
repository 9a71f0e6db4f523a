/* settle.c - settle, renew and reap in PostgreSQL. */
#include "store/postgres/pg.h"

#include "core/error.h"

/* Most calls settle all items alike: then one element stands for all. */
static bool verbs_alike(const ph_settlement *items, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        if (items[i].verb != items[0].verb)
            return false;
    }
    return true;
}

static bool details_alike(const ph_settlement *items, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        if (items[i].error != items[0].error || items[i].delay_ms != items[0].delay_ms)
            return false;
    }
    return true;
}

void ph__pg_add_settlements(struct ph__pg_params *p, const ph_settlement *items, size_t count)
{
    size_t verbs = verbs_alike(items, count) ? 1 : count;
    size_t details = details_alike(items, count) ? 1 : count;

    PH__PG_ARRAY(p, UUID, count, ph__pg_item_uuid(p, items[i].lease.work_id.b));
    PH__PG_ARRAY(p, INT8, count, ph__pg_item_int8(p, items[i].lease.fence));
    PH__PG_ARRAY(p, INT2, verbs, ph__pg_item_int2(p, items[i].verb));
    PH__PG_ARRAY(p, TEXT, details, ph__pg_item_text(p, items[i].error));
    PH__PG_ARRAY(p, INT8, details, ph__pg_item_int8(p, items[i].delay_ms));
}

void ph__pg_add_again(struct ph__pg_params *p, const struct ph__call *call)
{
    ph__pg_add_bool(p, !call->connection);
}

int ph__pg_read_outcomes(struct ph__call *call, const PGresult *result, int column, size_t count,
                         ph_outcome *ret_outcomes)
{
    for (size_t i = 0; i < count; i++) {
        int outcome = ph__pg_int2_at(result, 0, column, i);

        if (outcome < PH_OUTCOME_UNKNOWN || outcome > (int)PH__OUTCOME_CAPPED)
            return ph__pg_misfit(call);
        ret_outcomes[i] = (ph_outcome)outcome;
    }
    return 0;
}

int ph__pg_settle(struct ph__call *call, ph_door door, ph_owner owner, const ph_settlement *items,
                  size_t count, ph_outcome *ret_outcomes)
{
    struct ph__pg_params params = { 0 };
    PGresult *result = NULL;
    int r;

    ph__pg_add_int2(&params, door);
    ph__pg_add_uuid(&params, owner.b);
    ph__pg_add_settlements(&params, items, count);
    if (!call->commit_follows)
        ph__pg_add_again(&params, call);
    r = ph__pg_run(call, call->commit_follows ? PG_SETTLE_LAST : PG_SETTLE, &params, PG_ONCE,
                   &result);
    ph__pg_params_free(&params);
    if (r == 0)
        r = ph__pg_read_outcomes(call, result, 0, count, ret_outcomes);
    if (r == 0)
        r = ph__pg_read_joins(call, result, 0, 1);
    PQclear(result);
    return r;
}

void ph__pg_add_leases(struct ph__pg_params *p, const ph_lease_ref *items, size_t count)
{
    PH__PG_ARRAY(p, UUID, count, ph__pg_item_uuid(p, items[i].work_id.b));
    PH__PG_ARRAY(p, INT8, count, ph__pg_item_int8(p, items[i].fence));
}

int ph__pg_renew(struct ph__call *call, ph_door door, ph_owner owner, const ph_lease_ref *items,
                 size_t count, int lease_s, ph_outcome *ret_outcomes)
{
    struct ph__pg_params params = { 0 };
    PGresult *result = NULL;
    int r;

    ph__pg_add_int2(&params, door);
    ph__pg_add_uuid(&params, owner.b);
    ph__pg_add_leases(&params, items, count);
    ph__pg_add_int4(&params, lease_s);
    r = ph__pg_run(call, PG_RENEW, &params, PG_REPEATABLE, &result);
    ph__pg_params_free(&params);
    if (r == 0)
        r = ph__pg_read_outcomes(call, result, 0, count, ret_outcomes);
    PQclear(result);
    return r;
}

int ph__pg_reap(struct ph__call *call, ph_door door, int64_t *ret_count)
{
    struct ph__pg_params params = { 0 };
    PGresult *result = NULL;
    int r;

    ph__pg_add_int2(&params, door);
    r = ph__pg_run(call, PG_REAP, &params, PG_REPEATABLE, &result);
    ph__pg_params_free(&params);
    if (r == 0)
        *ret_count = ph__pg_int(result, 0, 0);
    if (r == 0)
        r = ph__pg_read_joins(call, result, 0, 1);
    PQclear(result);
    return r;
}
