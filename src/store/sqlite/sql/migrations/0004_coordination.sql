-- 0004_coordination.sql - ordered streams, the inbox, instances, receptors and
-- checkpoints.

ALTER TABLE {p}queue ADD COLUMN dead_head INTEGER NOT NULL DEFAULT 1;  -- 1 skip, 2 block
ALTER TABLE {p}queue ADD COLUMN affinity_grace_ms INTEGER NOT NULL DEFAULT 1000;  -- -1: none
ALTER TABLE {p}queue ADD COLUMN has_streams INTEGER NOT NULL DEFAULT 0;  -- ever since its first one

-- An ordered lane. There is one writer: whoever settles its last message makes it
-- idle at once.
CREATE TABLE {p}stream (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    queue      INTEGER NOT NULL,
    key        TEXT NOT NULL,
    hash       INTEGER NOT NULL,  -- the number in the first 15 hex digits of SHA-256 of its key
    last_seq   INTEGER NOT NULL,  -- of its newest message
    busy       INTEGER NOT NULL,  -- it has a token: one row of pending, or a run in one lease
    created_at INTEGER NOT NULL,
    UNIQUE (queue, key)
) STRICT;

ALTER TABLE {p}message ADD COLUMN stream INTEGER;  -- the stream's id
ALTER TABLE {p}message ADD COLUMN seq INTEGER;
ALTER TABLE {p}message ADD COLUMN source TEXT;     -- of inbox messages, whose id there is in dedupe_key
CREATE INDEX {p}message_stream ON {p}message (stream, seq) WHERE stream IS NOT NULL;

-- A row with a stream is that stream's token: its head; or, with the largest number
-- as due, a dead head that blocks it.
ALTER TABLE {p}pending ADD COLUMN stream INTEGER;
CREATE UNIQUE INDEX {p}pending_stream ON {p}pending (stream) WHERE stream IS NOT NULL;

-- The runs of streams that the lease holds, NULL: none. Per run ',stream:seq:places': the number
-- of the stream, that of its first message there, and '%04x' per message, in the order of the
-- stream: its place in ids, from 0. A run's numbers have no gaps. A run is over when all its
-- places are settled: then the stream's token is elsewhere.
ALTER TABLE {p}lease ADD COLUMN runs TEXT;
CREATE INDEX {p}lease_runs ON {p}lease (fence) WHERE runs IS NOT NULL;

CREATE TABLE {p}instance (
    id           BLOB PRIMARY KEY,   -- the owner of its leases
    service      TEXT NOT NULL,
    host         TEXT NOT NULL,
    process_id   INTEGER NOT NULL,
    metadata     TEXT,
    started_at   INTEGER NOT NULL,
    heartbeat_at INTEGER NOT NULL,
    ended_at     INTEGER,            -- NULL: live
    lease_s      INTEGER NOT NULL,
    stale_s      INTEGER NOT NULL,   -- silent for so long: dead
    partitions   INTEGER NOT NULL,   -- by how many it shares streams
    state        INTEGER NOT NULL    -- 1 live, 2 left, 3 evicted: kept for a while, so that it is told
) STRICT, WITHOUT ROWID;
CREATE INDEX {p}instance_live ON {p}instance (service, id) WHERE state = 1;

-- How one of several parties fared with a message. By message id, so that it
-- outlives an operator's retry.
CREATE TABLE {p}receptor (
    message_id BLOB NOT NULL,
    name       TEXT NOT NULL,
    completed  INTEGER NOT NULL,
    attempts   INTEGER NOT NULL,
    error      TEXT,
    first_at   INTEGER NOT NULL,
    last_at    INTEGER NOT NULL,
    PRIMARY KEY (message_id, name)
) STRICT, WITHOUT ROWID;

-- How far a consumer has come in a stream.
CREATE TABLE {p}checkpoint (
    stream     INTEGER NOT NULL,
    consumer   TEXT NOT NULL,
    seq        INTEGER NOT NULL,     -- no gap up to here
    ahead      TEXT,                 -- completed above the gap: '5-7,9-9'; NULL: nothing
    error      TEXT,
    error_seq  INTEGER,
    error_at   INTEGER,
    updated_at INTEGER NOT NULL,
    rewound_at INTEGER,
    PRIMARY KEY (stream, consumer)
) STRICT, WITHOUT ROWID;

-- ---------------------------------------------------------------- the views

DROP VIEW {p}queues;
DROP VIEW {p}dead_letters;
DROP VIEW {p}job_runs;
DROP VIEW {p}timers;
DROP VIEW {p}outbox;
DROP VIEW {p}message_shown;
DROP VIEW {p}message_state;

