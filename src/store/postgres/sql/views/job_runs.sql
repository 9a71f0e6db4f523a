-- job_runs: one row per run of a job, with the columns of timers, its job and
-- instant. An operator's retry of a run shows those of the run.
CREATE OR REPLACE VIEW {p}job_runs AS
SELECT w.id, w.namespace, w.topic, w.payload, w.correlation_id, w.headers, w.created_at, w.due_time_utc, w.status,
       w.status_code, w.attempts, w.max_attempts, w.retry_count, w.last_error, w.next_attempt_at, w.locked_until,
       w.owner_token, w.fence, w.is_processed, w.processed_at, w.processed_by, w.updated_at,
       r.job, r.scheduled_at, r.triggered
FROM {p}work_state w LEFT JOIN {p}job_run r ON r.id = w.message_id WHERE w.door = 3;
