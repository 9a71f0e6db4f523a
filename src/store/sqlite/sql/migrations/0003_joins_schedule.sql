-- 0003_joins_schedule.sql - joins, timers and jobs. The tables of messages stay
-- as they are, but for an index on message ids that users gave.

ALTER TABLE {p}queue ADD COLUMN join_wait_topic TEXT NOT NULL DEFAULT 'join.wait';

-- A message is found by the id that its producer (or a timer, a job run, an
-- operator's retry) gave it.
CREATE INDEX {p}message_message_id ON {p}message (message_id) WHERE message_id IS NOT NULL;

CREATE TABLE {p}join_head (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    salt         INTEGER NOT NULL,   -- the second half of the join's id, as of a work id
    expected     INTEGER NOT NULL,
    attached     INTEGER NOT NULL DEFAULT 0,
    completed    INTEGER NOT NULL DEFAULT 0,
    failed       INTEGER NOT NULL DEFAULT 0,
    status       INTEGER NOT NULL DEFAULT 0,  -- 0 pending, 1 completed, 2 failed, 3 cancelled
    created_at   INTEGER NOT NULL,
    updated_at   INTEGER NOT NULL,
    deadline     INTEGER,
    finished_at  INTEGER,            -- NULL: open
    grouping_key TEXT,
    metadata     TEXT,
    CHECK (completed + failed <= attached AND attached <= expected)
) STRICT;
-- The id as text, for readers who look one up in the views joins and join_members.
CREATE UNIQUE INDEX {p}join_head_uuid ON {p}join_head (
    printf('%08x-%04x-8000-%04x-%012x', id >> 16, id & 65535,
           (salt >> 48) & 65535, salt & 281474976710655));
CREATE INDEX {p}join_head_grouping_key ON {p}join_head (grouping_key, id)
    WHERE grouping_key IS NOT NULL;
CREATE INDEX {p}join_head_deadline ON {p}join_head (deadline)
    WHERE status = 0 AND deadline IS NOT NULL;
CREATE INDEX {p}join_head_finished_at ON {p}join_head (finished_at)
    WHERE finished_at IS NOT NULL;

-- A step. Settling its message counts it in the head and leaves this row alone:
-- status is NULL for as long as the message itself tells how it stands.
CREATE TABLE {p}join_member (
    join_id    INTEGER NOT NULL,     -- the head's
    message_id BLOB NOT NULL,
    message    INTEGER NOT NULL,     -- the stay of the message that counts
    salt       INTEGER NOT NULL,     -- of that
    n          INTEGER NOT NULL,     -- in the order of attaching
    status     INTEGER,              -- 0 pending, 1 completed, 2 failed; NULL: as the message
    created_at INTEGER NOT NULL,
    PRIMARY KEY (join_id, message_id)
) STRICT, WITHOUT ROWID;
-- Whoever settles a message looks here for the steps to count. With status, so that
-- SQLite need not look at the row for it.
CREATE INDEX {p}join_member_message ON {p}join_member (message, status) WHERE status IS NULL;

-- Where a wait is until its join ends: one more place, beside pending, lease,
-- done and dead.
CREATE TABLE {p}join_wait (
    id      INTEGER PRIMARY KEY,     -- the wait's message
    join_id INTEGER NOT NULL
) STRICT;
CREATE INDEX {p}join_wait_join_id ON {p}join_wait (join_id);

CREATE TABLE {p}job (
    name          TEXT PRIMARY KEY,
    namespace     TEXT NOT NULL,
    topic         TEXT NOT NULL,
    payload       TEXT,
    cron          TEXT NOT NULL,
    timezone      TEXT NOT NULL,
    misfire       INTEGER NOT NULL,  -- 1 once, 2 skip, 3 all
    misfire_limit INTEGER NOT NULL,
    overlap       INTEGER NOT NULL,  -- 1 allow, 2 skip
    paused        INTEGER NOT NULL DEFAULT 0,
    created_at    INTEGER NOT NULL,
    updated_at    INTEGER NOT NULL,
    generation    INTEGER NOT NULL DEFAULT 1,  -- rises with every change by a user
    anchor_at     INTEGER NOT NULL,  -- the next instant is the first after it
    next_at       INTEGER,           -- NULL: a scheduler computes it; the largest number: never
    last_at       INTEGER,
    last_run      BLOB,              -- its work id
    skipped       INTEGER NOT NULL DEFAULT 0,
    problem       TEXT
) STRICT, WITHOUT ROWID;
-- What a scheduler asks for; those whose next instant is to be computed come first.
CREATE INDEX {p}job_due ON {p}job (coalesce(next_at, 0)) WHERE NOT paused AND problem IS NULL;

-- What a job run is besides a message of the door job_runs.
CREATE TABLE {p}job_run (
    id           INTEGER PRIMARY KEY,  -- its message
    job          TEXT NOT NULL,
    scheduled_at INTEGER NOT NULL,
    triggered    INTEGER NOT NULL,
    maybe_open   INTEGER NOT NULL      -- 0: it has ended, as the overlap policy once found out
) STRICT;
CREATE UNIQUE INDEX {p}job_run_instant ON {p}job_run (job, scheduled_at) WHERE NOT triggered;
CREATE INDEX {p}job_run_job ON {p}job_run (job, id);
CREATE INDEX {p}job_run_open ON {p}job_run (job) WHERE maybe_open;

-- ---------------------------------------------------------------- the views

DROP VIEW {p}queues;
DROP VIEW {p}dead_letters;
DROP VIEW {p}outbox;
DROP VIEW {p}message_state;

-- Every message of every door with its place and history, in stored form, for
-- the views below and the library's own lookup. Internal: its columns may change.
CREATE VIEW {p}message_state AS
SELECT m.id, m.salt, m.queue, q.door, q.namespace, m.level, m.topic, m.payload, m.message_id,
       m.tenant_id, m.dedupe_key, m.correlation_id, m.headers, m.created_at, m.due_at, m.expires_at,
       coalesce(m.max_attempts, q.max_attempts) AS max_attempts,
       {work_id:m} AS work_id,
       CASE WHEN p.id IS NOT NULL THEN 0 WHEN l.fence IS NOT NULL THEN 1
            WHEN d.id IS NOT NULL THEN 2 WHEN x.id IS NOT NULL THEN 3
            WHEN w.id IS NOT NULL THEN 4 END AS status,
       CASE WHEN p.id IS NOT NULL THEN p.attempts
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
       p.due AS next_due, l.fence, l.owner AS lease_owner, l.until AS locked_until,
       nullif(d.owner, zeroblob(16)) AS done_owner, d.at AS done_at,
       x.owner AS dead_owner, x.died_at, x.reason, x.retried_as,
       CASE WHEN j.id IS NOT NULL THEN {work_id:j} END AS waits_for,
       max(m.created_at,
           coalesce((SELECT max(a.at) FROM {p}attempt_log a WHERE a.message = m.id), m.created_at),
           coalesce(l.claimed_at, d.at, x.died_at, m.created_at)) AS updated_at
  FROM {p}message m CROSS JOIN {p}queue q ON q.id = m.queue
  LEFT JOIN {p}pending p
    ON p.queue = m.queue AND p.level = m.level AND p.id = m.id
   AND p.due = coalesce((SELECT a.next_due FROM {p}attempt_log a
                          WHERE a.message = m.id ORDER BY a.n DESC LIMIT 1),
                        max(coalesce(m.due_at, m.created_at), m.created_at))
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
       s.dedupe_key, s.correlation_id, NULL AS stream, s.level AS priority, s.headers,
       {time:s.created_at} AS created_at,
       {time:s.due_at} AS due_time_utc,
       {time:s.expires_at} AS expires_at,
       CASE s.status WHEN 0 THEN 'ready' WHEN 1 THEN 'in_progress' WHEN 2 THEN 'done'
                     WHEN 3 THEN 'failed' WHEN 4 THEN 'waiting' END AS status,
       s.status AS status_code, s.attempts, s.max_attempts, s.retry_count, s.last_error,
       {time:s.next_due} AS next_attempt_at,
       {time:s.locked_until} AS locked_until,
       {uuid:s.lease_owner} AS owner_token,
       {uuid:s.lease_owner} AS locked_by,
       s.fence, s.done_at IS NOT NULL AS is_processed,
       {time:s.done_at} AS processed_at,
       {uuid:s.done_owner} AS processed_by,
       {time:s.updated_at} AS updated_at,
       s.waits_for
  FROM {p}message_state s;

-- One row per outbox message, with the specification's columns.
CREATE VIEW {p}outbox AS
SELECT id, message_id, namespace, topic, payload, tenant_id, dedupe_key, correlation_id, stream,
       priority, headers, created_at, due_time_utc, expires_at, status, status_code, attempts,
       max_attempts, retry_count, last_error, next_attempt_at, locked_until, owner_token, locked_by,
       fence, is_processed, processed_at, processed_by, updated_at, waits_for
  FROM {p}message_shown
 WHERE door = 0;

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

-- One row per job. next_at is NULL while it is not computed, when there is none
-- any more, and while the job is paused: it is computed anew then.
CREATE VIEW {p}jobs AS
SELECT name, namespace, topic, payload, cron, timezone,
       CASE misfire WHEN 1 THEN 'once' WHEN 2 THEN 'skip' WHEN 3 THEN 'all' END AS misfire,
       misfire_limit,
       CASE overlap WHEN 1 THEN 'allow' WHEN 2 THEN 'skip' END AS overlap,
       paused, problem,
       CASE WHEN NOT paused AND next_at < 9223372036854775807 THEN {time:next_at} END AS next_at,
       {time:last_at} AS last_at,
       {uuid:last_run} AS last_run, skipped,
       {time:created_at} AS created_at,
       {time:updated_at} AS updated_at
  FROM {p}job;

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
SELECT CASE door WHEN 0 THEN 'outbox' WHEN 2 THEN 'timers' WHEN 3 THEN 'job_runs' END AS door,
       namespace, paused, max_attempts,
       CASE backoff WHEN 1 THEN 'exponential' WHEN 2 THEN 'equal-jitter' END AS backoff,
       backoff_base_ms, backoff_max_ms, retention_s, dead_retention_s, dedupe_retention_s,
       max_payload_bytes, max_lease_s, delete_on_ack, join_wait_topic
  FROM {p}queue;

CREATE VIEW {p}joins AS
SELECT {work_id:h} AS id, h.grouping_key, h.metadata,
       CASE h.status WHEN 0 THEN 'pending' WHEN 1 THEN 'completed' WHEN 2 THEN 'failed'
                     WHEN 3 THEN 'cancelled' END AS status,
       h.status AS status_code, h.expected AS expected_steps, h.attached AS attached_steps,
       h.completed AS completed_steps, h.failed AS failed_steps,
       (SELECT count(*) FROM {p}join_wait w WHERE w.join_id = h.id) AS open_waits,
       {time:h.created_at} AS created_at,
       {time:h.updated_at} AS updated_at,
       {time:h.deadline} AS deadline,
       {time:h.finished_at} AS finished_at
  FROM {p}join_head h;

-- A step with what it shows: the status of its own, else what its message says.
-- Internal: its columns may change.
CREATE VIEW {p}join_step AS
SELECT m.join_id, m.message_id, m.message AS id, m.salt, m.n, m.created_at,
       CASE WHEN m.status IS NOT NULL THEN m.status
            WHEN EXISTS (SELECT 1 FROM {p}dead x WHERE x.id = m.message) THEN 2
            WHEN EXISTS (SELECT 1 FROM {p}done d
                          WHERE d.hi BETWEEN m.message AND m.message + 1000 AND d.lo <= m.message
                            AND instr(d.ids, printf(',%012x', m.message)) > 0) THEN 1
            ELSE 0 END AS status,
       (SELECT b.topic FROM {p}message b WHERE b.id = m.message) AS topic
  FROM {p}join_member m;

CREATE VIEW {p}join_members AS
SELECT {work_id:h} AS join_id, {uuid:s.message_id} AS message_id, {work_id:s} AS work_id,
       CASE s.status WHEN 0 THEN 'pending' WHEN 1 THEN 'completed' WHEN 2 THEN 'failed' END
           AS status,
       s.status AS status_code,
       {time:s.created_at} AS created_at, s.topic
  FROM {p}join_head h CROSS JOIN {p}join_step s ON s.join_id = h.id;

UPDATE {p}store SET version = 3, serves_from = 3;
INSERT INTO {p}migration (version, name, applied_at)
VALUES (3, 'joins_schedule', CAST(strftime('%s', 'now') AS INTEGER) * 1000000);
