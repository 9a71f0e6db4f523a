-- schema_4.sql - what the library of schema version 4 (commit 1be55d0) left in a file while its clock
-- stood at 2023-11-14 22:13:20 UTC: its views, and data in every state, to be put on top of the
-- migrations 0001 to 0004.

CREATE VIEW posthorn_jobs AS
SELECT name, namespace, topic, payload, cron, timezone,
       CASE misfire WHEN 1 THEN 'once' WHEN 2 THEN 'skip' WHEN 3 THEN 'all' END AS misfire,
       misfire_limit,
       CASE overlap WHEN 1 THEN 'allow' WHEN 2 THEN 'skip' END AS overlap,
       paused, problem,
       CASE WHEN NOT paused AND next_at < 9223372036854775807 THEN strftime('%Y-%m-%dT%H:%M:%S', (next_at - (next_at % 1000000 + 1000000) % 1000000) / 1000000, 'unixepoch')
           || printf('.%06dZ', (next_at % 1000000 + 1000000) % 1000000) END AS next_at,
       strftime('%Y-%m-%dT%H:%M:%S', (last_at - (last_at % 1000000 + 1000000) % 1000000) / 1000000, 'unixepoch')
           || printf('.%06dZ', (last_at % 1000000 + 1000000) % 1000000) AS last_at,
       CASE WHEN last_run IS NOT NULL THEN
           lower(substr(hex(last_run), 1, 8) || '-' || substr(hex(last_run), 9, 4) || '-'
                 || substr(hex(last_run), 13, 4) || '-' || substr(hex(last_run), 17, 4) || '-'
                 || substr(hex(last_run), 21)) END AS last_run, skipped,
       strftime('%Y-%m-%dT%H:%M:%S', (created_at - (created_at % 1000000 + 1000000) % 1000000) / 1000000, 'unixepoch')
           || printf('.%06dZ', (created_at % 1000000 + 1000000) % 1000000) AS created_at,
       strftime('%Y-%m-%dT%H:%M:%S', (updated_at - (updated_at % 1000000 + 1000000) % 1000000) / 1000000, 'unixepoch')
           || printf('.%06dZ', (updated_at % 1000000 + 1000000) % 1000000) AS updated_at
  FROM posthorn_job;
CREATE VIEW posthorn_joins AS
SELECT printf('%08x-%04x-8000-%04x-%012x', h.id >> 16, h.id & 65535,
              (h.salt >> 48) & 65535, h.salt & 281474976710655) AS id, h.grouping_key, h.metadata,
       CASE h.status WHEN 0 THEN 'pending' WHEN 1 THEN 'completed' WHEN 2 THEN 'failed'
                     WHEN 3 THEN 'cancelled' END AS status,
       h.status AS status_code, h.expected AS expected_steps, h.attached AS attached_steps,
       h.completed AS completed_steps, h.failed AS failed_steps,
       (SELECT count(*) FROM posthorn_join_wait w WHERE w.join_id = h.id) AS open_waits,
       strftime('%Y-%m-%dT%H:%M:%S', (h.created_at - (h.created_at % 1000000 + 1000000) % 1000000) / 1000000, 'unixepoch')
           || printf('.%06dZ', (h.created_at % 1000000 + 1000000) % 1000000) AS created_at,
       strftime('%Y-%m-%dT%H:%M:%S', (h.updated_at - (h.updated_at % 1000000 + 1000000) % 1000000) / 1000000, 'unixepoch')
           || printf('.%06dZ', (h.updated_at % 1000000 + 1000000) % 1000000) AS updated_at,
       strftime('%Y-%m-%dT%H:%M:%S', (h.deadline - (h.deadline % 1000000 + 1000000) % 1000000) / 1000000, 'unixepoch')
           || printf('.%06dZ', (h.deadline % 1000000 + 1000000) % 1000000) AS deadline,
       strftime('%Y-%m-%dT%H:%M:%S', (h.finished_at - (h.finished_at % 1000000 + 1000000) % 1000000) / 1000000, 'unixepoch')
           || printf('.%06dZ', (h.finished_at % 1000000 + 1000000) % 1000000) AS finished_at
  FROM posthorn_join_head h;
CREATE VIEW posthorn_join_step AS
SELECT m.join_id, m.message_id, m.message AS id, m.salt, m.n, m.created_at,
       CASE WHEN m.status IS NOT NULL THEN m.status
            WHEN EXISTS (SELECT 1 FROM posthorn_dead x WHERE x.id = m.message) THEN 2
            WHEN EXISTS (SELECT 1 FROM posthorn_done d
                          WHERE d.hi BETWEEN m.message AND m.message + 1000 AND d.lo <= m.message
                            AND instr(d.ids, printf(',%012x', m.message)) > 0) THEN 1
            ELSE 0 END AS status,
       (SELECT b.topic FROM posthorn_message b WHERE b.id = m.message) AS topic
  FROM posthorn_join_member m;
CREATE VIEW posthorn_join_members AS
SELECT printf('%08x-%04x-8000-%04x-%012x', h.id >> 16, h.id & 65535,
              (h.salt >> 48) & 65535, h.salt & 281474976710655) AS join_id, CASE WHEN s.message_id IS NOT NULL THEN
           lower(substr(hex(s.message_id), 1, 8) || '-' || substr(hex(s.message_id), 9, 4) || '-'
                 || substr(hex(s.message_id), 13, 4) || '-' || substr(hex(s.message_id), 17, 4) || '-'
                 || substr(hex(s.message_id), 21)) END AS message_id, printf('%08x-%04x-8000-%04x-%012x', s.id >> 16, s.id & 65535,
              (s.salt >> 48) & 65535, s.salt & 281474976710655) AS work_id,
       CASE s.status WHEN 0 THEN 'pending' WHEN 1 THEN 'completed' WHEN 2 THEN 'failed' END
           AS status,
       s.status AS status_code,
       strftime('%Y-%m-%dT%H:%M:%S', (s.created_at - (s.created_at % 1000000 + 1000000) % 1000000) / 1000000, 'unixepoch')
           || printf('.%06dZ', (s.created_at % 1000000 + 1000000) % 1000000) AS created_at, s.topic
  FROM posthorn_join_head h CROSS JOIN posthorn_join_step s ON s.join_id = h.id;
