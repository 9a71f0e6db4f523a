-- work_fire(door, owner, n, t) → how many due timers or job runs were turned
-- into outbox messages, at most n, in the order of (due, id); the namespaces of
-- those; and when the next one is due.
--
-- With nothing due it reads one index entry per queue, and writes nothing (unless
-- that was slow over a large index: then it leaves a hint).
-- Locks: pending rows, SKIP LOCKED; it takes only rows that it has locked, so of
-- schedulers, claims and withdrawals exactly one gets each. It waits only for a transaction that is
-- making an outbox queue that it needs.
-- Plans: pinned by the settings of work_tick.
CREATE OR REPLACE FUNCTION {p}work_fire(
    _door smallint, _owner uuid, _n int, _t timestamptz,
    OUT fired int, OUT namespaces text[], OUT next_at timestamptz)
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _started timestamptz := clock_timestamp();
    _seen int;
    _queues int[];
    _bounds timestamptz[]; -- where to start reading each
    _picked record;
    _from int[];
    _to int[]; -- the outbox queue of each in _from
    _deleted int;
    _mine record;
BEGIN
    fired := 0;
    SELECT count(*), array_agg(q.id) FILTER (WHERE p.due <= _t), array_agg(b.due) FILTER (WHERE p.due <= _t),
           min(p.due) FILTER (WHERE p.due > _t)
    INTO _seen, _queues, _bounds, next_at
    FROM {p}queue q
    LEFT JOIN {p}hint h ON h.queue = q.id AND h.written_at <= _t AND h.whole_look_next > _t
    CROSS JOIN LATERAL (SELECT coalesce(h.from_due[2], '-infinity') AS due OFFSET 0) b
    LEFT JOIN LATERAL (
        SELECT p.due FROM {p}pending p WHERE p.lane = {p}lane(q.id, 1) AND p.due >= b.due
        ORDER BY p.lane, p.due, p.id LIMIT 1) p ON true
    WHERE q.door = _door AND NOT q.paused;
    IF _queues IS NULL THEN
        IF clock_timestamp() - _started > interval '5 ms' + _seen * interval '20 us' THEN
            PERFORM {p}work_fire_hint(_door, _t);
        END IF;
        RETURN;
    END IF;
    SELECT least(next_at, min(p.due)) INTO next_at FROM unnest(_queues) q(id) CROSS JOIN LATERAL (
        SELECT p.due FROM {p}pending p WHERE p.lane = {p}lane(q.id, 1) AND p.due > _t
        ORDER BY p.lane, p.due, p.id LIMIT 1) p;

    _picked := {p}work_fire_pick(_queues, _bounds, _t, _n);
    IF _picked.ids IS NULL THEN -- others are at it
        RETURN;
    END IF;
    fired := cardinality(_picked.ids);
    DELETE FROM {p}pending p WHERE p.ctid = ANY (_picked.tids);
    GET DIAGNOSTICS _deleted = ROW_COUNT;
    IF _deleted <> fired THEN
        RAISE EXCEPTION 'work_fire: locked % pending rows, but deleted %', fired, _deleted;
    END IF;
    IF clock_timestamp() - _started > interval '5 ms' + (_seen + fired) * interval '20 us' THEN
        PERFORM {p}work_fire_hint(_door, _t);
    END IF;
    SELECT array_agg(x.id), array_agg(x.outbox), array_agg(x.namespace ORDER BY x.namespace) INTO _from, _to, namespaces FROM (
        SELECT q.id, q.namespace, ({p}queue_get(0::smallint, q.namespace)).id AS outbox
        FROM {p}queue q WHERE q.id = ANY (_picked.queues)) x;
    PERFORM {p}work_fire_store(_picked.ids, _picked.topics, ARRAY(
        SELECT _to[array_position(_from, u.queue)] FROM unnest(_picked.queues) u(queue)), _t);
    FOR _mine IN SELECT u.queue, array_agg(u.id ORDER BY u.id) AS ids
                 FROM unnest(_picked.ids, _picked.queues) u(id, queue) GROUP BY u.queue LOOP
        IF {p}work_done(_mine.ids, _mine.queue, _t, _owner) THEN
            PERFORM {p}work_forget(_mine.ids, 1::smallint);
        END IF;
    END LOOP;
END
$$;
