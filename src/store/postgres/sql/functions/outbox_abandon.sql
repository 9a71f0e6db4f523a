-- outbox_abandon(owner, work_ids, error, delay) → (work_id, outcome) per id: abandoned,
-- dead (that was the last attempt), stale or unknown. Without a delay the queue's backoff decides.
CREATE OR REPLACE FUNCTION {p}outbox_abandon(
    owner uuid, work_ids uuid[], error text = NULL, delay interval = NULL, fences bigint[] = NULL) RETURNS TABLE (work_id uuid, outcome text)
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = {schema}, pg_temp
AS $$
BEGIN
    RETURN QUERY SELECT * FROM {p}settle_named('outbox_abandon', 0::smallint, 2::smallint, owner, work_ids, fences, error, delay, NULL);
END
$$;
