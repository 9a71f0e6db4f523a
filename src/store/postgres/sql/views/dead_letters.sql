-- dead_letters: one row per dead message of every door, with why, and the history of its attempts;
-- of the inbox also where it came from, and its id there.
CREATE OR REPLACE VIEW {p}dead_letters AS
SELECT m.id,
       coalesce(m.message_id, m.id) AS message_id,
       q.namespace,
       m.topic,
       m.payload,
       m.tenant_id,
       m.dedupe_key,
       m.correlation_id,
       m.level AS priority,
       m.headers,
       m.created_at,
       CASE x.reason WHEN 1 THEN 'failed' WHEN 2 THEN 'attempts' WHEN 3 THEN 'lost' WHEN 4 THEN 'expired' END AS reason,
       h.error,
       h.attempts,
       h.retry_count,
       x.died_at,
       x.owner AS owner_token,
       x.retried_as,
       h.history,
       CASE q.door WHEN 0 THEN 'outbox' WHEN 1 THEN 'inbox' WHEN 2 THEN 'timers' WHEN 3 THEN 'job_runs' END AS door,
       m.source,
       CASE WHEN m.source IS NOT NULL THEN m.dedupe_key END AS source_id
FROM {p}dead x
JOIN {p}message m ON m.id = x.id
JOIN {p}queue q ON q.id = m.queue
CROSS JOIN LATERAL (
    SELECT (count(*) FILTER (WHERE a.kind IN (1, 2, 4)))::int AS attempts,
           (count(*) FILTER (WHERE a.kind = 1))::int AS retry_count,
           (array_agg(a.error ORDER BY a.n DESC) FILTER (WHERE a.kind IN (1, 2)))[1] AS error,
           coalesce(jsonb_agg(jsonb_build_object(
               'attempt', a.attempt,
               'kind', CASE a.kind WHEN 1 THEN 'abandoned' WHEN 2 THEN 'failed' WHEN 3 THEN 'released'
                                   WHEN 4 THEN 'lost' WHEN 5 THEN 'expired' END,
               'error', a.error, 'at', a.at, 'owner', a.owner, 'next_due_at', a.next_due) ORDER BY a.n), '[]') AS history
    FROM {p}attempt_log a WHERE a.id = m.id) h;
