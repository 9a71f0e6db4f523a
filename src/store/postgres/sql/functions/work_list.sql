-- work_list(…) → messages of a door, in the columns of the library's look-up.
--
-- ns, topic: null for all. state: 0 all, 1 ready, 2 scheduled, 3 in progress,
-- 4 done, 5 dead and not retried, 6 waiting. after: the last id of the page before; all
-- zero: from the beginning. Reads only; the page and its rows are of one moment.
CREATE OR REPLACE FUNCTION {p}work_list(
    _door smallint, _ns text, _topic text, _state int, _oldest_first boolean, _limit int, _after uuid,
    _with_payload boolean)
    RETURNS TABLE (
        work_id uuid, message_id uuid, fence bigint, topic text, payload text, tenant_id uuid, dedupe_key text,
        correlation_id text, headers text, attempts int, retry_count int, created_at timestamptz, due_at timestamptz,
        last_error text, priority int, namespace text, status_code int, max_attempts int, due_time_utc timestamptz,
        expires_at timestamptz, locked_until timestamptz, owner uuid, processed_at timestamptz, updated_at timestamptz,
        next_attempt_at timestamptz, dead_reason text, retried_as uuid, waits_for uuid,
        payload_length int)
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = {schema}, pg_temp
    SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    _queues int[] := ARRAY(SELECT q.id FROM {p}queue q WHERE q.door = _door AND (_ns IS NULL OR q.namespace = _ns));
    _ids uuid[] := {p}work_list_page(_queues, _topic, _state, _oldest_first, _limit, _after, {p}clock());
BEGIN
    RETURN QUERY
    SELECT o.id, o.message_id, coalesce(o.fence, 0), o.topic, CASE WHEN _with_payload THEN o.payload END, o.tenant_id,
           o.dedupe_key, o.correlation_id, CASE WHEN _with_payload THEN o.headers::text END, o.attempts, o.retry_count,
           o.created_at,
           coalesce(o.next_attempt_at, (SELECT a.next_due FROM {p}attempt_log a WHERE a.id = o.id AND a.next_due IS NOT NULL
                                        ORDER BY a.n DESC LIMIT 1), greatest(o.due_time_utc, o.created_at)),
           o.last_error, o.priority::int, o.namespace, o.status_code, o.max_attempts, o.due_time_utc, o.expires_at,
           o.locked_until, coalesce(o.owner_token, o.processed_by::uuid, x.owner), o.processed_at, o.updated_at,
           o.next_attempt_at,
           CASE x.reason WHEN 1 THEN 'failed' WHEN 2 THEN 'attempts' WHEN 3 THEN 'lost' WHEN 4 THEN 'expired' END,
           x.retried_as, o.waits_for, octet_length(o.payload)
    FROM unnest(_ids) WITH ORDINALITY u(id, i)
    CROSS JOIN LATERAL (SELECT * FROM {p}work_state o WHERE o.id = u.id OFFSET 0) o -- a look-up per id, as of one message
    LEFT JOIN {p}dead x ON x.id = u.id
    ORDER BY u.i;
END
$$;
