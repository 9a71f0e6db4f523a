-- work_heads_died(queue, ids, t): of messages that have just been buried, those that were
-- heads of streams: the stream goes on with the next one, or, if the queue says so, stands
-- still: its token is then due at infinity. The caller has taken them out of pending or out
-- of their lease in this transaction.
--
-- Locks: where heads block, the queue's row, so that a change of that setting (queue_set) comes
-- before or after, and no stream stays blocked by mistake. It is written, not just locked: a
-- queue_set in a REPEATABLE READ transaction would not see the token, and must fail instead.
CREATE OR REPLACE FUNCTION {p}work_heads_died(_queue int, _ids uuid[], _t timestamptz) RETURNS void
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
    {pinned}
AS $$
DECLARE
    _streams bigint[];
    _seqs bigint[];
    _dead uuid[];
BEGIN
    SELECT array_agg(m.stream_id), array_agg(m.seq), array_agg(m.id) INTO _streams, _seqs, _dead
    FROM {p}message m WHERE m.id = ANY (_ids) AND m.stream_id IS NOT NULL;
    IF _streams IS NULL THEN
        RETURN;
    END IF;
    IF (SELECT q.dead_head FROM {p}queue q WHERE q.id = _queue) = 2 THEN
        UPDATE {p}queue q SET dead_head = q.dead_head WHERE q.id = _queue AND q.dead_head = 2;
        IF FOUND THEN
            INSERT INTO {p}pending (due, id, lane, topic, attempts, lost, stream, seq)
            SELECT 'infinity', {p}token_blocked_id(u.id), -_queue, -1, 0, 0, u.stream, u.seq
            FROM unnest(_streams, _seqs, _dead) u(stream, seq, id);
            RETURN;
        END IF;
    END IF;
    PERFORM {p}work_next_heads(_queue, _streams, _seqs, _t);
END
$$;