CREATE VIEW posthorn_message_state AS
SELECT m.id, m.salt, m.queue, q.door, q.namespace, m.level, m.topic, m.payload, m.message_id,
       m.tenant_id, m.dedupe_key, m.correlation_id, m.headers, m.created_at, m.due_at, m.expires_at,
       m.stream AS stream_number, m.seq, m.source,
       (SELECT k.key FROM posthorn_stream k WHERE k.id = m.stream) AS stream,
       coalesce(m.max_attempts, q.max_attempts) AS max_attempts,
       printf('%08x-%04x-8000-%04x-%012x', m.id >> 16, m.id & 65535,
              (m.salt >> 48) & 65535, m.salt & 281474976710655) AS work_id,
       CASE WHEN p.id IS NOT NULL OR t.id IS NOT NULL THEN 0 WHEN l.fence IS NOT NULL THEN 1
            WHEN d.id IS NOT NULL THEN 2 WHEN x.id IS NOT NULL THEN 3
            WHEN w.id IS NOT NULL THEN 4 WHEN m.stream IS NOT NULL THEN 5 END AS status,
       CASE WHEN p.id IS NOT NULL THEN p.attempts
            WHEN t.id IS NOT NULL THEN t.attempts
            WHEN l.fence IS NOT NULL THEN
                coalesce(CAST(substr(l.attempts,
                                     (instr(l.ids, printf(',%012x', m.id)) - 1) / 13 * 5 + 1, 5)
                              AS INTEGER), 1)
            ELSE (d.id IS NOT NULL) + (SELECT count(*) FROM posthorn_attempt_log a
                                        WHERE a.message = m.id AND a.kind IN (1, 2, 4))
       END AS attempts,
       (SELECT count(*) FROM posthorn_attempt_log a
         WHERE a.message = m.id AND a.kind = 1) AS retry_count,
       (SELECT a.error FROM posthorn_attempt_log a
         WHERE a.message = m.id AND a.kind IN (1, 2) ORDER BY a.n DESC LIMIT 1) AS last_error,
       coalesce(p.due, t.due) AS next_due, l.fence, l.owner AS lease_owner, l.until AS locked_until,
       nullif(d.owner, zeroblob(16)) AS done_owner, d.at AS done_at,
       x.owner AS dead_owner, x.died_at, x.reason, x.retried_as,
       CASE WHEN j.id IS NOT NULL THEN printf('%08x-%04x-8000-%04x-%012x', j.id >> 16, j.id & 65535,
              (j.salt >> 48) & 65535, j.salt & 281474976710655) END AS waits_for,
       max(m.created_at,
           coalesce((SELECT max(a.at) FROM posthorn_attempt_log a WHERE a.message = m.id), m.created_at),
           coalesce(l.claimed_at, d.at, x.died_at, m.created_at)) AS updated_at
  FROM posthorn_message m CROSS JOIN posthorn_queue q ON q.id = m.queue
  LEFT JOIN posthorn_pending p
    ON m.stream IS NULL AND p.queue = m.queue AND p.level = m.level AND p.id = m.id
   AND p.due = coalesce((SELECT a.next_due FROM posthorn_attempt_log a
                          WHERE a.message = m.id ORDER BY a.n DESC LIMIT 1),
                        max(coalesce(m.due_at, m.created_at), m.created_at))
  LEFT JOIN posthorn_pending t
    ON t.stream = m.stream AND t.id = m.id AND t.due < 9223372036854775807
  LEFT JOIN posthorn_lease l
    ON l.lo <= m.id AND l.hi >= m.id AND instr(l.ids, printf(',%012x', m.id)) > 0
   AND coalesce(substr(l.settled, (instr(l.ids, printf(',%012x', m.id)) - 1) / 13 + 1, 1),
                '0') = '0'
  LEFT JOIN posthorn_done d
    ON d.hi BETWEEN m.id AND m.id + 1000 AND d.lo <= m.id
   AND instr(d.ids, printf(',%012x', m.id)) > 0
  LEFT JOIN posthorn_dead x ON x.id = m.id
  LEFT JOIN posthorn_join_wait w ON w.id = m.id
  LEFT JOIN posthorn_join_head j ON j.id = w.join_id;
CREATE VIEW posthorn_message_shown AS
SELECT s.id AS number, s.door,
       s.work_id AS id, coalesce(CASE WHEN s.message_id IS NOT NULL THEN
           lower(substr(hex(s.message_id), 1, 8) || '-' || substr(hex(s.message_id), 9, 4) || '-'
                 || substr(hex(s.message_id), 13, 4) || '-' || substr(hex(s.message_id), 17, 4) || '-'
                 || substr(hex(s.message_id), 21)) END, s.work_id) AS message_id,
       s.namespace, s.topic, s.payload, CASE WHEN s.tenant_id IS NOT NULL THEN
           lower(substr(hex(s.tenant_id), 1, 8) || '-' || substr(hex(s.tenant_id), 9, 4) || '-'
                 || substr(hex(s.tenant_id), 13, 4) || '-' || substr(hex(s.tenant_id), 17, 4) || '-'
                 || substr(hex(s.tenant_id), 21)) END AS tenant_id,
       s.dedupe_key, s.correlation_id, s.stream, s.level AS priority, s.headers,
       strftime('%Y-%m-%dT%H:%M:%S', (s.created_at - (s.created_at % 1000000 + 1000000) % 1000000) / 1000000, 'unixepoch')
           || printf('.%06dZ', (s.created_at % 1000000 + 1000000) % 1000000) AS created_at,
       strftime('%Y-%m-%dT%H:%M:%S', (s.due_at - (s.due_at % 1000000 + 1000000) % 1000000) / 1000000, 'unixepoch')
           || printf('.%06dZ', (s.due_at % 1000000 + 1000000) % 1000000) AS due_time_utc,
       strftime('%Y-%m-%dT%H:%M:%S', (s.expires_at - (s.expires_at % 1000000 + 1000000) % 1000000) / 1000000, 'unixepoch')
           || printf('.%06dZ', (s.expires_at % 1000000 + 1000000) % 1000000) AS expires_at,
       CASE s.status WHEN 0 THEN 'ready' WHEN 1 THEN 'in_progress' WHEN 2 THEN 'done'
                     WHEN 3 THEN 'failed' WHEN 4 THEN 'waiting'
                     WHEN 5 THEN 'parked' END AS status,
       s.status AS status_code, s.attempts, s.max_attempts, s.retry_count, s.last_error,
       strftime('%Y-%m-%dT%H:%M:%S', (s.next_due - (s.next_due % 1000000 + 1000000) % 1000000) / 1000000, 'unixepoch')
           || printf('.%06dZ', (s.next_due % 1000000 + 1000000) % 1000000) AS next_attempt_at,
       strftime('%Y-%m-%dT%H:%M:%S', (s.locked_until - (s.locked_until % 1000000 + 1000000) % 1000000) / 1000000, 'unixepoch')
           || printf('.%06dZ', (s.locked_until % 1000000 + 1000000) % 1000000) AS locked_until,
       CASE WHEN s.lease_owner IS NOT NULL THEN
           lower(substr(hex(s.lease_owner), 1, 8) || '-' || substr(hex(s.lease_owner), 9, 4) || '-'
                 || substr(hex(s.lease_owner), 13, 4) || '-' || substr(hex(s.lease_owner), 17, 4) || '-'
                 || substr(hex(s.lease_owner), 21)) END AS owner_token,
       CASE WHEN s.lease_owner IS NOT NULL THEN
           lower(substr(hex(s.lease_owner), 1, 8) || '-' || substr(hex(s.lease_owner), 9, 4) || '-'
                 || substr(hex(s.lease_owner), 13, 4) || '-' || substr(hex(s.lease_owner), 17, 4) || '-'
                 || substr(hex(s.lease_owner), 21)) END AS locked_by,
       s.fence, s.done_at IS NOT NULL AS is_processed,
       strftime('%Y-%m-%dT%H:%M:%S', (s.done_at - (s.done_at % 1000000 + 1000000) % 1000000) / 1000000, 'unixepoch')
           || printf('.%06dZ', (s.done_at % 1000000 + 1000000) % 1000000) AS processed_at,
       CASE WHEN s.done_owner IS NOT NULL THEN
           lower(substr(hex(s.done_owner), 1, 8) || '-' || substr(hex(s.done_owner), 9, 4) || '-'
                 || substr(hex(s.done_owner), 13, 4) || '-' || substr(hex(s.done_owner), 17, 4) || '-'
                 || substr(hex(s.done_owner), 21)) END AS processed_by,
       strftime('%Y-%m-%dT%H:%M:%S', (s.updated_at - (s.updated_at % 1000000 + 1000000) % 1000000) / 1000000, 'unixepoch')
           || printf('.%06dZ', (s.updated_at % 1000000 + 1000000) % 1000000) AS updated_at,
       s.waits_for, s.source, s.seq
  FROM posthorn_message_state s;
