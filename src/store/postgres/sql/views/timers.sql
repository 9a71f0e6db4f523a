-- timers: one row per timer, with the columns of outbox that a timer has.
CREATE OR REPLACE VIEW {p}timers AS
SELECT w.id, w.namespace, w.topic, w.payload, w.correlation_id, w.headers, w.created_at, w.due_time_utc, w.status,
       w.status_code, w.attempts, w.max_attempts, w.retry_count, w.last_error, w.next_attempt_at, w.locked_until,
       w.owner_token, w.fence, w.is_processed, w.processed_at, w.processed_by, w.updated_at
FROM {p}work_state w WHERE w.door = 2;
