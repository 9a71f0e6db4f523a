-- One row per timer, with the columns of outbox that a timer has.
CREATE VIEW {p}timers AS
SELECT id, namespace, topic, payload, correlation_id, headers, created_at, due_time_utc, status,
       status_code, attempts, max_attempts, retry_count, last_error, next_attempt_at, locked_until,
       owner_token, fence, is_processed, processed_at, processed_by, updated_at
  FROM {p}message_shown
 WHERE door = 2;
