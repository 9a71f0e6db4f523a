-- work_discard(ids) → how many dead messages were deleted, with body and
-- history. Ids that are not dead are left alone. Locks: the dead rows, in order.
CREATE OR REPLACE FUNCTION {p}work_discard(_ids uuid[]) RETURNS int
    LANGUAGE plpgsql VOLATILE SET search_path = {schema}, pg_temp
AS $$
DECLARE
    _gone uuid[];
BEGIN
    WITH locked AS MATERIALIZED (SELECT d.id FROM {p}dead d WHERE d.id = ANY (_ids) ORDER BY d.id FOR UPDATE),
         gone AS (DELETE FROM {p}dead d USING locked WHERE d.id = locked.id RETURNING d.id)
    SELECT coalesce(array_agg(g.id), '{}') INTO _gone FROM gone g;
    PERFORM {p}work_forget(_gone, 2::smallint);
    RETURN cardinality(_gone);
END
$$;