CREATE VIEW posthorn_outbox AS
SELECT id, message_id, namespace, topic, payload, tenant_id, dedupe_key, correlation_id, stream,
       priority, headers, created_at, due_time_utc, expires_at, status, status_code, attempts,
       max_attempts, retry_count, last_error, next_attempt_at, locked_until, owner_token, locked_by,
       fence, is_processed, processed_at, processed_by, updated_at, waits_for, seq
  FROM posthorn_message_shown
 WHERE door = 0;
CREATE VIEW posthorn_inbox AS
SELECT id, source, dedupe_key AS message_id, namespace, topic, payload, tenant_id, correlation_id,
       stream, priority, headers, created_at, due_time_utc, expires_at, status, status_code,
       attempts, max_attempts, retry_count, last_error, next_attempt_at, locked_until, owner_token,
       locked_by, fence, is_processed, processed_at, processed_by, updated_at, seq
  FROM posthorn_message_shown
 WHERE door = 1;
CREATE VIEW posthorn_timers AS
SELECT id, namespace, topic, payload, correlation_id, headers, created_at, due_time_utc, status,
       status_code, attempts, max_attempts, retry_count, last_error, next_attempt_at, locked_until,
       owner_token, fence, is_processed, processed_at, processed_by, updated_at
  FROM posthorn_message_shown
 WHERE door = 2;
CREATE VIEW posthorn_job_runs AS
SELECT s.id, s.namespace, s.topic, s.payload, s.correlation_id, s.headers, s.created_at,
       s.due_time_utc, s.status, s.status_code, s.attempts, s.max_attempts, s.retry_count,
       s.last_error, s.next_attempt_at, s.locked_until, s.owner_token, s.fence, s.is_processed,
       s.processed_at, s.processed_by, s.updated_at,
       r.job, strftime('%Y-%m-%dT%H:%M:%S', (r.scheduled_at - (r.scheduled_at % 1000000 + 1000000) % 1000000) / 1000000, 'unixepoch')
           || printf('.%06dZ', (r.scheduled_at % 1000000 + 1000000) % 1000000) AS scheduled_at, r.triggered
  FROM posthorn_message_shown s
  LEFT JOIN posthorn_message o ON printf('%08x-%04x-8000-%04x-%012x', o.id >> 16, o.id & 65535,
              (o.salt >> 48) & 65535, o.salt & 281474976710655) = s.message_id
  LEFT JOIN posthorn_job_run r ON r.id = o.id
 WHERE s.door = 3;
CREATE VIEW posthorn_dead_letters AS
SELECT s.work_id AS id, coalesce(CASE WHEN s.message_id IS NOT NULL THEN
           lower(substr(hex(s.message_id), 1, 8) || '-' || substr(hex(s.message_id), 9, 4) || '-'
                 || substr(hex(s.message_id), 13, 4) || '-' || substr(hex(s.message_id), 17, 4) || '-'
                 || substr(hex(s.message_id), 21)) END, s.work_id) AS message_id,
       s.namespace, s.topic, s.payload, CASE WHEN s.tenant_id IS NOT NULL THEN
           lower(substr(hex(s.tenant_id), 1, 8) || '-' || substr(hex(s.tenant_id), 9, 4) || '-'
                 || substr(hex(s.tenant_id), 13, 4) || '-' || substr(hex(s.tenant_id), 17, 4) || '-'
                 || substr(hex(s.tenant_id), 21)) END AS tenant_id,
       s.dedupe_key, s.correlation_id, s.level AS priority, s.headers,
       strftime('%Y-%m-%dT%H:%M:%S', (s.created_at - (s.created_at % 1000000 + 1000000) % 1000000) / 1000000, 'unixepoch')
           || printf('.%06dZ', (s.created_at % 1000000 + 1000000) % 1000000) AS created_at,
       CASE x.reason WHEN 1 THEN 'failed' WHEN 2 THEN 'attempts' WHEN 3 THEN 'lost'
                     WHEN 4 THEN 'expired' END AS reason,
       s.last_error AS error, s.attempts, s.retry_count,
       strftime('%Y-%m-%dT%H:%M:%S', (x.died_at - (x.died_at % 1000000 + 1000000) % 1000000) / 1000000, 'unixepoch')
           || printf('.%06dZ', (x.died_at % 1000000 + 1000000) % 1000000) AS died_at,
       CASE WHEN x.owner IS NOT NULL THEN
           lower(substr(hex(x.owner), 1, 8) || '-' || substr(hex(x.owner), 9, 4) || '-'
                 || substr(hex(x.owner), 13, 4) || '-' || substr(hex(x.owner), 17, 4) || '-'
                 || substr(hex(x.owner), 21)) END AS owner_token,
       CASE WHEN x.retried_as IS NOT NULL THEN
           lower(substr(hex(x.retried_as), 1, 8) || '-' || substr(hex(x.retried_as), 9, 4) || '-'
                 || substr(hex(x.retried_as), 13, 4) || '-' || substr(hex(x.retried_as), 17, 4) || '-'
                 || substr(hex(x.retried_as), 21)) END AS retried_as,
       (SELECT json_group_array(json_object(
                   'attempt', h.attempt, 'kind', h.kind, 'error', h.error, 'at', h.at,
                   'owner', h.owner, 'next_due_at', h.next_due_at))
          FROM (SELECT a.attempt,
                       CASE a.kind WHEN 1 THEN 'abandoned' WHEN 2 THEN 'failed'
                                   WHEN 3 THEN 'released' WHEN 4 THEN 'lost'
                                   WHEN 5 THEN 'expired' END AS kind,
                       a.error, strftime('%Y-%m-%dT%H:%M:%S', (a.at - (a.at % 1000000 + 1000000) % 1000000) / 1000000, 'unixepoch')
           || printf('.%06dZ', (a.at % 1000000 + 1000000) % 1000000) AS at, CASE WHEN a.owner IS NOT NULL THEN
           lower(substr(hex(a.owner), 1, 8) || '-' || substr(hex(a.owner), 9, 4) || '-'
                 || substr(hex(a.owner), 13, 4) || '-' || substr(hex(a.owner), 17, 4) || '-'
                 || substr(hex(a.owner), 21)) END AS owner,
                       strftime('%Y-%m-%dT%H:%M:%S', (a.next_due - (a.next_due % 1000000 + 1000000) % 1000000) / 1000000, 'unixepoch')
           || printf('.%06dZ', (a.next_due % 1000000 + 1000000) % 1000000) AS next_due_at
                  FROM posthorn_attempt_log a
                 WHERE a.message = x.id ORDER BY a.n) h) AS history
  FROM posthorn_dead x CROSS JOIN posthorn_message_state s ON s.id = x.id;
