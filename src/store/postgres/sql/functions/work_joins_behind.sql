-- work_joins_behind(from, most) → joins that join_uncounted tells of, each once, by their turn: from
-- this one on, and from the first one up to this one. However many steps of a join were put
-- aside, it is one look at an index per join.
-- Plans: pinned by the settings of work_join_settle, its only caller.
CREATE OR REPLACE FUNCTION {p}work_joins_behind(_from int, _most int) RETURNS SETOF uuid
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN QUERY
    WITH RECURSIVE walk AS (
        SELECT n.turn, n.join_id FROM unnest(ARRAY[_from, 0]) f(turn) CROSS JOIN LATERAL (
            SELECT u.turn, u.join_id FROM {p}join_uncounted u WHERE u.turn >= f.turn ORDER BY u.turn, u.join_id LIMIT 1) n
        UNION
        SELECT n.turn, n.join_id FROM walk w CROSS JOIN LATERAL (
            SELECT u.turn, u.join_id FROM {p}join_uncounted u WHERE (u.turn, u.join_id) > (w.turn, w.join_id)
            ORDER BY u.turn, u.join_id LIMIT 1) n)
    SELECT w.join_id FROM walk w LIMIT _most;
END
$$;
