-- work_forget(ids, status): the one way in which a message ends for good: body, history, results of
-- its receptors, its stream if that is idle and has nothing else, and a mark on its dedupe key,
-- which retention may then delete in its time. Steps of joins keep the status that the message
-- showed (0 pending, 1 completed, 2 failed) as their own, but for those that are still to be
-- counted (join_uncounted). The caller has taken the messages out of done, dead or their lease, and
-- has counted them.
--
-- Locks: the steps of these messages that have been counted, to which no other gives a status
-- (work_join_close); rows of streams, SKIP LOCKED.
CREATE OR REPLACE FUNCTION {p}work_forget(_ids uuid[], _status smallint) RETURNS void
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
    {pinned}
AS $$
DECLARE
    _streams bigint[];
    _messages uuid[];
BEGIN
    IF EXISTS (SELECT FROM {p}join_member m WHERE m.work_id >= (SELECT x FROM unnest(_ids) x ORDER BY x LIMIT 1)
                                              AND m.work_id <= (SELECT x FROM unnest(_ids) x ORDER BY x DESC LIMIT 1)) THEN
        INSERT INTO {p}join_uncounted (turn, status, join_id, work_id, message_id)
        SELECT {p}join_turn(m.join_id), _status, m.join_id, m.work_id, m.message_id FROM {p}join_member m
        WHERE m.work_id = ANY (_ids) AND m.loose IS NOT NULL
        ON CONFLICT DO NOTHING;
        UPDATE {p}join_member m SET status = _status
        WHERE m.work_id = ANY (_ids) AND m.status IS NULL
          AND NOT EXISTS (SELECT FROM {p}join_uncounted u
                          WHERE u.join_id = m.join_id AND u.work_id = m.work_id);
    END IF;
    UPDATE {p}dedupe d SET gone = true, acked = _status = 1 AND m.source IS NULL FROM {p}message m
    WHERE m.id = ANY (_ids) AND m.dedupe_key IS NOT NULL
      AND d.queue = m.queue AND d.topic = coalesce(m.source, m.topic) AND d.key = m.dedupe_key AND d.id = m.id;
    DELETE FROM {p}attempt_log a WHERE a.id = ANY (_ids);
    IF EXISTS (SELECT FROM unnest(_ids) x WHERE get_byte(uuid_send(x), 8) >> 4 = 11) THEN -- an id of the door job_runs
        DELETE FROM {p}job_run r WHERE r.id = ANY (_ids);
    END IF;
    WITH gone AS (DELETE FROM {p}message m WHERE m.id = ANY (_ids) RETURNING m.stream_id, coalesce(m.message_id, m.id) AS message_id)
    SELECT array_agg(DISTINCT g.stream_id) FILTER (WHERE g.stream_id IS NOT NULL), array_agg(g.message_id)
    INTO _streams, _messages FROM gone g;
    IF EXISTS (SELECT FROM {p}receptor) THEN
        DELETE FROM {p}receptor r
        WHERE r.message_id = ANY (_messages)
          AND NOT EXISTS (SELECT FROM {p}message m WHERE m.message_id = r.message_id)
          AND NOT EXISTS (SELECT FROM {p}message m WHERE m.id = r.message_id AND m.message_id IS NULL);
    END IF;
    IF _streams IS NOT NULL THEN
        PERFORM {p}work_streams_drop(_streams);
    END IF;
END
$$;