CREATE VIEW posthorn_queues AS
SELECT CASE door WHEN 0 THEN 'outbox' WHEN 1 THEN 'inbox' WHEN 2 THEN 'timers'
                 WHEN 3 THEN 'job_runs' END AS door,
       namespace, paused, max_attempts,
       CASE backoff WHEN 1 THEN 'exponential' WHEN 2 THEN 'equal-jitter' END AS backoff,
       backoff_base_ms, backoff_max_ms, retention_s, dead_retention_s, dedupe_retention_s,
       max_payload_bytes, max_lease_s, delete_on_ack, join_wait_topic,
       CASE dead_head WHEN 1 THEN 'skip' WHEN 2 THEN 'block' END AS dead_head, affinity_grace_ms
  FROM posthorn_queue;
CREATE VIEW posthorn_stream_state AS
SELECT s.id, s.queue, q.door, q.namespace, s.key, s.hash, s.last_seq, s.busy, s.created_at,
       h.id AS head, h.salt AS head_salt, h.seq AS head_seq, p.due,
       CASE WHEN p.id IS NOT NULL THEN p.attempts
            WHEN l.fence IS NOT NULL THEN
                coalesce(CAST(substr(l.attempts,
                                     (instr(l.ids, printf(',%012x', h.id)) - 1) / 13 * 5 + 1, 5)
                              AS INTEGER), 1)
       END AS attempts,
       l.fence, l.owner, l.until
  FROM posthorn_stream s CROSS JOIN posthorn_queue q ON q.id = s.queue
  LEFT JOIN posthorn_pending p ON p.stream = s.id
  LEFT JOIN posthorn_message h
    ON s.busy
   AND h.id = coalesce(p.id, (
           SELECT m.id
             FROM posthorn_lease r
            CROSS JOIN posthorn_message m
               ON m.stream = s.id
              AND m.seq >= CAST(substr(r.runs, instr(r.runs, ',' || s.id || ':')
                                               + length(s.id) + 2) AS INTEGER)
              AND m.seq < CAST(substr(r.runs, instr(r.runs, ',' || s.id || ':')
                                              + length(s.id) + 2) AS INTEGER) + length(r.ids) / 13
            WHERE r.runs IS NOT NULL AND instr(r.runs, ',' || s.id || ':') > 0
              AND instr(r.ids, printf(',%012x', m.id)) > 0
              AND coalesce(substr(r.settled, (instr(r.ids, printf(',%012x', m.id)) - 1) / 13 + 1,
                                  1), '0') = '0'
            ORDER BY m.seq LIMIT 1))
  LEFT JOIN posthorn_lease l
    ON p.id IS NULL AND l.runs IS NOT NULL AND l.lo <= h.id AND l.hi >= h.id
   AND instr(l.ids, printf(',%012x', h.id)) > 0
   AND coalesce(substr(l.settled, (instr(l.ids, printf(',%012x', h.id)) - 1) / 13 + 1, 1),
                '0') = '0';
CREATE VIEW posthorn_streams AS
SELECT CASE s.door WHEN 0 THEN 'outbox' WHEN 1 THEN 'inbox' END AS door, s.namespace,
       s.key AS stream,
       CASE WHEN NOT s.busy THEN 'idle' WHEN s.due IS NULL THEN 'in_progress'
            WHEN s.due = 9223372036854775807 THEN 'blocked'
            WHEN s.due <= (SELECT coalesce(o.clock_us, CAST(round((julianday('now') - 2440587.5)
                                                                  * 86400000) AS INTEGER) * 1000)
                             FROM posthorn_store o) THEN 'ready' ELSE 'scheduled' END AS state,
       s.hash % 10000 AS partition, s.last_seq,
       coalesce(s.head_seq + (s.due IS 9223372036854775807), s.last_seq + 1) AS next_seq,
       coalesce(s.last_seq - s.head_seq + (s.due IS NOT 9223372036854775807), 0) AS unsettled,
       CASE WHEN s.head IS NOT NULL
            THEN printf('%08x-%04x-8000-%04x-%012x', s.head >> 16, s.head & 65535,
                        (s.head_salt >> 48) & 65535, s.head_salt & 281474976710655) END AS head,
       CASE WHEN s.due < 9223372036854775807 THEN strftime('%Y-%m-%dT%H:%M:%S', (s.due - (s.due % 1000000 + 1000000) % 1000000) / 1000000, 'unixepoch')
           || printf('.%06dZ', (s.due % 1000000 + 1000000) % 1000000) END AS head_due_at,
       CASE WHEN s.due IS NOT 9223372036854775807 THEN s.attempts END AS head_attempts,
       CASE WHEN s.owner IS NOT NULL THEN
           lower(substr(hex(s.owner), 1, 8) || '-' || substr(hex(s.owner), 9, 4) || '-'
                 || substr(hex(s.owner), 13, 4) || '-' || substr(hex(s.owner), 17, 4) || '-'
                 || substr(hex(s.owner), 21)) END AS locked_by,
       strftime('%Y-%m-%dT%H:%M:%S', (s.until - (s.until % 1000000 + 1000000) % 1000000) / 1000000, 'unixepoch')
           || printf('.%06dZ', (s.until % 1000000 + 1000000) % 1000000) AS locked_until,
       strftime('%Y-%m-%dT%H:%M:%S', (s.created_at - (s.created_at % 1000000 + 1000000) % 1000000) / 1000000, 'unixepoch')
           || printf('.%06dZ', (s.created_at % 1000000 + 1000000) % 1000000) AS created_at
  FROM posthorn_stream_state s;
