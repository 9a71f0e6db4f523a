-- work_withdraw(door, ids) → those of the door's messages that were in pending;
-- they are gone then, body and history.
--
-- Locks: pending rows, in order of id. It waits for a claim, a tick or another
-- withdrawal of the same row that has not ended, so that exactly one gets it.
-- A row that is gone after the wait may be back under another due (claimed and
-- given back meanwhile): then it is looked for again, in a new statement. A row that a statement
-- does not see in pending was taken by a transaction that has committed.
CREATE OR REPLACE FUNCTION {p}work_withdraw(_door smallint, _ids uuid[]) RETURNS uuid[]
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
    {by_index} {nested_loops} {one_plan}
AS $$
DECLARE
    _sorted uuid[] := ARRAY(SELECT u FROM unnest(_ids) u ORDER BY u);
    _seen int;
    _gone uuid[];
    _taken uuid[] := '{}';
BEGIN
    LOOP
        WITH seen AS MATERIALIZED (
            SELECT p.lane, p.due, p.id FROM unnest(_sorted) u(id)
            CROSS JOIN LATERAL (
                SELECT m.* FROM {p}message m, {p}queue q
                WHERE m.id = u.id AND q.id = m.queue AND q.door = _door OFFSET 0) m
            CROSS JOIN LATERAL (
                SELECT p.lane, p.due, p.id FROM {p}pending p
                WHERE p.lane = {p}lane(m.queue, m.level) AND p.id = m.id
                  AND p.due = coalesce((SELECT a.next_due FROM {p}attempt_log a WHERE a.id = m.id
                                        ORDER BY a.id DESC, a.n DESC LIMIT 1), greatest(m.due_at, m.created_at))
                OFFSET 0) p),
        gone AS (
            DELETE FROM {p}pending p USING seen s WHERE p.lane = s.lane AND p.due = s.due AND p.id = s.id RETURNING p.id)
        SELECT (SELECT count(*) FROM seen), (SELECT coalesce(array_agg(g.id), '{}') FROM gone g) INTO _seen, _gone;
        _taken := _taken || _gone;
        EXIT WHEN _seen = cardinality(_gone);
    END LOOP;
    IF cardinality(_taken) > 0 THEN
        PERFORM {p}work_forget(_taken, 2::smallint); -- no steps: joins are of the outbox
    END IF;
    RETURN _taken;
END
$$;
