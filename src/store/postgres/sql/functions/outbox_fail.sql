-- outbox_fail(owner, work_ids, error) → (work_id, outcome) per id: failed, stale or unknown.
CREATE OR REPLACE FUNCTION {p}outbox_fail(
    owner uuid, work_ids uuid[], error text = NULL, fences bigint[] = NULL) RETURNS TABLE (work_id uuid, outcome text)
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = {schema}, pg_temp
AS $$
BEGIN
    RETURN QUERY SELECT * FROM {p}settle_named('outbox_fail', 0::smallint, 3::smallint, owner, work_ids, fences, error, NULL, NULL);
END
$$;
