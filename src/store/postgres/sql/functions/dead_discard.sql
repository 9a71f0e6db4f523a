-- dead_discard(work_ids) → how many dead messages were deleted, with body and
-- history. Ids that are not dead are left alone.
CREATE OR REPLACE FUNCTION {p}dead_discard(work_ids uuid[]) RETURNS int
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = {schema}, pg_temp
AS $$
DECLARE
    _gone uuid[];
BEGIN
    WITH locked AS MATERIALIZED (SELECT d.id FROM {p}dead d WHERE d.id = ANY (work_ids) ORDER BY d.id FOR UPDATE),
         gone AS (DELETE FROM {p}dead d USING locked WHERE d.id = locked.id RETURNING d.id)
    SELECT coalesce(array_agg(g.id), '{}') INTO _gone FROM gone g;
    DELETE FROM {p}attempt_log a WHERE a.id = ANY (_gone);
    DELETE FROM {p}message m WHERE m.id = ANY (_gone);
    RETURN cardinality(_gone);
END
$$;
