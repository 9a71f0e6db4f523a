-- work_give_up(…) → the outcome (3 abandoned, 4 failed, 5 dead, 6 released):
-- one message of a lease that the caller has locked comes back, or ends in dead. Of a stream
-- only the head can: coming back it is the stream's token; if it died, the caller sees to it
-- that the stream goes on (work_heads_died).
CREATE OR REPLACE FUNCTION {p}work_give_up(
    _id uuid, _verb smallint, _attempts smallint, _lost smallint, _error text, _delay_ms bigint,
    _t timestamptz, _owner uuid) RETURNS smallint
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _m record;
    _due timestamptz;
    _retry_count bigint;
BEGIN
    SELECT m.expires_at, m.queue, m.level, m.topic, m.max_attempts, m.stream_id, m.seq,
           coalesce(m.max_attempts, q.max_attempts) AS most, q.backoff, q.backoff_base_ms, q.backoff_max_ms, q.by_topic
    INTO _m FROM {p}message m, {p}queue q WHERE m.id = _id AND q.id = m.queue;
    IF _verb = 3 OR (_verb = 2 AND _attempts >= _m.most) THEN
        INSERT INTO {p}attempt_log (at, id, owner, attempt, kind, error)
        VALUES (_t, _id, _owner, _attempts, CASE _verb WHEN 3 THEN 2 ELSE 1 END, _error);
        PERFORM {p}work_bury(ARRAY[_id], CASE _verb WHEN 3 THEN 1 ELSE 2 END::smallint, _t, _owner);
        RETURN CASE _verb WHEN 3 THEN 4 ELSE 5 END;
    END IF;

    IF _verb = 2 THEN
        IF _delay_ms < 0 THEN
            SELECT count(*) + 1 INTO _retry_count FROM {p}attempt_log a WHERE a.id = _id AND a.kind = 1;
            _delay_ms := {p}backoff_ms(_m.backoff, _m.backoff_base_ms, _m.backoff_max_ms, _retry_count, _attempts);
        END IF;
        _due := _t + _delay_ms * interval '1 ms';
        _lost := 0;
    ELSE
        _due := _t + greatest(_delay_ms, 0) * interval '1 ms'; -- a delay defers it
        _attempts := _attempts - 1;
    END IF;
    INSERT INTO {p}attempt_log (at, next_due, id, owner, attempt, kind, error)
    VALUES (_t, _due, _id, _owner, CASE _verb WHEN 2 THEN _attempts ELSE _attempts + 1 END,
            CASE _verb WHEN 2 THEN 1 ELSE 3 END, CASE _verb WHEN 2 THEN _error END);
    INSERT INTO {p}pending (due, id, expires_at, lane, topic, attempts, lost, max_attempts, stream, seq)
    VALUES (_due, _id, _m.expires_at, {p}lane(_m.queue, _m.level), {p}topic_mark(_m.topic, _m.by_topic), _attempts, _lost, _m.max_attempts,
            _m.stream_id, _m.seq);
    RETURN CASE _verb WHEN 2 THEN 3 ELSE 6 END;
END
$$;
