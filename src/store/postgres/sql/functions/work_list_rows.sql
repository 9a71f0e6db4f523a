-- work_list_rows(ids, with_payload) → these messages, in that order, in the columns of the
-- library's look-up. Reads only.
CREATE OR REPLACE FUNCTION {p}work_list_rows(_ids uuid[], _with_payload boolean)
    RETURNS TABLE ({lookup})
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
    SET jit = off
AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT o.id, o.message_id, coalesce(o.fence, 0), o.topic, CASE WHEN _with_payload THEN o.payload END, o.tenant_id,
           o.dedupe_key, o.correlation_id, CASE WHEN _with_payload THEN o.headers::text END, o.attempts, o.retry_count,
           o.created_at,
           coalesce(o.due_time_utc, o.created_at),
           o.last_error, o.priority::int, o.namespace, o.status_code, o.max_attempts, o.due_time_utc, o.expires_at,
           o.locked_until, coalesce(o.owner_token, o.processed_by::uuid, x.owner), o.processed_at, o.updated_at,
           o.next_attempt_at,
           CASE x.reason WHEN 1 THEN 'failed' WHEN 2 THEN 'attempts' WHEN 3 THEN 'lost' WHEN 4 THEN 'expired' END,
           x.retried_as, o.waits_for, o.stream, o.seq, o.source, octet_length(o.payload)
    FROM unnest(_ids) WITH ORDINALITY u(id, i)
    CROSS JOIN LATERAL (SELECT * FROM {p}work_state o WHERE o.id = u.id OFFSET 0) o -- a look-up per id, as of one message
    LEFT JOIN {p}dead x ON x.id = u.id
    ORDER BY u.i;
END
$$;