CREATE VIEW posthorn_instances AS
SELECT CASE WHEN i.id IS NOT NULL THEN
           lower(substr(hex(i.id), 1, 8) || '-' || substr(hex(i.id), 9, 4) || '-'
                 || substr(hex(i.id), 13, 4) || '-' || substr(hex(i.id), 17, 4) || '-'
                 || substr(hex(i.id), 21)) END AS id, i.service, i.host, i.process_id, i.metadata,
       CASE i.state WHEN 1 THEN 'live' WHEN 2 THEN 'left' WHEN 3 THEN 'evicted' END AS state,
       strftime('%Y-%m-%dT%H:%M:%S', (i.started_at - (i.started_at % 1000000 + 1000000) % 1000000) / 1000000, 'unixepoch')
           || printf('.%06dZ', (i.started_at % 1000000 + 1000000) % 1000000) AS started_at,
       strftime('%Y-%m-%dT%H:%M:%S', (i.heartbeat_at - (i.heartbeat_at % 1000000 + 1000000) % 1000000) / 1000000, 'unixepoch')
           || printf('.%06dZ', (i.heartbeat_at % 1000000 + 1000000) % 1000000) AS last_heartbeat_at,
       strftime('%Y-%m-%dT%H:%M:%S', (i.ended_at - (i.ended_at % 1000000 + 1000000) % 1000000) / 1000000, 'unixepoch')
           || printf('.%06dZ', (i.ended_at % 1000000 + 1000000) % 1000000) AS ended_at,
       i.lease_s AS lease_seconds, i.stale_s AS stale_threshold_seconds,
       i.partitions AS partition_count,
       (SELECT coalesce(sum(l.open), 0) FROM posthorn_lease l WHERE l.owner = i.id) AS in_progress
  FROM posthorn_instance i;
CREATE VIEW posthorn_receptors AS
SELECT CASE WHEN r.message_id IS NOT NULL THEN
           lower(substr(hex(r.message_id), 1, 8) || '-' || substr(hex(r.message_id), 9, 4) || '-'
                 || substr(hex(r.message_id), 13, 4) || '-' || substr(hex(r.message_id), 17, 4) || '-'
                 || substr(hex(r.message_id), 21)) END AS message_id, r.name AS receptor,
       iif(r.completed, 'completed', 'failed') AS status, r.attempts, r.error,
       strftime('%Y-%m-%dT%H:%M:%S', (r.first_at - (r.first_at % 1000000 + 1000000) % 1000000) / 1000000, 'unixepoch')
           || printf('.%06dZ', (r.first_at % 1000000 + 1000000) % 1000000) AS first_at,
       strftime('%Y-%m-%dT%H:%M:%S', (r.last_at - (r.last_at % 1000000 + 1000000) % 1000000) / 1000000, 'unixepoch')
           || printf('.%06dZ', (r.last_at % 1000000 + 1000000) % 1000000) AS last_at,
       coalesce((SELECT printf('%08x-%04x-8000-%04x-%012x', m.id >> 16, m.id & 65535,
              (m.salt >> 48) & 65535, m.salt & 281474976710655) FROM posthorn_message m CROSS JOIN posthorn_queue q ON q.id = m.queue
                  WHERE m.message_id = r.message_id AND q.door IN (0, 1) ORDER BY m.id DESC LIMIT 1),
                CASE WHEN r.message_id IS NOT NULL THEN
           lower(substr(hex(r.message_id), 1, 8) || '-' || substr(hex(r.message_id), 9, 4) || '-'
                 || substr(hex(r.message_id), 13, 4) || '-' || substr(hex(r.message_id), 17, 4) || '-'
                 || substr(hex(r.message_id), 21)) END) AS work_id
  FROM posthorn_receptor r;
CREATE VIEW posthorn_checkpoints AS
SELECT CASE q.door WHEN 0 THEN 'outbox' WHEN 1 THEN 'inbox' END AS door, q.namespace,
       s.key AS stream, c.consumer, c.seq,
       (SELECT coalesce(sum(json_extract(r.value, '$[1]') - json_extract(r.value, '$[0]') + 1), 0)
          FROM json_each('[[' || replace(replace(c.ahead, ',', '],['), '-', ',') || ']]') r)
           AS ahead,
       (SELECT count(*) FROM posthorn_message m WHERE m.stream = s.id AND m.seq > c.seq) AS lag,
       c.error, c.error_seq,
       strftime('%Y-%m-%dT%H:%M:%S', (c.error_at - (c.error_at % 1000000 + 1000000) % 1000000) / 1000000, 'unixepoch')
           || printf('.%06dZ', (c.error_at % 1000000 + 1000000) % 1000000) AS error_at,
       strftime('%Y-%m-%dT%H:%M:%S', (c.updated_at - (c.updated_at % 1000000 + 1000000) % 1000000) / 1000000, 'unixepoch')
           || printf('.%06dZ', (c.updated_at % 1000000 + 1000000) % 1000000) AS updated_at,
       strftime('%Y-%m-%dT%H:%M:%S', (c.rewound_at - (c.rewound_at % 1000000 + 1000000) % 1000000) / 1000000, 'unixepoch')
           || printf('.%06dZ', (c.rewound_at % 1000000 + 1000000) % 1000000) AS rewound_at
  FROM posthorn_checkpoint c CROSS JOIN posthorn_stream s ON s.id = c.stream
 CROSS JOIN posthorn_queue q ON q.id = s.queue;

