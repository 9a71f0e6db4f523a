-- work_join_tally(joins, attached, completed, failed, t) → the joins that ended with it, or null:
-- adds to the counters of those joins that are open. A join of which every expected step has ended
-- is complete. The caller has locked the heads.
CREATE OR REPLACE FUNCTION {p}work_join_tally(_joins uuid[], _attached int[], _completed int[], _failed int[], _t timestamptz)
    RETURNS text
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _ended uuid[];
BEGIN
    WITH tallied AS (
        UPDATE {p}join_head h SET
            attached = h.attached + coalesce(u.attached, 0),
            completed = h.completed + u.completed,
            failed = h.failed + u.failed,
            updated_at = CASE WHEN u.completed + u.failed > 0 THEN _t ELSE h.updated_at END,
            finished_at = CASE WHEN h.completed + h.failed + u.completed + u.failed = h.expected THEN _t END,
            status = CASE WHEN h.completed + h.failed + u.completed + u.failed < h.expected THEN 0
                          WHEN h.failed + u.failed > 0 THEN 2 ELSE 1 END
        FROM unnest(_joins, _attached, _completed, _failed) u(id, attached, completed, failed)
        WHERE h.id = u.id AND h.status = 0
        RETURNING h.id, h.status)
    SELECT array_agg(t.id) INTO _ended FROM tallied t WHERE t.status <> 0;
    RETURN CASE WHEN _ended IS NOT NULL THEN {p}work_join_fire(_ended, _t) END;
END
$$;
