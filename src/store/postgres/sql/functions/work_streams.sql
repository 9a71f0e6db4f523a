-- work_streams(…) → streams of a door, by namespace, then key, as the library lists them. ns,
-- key: null for all. after: the last of the page before. service: the service whose instances own
-- the partitions; null: no owner is named. Reads only.
CREATE OR REPLACE FUNCTION {p}work_streams(
    _door smallint, _ns text, _key text, _service text, _after_ns text, _after_key text, _idle_too boolean, _partitions int,
    _limit int)
    RETURNS TABLE (namespace text, stream text, state int, partition int, last_seq bigint, next_seq bigint, unsettled bigint,
                   head uuid, head_due_at timestamptz, head_attempts int, owner uuid, locked_until timestamptz,
                   affinity_service text, affinity_owner uuid, created_at timestamptz)
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
    SET jit = off
AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT v.namespace, v.stream, array_position('{idle,ready,scheduled,in_progress,blocked}', v.state) - 1,
           (s.hash % _partitions)::int, v.last_seq, v.next_seq, v.unsettled, v.head, v.head_due_at, v.head_attempts,
           v.owner, v.locked_until, CASE WHEN o.owner IS NOT NULL THEN _service END, o.owner, v.created_at
    -- The page first, and in order: the view's columns are looked up for each stream of it.
    FROM (SELECT s.hash, s.key, q.namespace FROM {p}queue q JOIN {p}stream s ON s.queue = q.id
          WHERE q.door = _door AND (_ns IS NULL OR q.namespace = _ns) AND (_key IS NULL OR s.key = _key)
            AND (_after_key IS NULL OR (q.namespace, s.key) > (_after_ns, _after_key)) AND (_idle_too OR s.busy)
          ORDER BY q.namespace, s.key OFFSET 0) s
    CROSS JOIN LATERAL (SELECT * FROM {p}streams v
                        WHERE v.door = CASE _door WHEN 0 THEN 'outbox' ELSE 'inbox' END AND v.namespace = s.namespace
                          AND v.stream = s.key OFFSET 0) v
    CROSS JOIN LATERAL (SELECT {p}partition_owner(_service, (s.hash % _partitions)::int, _door, s.namespace,
                                                   (SELECT m.topic FROM {p}message m WHERE m.id = v.head)) AS owner OFFSET 0) o
    WHERE _idle_too OR v.state <> 'idle'
    ORDER BY s.namespace, s.key LIMIT _limit;
END
$$;
