-- work_reap_lease(lease, t) → how many messages were given back or buried, and which have died:
-- takes back one lease, which the caller has locked. Of a run of a stream the first message was
-- lost; no worker has begun the others, which are parked again, as if they had never been claimed.
-- Plans: pinned by the settings of its callers.
CREATE OR REPLACE FUNCTION {p}work_reap_lease(_lease {p}lease, _t timestamptz, OUT count int, OUT dead uuid[])
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _ids uuid[];
    _attempts smallint[];
    _queue record;
BEGIN
    DELETE FROM {p}lease l WHERE l.id = _lease.id;
    SELECT array_agg(_lease.ids[f] ORDER BY f), array_agg(coalesce(_lease.attempts[f], 1) ORDER BY f)
    INTO _ids, _attempts FROM unnest({p}lease_fronts(_lease)) f;
    SELECT q.max_attempts, q.by_topic INTO _queue FROM {p}queue q WHERE q.id = _lease.queue;

    SELECT array_agg(m.id) INTO dead FROM unnest(_ids, _attempts) u(id, attempts), {p}message m
    WHERE m.id = u.id AND u.attempts >= coalesce(m.max_attempts, _queue.max_attempts);
    INSERT INTO {p}attempt_log (at, next_due, id, owner, attempt, kind)
    SELECT _t, CASE WHEN u.id = ANY (dead) THEN NULL ELSE _t END, u.id, _lease.owner, u.attempts, 4
    FROM unnest(_ids, _attempts) u(id, attempts);
    IF dead IS NOT NULL THEN
        PERFORM {p}work_bury(dead, 3::smallint, _t, _lease.owner);
        IF _lease.runs IS NOT NULL THEN
            PERFORM {p}work_heads_died(_lease.queue, dead, _t);
        END IF;
    END IF;
    INSERT INTO {p}pending (due, id, expires_at, lane, topic, attempts, lost, max_attempts, stream, seq)
    SELECT _t, m.id, m.expires_at, {p}lane(m.queue, m.level), {p}topic_mark(m.topic, _queue.by_topic), u.attempts,
           least(_lease.lost + 1, 30000), m.max_attempts, m.stream_id, m.seq
    FROM unnest(_ids, _attempts) u(id, attempts), {p}message m
    WHERE m.id = u.id AND (dead IS NULL OR u.id <> ALL (dead));
    count := _lease.open;
END
$$;
