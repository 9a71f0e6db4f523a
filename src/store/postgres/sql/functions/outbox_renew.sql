-- outbox_renew(owner, work_ids, lease_seconds) → (work_id, outcome) per id: renewed, stale or unknown.
CREATE OR REPLACE FUNCTION {p}outbox_renew(
    owner uuid, work_ids uuid[], lease_seconds int, fences bigint[] = NULL) RETURNS TABLE (work_id uuid, outcome text)
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = {schema}, pg_temp
AS $$
BEGIN
    RETURN QUERY SELECT * FROM {p}settle_named('outbox_renew', 0::smallint, 0::smallint, owner, work_ids, fences, NULL, NULL, lease_seconds);
END
$$;
