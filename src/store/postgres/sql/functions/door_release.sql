-- {door}_release(owner, work_ids) → (work_id, outcome) per id: released (the
-- attempt is refunded), stale or unknown.
CREATE OR REPLACE FUNCTION {p}{door}_release(
    owner uuid, work_ids uuid[], fences bigint[] = NULL) RETURNS TABLE (work_id uuid, outcome text)
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _s record;
BEGIN
    _s := {p}settle_named('{door}_release', {number}::smallint, 4::smallint, owner, work_ids, fences, NULL, NULL, NULL);
    RETURN QUERY SELECT u.id, u.outcome FROM unnest(work_ids, _s.outcomes) u(id, outcome);
END
$$;
