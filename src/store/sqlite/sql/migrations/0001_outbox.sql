-- 0001_outbox.sql - the outbox: tables and indexes. Views are in views/.
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

INSERT INTO {p}store (one, store_id, version, serves_from)
VALUES (1, random() & 268435455, 1, 1);
INSERT INTO {p}migration (version, name, applied_at)
VALUES (1, 'outbox', CAST(strftime('%s', 'now') AS INTEGER) * 1000000);
