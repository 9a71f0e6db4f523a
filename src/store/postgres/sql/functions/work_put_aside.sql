-- work_put_aside(done, dead, joins, held): notes that the steps of these messages have ended, in those of
-- the joins that are open and not held: the next call that gets the head counts them
-- (work_join_catch_up). Each gets a row of its own: the holder of the head may hold the step's row,
-- too.
-- Plans: pinned by the settings of work_count_found, its only caller.
CREATE OR REPLACE FUNCTION {p}work_put_aside(_done uuid[], _dead uuid[], _joins uuid[], _held uuid[]) RETURNS void
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    SELECT array_agg(h.id) INTO _joins FROM {p}join_head h WHERE h.id = ANY (_joins) AND h.status = 0 AND h.id <> ALL (_held);
    IF _joins IS NOT NULL THEN
        INSERT INTO {p}join_uncounted (turn, status, join_id, work_id, message_id)
        SELECT {p}join_turn(m.join_id), u.status, m.join_id, m.work_id, m.message_id
        FROM (SELECT unnest(_done) AS id, 1 AS status UNION ALL SELECT unnest(_dead), 2) u
        CROSS JOIN LATERAL (SELECT * FROM {p}join_member m WHERE m.work_id = u.id AND m.status IS NULL OFFSET 0) m
        WHERE m.join_id = ANY (_joins);
    END IF;
END
$$;