-- Every message of every door with its place and history, in stored form, for
-- the views below and the library's own lookup. A message of a stream is found in
-- pending as the stream's token, if that does not merely block (p: others, t: these);
-- one that is in no place is parked. Internal: its columns may change.
CREATE VIEW {p}message_state AS
SELECT m.id, m.salt, m.queue, q.door, q.namespace, m.level, m.topic, m.payload, m.message_id,
       m.tenant_id, m.dedupe_key, m.correlation_id, m.headers, m.created_at, m.due_at, m.expires_at,
       m.stream AS stream_number, m.seq, m.source,
       (SELECT k.key FROM {p}stream k WHERE k.id = m.stream) AS stream,
       coalesce(m.max_attempts, q.max_attempts) AS max_attempts,
       {work_id:m} AS work_id,
       CASE WHEN p.id IS NOT NULL OR t.id IS NOT NULL THEN 0 WHEN l.fence IS NOT NULL THEN 1
            WHEN d.id IS NOT NULL THEN 2 WHEN x.id IS NOT NULL THEN 3
            WHEN w.id IS NOT NULL THEN 4 WHEN m.stream IS NOT NULL THEN 5 END AS status,
       CASE WHEN p.id IS NOT NULL THEN p.attempts
            WHEN t.id IS NOT NULL THEN t.attempts
            WHEN l.fence IS NOT NULL THEN
                coalesce(CAST(substr(l.attempts,
                                     (instr(l.ids, printf(',%012x', m.id)) - 1) / 13 * 5 + 1, 5)
                              AS INTEGER), 1)
            ELSE (d.id IS NOT NULL) + (SELECT count(*) FROM {p}attempt_log a
                                        WHERE a.message = m.id AND a.kind IN (1, 2, 4))
       END AS attempts,
       (SELECT count(*) FROM {p}attempt_log a
         WHERE a.message = m.id AND a.kind = 1) AS retry_count,
       (SELECT a.error FROM {p}attempt_log a
         WHERE a.message = m.id AND a.kind IN (1, 2) ORDER BY a.n DESC LIMIT 1) AS last_error,
       coalesce(p.due, t.due) AS next_due, l.fence, l.owner AS lease_owner, l.until AS locked_until,
       nullif(d.owner, zeroblob(16)) AS done_owner, d.at AS done_at,
       x.owner AS dead_owner, x.died_at, x.reason, x.retried_as,
       CASE WHEN j.id IS NOT NULL THEN {work_id:j} END AS waits_for,
       max(m.created_at,
           coalesce((SELECT max(a.at) FROM {p}attempt_log a WHERE a.message = m.id), m.created_at),
           coalesce(l.claimed_at, d.at, x.died_at, m.created_at)) AS updated_at
  FROM {p}message m CROSS JOIN {p}queue q ON q.id = m.queue
  LEFT JOIN {p}pending p
    ON m.stream IS NULL AND p.queue = m.queue AND p.level = m.level AND p.id = m.id
   AND p.due = coalesce((SELECT a.next_due FROM {p}attempt_log a
                          WHERE a.message = m.id ORDER BY a.n DESC LIMIT 1),
                        max(coalesce(m.due_at, m.created_at), m.created_at))
  LEFT JOIN {p}pending t
    ON t.stream = m.stream AND t.id = m.id AND t.due < 9223372036854775807
  LEFT JOIN {p}lease l
    ON l.lo <= m.id AND l.hi >= m.id AND instr(l.ids, printf(',%012x', m.id)) > 0
   AND coalesce(substr(l.settled, (instr(l.ids, printf(',%012x', m.id)) - 1) / 13 + 1, 1),
                '0') = '0'
  LEFT JOIN {p}done d
    ON d.hi BETWEEN m.id AND m.id + 1000 AND d.lo <= m.id
   AND instr(d.ids, printf(',%012x', m.id)) > 0
  LEFT JOIN {p}dead x ON x.id = m.id
  LEFT JOIN {p}join_wait w ON w.id = m.id
  LEFT JOIN {p}join_head j ON j.id = w.join_id;

