-- {door}_abandon(owner, work_ids, error, delay) → (work_id, outcome, joins) per id: abandoned,
-- dead (that was the last attempt), stale or unknown. Without a delay the queue's backoff decides.
CREATE OR REPLACE FUNCTION {p}{door}_abandon(
    owner uuid, work_ids uuid[], error text = NULL, delay interval = NULL, fences bigint[] = NULL) RETURNS TABLE (work_id uuid, outcome text, joins uuid[])
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _s record;
BEGIN
    _s := {p}settle_named('{door}_abandon', {number}::smallint, 2::smallint, owner, work_ids, fences, error, delay, NULL);
    RETURN QUERY SELECT u.id, u.outcome, _s.joins FROM unnest(work_ids, _s.outcomes) u(id, outcome);
END
$$;
