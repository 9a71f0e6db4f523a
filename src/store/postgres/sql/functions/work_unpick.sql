-- work_unpick(…): puts a row that work_pick took in this transaction back as it was.
CREATE OR REPLACE FUNCTION {p}work_unpick(_id uuid, _attempts smallint, _lost smallint, _due timestamptz) RETURNS void
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    INSERT INTO {p}pending (due, id, expires_at, lane, topic, attempts, lost, max_attempts, stream, seq)
    SELECT _due, m.id, m.expires_at, {p}lane(m.queue, m.level), {p}topic_mark(m.topic, q.by_topic), _attempts, _lost, m.max_attempts, m.stream_id, m.seq
    FROM {p}message m, {p}queue q WHERE m.id = _id AND q.id = m.queue;
END
$$;
