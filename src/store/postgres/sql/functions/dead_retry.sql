-- dead_retry(work_ids) → (old, new): puts dead messages back under a new work
-- id, which its dedupe key then names; the dead row stays and names it too. Ids that are not dead, or
-- were retried already, are left out. One that blocks its stream is its head again, with its old
-- number; others of a stream are new messages at its end, in their old order.
-- Locks: the dead rows, in order of id, so that of two retries at once one finds it done; then
-- tokens of streams that they block, and streams' rows, in order of queue and key.
CREATE OR REPLACE FUNCTION {p}dead_retry(work_ids uuid[]) RETURNS TABLE (old uuid, new uuid)
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    _t timestamptz := {p}clock();
    _id uuid;
    _new uuid;
    _locked uuid[];
    _dead {p}message;
    _stream bigint;
    _seq bigint;
    _waits boolean;
    _problem text := {p}ids_problem(work_ids);
BEGIN
    IF _problem IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = 'dead_retry: ' || _problem;
    END IF;
    _locked := ARRAY(SELECT d.id FROM {p}dead d WHERE d.id = ANY (work_ids) AND d.retried_as IS NULL ORDER BY d.id FOR UPDATE);
    FOR _dead IN SELECT * FROM {p}message m WHERE m.id = ANY (_locked) ORDER BY m.queue, m.stream NULLS FIRST, m.seq, m.id LOOP
        _id := _dead.id;
        _new := {p}id_new((SELECT q.door FROM {p}queue q WHERE q.id = _dead.queue));
        _stream := NULL;
        _seq := NULL;
        _waits := false;
        IF _dead.stream_id IS NOT NULL THEN
            DELETE FROM {p}pending p WHERE p.stream = _dead.stream_id AND p.id = {p}token_blocked_id(_id)
            RETURNING p.stream, p.seq INTO _stream, _seq;
            IF NOT FOUND THEN
                SELECT k.ids[1], k.firsts[1], k.were_busy[1] INTO _stream, _seq, _waits
                FROM {p}work_streams_take(ARRAY[_dead.queue], ARRAY[_dead.stream], '{1}', _t) k;
            END IF;
        END IF;
        INSERT INTO {p}message (id, created_at, due_at, expires_at, message_id, tenant_id, queue, level,
                                max_attempts, topic, dedupe_key, correlation_id, stream, headers, payload, stream_id, seq, source)
        VALUES (_new, _t, NULL, CASE WHEN _dead.expires_at > _t THEN _dead.expires_at END, coalesce(_dead.message_id, _id),
                _dead.tenant_id, _dead.queue, _dead.level, _dead.max_attempts, _dead.topic, _dead.dedupe_key,
                _dead.correlation_id, _dead.stream, _dead.headers, _dead.payload, _stream, _seq, _dead.source);
        IF NOT _waits THEN
            PERFORM {p}work_unpick(_new, 0::smallint, 0::smallint, _t);
        END IF;
        UPDATE {p}dedupe k SET id = _new, message_id = coalesce(m.message_id, m.id) FROM {p}message m
        WHERE m.id = _id AND k.queue = m.queue AND k.topic = coalesce(m.source, m.topic) AND k.key = m.dedupe_key AND k.id = m.id;
        UPDATE {p}job_run r SET maybe_open = true FROM {p}message m -- the run lives again
        WHERE m.id = _new AND r.id = m.message_id AND NOT r.maybe_open;
        UPDATE {p}dead d SET retried_as = _new WHERE d.id = _id;
        old := _id;
        new := _new;
        RETURN NEXT;
    END LOOP;
END
$$;
