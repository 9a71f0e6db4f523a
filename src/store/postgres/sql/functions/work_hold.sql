-- work_hold(message_ids) → for each message id the work id of its newest outbox
-- message, and where that is: 0 still to be done, and held there by this transaction;
-- 1 done, also if it was deleted and is known by its dedupe key; 2 dead; 3 it is a wait; 4 leased
-- (or behind a head that is), and not held: it may end any time, also before this transaction does;
-- -1 there is none.
--
-- Locks: rows of pending, plain ones in order of id, then tokens in order of streams. It updates
-- them, though nothing changes: so a claim passes them over. A message that has moved between the
-- look and the update is looked for again, by a new statement. Of a message that is parked behind
-- the head of its stream the stream's token is held: it cannot end before that moves. Leases are
-- not locked: a transaction that stays open must not hold up all the messages of a batch, which
-- belong to another owner.
CREATE OR REPLACE FUNCTION {p}work_hold(_message_ids uuid[], OUT ids uuid[], OUT states smallint[])
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
    {pinned}
AS $$
DECLARE
    _at record;
BEGIN
    SELECT array_agg(w.id ORDER BY u.i), array_agg(CASE WHEN w.id IS NULL THEN -1 END ORDER BY u.i) INTO ids, states
    FROM unnest(_message_ids) WITH ORDINALITY u(message_id, i)
    LEFT JOIN LATERAL (
        SELECT m.id FROM (SELECT m.id, m.queue FROM {p}message m WHERE m.message_id = u.message_id
                          UNION ALL
                          SELECT m.id, m.queue FROM {p}message m WHERE m.id = u.message_id AND m.message_id IS NULL) m
        WHERE EXISTS (SELECT FROM {p}queue q WHERE q.id = m.queue AND q.door = 0)
        ORDER BY m.id DESC LIMIT 1) w ON true;
    IF -1 = ANY (states) THEN -- acked and deleted, and still known by its dedupe key?
        FOR _at IN SELECT u.i, d.id FROM unnest(_message_ids, states) WITH ORDINALITY u(message_id, state, i)
                   CROSS JOIN LATERAL (SELECT d.id FROM {p}dedupe d
                                       WHERE d.acked AND coalesce(d.message_id, d.id) = u.message_id LIMIT 1) d
                   WHERE u.state = -1 LOOP
            ids[_at.i] := _at.id;
            states[_at.i] := 1;
        END LOOP;
    END IF;
    FOR _try IN 1 .. 1000 LOOP
        IF array_position(states, NULL) IS NULL THEN
            RETURN;
        END IF;
        FOR _at IN SELECT u.i, u.id, s.*, t.token FROM unnest(ids, states) WITH ORDINALITY u(id, state, i)
                   LEFT JOIN LATERAL (
                       SELECT s.status_code, s.queue_level, s.next_attempt_at AS due, s.fence, s.processed_by, s.stream_id, s.seq
                       FROM {p}work_state s WHERE s.id = u.id OFFSET 0) s ON true
                   LEFT JOIN LATERAL (
                       SELECT t.fence AS token FROM {p}work_token t
                       WHERE s.status_code = 5 AND t.stream = s.stream_id OFFSET 0) t ON true
                   WHERE u.state IS NULL ORDER BY coalesce(s.fence, t.token) NULLS FIRST, s.stream_id NULLS FIRST, u.id LOOP
            IF _at.queue_level IS NULL THEN -- forgotten meanwhile
                states[_at.i] := -1;
            ELSIF _at.status_code = 0 THEN
                UPDATE {p}pending p SET lost = p.lost WHERE p.lane = _at.queue_level::bigint << 40 AND p.due = _at.due AND p.id = _at.id;
                IF FOUND THEN
                    states[_at.i] := 0;
                END IF;
            ELSIF _at.status_code = 1 OR (_at.status_code = 5 AND _at.token IS NOT NULL) THEN
                states[_at.i] := 4;
            ELSIF _at.status_code = 5 THEN
                UPDATE {p}pending p SET lost = p.lost WHERE p.stream = _at.stream_id AND p.seq <= _at.seq;
                IF FOUND THEN
                    states[_at.i] := 0;
                END IF;
            ELSIF _at.status_code = 4 OR (_at.status_code = 2 AND _at.processed_by IS NULL) THEN
                states[_at.i] := 3;
            ELSE -- done or dead; null: between two places, which one statement never sees
                states[_at.i] := _at.status_code - 1;
            END IF;
        END LOOP;
    END LOOP;
    RAISE EXCEPTION USING ERRCODE = '40001', MESSAGE = 'a message moves faster than it can be held; try again';
END
$$;
