-- work_claim_rest(…) → as work_claim, which has looked at the queue: a claim of some topics, from a
-- queue with streams, or of messages that came back, have expired, or are in their last attempt.
-- Plans: pinned by the settings of work_claim, its only caller.
CREATE OR REPLACE FUNCTION {p}work_claim_rest(
    _door smallint, _owner uuid, _lease_s int, _n int, _ns text, _topics text[], _from_due timestamptz[], _from_id uuid[],
    _partitions int, _max_partitions int, _last smallint, _queue int, _max smallint, _has_streams boolean, _upwards boolean,
    _t timestamptz, _started timestamptz, _joins text)
    RETURNS TABLE ({claimed})
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    _mine record;    -- what is taken
    _took interval;
    _fence bigint;
    _fit int;        -- how many of the messages taken are handed out …
    _left int := 0;  -- … and how many are not, since all would be too many bytes
BEGIN
    IF _has_streams THEN
        _mine := {p}work_gather_streams(_door, _n, _topics, _from_due, _from_id, _last, _queue, _max, _upwards, _t,
                                        _owner, _ns, _partitions, _max_partitions);
    ELSE
        _mine := {p}work_gather(_door, _n, _topics, _from_due, _from_id, _last, _queue, _max, _upwards, _t);
    END IF;
    _joins := concat_ws(E'\n', _joins, nullif(_mine.joins, ''));
    _took := clock_timestamp() - _started;
    IF _mine.ids <> '{}' THEN
        _fence := nextval('{p}fence');
        RETURN QUERY
        SELECT m.id, coalesce(m.message_id, m.id), _fence, m.topic, m.payload, m.tenant_id, m.dedupe_key,
               m.correlation_id, m.stream, m.headers, m.attempts + 1,
               CASE WHEN m.attempts > 0 THEN (SELECT count(*)::int FROM {p}attempt_log a WHERE a.id = m.id AND a.kind = 1) ELSE 0 END,
               m.created_at, coalesce(m.due_at, m.created_at),
               CASE WHEN m.attempts > 0 THEN (SELECT a.error FROM {p}attempt_log a WHERE a.id = m.id AND a.kind IN (1, 2)
                                              ORDER BY a.id DESC, a.n DESC LIMIT 1) END,
               m.level::int, NULL::text, m.seq, m.source, _mine.lost > 0
        FROM (SELECT m.*, u.attempts, sum(m.bytes) OVER (ROWS UNBOUNDED PRECEDING) AS total
              FROM unnest(_mine.ids, _mine.attempts) u(id, attempts)
              CROSS JOIN LATERAL (SELECT *, octet_length(m.payload) + coalesce(pg_column_size(m.headers), 0) AS bytes
                                  FROM {p}message m WHERE m.id = u.id OFFSET 0) m) m -- see work_claim
        WHERE m.total <= {p}claim_bytes_max() OR m.total = m.bytes;
        GET DIAGNOSTICS _fit = ROW_COUNT;
        _left := cardinality(_mine.ids) - _fit;
        IF _left > 0 THEN -- rare
            PERFORM {p}work_put_back(_mine.ids, _mine.attempts, _mine.dues, _mine.streams, _mine.lost, _fit);
        END IF;
        INSERT INTO {p}lease (id, owner, claimed_at, until, queue, open, door, lost, ids, attempts, runs)
        VALUES (_fence, _owner, _t, _t + _lease_s * interval '1 s', _queue, _fit, _door, _mine.lost, _mine.ids[1:_fit],
                CASE WHEN 0 < ANY (_mine.attempts) THEN (SELECT array_agg((a + 1)::smallint ORDER BY i)
                                                         FROM unnest(_mine.attempts[1:_fit]) WITH ORDINALITY u(a, i)) END,
                CASE WHEN _mine.streams IS NOT NULL THEN {p}lease_runs(_mine.streams[1:_fit], _mine.seqs) END);
    END IF;
    IF _mine.knows AND _left = 0 AND _took > interval '5 ms' THEN
        PERFORM {p}work_claim_hint(_queue, _t, _took, _mine.whole, _n, _mine.ids, _mine.dues, _mine.streams, _mine.tokens_seen);
    END IF;
    IF _joins <> '' OR _mine.alone OR _mine.waits OR _left > 0 THEN
        RETURN QUERY SELECT * FROM {p}work_claim_last(_joins, _left, CASE WHEN _mine.alone THEN true WHEN _mine.waits THEN false END);
    END IF;
END
$$;
