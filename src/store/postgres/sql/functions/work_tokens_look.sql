-- work_tokens_look(queue, t, from) → of the empty tokens that a claim sees at once: how many, and since
-- when the oldest lies there. Those whose next message has come become heads. In a large index it
-- mostly looks at recent ones only: entries of rows that are gone lie before them.
CREATE OR REPLACE FUNCTION {p}work_tokens_look(_queue int, _t timestamptz, _from timestamptz, OUT n int, OUT oldest timestamptz)
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _some boolean;
BEGIN
    SELECT count(*), min(p.due), bool_or(m.is_there) INTO n, oldest, _some
    FROM (SELECT p.due, p.stream, p.seq FROM {p}pending p
          WHERE p.lane = -_queue AND p.due <= _t
            AND p.due >= CASE WHEN random() < 0.95 AND pg_relation_size('{p}pending_pkey') >= 1048576
                              THEN greatest(_from, _t - interval '1 s') ELSE _from END
          ORDER BY p.lane, p.due, p.id LIMIT 100) p
    CROSS JOIN LATERAL (SELECT EXISTS (SELECT FROM {p}message m WHERE m.stream_id = p.stream AND m.seq >= p.seq) AS is_there
                        OFFSET 0) m;
    IF _some THEN
        PERFORM {p}work_tokens(_queue, _t, _from, false);
    END IF;
END
$$;
