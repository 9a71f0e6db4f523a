-- timer_problem(…) → what is wrong with a message behind another door than the
-- outbox and the inbox, or null: only timers can be enqueued there, and they are plain. The
-- rules for all messages are in message_problem.
CREATE OR REPLACE FUNCTION {p}timer_problem(
    _door smallint, _tenant_id uuid, _dedupe_key text, _level smallint, _due_at timestamptz, _expires_at timestamptz,
    _message_id uuid, _max_attempts smallint, _join_id uuid) RETURNS text
    LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN CASE
        WHEN _door = 3 THEN 'job runs cannot be enqueued: only schedulers and job_trigger make them'
        WHEN _door IS DISTINCT FROM 2 THEN format('there is no door %s to enqueue into', coalesce(_door::text, 'null'))
        WHEN _due_at IS NULL THEN 'due_at is null; a timer needs it'
        WHEN _due_at < '2000-01-01 00:00:00Z'
            THEN 'due_at is before the year 2000; its unit is probably wrong'
        WHEN _level <> 1 OR _tenant_id IS NOT NULL OR _dedupe_key IS NOT NULL OR _expires_at IS NOT NULL
             OR _message_id IS NOT NULL OR _max_attempts IS NOT NULL OR _join_id IS NOT NULL
            THEN 'a timer has no priority, tenant, dedupe key, message id, expiry, max_attempts or join'
    END;
END
$$;
