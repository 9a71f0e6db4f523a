-- work_join_settle(t, most) → the joins that ended with it, or null: counts steps that have ended
-- uncounted. These are the steps in join_uncounted, and loose ones: a step is loose if its message
-- was leased when it was attached. The call that settles the message counts the step and takes the
-- mark away, unless it does not see the step: that may not be committed yet, or not be in its
-- snapshot. So a loose step whose message has ended is to be counted here. One whose message has
-- not ended stays as it is: leases and rows of pending are not touched, since others wait for
-- those, and this may run in a caller's transaction that stays open.
--
-- It looks at `most` loose steps and at `most` joins, from a random place on: those that have not
-- ended, or whose heads are not to be had, do not stand in the way of others for ever.
-- With nothing to count it writes nothing and takes no transaction id.
-- Locks: heads, SKIP LOCKED: it waits for no lock, and leaves heads that others hold to the next
-- call.
CREATE OR REPLACE FUNCTION {p}work_join_settle(_t timestamptz, _most int) RETURNS text
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
    {pinned}
AS $$
DECLARE
    _from CONSTANT int := floor(random() * 2147483647);
    _behind record;
    _joins text;
BEGIN
    FOR _behind IN
        SELECT s.join_id, array_agg(s.message_id) AS steps FROM (
            (SELECT m.join_id, m.message_id, m.work_id FROM {p}join_member m WHERE m.loose >= _from ORDER BY m.loose LIMIT _most)
            UNION ALL
            (SELECT m.join_id, m.message_id, m.work_id FROM {p}join_member m WHERE m.loose < _from ORDER BY m.loose LIMIT _most)
            LIMIT _most) s
        WHERE {p}work_ended(s.work_id) IS NOT NULL GROUP BY s.join_id
        UNION ALL
        SELECT j, NULL FROM {p}work_joins_behind(_from, _most) j LOOP
        PERFORM FROM {p}join_head h WHERE h.id = _behind.join_id FOR UPDATE SKIP LOCKED;
        IF FOUND THEN
            _joins := nullif(concat_ws(E'\n', _joins, {p}work_join_catch_up(_behind.join_id, _behind.steps, _t)), '');
        ELSIF NOT EXISTS (SELECT FROM {p}join_head h WHERE h.id = _behind.join_id) THEN -- it ended, and was deleted since
            DELETE FROM {p}join_uncounted u WHERE u.join_id = _behind.join_id;
        END IF;
    END LOOP;
    RETURN _joins;
END
$$;