-- The same as readers see it. Internal: its columns may change.
CREATE VIEW {p}message_shown AS
SELECT s.id AS number, s.door,
       s.work_id AS id, coalesce({uuid:s.message_id}, s.work_id) AS message_id,
       s.namespace, s.topic, s.payload, {uuid:s.tenant_id} AS tenant_id,
       s.dedupe_key, s.correlation_id, s.stream, s.level AS priority, s.headers,
       {time:s.created_at} AS created_at,
       {time:s.due_at} AS due_time_utc,
       {time:s.expires_at} AS expires_at,
       CASE s.status WHEN 0 THEN 'ready' WHEN 1 THEN 'in_progress' WHEN 2 THEN 'done'
                     WHEN 3 THEN 'failed' WHEN 4 THEN 'waiting'
                     WHEN 5 THEN 'parked' END AS status,
       s.status AS status_code, s.attempts, s.max_attempts, s.retry_count, s.last_error,
       {time:s.next_due} AS next_attempt_at,
       {time:s.locked_until} AS locked_until,
       {uuid:s.lease_owner} AS owner_token,
       {uuid:s.lease_owner} AS locked_by,
       s.fence, s.done_at IS NOT NULL AS is_processed,
       {time:s.done_at} AS processed_at,
       {uuid:s.done_owner} AS processed_by,
       {time:s.updated_at} AS updated_at,
       s.waits_for, s.source, s.seq
  FROM {p}message_state s;

-- One row per outbox message, with the specification's columns.
CREATE VIEW {p}outbox AS
SELECT id, message_id, namespace, topic, payload, tenant_id, dedupe_key, correlation_id, stream,
       priority, headers, created_at, due_time_utc, expires_at, status, status_code, attempts,
       max_attempts, retry_count, last_error, next_attempt_at, locked_until, owner_token, locked_by,
       fence, is_processed, processed_at, processed_by, updated_at, waits_for, seq
  FROM {p}message_shown
 WHERE door = 0;

-- One row per inbox message, with the columns of outbox that it has. Its message id
-- is the one that it has at its source.
CREATE VIEW {p}inbox AS
SELECT id, source, dedupe_key AS message_id, namespace, topic, payload, tenant_id, correlation_id,
       stream, priority, headers, created_at, due_time_utc, expires_at, status, status_code,
       attempts, max_attempts, retry_count, last_error, next_attempt_at, locked_until, owner_token,
       locked_by, fence, is_processed, processed_at, processed_by, updated_at, seq
  FROM {p}message_shown
 WHERE door = 1;

-- One row per timer, with the columns of outbox that a timer has.
CREATE VIEW {p}timers AS
SELECT id, namespace, topic, payload, correlation_id, headers, created_at, due_time_utc, status,
       status_code, attempts, max_attempts, retry_count, last_error, next_attempt_at, locked_until,
       owner_token, fence, is_processed, processed_at, processed_by, updated_at
  FROM {p}message_shown
 WHERE door = 2;

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

-- Dead letters of every door, with what led there.
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
                 WHERE a.message = x.id ORDER BY a.n) h) AS history
  FROM {p}dead x CROSS JOIN {p}message_state s ON s.id = x.id;

CREATE VIEW {p}queues AS
SELECT CASE door WHEN 0 THEN 'outbox' WHEN 1 THEN 'inbox' WHEN 2 THEN 'timers'
                 WHEN 3 THEN 'job_runs' END AS door,
       namespace, paused, max_attempts,
       CASE backoff WHEN 1 THEN 'exponential' WHEN 2 THEN 'equal-jitter' END AS backoff,
       backoff_base_ms, backoff_max_ms, retention_s, dead_retention_s, dedupe_retention_s,
       max_payload_bytes, max_lease_s, delete_on_ack, join_wait_topic,
       CASE dead_head WHEN 1 THEN 'skip' WHEN 2 THEN 'block' END AS dead_head, affinity_grace_ms
  FROM {p}queue;

