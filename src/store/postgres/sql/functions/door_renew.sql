-- {door}_renew(owner, work_ids, lease_seconds) → (work_id, outcome) per id: renewed, stale or unknown.
CREATE OR REPLACE FUNCTION {p}{door}_renew(
    owner uuid, work_ids uuid[], lease_seconds int, fences bigint[] = NULL) RETURNS TABLE (work_id uuid, outcome text)
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _s record;
BEGIN
    _s := {p}settle_named('{door}_renew', {number}::smallint, 0::smallint, owner, work_ids, fences, NULL, NULL, lease_seconds);
    RETURN QUERY SELECT u.id, u.outcome FROM unnest(work_ids, _s.outcomes) u(id, outcome);
END
$$;
