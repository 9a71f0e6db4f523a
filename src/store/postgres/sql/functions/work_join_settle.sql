-- work_join_settle(t, most) → what ended with it, or null: looks at loose steps. A step is loose
-- if its message was leased when it was attached: whoever has settled the message since may not
-- have seen it. loose is 0 then; 1 or 2 if the message was forgotten as done or dead meanwhile.
--
-- What has ended is counted. What has not is loose no longer if it can be locked where it is: then
-- nobody is settling it just now, and whoever does so later sees the step. Only those that find a
-- loose step under the lock of its head count it, and they take the mark away: so once.
-- Locks: heads, then steps, then rows of pending and lease, all SKIP LOCKED: it waits for nobody,
-- and what is not to be had is left to the next that comes by.
CREATE OR REPLACE FUNCTION {p}work_join_settle(_t timestamptz, _most int) RETURNS text
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
    SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off SET enable_hashjoin = off
    SET enable_mergejoin = off SET enable_memoize = off SET jit = off SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    _step record;
    _at record;
    _ended smallint; -- 0 not, 1 done, 2 dead; null: cannot be told now
    _joins text;
    _more text;
BEGIN
    FOR _step IN SELECT m.join_id, m.message_id FROM {p}join_member m WHERE m.loose IS NOT NULL ORDER BY m.work_id LIMIT _most LOOP
        PERFORM FROM {p}join_head h WHERE h.id = _step.join_id FOR UPDATE SKIP LOCKED;
        CONTINUE WHEN NOT FOUND;
        SELECT m.join_id, m.message_id, m.work_id, m.loose, m.status INTO _step FROM {p}join_member m
        WHERE m.join_id = _step.join_id AND m.message_id = _step.message_id AND m.loose IS NOT NULL FOR UPDATE SKIP LOCKED;
        CONTINUE WHEN NOT FOUND;
        SELECT s.status_code, s.lane, s.next_attempt_at AS due, s.stream_id, s.seq,
               coalesce(s.fence, (SELECT k.fence FROM {p}work_token k WHERE s.status_code = 5 AND k.stream = s.stream_id)) AS fence
        INTO _at FROM {p}work_state s WHERE s.id = _step.work_id;
        _ended := CASE WHEN _step.status IS NOT NULL THEN 0 -- reported, or its join was closed
                       WHEN NOT FOUND THEN greatest(_step.loose, 1) WHEN _at.status_code IN (2, 3) THEN _at.status_code - 1 END;
        IF _ended IS NULL AND _at.fence IS NOT NULL THEN
            PERFORM FROM {p}lease l WHERE l.id = _at.fence FOR UPDATE SKIP LOCKED;
            _ended := CASE WHEN FOUND THEN 0 END;
        ELSIF _ended IS NULL AND _at.status_code = 0 THEN
            PERFORM FROM {p}pending p WHERE p.lane = _at.lane AND p.due = _at.due AND p.id = _step.work_id FOR UPDATE SKIP LOCKED;
            _ended := CASE WHEN FOUND THEN 0 END;
        ELSIF _ended IS NULL AND _at.status_code = 5 THEN
            PERFORM FROM {p}pending p WHERE p.stream = _at.stream_id AND p.seq <= _at.seq FOR UPDATE SKIP LOCKED;
            _ended := CASE WHEN FOUND THEN 0 END;
        END IF;
        CONTINUE WHEN _ended IS NULL;
        UPDATE {p}join_member m SET loose = NULL, status = coalesce(m.status, nullif(_ended, 0))
        WHERE m.join_id = _step.join_id AND m.message_id = _step.message_id;
        IF _ended > 0 THEN
            SELECT t.joins INTO _more FROM {p}work_join_tally(
                ARRAY[_step.join_id], NULL, ARRAY[(_ended = 1)::int], ARRAY[(_ended = 2)::int], _t, true) t;
            _joins := nullif(concat_ws(E'\n', _joins, _more), '');
        END IF;
    END LOOP;
    RETURN _joins;
END
$$;
