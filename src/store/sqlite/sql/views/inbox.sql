-- One row per inbox message, with the columns of outbox that it has. Its message id
-- is the one that it has at its source.
CREATE VIEW {p}inbox AS
SELECT id, source, dedupe_key AS message_id, namespace, topic, payload, tenant_id, correlation_id,
       stream, priority, headers, created_at, due_time_utc, expires_at, status, status_code,
       attempts, max_attempts, retry_count, last_error, next_attempt_at, locked_until, owner_token,
       locked_by, fence, is_processed, processed_at, processed_by, updated_at, seq
  FROM {p}message_shown
 WHERE door = 1;
