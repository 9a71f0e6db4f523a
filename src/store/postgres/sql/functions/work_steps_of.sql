-- work_steps_of(done, dead, low, high, only) → the joins of which these messages are steps
-- that are not counted and not loose, in order of id, and how many of each have been acked and have
-- died; nulls if there are none. low and high: the ends of the range of ids; only: these joins;
-- null: all.
--
-- Numbers that lie close together are read as one range and looked up in a hash (IS
-- TRUE keeps the planner from making a join of it), unless there are no other numbers in
-- that range; others are looked up one by one.
-- Plans: pinned by the settings of work_count_found, its only caller.
CREATE OR REPLACE FUNCTION {p}work_steps_of(
    _done uuid[], _dead uuid[], _low uuid, _high uuid, _only uuid[],
    OUT joins uuid[], OUT completed int[], OUT failed int[])
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    _count CONSTANT int := coalesce(cardinality(_done), 0) + coalesce(cardinality(_dead), 0);
    _span CONSTANT bigint := {p}id_number(_high) - {p}id_number(_low) + 1;
    _all_done CONSTANT boolean := _span = _count AND _dead IS NULL; -- all of the range
BEGIN
    IF _span <= 8 * _count THEN
        SELECT array_agg(c.join_id ORDER BY c.join_id), array_agg(c.completed ORDER BY c.join_id),
               array_agg(c.failed ORDER BY c.join_id)
        INTO joins, completed, failed FROM (
            SELECT m.join_id, count(*) FILTER (WHERE _all_done OR (m.work_id IN (SELECT unnest(_done))) IS TRUE)::int AS completed,
                   CASE WHEN _dead IS NULL THEN 0
                        ELSE count(*) FILTER (WHERE (m.work_id IN (SELECT unnest(_dead))) IS TRUE)::int END AS failed
            FROM {p}join_member m
            WHERE m.work_id >= _low AND m.work_id <= _high AND m.status IS NULL AND m.loose IS NULL AND (_only IS NULL OR m.join_id = ANY (_only))
            GROUP BY m.join_id OFFSET 0) c
        WHERE c.completed + c.failed > 0;
    ELSE
        SELECT array_agg(c.join_id ORDER BY c.join_id), array_agg(c.completed ORDER BY c.join_id),
               array_agg(c.failed ORDER BY c.join_id)
        INTO joins, completed, failed FROM (
            SELECT m.join_id, count(*) FILTER (WHERE NOT u.failed)::int AS completed,
                   count(*) FILTER (WHERE u.failed)::int AS failed
            FROM (SELECT unnest(_done) AS id, false AS failed UNION ALL SELECT unnest(_dead), true) u
            CROSS JOIN LATERAL (SELECT m.join_id FROM {p}join_member m
                                WHERE m.work_id = u.id AND m.status IS NULL AND m.loose IS NULL OFFSET 0) m
            WHERE _only IS NULL OR m.join_id = ANY (_only)
            GROUP BY m.join_id) c;
    END IF;
END
$$;
