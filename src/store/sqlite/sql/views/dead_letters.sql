-- One row per dead letter of any door, with its history; of the inbox also its source.
CREATE VIEW {p}dead_letters AS
SELECT s.work_id AS id, coalesce({uuid:s.message_id}, s.work_id) AS message_id,
       s.namespace, s.topic, s.payload, {uuid:s.tenant_id} AS tenant_id,
       s.dedupe_key, s.correlation_id, s.level AS priority, s.headers,
       {time:s.created_at} AS created_at,
       CASE x.reason WHEN 1 THEN 'failed' WHEN 2 THEN 'attempts' WHEN 3 THEN 'lost'
                     WHEN 4 THEN 'expired' END AS reason,
       s.last_error AS error, s.attempts, s.retry_count,
       {time:x.died_at} AS died_at,
       {uuid:x.owner} AS owner_token,
       {uuid:x.retried_as} AS retried_as,
       (SELECT json_group_array(json_object(
                   'attempt', h.attempt, 'kind', h.kind, 'error', h.error, 'at', h.at,
                   'owner', h.owner, 'next_due_at', h.next_due_at))
          FROM (SELECT a.attempt,
                       CASE a.kind WHEN 1 THEN 'abandoned' WHEN 2 THEN 'failed'
                                   WHEN 3 THEN 'released' WHEN 4 THEN 'lost'
                                   WHEN 5 THEN 'expired' END AS kind,
                       a.error, {time:a.at} AS at, {uuid:a.owner} AS owner,
                       {time:a.next_due} AS next_due_at
                  FROM {p}attempt_log a
                 WHERE a.message = x.id ORDER BY a.n) h) AS history,
       CASE s.door WHEN 0 THEN 'outbox' WHEN 1 THEN 'inbox' WHEN 2 THEN 'timers'
                   WHEN 3 THEN 'job_runs' END AS door,
       s.source, iif(s.source IS NOT NULL, s.dedupe_key, NULL) AS source_id
  FROM {p}dead x CROSS JOIN {p}message_state s ON s.id = x.id;
