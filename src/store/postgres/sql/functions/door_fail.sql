-- {door}_fail(owner, work_ids, error) → (work_id, outcome, joins) per id: failed, stale or unknown.
CREATE OR REPLACE FUNCTION {p}{door}_fail(
    owner uuid, work_ids uuid[], error text = NULL, fences bigint[] = NULL) RETURNS TABLE (work_id uuid, outcome text, joins uuid[])
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _s record;
BEGIN
    _s := {p}settle_named('{door}_fail', {number}::smallint, 3::smallint, owner, work_ids, fences, error, NULL, NULL);
    RETURN QUERY SELECT u.id, u.outcome, _s.joins FROM unnest(work_ids, _s.outcomes) u(id, outcome);
END
$$;