DELETE FROM posthorn_queue;
DELETE FROM posthorn_store;
DELETE FROM posthorn_migration;
DELETE FROM sqlite_sequence;
INSERT INTO posthorn_attempt_log (n, message, attempt, kind, error, at, owner, next_due) VALUES
(1, 2, 1, 2, 'broken', 1700000000000000, X'11111111000040008000000000000000', NULL),
(2, 3, 1, 2, 'once', 1700000000000000, X'11111111000040008000000000000000', NULL),
(3, 5, 1, 1, 'try again', 1700000000000000, X'11111111000040008000000000000000', 1700000060000000),
(4, 22, 1, 2, 'bad head', 1700000000000000, X'11111111000040008000000000000000', NULL),
(5, 31, 1, 2, 'no', 1700000000000000, X'11111111000040008000000000000000', NULL),
(6, 41, 1, 2, 'in error', 1700000000000000, X'22222222000040008000000000000000', NULL);
INSERT INTO posthorn_checkpoint (stream, consumer, seq, ahead, error, error_seq, error_at, updated_at) VALUES
(1, 'reader', 1, '3-3', 'stuck', 2, 1700000000000000, 1700000000000000);
INSERT INTO posthorn_dead (id, queue, reason, died_at, owner, retried_as) VALUES
(2, 1, 1, 1700000000000000, X'11111111000040008000000000000000', NULL),
(22, 4, 1, 1700000000000000, X'11111111000040008000000000000000', NULL),
(3, 1, 1, 1700000000000000, X'11111111000040008000000000000000', X'00000000000480008FB0831AFF5AC9B3'),
(31, 1, 1, 1700000000000000, X'11111111000040008000000000000000', NULL),
(41, 7, 1, 1700000000000000, X'22222222000040008000000000000000', NULL);
INSERT INTO posthorn_dedupe (queue, topic, key, id, salt, created_at, gone) VALUES
(1, 'keyed', 'k1', 11, -8092824382641502911, 1700000000000000, 0),
(1, 'keyed', 'k2', 12, -8092824381122841563, 1700000000000000, 0),
(2, 'keyed', 'k3', 13, -8092824378758129990, 1700000000000000, 1),
(7, 'shop', 'id-0', 40, -6939902875366800072, 1700000000000000, 0),
(7, 'shop', 'id-1', 41, -6939902874472815425, 1700000000000000, 0),
(7, 'shop', 'id-2', 42, -6939902875015623858, 1700000000000000, 0),
(7, 'shop', 'id-3', 43, -6939902874185015203, 1700000000000000, 0),
(7, 'shop', 's1', 44, -6939902876451059444, 1700000000000000, 0),
(7, 'shop', 's2', 45, -6939902875783769654, 1700000000000000, 0);
INSERT INTO posthorn_done (id, queue, owner, at, lo, hi, ids) VALUES
(1, 1, X'11111111000040008000000000000000', 1700000000000000, 1, 1, ',000000000001'),
(10, 7, X'22222222000040008000000000000000', 1700000000000000, 40, 40, ',000000000028'),
(2, 1, X'11111111000040008000000000000000', 1700000000000000, 7, 7, ',000000000007'),
(3, 1, X'11111111000040008000000000000000', 1700000000000000, 11, 11, ',00000000000b'),
(4, 1, X'11111111000040008000000000000000', 1700000000000000, 21, 21, ',000000000015'),
(5, 1, X'11111111000040008000000000000000', 1700000000000000, 25, 25, ',000000000019'),
(6, 1, X'11111111000040008000000000000000', 1700000000000000, 29, 29, ',00000000001d'),
(7, 1, X'00000000000000000000000000000000', 1700000000000000, 28, 28, ',00000000001c'),
(8, 1, X'11111111000040008000000000000000', 1700000000000000, 32, 32, ',000000000020'),
(9, 6, X'11111111000040008000000000000000', 1700000000000000, 38, 38, ',000000000026');
INSERT INTO posthorn_instance (id, service, host, process_id, metadata, started_at, heartbeat_at, ended_at, lease_s, stale_s, partitions, state) VALUES
(X'33333333000040008000000000000000', 'billing', 'host', 7, '{"zone": 1}', 1700000000000000, 1700000000000000, NULL, 300, 600, 10000, 1),
(X'44444444000040008000000000000000', 'billing', 'host', 7, '{"zone": 1}', 1700000000000000, 1700000000000000, 1700000000000000, 300, 600, 10000, 2);
INSERT INTO posthorn_job (name, namespace, topic, payload, cron, timezone, misfire, misfire_limit, overlap, paused, created_at, updated_at, generation, anchor_at, next_at, last_at, last_run, skipped) VALUES
('nightly', '', 'report', 'go', '0 3 * * *', 'Europe/Berlin', 1, 100, 1, 0, 1700000000000000, 1700000000000000, 228928939319668197, 1700000000000000, 1700013600000000, 1700000000000000, X'0000000000278000BFB0831ADC582714', 0),
('paused', '', 'report', 'go', '0 3 * * *', 'Europe/Berlin', 1, 100, 1, 1, 1700000000000000, 1700000000000000, 3008598830272990071, 1700000000000000, NULL, NULL, NULL, 0);
INSERT INTO posthorn_job_run (id, job, scheduled_at, triggered, maybe_open) VALUES
(38, 'nightly', 1700000000000000, 1, 1),
(39, 'nightly', 1700000000000000, 1, 1);
INSERT INTO posthorn_join_head (id, salt, expected, attached, completed, failed, status, created_at, updated_at, deadline, finished_at, grouping_key, metadata) VALUES
(1, -8092824381836313508, 4, 3, 2, 0, 0, 1700000000000000, 1700000000000000, NULL, NULL, 'open', 'kept'),
(2, -8092824379630073542, 1, 1, 1, 0, 1, 1700000000000000, 1700000000000000, NULL, 1700000000000000, 'complete', 'kept'),
(3, -8092824379647206372, 2, 2, 1, 1, 2, 1700000000000000, 1700000000000000, NULL, 1700000000000000, 'failed', 'kept'),
(4, -8092824382464339348, 2, 1, 0, 0, 3, 1700000000000000, 1700000000000000, NULL, 1700000000000000, 'cancelled', 'kept'),
(5, -8092824378944527590, 2, 1, 0, 0, 0, 1700000000000000, 1700000000000000, 1700007200000000, NULL, 'deadline', 'kept');
INSERT INTO posthorn_join_member (join_id, message_id, message, salt, n, status, created_at) VALUES
(1, X'00000000001980008FB0831A53062A9E', 25, -8092824381299479906, 1, NULL, 1700000000000000),
(1, X'00000000001A80008FB0831A6E3B9588', 26, -8092824380842994296, 2, NULL, 1700000000000000),
(1, X'00000000001B80008FB0831AC0B40F44', 27, -8092824379459367100, 3, 1, 1700000000000000),
(2, X'00000000001D80008FB0831A58EB314B', 29, -8092824381200584373, 1, NULL, 1700000000000000),
(3, X'00000000001F80008FB0831AC33D0658', 31, -8092824379416836520, 1, NULL, 1700000000000000),
(3, X'00000000002080008FB0831A42C238C6', 32, -8092824381572368186, 2, NULL, 1700000000000000),
(4, X'00000000002180008FB0831A1D2ACBCE', 33, -8092824382203049010, 1, 0, 1700000000000000),
(5, X'00000000002380008FB0831AF42F466A', 35, -8092824378595654038, 1, NULL, 1700000000000000);
INSERT INTO posthorn_join_wait (id, join_id) VALUES
(24, 1),
(34, 5);
INSERT INTO posthorn_lease (fence, owner, queue, claimed_at, until, lost, open, lo, hi, settled, ids, runs) VALUES
(18, X'22222222000040008000000000000000', 7, 1700000000000000, 1700000300000000, 0, 1, 42, 42, NULL, ',00000000002a', NULL),
(19, X'33333333000040008000000000000000', 1, 1700000000000000, 1700000300000000, 0, 1, 46, 46, NULL, ',00000000002e', NULL),
(5, X'11111111000040008000000000000000', 1, 1700000000000000, 1700000300000000, 0, 2, 6, 8, '010', ',000000000006,000000000007,000000000008', NULL),
(8, X'11111111000040008000000000000000', 1, 1700000000000000, 1700000300000000, 0, 2, 18, 19, NULL, ',000000000012,000000000013', ',2:1:00000001');
INSERT INTO posthorn_message (id, salt, queue, level, topic, message_id, tenant_id, dedupe_key, correlation_id, headers, created_at, due_at, expires_at, max_attempts, payload, stream, seq, source) VALUES
(1, -8092824379257533434, 1, 1, 'done', NULL, NULL, NULL, NULL, NULL, 1700000000000000, NULL, NULL, NULL, 'done', NULL, NULL, NULL),
(10, -8092824382344134636, 1, 0, 'ready', X'12345678123442348234123456789012', X'87654321123442348234123456789012', NULL, 'corr', '{"a": 1}', 1700000000000000, NULL, 1700086400000000, 4, 'ready ü', NULL, NULL, NULL),
(11, -8092824382641502911, 1, 1, 'keyed', NULL, NULL, 'k1', NULL, NULL, 1700000000000000, NULL, NULL, NULL, 'keyed', NULL, NULL, NULL),
(12, -8092824381122841563, 1, 1, 'keyed', NULL, NULL, 'k2', NULL, NULL, 1700000000000000, NULL, NULL, NULL, 'keyed', NULL, NULL, NULL),
(14, -8092824379978769277, 3, 1, 'held', NULL, NULL, NULL, NULL, NULL, 1700000000000000, NULL, NULL, NULL, 'held', NULL, NULL, NULL),
(15, -8092824379266380715, 1, 1, 'orders', NULL, NULL, NULL, NULL, NULL, 1700000000000000, NULL, NULL, NULL, 'a', 1, 1, NULL),
(16, -8092824380752197449, 1, 1, 'orders', NULL, NULL, NULL, NULL, NULL, 1700000000000000, NULL, NULL, NULL, 'b', 1, 2, NULL),
(17, -8092824381362215697, 1, 1, 'orders', NULL, NULL, NULL, NULL, NULL, 1700000000000000, NULL, NULL, NULL, 'c', 1, 3, NULL),
(18, -8092824380517293947, 1, 1, 'shipping', NULL, NULL, NULL, NULL, NULL, 1700000000000000, NULL, NULL, NULL, 'a', 2, 1, NULL),
(19, -8092824379932462789, 1, 1, 'shipping', NULL, NULL, NULL, NULL, NULL, 1700000000000000, NULL, NULL, NULL, 'b', 2, 2, NULL),
(2, -8092824381975916102, 1, 1, 'dead', NULL, NULL, NULL, NULL, NULL, 1700000000000000, NULL, NULL, NULL, 'dead', NULL, NULL, NULL),
(20, -8092824379560665329, 1, 1, 'shipping', NULL, NULL, NULL, NULL, NULL, 1700000000000000, NULL, NULL, NULL, 'c', 2, 3, NULL),
(21, -8092824382286929296, 1, 1, 'idle', NULL, NULL, NULL, NULL, NULL, 1700000000000000, NULL, NULL, NULL, 'x', 3, 1, NULL),
(22, -8092824379857377969, 4, 1, 'strict', NULL, NULL, NULL, NULL, NULL, 1700000000000000, NULL, NULL, NULL, 'a', 4, 1, NULL),
(23, -8092824381031737245, 4, 1, 'strict', NULL, NULL, NULL, NULL, NULL, 1700000000000000, NULL, NULL, NULL, 'b', 4, 2, NULL),
(24, -8092824381517874162, 1, 1, 'join.wait', NULL, NULL, NULL, NULL, NULL, 1700000000000000, NULL, NULL, NULL, '{"join_id":"00000000-0001-8000-8fb0-831a3306bc5c","fail_if_any_step_failed":true,"on_complete_topic":"open.good","on_complete_payload":"open.good","on_fail_topic":"open.bad","on_fail_payload":"open.bad"}', NULL, NULL, NULL),
(25, -8092824381299479906, 1, 1, 's.done', NULL, NULL, NULL, NULL, NULL, 1700000000000000, NULL, NULL, NULL, 's.done', NULL, NULL, NULL),
(26, -8092824380842994296, 1, 1, 's.open', NULL, NULL, NULL, NULL, NULL, 1700000000000000, NULL, NULL, NULL, 's.open', NULL, NULL, NULL),
(27, -8092824379459367100, 1, 1, 's.reported', NULL, NULL, NULL, NULL, NULL, 1700000000000000, NULL, NULL, NULL, 's.reported', NULL, NULL, NULL),
(28, -8092824380023383273, 1, 1, 'join.wait', NULL, NULL, NULL, NULL, NULL, 1700000000000000, NULL, NULL, NULL, '{"join_id":"00000000-0002-8000-8fb0-831ab687493a","fail_if_any_step_failed":true,"on_complete_topic":"complete.good","on_complete_payload":"complete.good","on_fail_topic":null,"on_fail_payload":""}', NULL, NULL, NULL),
(29, -8092824381200584373, 1, 1, 's.done', NULL, NULL, NULL, NULL, NULL, 1700000000000000, NULL, NULL, NULL, 's.done', NULL, NULL, NULL),
(3, -8092824382270986203, 1, 1, 'again', NULL, NULL, NULL, NULL, NULL, 1700000000000000, NULL, NULL, NULL, 'again', NULL, NULL, NULL),
(30, -8092824381526716336, 1, 1, 'complete.good', NULL, NULL, NULL, NULL, '{"join_id": "00000000-0002-8000-8fb0-831ab687493a", "join_status": "completed"}', 1700000000000000, NULL, NULL, NULL, 'complete.good', NULL, NULL, NULL),
(31, -8092824379416836520, 1, 1, 's.dead', NULL, NULL, NULL, NULL, NULL, 1700000000000000, NULL, NULL, NULL, 's.dead', NULL, NULL, NULL),
(32, -8092824381572368186, 1, 1, 's.done', NULL, NULL, NULL, NULL, NULL, 1700000000000000, NULL, NULL, NULL, 's.done', NULL, NULL, NULL),
(33, -8092824382203049010, 1, 1, 's.cancelled', NULL, NULL, NULL, NULL, NULL, 1700000000000000, NULL, NULL, NULL, 's.cancelled', NULL, NULL, NULL),
(34, -8092824382524675652, 1, 1, 'join.wait', NULL, NULL, NULL, NULL, NULL, 1700000000000000, NULL, NULL, NULL, '{"join_id":"00000000-0005-8000-8fb0-831adf63e31a","fail_if_any_step_failed":true,"on_complete_topic":"deadline.good","on_complete_payload":"deadline.good","on_fail_topic":"deadline.bad","on_fail_payload":"deadline.bad"}', NULL, NULL, NULL),
(35, -8092824378595654038, 1, 1, 's.deadline', NULL, NULL, NULL, NULL, NULL, 1700000000000000, NULL, NULL, NULL, 's.deadline', NULL, NULL, NULL),
(36, -5786981371167360736, 5, 1, 'timer', NULL, NULL, NULL, NULL, NULL, 1700000000000000, 1700003600000000, NULL, NULL, 'later', NULL, NULL, NULL),
(37, -5786981369604798164, 5, 1, 'timer', NULL, NULL, NULL, NULL, NULL, 1700000000000000, 1700000000000000, NULL, NULL, 'now', NULL, NULL, NULL),
(38, -4634059866688998349, 6, 1, 'report', NULL, NULL, NULL, NULL, '{"job": "nightly", "scheduled_at": "2023-11-14T22:13:20.000000Z"}', 1700000000000000, 1700000000000000, NULL, NULL, 'go', NULL, NULL, NULL),
(39, -4634059865175087340, 6, 1, 'report', NULL, NULL, NULL, NULL, '{"job": "nightly", "scheduled_at": "2023-11-14T22:13:20.000000Z"}', 1700000000000000, 1700000000000000, NULL, NULL, 'go', NULL, NULL, NULL),
(4, -8092824378408253005, 1, 1, 'again', X'00000000000380008FB0831A191E2825', NULL, NULL, NULL, NULL, 1700000000000000, NULL, NULL, NULL, 'again', NULL, NULL, NULL),
(40, -6939902875366800072, 7, 1, 'in.done', NULL, NULL, 'id-0', NULL, NULL, 1700000000000000, NULL, NULL, NULL, 'in.done', NULL, NULL, 'shop'),
(41, -6939902874472815425, 7, 1, 'in.dead', NULL, NULL, 'id-1', NULL, NULL, 1700000000000000, NULL, NULL, NULL, 'in.dead', NULL, NULL, 'shop'),
(42, -6939902875015623858, 7, 1, 'in.leased', NULL, NULL, 'id-2', NULL, NULL, 1700000000000000, NULL, NULL, NULL, 'in.leased', NULL, NULL, 'shop'),
(43, -6939902874185015203, 7, 1, 'in.ready', NULL, NULL, 'id-3', NULL, NULL, 1700000000000000, NULL, NULL, NULL, 'in.ready', NULL, NULL, 'shop'),
(44, -6939902876451059444, 7, 1, 'in.stream', NULL, NULL, 's1', NULL, NULL, 1700000000000000, NULL, NULL, NULL, 'a', 5, 1, 'shop'),
(45, -6939902875783769654, 7, 1, 'in.stream', NULL, NULL, 's2', NULL, NULL, 1700000000000000, NULL, NULL, NULL, 'b', 5, 2, 'shop'),
(46, -8092824379532217768, 1, 1, 'instance', NULL, NULL, NULL, NULL, NULL, 1700000000000000, NULL, NULL, NULL, 'instance', NULL, NULL, NULL),
(5, -8092824382381412808, 1, 1, 'retry', NULL, NULL, NULL, NULL, NULL, 1700000000000000, NULL, NULL, NULL, 'retry', NULL, NULL, NULL),
(6, -8092824380089220116, 1, 1, 'leased', NULL, NULL, NULL, NULL, NULL, 1700000000000000, NULL, NULL, NULL, 'leased', NULL, NULL, NULL),
(7, -8092824379451814844, 1, 1, 'leased', NULL, NULL, NULL, NULL, NULL, 1700000000000000, NULL, NULL, NULL, 'leased', NULL, NULL, NULL),
(8, -8092824380876810299, 1, 1, 'leased', NULL, NULL, NULL, NULL, NULL, 1700000000000000, NULL, NULL, NULL, 'leased', NULL, NULL, NULL),
(9, -8092824382117946921, 1, 1, 'scheduled', NULL, NULL, NULL, NULL, NULL, 1700000000000000, 1700003600000000, NULL, NULL, 'scheduled', NULL, NULL, NULL);
INSERT INTO posthorn_migration (version, name, applied_at) VALUES
(1, 'outbox', 1700000000000000),
(2, 'dispatcher', 1700000000000000),
(3, 'joins_schedule', 1700000000000000),
(4, 'coordination', 1700000000000000);
INSERT INTO posthorn_pending (queue, level, due, id, attempts, lost, topic, stream) VALUES
(1, 0, 1700000000000000, 10, 0, 0, 1712242932, NULL),
(1, 1, 1700000000000000, 4, 0, 0, 3007309135, NULL),
(1, 1, 1700000000000000, 12, 0, 0, 475369053, NULL),
(1, 1, 1700000000000000, 15, 0, 0, 845059820, 1),
(1, 1, 1700000000000000, 26, 0, 0, 2209454852, NULL),
(1, 1, 1700000000000000, 27, 0, 0, 3868760327, NULL),
(1, 1, 1700000000000000, 30, 0, 0, 4137188297, NULL),
(1, 1, 1700000000000000, 33, 0, 0, 1670406271, NULL),
(1, 1, 1700000000000000, 35, 0, 0, 287047928, NULL),
(1, 1, 1700000060000000, 5, 1, 0, 3665406649, NULL),
(1, 1, 1700003600000000, 9, 0, 0, 2199446904, NULL),
(3, 1, 1700000000000000, 14, 0, 0, 611419262, NULL),
(4, 1, 9223372036854775807, 22, 0, 0, 617100660, 4),
(5, 1, 1700000000000000, 37, 0, 0, 1550380322, NULL),
(5, 1, 1700003600000000, 36, 0, 0, 1550380322, NULL),
(6, 1, 1700000000000000, 39, 0, 0, 431699179, NULL),
(7, 1, 1700000000000000, 43, 0, 0, 4261387687, NULL),
(7, 1, 1700000000000000, 44, 0, 0, 420000528, 5);
INSERT INTO posthorn_queue (id, door, namespace, paused, max_attempts, backoff, backoff_base_ms, backoff_max_ms, retention_s, dead_retention_s, dedupe_retention_s, max_payload_bytes, max_lease_s, delete_on_ack, join_wait_topic, dead_head, affinity_grace_ms, has_streams) VALUES
(1, 0, '', 0, 10, 1, 1000, 60000, 604800, -1, 604800, 1048576, 86400, 0, 'join.wait', 1, 1000, 1),
(2, 0, 'gone', 0, 10, 1, 1000, 60000, 604800, -1, 604800, 1048576, 86400, 1, 'join.wait', 1, 1000, 0),
(3, 0, 'paused', 1, 10, 1, 1000, 60000, 604800, -1, 604800, 1048576, 86400, 0, 'join.wait', 1, 1000, 0),
(4, 0, 'strict', 0, 10, 1, 1000, 60000, 604800, -1, 604800, 1048576, 86400, 0, 'join.wait', 2, 1000, 1),
(5, 2, '', 0, 10, 1, 1000, 60000, 604800, -1, 604800, 1048576, 86400, 0, 'join.wait', 1, 1000, 0),
(6, 3, '', 0, 10, 1, 1000, 60000, 604800, -1, 604800, 1048576, 86400, 0, 'join.wait', 1, 1000, 0),
(7, 1, '', 0, 10, 1, 1000, 60000, 604800, -1, -1, 1048576, 86400, 0, 'join.wait', 1, 1000, 1);
INSERT INTO posthorn_receptor (message_id, name, completed, attempts, error, first_at, last_at) VALUES
(X'12345678123442348234123456789012', 'mail', 1, 1, NULL, 1700000000000000, 1700000000000000),
(X'12345678123442348234123456789012', 'sms', 0, 1, 'no credit', 1700000000000000, 1700000000000000);
INSERT INTO posthorn_store (one, store_id, version, serves_from, clock_us) VALUES
(1, 263226138, 4, 4, 1700000000000000);
INSERT INTO posthorn_stream (id, queue, key, hash, last_seq, busy, created_at) VALUES
(1, 1, 'waiting', 580113598352252388, 3, 1, 1700000000000000),
(2, 1, 'worked', 837943655131092780, 3, 1, 1700000000000000),
(3, 1, 'idle', 358988573071426294, 1, 0, 1700000000000000),
(4, 4, 'blocked', 474916308663639222, 2, 1, 1700000000000000),
(5, 7, 'in', 397045147303475465, 2, 1, 1700000000000000);
INSERT INTO sqlite_sequence (name, seq) VALUES
('posthorn_join_head', 5),
('posthorn_lease', 19),
('posthorn_message', 46),
('posthorn_stream', 5);
