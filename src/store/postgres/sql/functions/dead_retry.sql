-- dead_retry(work_ids) → (old, new): puts dead messages back under a new work
-- id, which its dedupe key then names; the dead row stays and names it too. Ids that are not dead, or were retried
-- already, are left out. Locks: the dead rows, in order of id, so that of two
-- retries at once one finds it done.
CREATE OR REPLACE FUNCTION {p}dead_retry(work_ids uuid[]) RETURNS TABLE (old uuid, new uuid)
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = {schema}, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    _t timestamptz := {p}clock();
    _id uuid;
    _new uuid;
    _door smallint;
    _problem text := {p}ids_problem(work_ids);
BEGIN
    IF _problem IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = 'dead_retry: ' || _problem;
    END IF;
    FOR _id IN SELECT DISTINCT u FROM unnest(work_ids) u ORDER BY u LOOP
        SELECT q.door INTO _door FROM {p}dead d, {p}queue q
        WHERE d.id = _id AND d.retried_as IS NULL AND q.id = d.queue FOR UPDATE OF d;
        CONTINUE WHEN NOT FOUND;
        _new := {p}id_new(_door);
        INSERT INTO {p}message (id, created_at, due_at, expires_at, message_id, tenant_id, queue, level,
                                max_attempts, topic, dedupe_key, correlation_id, stream, headers, payload)
        SELECT _new, _t, NULL, CASE WHEN m.expires_at > _t THEN m.expires_at END, coalesce(m.message_id, m.id),
               m.tenant_id, m.queue, m.level, m.max_attempts, m.topic, m.dedupe_key, m.correlation_id, m.stream,
               m.headers, m.payload
        FROM {p}message m WHERE m.id = _id;
        PERFORM {p}work_unpick(_new, 0::smallint, 0::smallint, _t);
        UPDATE {p}dedupe k SET id = _new, message_id = coalesce(m.message_id, m.id) FROM {p}message m
        WHERE m.id = _id AND k.queue = m.queue AND k.topic = m.topic AND k.key = m.dedupe_key AND k.id = m.id;
        UPDATE {p}job_run r SET maybe_open = true FROM {p}message m -- the run lives again
        WHERE m.id = _new AND r.id = m.message_id AND NOT r.maybe_open;
        UPDATE {p}dead d SET retried_as = _new WHERE d.id = _id;
        old := _id;
        new := _new;
        RETURN NEXT;
    END LOOP;
END
$$;
