-- Every message as readers see it. Internal: its columns may change.
CREATE VIEW {p}message_shown AS
SELECT s.id AS number, s.door,
       s.work_id AS id, coalesce({uuid:s.message_id}, s.work_id) AS message_id,
       s.namespace, s.topic, s.payload, {uuid:s.tenant_id} AS tenant_id,
       s.dedupe_key, s.correlation_id, s.stream, s.level AS priority, s.headers,
       {time:s.created_at} AS created_at,
       {time:s.due_at} AS due_time_utc,
       {time:s.expires_at} AS expires_at,
       CASE s.status WHEN 0 THEN 'ready' WHEN 1 THEN 'in_progress' WHEN 2 THEN 'done'
                     WHEN 3 THEN 'failed' WHEN 4 THEN 'waiting'
                     WHEN 5 THEN 'parked' END AS status,
       s.status AS status_code, s.attempts, s.max_attempts, s.retry_count, s.last_error,
       {time:s.next_due} AS next_attempt_at,
       {time:s.locked_until} AS locked_until,
       {uuid:s.lease_owner} AS owner_token,
       {uuid:s.lease_owner} AS locked_by,
       s.fence, s.done_at IS NOT NULL AS is_processed,
       {time:s.done_at} AS processed_at,
       {uuid:s.done_owner} AS processed_by,
       {time:s.updated_at} AS updated_at,
       s.waits_for, s.source, s.seq
  FROM {p}message_state s;
