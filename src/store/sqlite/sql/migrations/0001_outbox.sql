-- 0001_outbox.sql - the outbox: tables, indexes and the views that readers use.
--
-- Times are microseconds since 1970; identifiers of users are BLOBs of 16 bytes.
-- State is membership (docs/states.md): a message is written once, and the one
-- of pending, lease, done and dead that names it says what state it is in.

-- One row: who this store is and what it understands.
CREATE TABLE {p}store (
    one         INTEGER PRIMARY KEY CHECK (one = 1),
    store_id    INTEGER NOT NULL,  -- 28 random bits, part of every work id
    version     INTEGER NOT NULL,
    serves_from INTEGER NOT NULL,  -- the oldest library schema version served
    clock_us    INTEGER            -- tests: the time it is; NULL: the real one
) STRICT;

CREATE TABLE {p}migration (
    version    INTEGER PRIMARY KEY,
    name       TEXT NOT NULL,
    applied_at INTEGER NOT NULL
) STRICT;

CREATE TABLE {p}queue (
    id                 INTEGER PRIMARY KEY,
    door               INTEGER NOT NULL,
    namespace          TEXT NOT NULL,
    paused             INTEGER NOT NULL DEFAULT 0,
    max_attempts       INTEGER NOT NULL DEFAULT 10,
    backoff            INTEGER NOT NULL DEFAULT 1,        -- 1 exponential, 2 equal-jitter
    backoff_base_ms    INTEGER NOT NULL DEFAULT 1000,
    backoff_max_ms     INTEGER NOT NULL DEFAULT 60000,
    retention_s        INTEGER NOT NULL DEFAULT 604800,   -- -1: for ever
    dead_retention_s   INTEGER NOT NULL DEFAULT -1,
    dedupe_retention_s INTEGER NOT NULL DEFAULT 604800,
    max_payload_bytes  INTEGER NOT NULL DEFAULT 1048576,
    max_lease_s        INTEGER NOT NULL DEFAULT 86400,
    delete_on_ack      INTEGER NOT NULL DEFAULT 0,
    UNIQUE (door, namespace)
) STRICT;
INSERT INTO {p}queue (door, namespace) VALUES (0, '');

-- The body, written once and never updated. AUTOINCREMENT: a number is never
-- given twice, not even when the newest message was deleted. The payload is
-- last, so that reading the other columns does not walk through it.
CREATE TABLE {p}message (
    id             INTEGER PRIMARY KEY AUTOINCREMENT,
    salt           INTEGER NOT NULL,  -- the second half of the work id
    queue          INTEGER NOT NULL,
    level          INTEGER NOT NULL,
    topic          TEXT NOT NULL,
    message_id     BLOB,              -- NULL: the same as the work id
    tenant_id      BLOB,
    dedupe_key     TEXT,
    correlation_id TEXT,
    headers        TEXT,
    created_at     INTEGER NOT NULL,
    due_at         INTEGER,           -- as asked for; NULL: at once
    expires_at     INTEGER,
    max_attempts   INTEGER,           -- NULL: the queue's
    payload        TEXT NOT NULL
) STRICT;

-- The work id as text, for readers who look one up in the view outbox.
CREATE UNIQUE INDEX {p}message_uuid ON {p}message (
    printf('%08x-%04x-8000-%04x-%012x', id >> 16, id & 65535,
           (salt >> 48) & 65535, salt & 281474976710655));

-- What can be claimed, in the order of claiming. due is always that of the
-- newest attempt_log row of the message or, without one, the later of due_at
-- and created_at: so a row is found by its whole key.
CREATE TABLE {p}pending (
    queue    INTEGER NOT NULL,
    level    INTEGER NOT NULL,
    due      INTEGER NOT NULL,
    id       INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    lost     INTEGER NOT NULL,
    topic    INTEGER NOT NULL,  -- a hash: claims of certain topics pass over the others
    PRIMARY KEY (queue, level, due, id)
) STRICT, WITHOUT ROWID;

-- One row per claimed batch. ids is ',%012x' per message, ascending; attempts
-- is '%05d' per message in the same order (NULL: all 1), settled is '0' or '1'
-- (NULL: none is settled), open counts the zeros. lost is that of the message
-- that was claimed alone because its worker died before.
CREATE TABLE {p}lease (
    fence      INTEGER PRIMARY KEY AUTOINCREMENT,
    owner      BLOB NOT NULL,
    queue      INTEGER NOT NULL,
    claimed_at INTEGER NOT NULL,
    until      INTEGER NOT NULL,
    lost       INTEGER NOT NULL,
    open       INTEGER NOT NULL,
    lo         INTEGER NOT NULL,
    hi         INTEGER NOT NULL,
    settled    TEXT,
    attempts   TEXT,
    ids        TEXT NOT NULL
) STRICT;
CREATE INDEX {p}lease_owner ON {p}lease (owner);
CREATE INDEX {p}lease_until ON {p}lease (until);

