-- One row per outbox message.
CREATE VIEW {p}outbox AS
SELECT id, message_id, namespace, topic, payload, tenant_id, dedupe_key, correlation_id, stream,
       priority, headers, created_at, due_time_utc, expires_at, status, status_code, attempts,
       max_attempts, retry_count, last_error, next_attempt_at, locked_until, owner_token, locked_by,
       fence, is_processed, processed_at, processed_by, updated_at, waits_for, seq
  FROM {p}message_shown
 WHERE door = 0;
