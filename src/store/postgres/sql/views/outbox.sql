-- outbox: one row per outbox message. waits_for: of a wait, the join.
CREATE OR REPLACE VIEW {p}outbox AS
SELECT w.id, w.message_id, w.namespace, w.topic, w.payload, w.tenant_id, w.dedupe_key, w.correlation_id,
       w.stream, w.priority, w.headers, w.created_at, w.due_time_utc, w.expires_at, w.status,
       w.status_code, w.attempts, w.max_attempts, w.retry_count, w.last_error, w.next_attempt_at,
       w.locked_until, w.owner_token, w.locked_by, w.fence, w.is_processed, w.processed_at, w.processed_by,
       w.updated_at, w.waits_for, w.seq
FROM {p}work_state w WHERE w.door = 0;
