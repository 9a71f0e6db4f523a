-- {door}_ack(owner, work_ids) → (work_id, outcome, joins) per id: acked, stale or unknown. A
-- message that this owner has acked before is acked if the call can be seen to be alone
-- (query_is_single), else stale.
CREATE OR REPLACE FUNCTION {p}{door}_ack(
    owner uuid, work_ids uuid[], fences bigint[] = NULL) RETURNS TABLE (work_id uuid, outcome text, joins uuid[])
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _context text;
    _s record;
BEGIN
    GET DIAGNOSTICS _context = PG_CONTEXT;
    _s := {p}settle_named('{door}_ack', {number}::smallint, 1::smallint, owner, work_ids, fences, NULL, NULL, NULL,
                                {p}call_is_first(_context));
    RETURN QUERY SELECT u.id, u.outcome, _s.joins FROM unnest(work_ids, _s.outcomes) u(id, outcome);
END
$$;
