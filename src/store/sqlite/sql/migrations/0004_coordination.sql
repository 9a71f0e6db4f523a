-- 0004_coordination.sql - ordered streams, the inbox, instances, receptors and
-- checkpoints.

ALTER TABLE {p}queue ADD COLUMN dead_head INTEGER NOT NULL DEFAULT 1;  -- 1 skip, 2 block
ALTER TABLE {p}queue ADD COLUMN affinity_grace_ms INTEGER NOT NULL DEFAULT 1000;  -- -1: none
ALTER TABLE {p}queue ADD COLUMN has_streams INTEGER NOT NULL DEFAULT 0;  -- ever since its first one

-- An ordered lane. There is one writer: the call that settles its last message makes it
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

UPDATE {p}store SET version = 4, serves_from = 4;
INSERT INTO {p}migration (version, name, applied_at)
VALUES (4, 'coordination', CAST(strftime('%s', 'now') AS INTEGER) * 1000000);
