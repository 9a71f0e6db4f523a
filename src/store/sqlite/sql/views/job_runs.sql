-- One row per run of a job, with the columns of timers, its job and instant. An
-- operator's retry of a run shows those of the run, whose id is its message id.
CREATE VIEW {p}job_runs AS
SELECT s.id, s.namespace, s.topic, s.payload, s.correlation_id, s.headers, s.created_at,
       s.due_time_utc, s.status, s.status_code, s.attempts, s.max_attempts, s.retry_count,
       s.last_error, s.next_attempt_at, s.locked_until, s.owner_token, s.fence, s.is_processed,
       s.processed_at, s.processed_by, s.updated_at,
       r.job, {time:r.scheduled_at} AS scheduled_at, r.triggered
  FROM {p}message_shown s
  LEFT JOIN {p}message o ON {work_id:o} = s.message_id
  LEFT JOIN {p}job_run r ON r.id = o.id
 WHERE s.door = 3;