-- Every stream with its token, in stored form. head is the message of the row in pending or, if
-- the stream is being worked on, the first of its run that is not settled. Internal: its columns
-- may change.
CREATE VIEW {p}stream_state AS
SELECT s.id, s.queue, q.door, q.namespace, s.key, s.hash, s.last_seq, s.busy, s.created_at,
       h.id AS head, h.salt AS head_salt, h.seq AS head_seq, p.due,
       CASE WHEN p.id IS NOT NULL THEN p.attempts
            WHEN l.fence IS NOT NULL THEN
                coalesce(CAST(substr(l.attempts,
                                     (instr(l.ids, printf(',%012x', h.id)) - 1) / 13 * 5 + 1, 5)
                              AS INTEGER), 1)
       END AS attempts,
       l.fence, l.owner, l.until
  FROM {p}stream s CROSS JOIN {p}queue q ON q.id = s.queue
  LEFT JOIN {p}pending p ON p.stream = s.id
  LEFT JOIN {p}message h
    ON s.busy
   AND h.id = coalesce(p.id, (
           SELECT m.id
             FROM {p}lease r
            CROSS JOIN {p}message m
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
  LEFT JOIN {p}lease l
    ON p.id IS NULL AND l.runs IS NOT NULL AND l.lo <= h.id AND l.hi >= h.id
   AND instr(l.ids, printf(',%012x', h.id)) > 0
   AND coalesce(substr(l.settled, (instr(l.ids, printf(',%012x', h.id)) - 1) / 13 + 1, 1),
                '0') = '0';

-- One row per stream. partition is the one of 10000; next_seq is that of the first message that
-- is not settled; head is that message, or the dead one that blocks the stream.
CREATE VIEW {p}streams AS
SELECT CASE s.door WHEN 0 THEN 'outbox' WHEN 1 THEN 'inbox' END AS door, s.namespace,
       s.key AS stream,
       CASE WHEN NOT s.busy THEN 'idle' WHEN s.due IS NULL THEN 'in_progress'
            WHEN s.due = 9223372036854775807 THEN 'blocked'
            WHEN s.due <= (SELECT coalesce(o.clock_us, CAST(round((julianday('now') - 2440587.5)
                                                                  * 86400000) AS INTEGER) * 1000)
                             FROM {p}store o) THEN 'ready' ELSE 'scheduled' END AS state,
       s.hash % 10000 AS partition, s.last_seq,
       coalesce(s.head_seq + (s.due IS 9223372036854775807), s.last_seq + 1) AS next_seq,
       coalesce(s.last_seq - s.head_seq + (s.due IS NOT 9223372036854775807), 0) AS unsettled,
       CASE WHEN s.head IS NOT NULL
            THEN printf('%08x-%04x-8000-%04x-%012x', s.head >> 16, s.head & 65535,
                        (s.head_salt >> 48) & 65535, s.head_salt & 281474976710655) END AS head,
       CASE WHEN s.due < 9223372036854775807 THEN {time:s.due} END AS head_due_at,
       CASE WHEN s.due IS NOT 9223372036854775807 THEN s.attempts END AS head_attempts,
       {uuid:s.owner} AS locked_by,
       {time:s.until} AS locked_until,
       {time:s.created_at} AS created_at
  FROM {p}stream_state s;

CREATE VIEW {p}instances AS
SELECT {uuid:i.id} AS id, i.service, i.host, i.process_id, i.metadata,
       CASE i.state WHEN 1 THEN 'live' WHEN 2 THEN 'left' WHEN 3 THEN 'evicted' END AS state,
       {time:i.started_at} AS started_at,
       {time:i.heartbeat_at} AS last_heartbeat_at,
       {time:i.ended_at} AS ended_at,
       i.lease_s AS lease_seconds, i.stale_s AS stale_threshold_seconds,
       i.partitions AS partition_count,
       (SELECT coalesce(sum(l.open), 0) FROM {p}lease l WHERE l.owner = i.id) AS in_progress
  FROM {p}instance i;

-- work_id is that of the newest message with the message id: the id in outbox and inbox.
CREATE VIEW {p}receptors AS
SELECT {uuid:r.message_id} AS message_id, r.name AS receptor,
       iif(r.completed, 'completed', 'failed') AS status, r.attempts, r.error,
       {time:r.first_at} AS first_at,
       {time:r.last_at} AS last_at,
       coalesce((SELECT {work_id:m} FROM {p}message m CROSS JOIN {p}queue q ON q.id = m.queue
                  WHERE m.message_id = r.message_id AND q.door IN (0, 1) ORDER BY m.id DESC LIMIT 1),
                {uuid:r.message_id}) AS work_id
  FROM {p}receptor r;

-- ahead: how many are completed above the gap; lag: how many messages lie ahead.
CREATE VIEW {p}checkpoints AS
SELECT CASE q.door WHEN 0 THEN 'outbox' WHEN 1 THEN 'inbox' END AS door, q.namespace,
       s.key AS stream, c.consumer, c.seq,
       (SELECT coalesce(sum(json_extract(r.value, '$[1]') - json_extract(r.value, '$[0]') + 1), 0)
          FROM json_each('[[' || replace(replace(c.ahead, ',', '],['), '-', ',') || ']]') r)
           AS ahead,
       (SELECT count(*) FROM {p}message m WHERE m.stream = s.id AND m.seq > c.seq) AS lag,
       c.error, c.error_seq,
       {time:c.error_at} AS error_at,
       {time:c.updated_at} AS updated_at,
       {time:c.rewound_at} AS rewound_at
  FROM {p}checkpoint c CROSS JOIN {p}stream s ON s.id = c.stream
 CROSS JOIN {p}queue q ON q.id = s.queue;

UPDATE {p}store SET version = 4, serves_from = 4;
INSERT INTO {p}migration (version, name, applied_at)
VALUES (4, 'coordination', CAST(strftime('%s', 'now') AS INTEGER) * 1000000);
