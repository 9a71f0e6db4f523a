-- work_wait_fire(waits, joins, t) → a line per wait, for the library:
--     W <wait> <join> <0 success, 1 failure> <what was sent, or -> <its namespace in hex, or -> <its topic, likewise>
-- Sends each wait's continuation, and settles the wait. The caller holds the heads, which are not
-- open any more, and has taken the waits (in ascending order) out of join_wait, or never put them
-- there.
CREATE OR REPLACE FUNCTION {p}work_wait_fire(_waits uuid[], _joins uuid[], _t timestamptz) RETURNS text
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _nobody CONSTANT uuid := '00000000-0000-0000-0000-000000000000';
    _sent text;
    _queue int;
    _queues int[];
    _settled uuid[];
    _done uuid[];
BEGIN
    WITH fired AS MATERIALIZED (
        SELECT u.id AS wait, u.join_id, m.queue, m.payload::json AS asks, h.status,
               h.status = 3 OR h.completed + h.failed < h.expected
               OR (h.failed > 0 AND (m.payload::json ->> 'fail_if_any_step_failed')::boolean) AS failure
        FROM unnest(_waits, _joins) u(id, join_id)
        CROSS JOIN LATERAL (SELECT * FROM {p}message m WHERE m.id = u.id OFFSET 0) m
        CROSS JOIN LATERAL (SELECT * FROM {p}join_head h WHERE h.id = u.join_id OFFSET 0) h),
    going AS MATERIALIZED (
        SELECT f.wait, f.join_id, f.queue, f.failure, f.status, w.topic, w.payload,
               CASE WHEN w.topic IS NOT NULL THEN {p}id_new(0::smallint) END AS id
        FROM fired f CROSS JOIN LATERAL (
            SELECT f.asks ->> CASE WHEN f.failure THEN 'on_fail_topic' ELSE 'on_complete_topic' END AS topic,
                   f.asks ->> CASE WHEN f.failure THEN 'on_fail_payload' ELSE 'on_complete_payload' END AS payload) w),
    messages AS (
        INSERT INTO {p}message (id, created_at, queue, level, topic, headers, payload)
        SELECT g.id, _t, g.queue, 1, g.topic, jsonb_build_object('join_id', g.join_id, 'join_status',
               CASE g.status WHEN 1 THEN 'completed' WHEN 2 THEN 'failed' ELSE 'cancelled' END), g.payload
        FROM going g WHERE g.id IS NOT NULL),
    places AS (
        INSERT INTO {p}pending (due, id, lane, topic, attempts, lost)
        SELECT _t, g.id, {p}lane(g.queue, 1), {p}topic_mark(g.topic, q.by_topic), 0, 0
        FROM going g CROSS JOIN LATERAL (SELECT q.by_topic FROM {p}queue q WHERE q.id = g.queue OFFSET 0) q WHERE g.id IS NOT NULL)
    SELECT string_agg(concat_ws(' ', 'W', g.wait, g.join_id, g.failure::int, coalesce(g.id::text, '-'),
               coalesce(nullif(encode(convert_to(q.namespace, 'UTF8'), 'hex'), ''), '-'),
               coalesce(encode(convert_to(g.topic, 'UTF8'), 'hex'), '-')), E'\n'),
           array_agg(g.wait), array_agg(g.queue)
    INTO _sent, _settled, _queues FROM going g CROSS JOIN LATERAL (SELECT q.namespace FROM {p}queue q WHERE q.id = g.queue OFFSET 0) q;
    FOR _queue IN SELECT DISTINCT q FROM unnest(_queues) q LOOP
        _done := ARRAY(SELECT u.id FROM unnest(_settled, _queues) u(id, queue) WHERE u.queue = _queue ORDER BY u.id);
        IF {p}work_done(_done, _queue, _t, _nobody) THEN
            PERFORM {p}work_forget(_done, 1::smallint);
        END IF;
    END LOOP;
    RETURN _sent;
END
$$;
