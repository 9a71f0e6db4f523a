-- outbox_ack(owner, work_ids) → (work_id, outcome) per id: acked, stale or unknown.
CREATE OR REPLACE FUNCTION {p}outbox_ack(
    owner uuid, work_ids uuid[], fences bigint[] = NULL) RETURNS TABLE (work_id uuid, outcome text)
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = {schema}, pg_temp
AS $$
BEGIN
    RETURN QUERY SELECT * FROM {p}settle_named('outbox_ack', 0::smallint, 1::smallint, owner, work_ids, fences, NULL, NULL, NULL);
END
$$;
