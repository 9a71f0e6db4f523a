-- work_fire_pick(queues, bounds, t, n) → the first n due messages of these queues in the
-- order of (due, id), locked, as parallel arrays. bounds: where to start reading
-- each, only a hint.
--
-- Locks: pending rows, SKIP LOCKED. Of several queues each is asked for a few
-- rows more than its share. One whose rows are all among the first n may have
-- more of those: it is asked again, for twice as many. So a few rows may be
-- locked that are not taken, until the caller's transaction ends, which is soon.
-- Plans: pinned by the settings of work_tick.
CREATE OR REPLACE FUNCTION {p}work_fire_pick(
    _queues int[], _bounds timestamptz[], _t timestamptz, _n int,
    OUT tids tid[], OUT ids uuid[], OUT queues int[], OUT topics int[])
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    _each int := least(_n, CASE cardinality(_queues) WHEN 1 THEN _n ELSE _n / cardinality(_queues) + 16 END);
    _asked int[] := _queues;
    _got record;
    _dues timestamptz[];
BEGIN
    LOOP
        SELECT array_agg(c.tid) AS tids, array_agg(c.id) AS ids, array_agg(c.queue) AS queues,
               array_agg(c.topic) AS topics, array_agg(c.due) AS dues
        INTO _got FROM (
            SELECT p.*, q.queue FROM unnest(_asked, _bounds) q(queue, bound) CROSS JOIN LATERAL (
                SELECT p.ctid AS tid, p.id, p.topic, p.due FROM {p}pending p
                WHERE p.lane = {p}lane(q.queue, 1) AND p.due <= _t AND p.due >= q.bound
                ORDER BY p.lane, p.due, p.id LIMIT _each FOR UPDATE SKIP LOCKED) p) c;
        IF cardinality(_queues) = 1 THEN
            tids := _got.tids;
            ids := _got.ids;
            queues := _got.queues;
            topics := _got.topics;
            RETURN;
        END IF;
        SELECT array_agg(s.tid), array_agg(s.id), array_agg(s.queue), array_agg(s.topic), array_agg(s.due)
        INTO tids, ids, queues, topics, _dues FROM (
            SELECT * FROM (SELECT * FROM unnest(tids, ids, queues, topics, _dues) k(tid, id, queue, topic, due)
                           WHERE k.queue <> ALL (_asked)
                           UNION ALL
                           SELECT * FROM unnest(_got.tids, _got.ids, _got.queues, _got.topics, _got.dues)) u
            ORDER BY u.due, u.id LIMIT _n) s;
        SELECT array_agg(f.queue), array_agg(f.bound) INTO _asked, _bounds FROM (
            SELECT a.queue, a.bound FROM unnest(_asked, _bounds) a(queue, bound)
            WHERE cardinality(array_positions(queues, a.queue)) >= _each) f;
        EXIT WHEN _asked IS NULL OR _each >= _n;
        _each := least(_n::bigint, _each::bigint * 2);
    END LOOP;
END
$$;
