-- work_tokens(queue, t, from, close) → how many empty tokens of the queue became heads. Each is the
-- token of a stream that had no further message when its last one was settled. If one is there
-- by now it becomes the head. Otherwise the stream's row is locked, so that no transaction is
-- adding one, and it is looked for again: head, or the stream is no longer busy (and gone, if
-- nothing of it is left). A row that another transaction holds: again in 5 ms.
--
-- from: where to start reading the index. close: false leaves out the second look, and the
-- streams' rows alone. At most 1 000 tokens.
-- Locks: tokens, then streams' rows, SKIP LOCKED: it waits for no lock. No transaction can add a
-- message between the second look, which is a statement of its own, and the end of the transaction.
-- In a REPEATABLE READ transaction that look would be an old one. There a row can be locked only if
-- it has not changed since the snapshot, so its last_seq says whether there is more; if one has
-- changed, all are left for the next time.
CREATE OR REPLACE FUNCTION {p}work_tokens(_queue int, _t timestamptz, _from timestamptz, _close boolean) RETURNS int
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
    {pinned}
AS $$
DECLARE
    _tids tid[];
    _streams bigint[];
    _after bigint[];
    _next record;
    _locked bigint[];
    _fresh boolean := current_setting('transaction_isolation') = 'read committed';
    _heads int := 0;
BEGIN
    SELECT array_agg(c.tid), array_agg(c.stream), array_agg(c.seq - 1) INTO _tids, _streams, _after FROM (
        SELECT p.ctid AS tid, p.stream, p.seq FROM {p}pending p
        WHERE p.lane = -_queue AND p.due >= _from AND p.due <= _t
        ORDER BY p.lane, p.due, p.id LIMIT 1000 FOR UPDATE SKIP LOCKED) c;
    IF _tids IS NULL THEN
        RETURN 0;
    END IF;
    FOR _look IN 1 .. 2 LOOP
        SELECT array_agg(u.tid) FILTER (WHERE m.is_there) AS tids,
               array_agg(u.stream) FILTER (WHERE m.is_there) AS streams, array_agg(u.after) FILTER (WHERE m.is_there) AS after,
               array_agg(u.tid) FILTER (WHERE NOT m.is_there) AS rest_tids,
               array_agg(u.stream) FILTER (WHERE NOT m.is_there) AS rest, array_agg(u.after) FILTER (WHERE NOT m.is_there) AS rest_after
        INTO _next FROM unnest(_tids, _streams, _after) u(tid, stream, after)
        CROSS JOIN LATERAL (SELECT EXISTS (SELECT FROM {p}message m WHERE m.stream_id = u.stream AND m.seq > u.after
                                           ORDER BY m.stream_id, m.seq LIMIT 1) AS is_there OFFSET 0) m;
        IF _next.tids IS NOT NULL THEN
            DELETE FROM {p}pending p WHERE p.ctid = ANY (_next.tids);
            PERFORM {p}work_next_heads(_queue, _next.streams, _next.after, _t);
            _heads := _heads + cardinality(_next.tids);
        END IF;
        IF _next.rest IS NULL OR NOT _close THEN
            RETURN _heads;
        END IF;
        EXIT WHEN _look = 2;
        IF _fresh THEN
            _locked := ARRAY(SELECT s.id FROM {p}stream s WHERE s.id = ANY (_next.rest) FOR UPDATE SKIP LOCKED);
        ELSE
            BEGIN
                _locked := ARRAY(SELECT s.id FROM {p}stream s
                                 WHERE s.id = ANY (_next.rest) AND s.last_seq <= _next.rest_after[array_position(_next.rest, s.id)]
                                 FOR UPDATE SKIP LOCKED);
            EXCEPTION WHEN serialization_failure THEN
                RETURN _heads;
            END;
        END IF;
        SELECT array_agg(u.tid) FILTER (WHERE u.locked), array_agg(u.stream) FILTER (WHERE u.locked),
               array_agg(u.after) FILTER (WHERE u.locked), array_agg(u.tid) FILTER (WHERE NOT u.locked) AS others
        INTO _tids, _streams, _after, _next.tids
        FROM (SELECT u.*, (u.stream IN (SELECT unnest(_locked))) IS TRUE AS locked
              FROM unnest(_next.rest_tids, _next.rest, _next.rest_after) u(tid, stream, after)) u;
        IF _next.tids IS NOT NULL THEN
            UPDATE {p}pending p SET due = _t + interval '5 ms' WHERE p.ctid = ANY (_next.tids);
        END IF;
        IF _tids IS NULL THEN
            RETURN _heads;
        END IF;
        IF NOT _fresh THEN
            _next.rest_tids := _tids;
            _next.rest := _streams;
            EXIT;
        END IF;
    END LOOP;
    DELETE FROM {p}pending p WHERE p.ctid = ANY (_next.rest_tids);
    UPDATE {p}stream s SET busy = false WHERE s.id = ANY (_next.rest);
    PERFORM {p}work_streams_drop(_next.rest); -- of which the last message was forgotten in the meantime
    RETURN _heads;
END
$$;