-- One row per acknowledged batch; ids as in lease. hi - lo is at most 1000, so
-- that the row of one message is found among those with hi in [id, id + 1000].
CREATE TABLE {p}done (
    id    INTEGER PRIMARY KEY,
    queue INTEGER NOT NULL,
    owner BLOB NOT NULL,
    at    INTEGER NOT NULL,
    lo    INTEGER NOT NULL,
    hi    INTEGER NOT NULL,
    ids   TEXT NOT NULL
) STRICT;
CREATE INDEX {p}done_range ON {p}done (hi, lo);
CREATE INDEX {p}done_at ON {p}done (queue, at);

CREATE TABLE {p}dead (
    id         INTEGER PRIMARY KEY,  -- the message's
    queue      INTEGER NOT NULL,
    reason     INTEGER NOT NULL,     -- 1 failed, 2 attempts, 3 lost, 4 expired
    died_at    INTEGER NOT NULL,
    owner      BLOB,                 -- whose lease it was, if any
    retried_as BLOB                  -- the work id of the operator's retry
) STRICT;
CREATE INDEX {p}dead_at ON {p}dead (queue, died_at);

-- Why a message came back, or ended other than by ack.
CREATE TABLE {p}attempt_log (
    n        INTEGER PRIMARY KEY,
    message  INTEGER NOT NULL,
    attempt  INTEGER NOT NULL,
    kind     INTEGER NOT NULL,  -- 1 abandoned, 2 failed, 3 released, 4 lost, 5 expired
    error    TEXT,
    at       INTEGER NOT NULL,
    owner    BLOB,
    next_due INTEGER            -- NULL: it ended there
) STRICT;
CREATE INDEX {p}attempt_log_message ON {p}attempt_log (message);

-- Dedupe keys outlive their message. gone: the message was deleted, so that the
-- key may follow when it is old enough.
CREATE TABLE {p}dedupe (
    queue      INTEGER NOT NULL,
    topic      TEXT NOT NULL,
    key        TEXT NOT NULL,
    id         INTEGER NOT NULL,
    salt       INTEGER NOT NULL,
    message_id BLOB,
    created_at INTEGER NOT NULL,
    gone       INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (queue, topic, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX {p}dedupe_gone ON {p}dedupe (queue, created_at) WHERE gone;

-- Every message with its place and history, in stored form, for the views below
-- and the library's own lookup. Internal: its columns may change.
CREATE VIEW {p}message_state AS
SELECT m.id, m.salt, m.queue, q.door, q.namespace, m.level, m.topic, m.payload, m.message_id,
       m.tenant_id, m.dedupe_key, m.correlation_id, m.headers, m.created_at, m.due_at, m.expires_at,
       coalesce(m.max_attempts, q.max_attempts) AS max_attempts,
       printf('%08x-%04x-8000-%04x-%012x', m.id >> 16, m.id & 65535,
              (m.salt >> 48) & 65535, m.salt & 281474976710655) AS work_id,
       CASE WHEN p.id IS NOT NULL THEN 0 WHEN l.fence IS NOT NULL THEN 1
            WHEN d.id IS NOT NULL THEN 2 WHEN x.id IS NOT NULL THEN 3 END AS status,
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
       d.owner AS done_owner, d.at AS done_at,
       x.owner AS dead_owner, x.died_at, x.reason, x.retried_as,
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
  LEFT JOIN {p}dead x ON x.id = m.id;

-- One row per message, with the specification's columns. What is written in
-- braces with a colon is replaced by the expression of that name in macros.sql.
CREATE VIEW {p}outbox AS
SELECT s.work_id AS id, coalesce({uuid:s.message_id}, s.work_id) AS message_id,
       s.namespace, s.topic, s.payload, {uuid:s.tenant_id} AS tenant_id,
       s.dedupe_key, s.correlation_id, NULL AS stream, s.level AS priority, s.headers,
       {time:s.created_at} AS created_at,
       {time:s.due_at} AS due_time_utc,
       {time:s.expires_at} AS expires_at,
       CASE s.status WHEN 0 THEN 'ready' WHEN 1 THEN 'in_progress' WHEN 2 THEN 'done'
                     WHEN 3 THEN 'failed' END AS status,
       s.status AS status_code, s.attempts, s.max_attempts, s.retry_count, s.last_error,
       {time:s.next_due} AS next_attempt_at,
       {time:s.locked_until} AS locked_until,
       {uuid:s.lease_owner} AS owner_token,
       {uuid:s.lease_owner} AS locked_by,
       s.fence, s.done_at IS NOT NULL AS is_processed,
       {time:s.done_at} AS processed_at,
       {uuid:s.done_owner} AS processed_by,
       {time:s.updated_at} AS updated_at
  FROM {p}message_state s
 WHERE s.door = 0;

-- Dead letters, with what led there.
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
SELECT 'outbox' AS door, namespace, paused, max_attempts,
       CASE backoff WHEN 1 THEN 'exponential' WHEN 2 THEN 'equal-jitter' END AS backoff,
       backoff_base_ms, backoff_max_ms, retention_s, dead_retention_s, dedupe_retention_s,
       max_payload_bytes, max_lease_s, delete_on_ack
  FROM {p}queue
 WHERE door = 0;

INSERT INTO {p}store (one, store_id, version, serves_from)
VALUES (1, random() & 268435455, 1, 1);
INSERT INTO {p}migration (version, name, applied_at)
VALUES (1, 'outbox', CAST(strftime('%s', 'now') AS INTEGER) * 1000000);
