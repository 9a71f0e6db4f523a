-- work_join_close(joins, status, t) → the joins that ended: ends open joins before all their steps
-- have ended, as cancelled (3) or as failed by their deadline (2). The caller has locked the heads,
-- and caught up with steps that had ended before. Counters stay.
--
-- Steps that show pending are given that as a status of their own, also those that have ended and
-- were not counted. One that was counted needs none: it shows that for good, and work_forget gives
-- it one with the message. So this and work_forget never want the same rows.
CREATE OR REPLACE FUNCTION {p}work_join_close(_joins uuid[], _status smallint, _t timestamptz) RETURNS text
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    UPDATE {p}join_member m SET status = 0, loose = NULL
    WHERE m.join_id = ANY (_joins) AND m.status IS NULL
      AND (m.loose IS NOT NULL
           OR EXISTS (SELECT FROM {p}join_uncounted u
                      WHERE u.join_id = m.join_id AND u.work_id = m.work_id)
           OR (NOT EXISTS (SELECT FROM {p}dead x WHERE x.id = m.work_id)
               AND NOT EXISTS (SELECT FROM {p}done d WHERE d.span @> {p}id_number(m.work_id) AND d.ids @> ARRAY[m.work_id])));
    UPDATE {p}join_head h SET status = _status, finished_at = _t, updated_at = _t WHERE h.id = ANY (_joins);
    RETURN {p}work_join_fire(_joins, _t);
END
$$;
