-- 0004: ordered streams, the inbox, instances, receptors and checkpoints. A queue
-- without streams pays eight bytes per waiting message for them, and nothing else.

-- Functions that take or answer more than before: replaced, not overloaded.
DROP FUNCTION IF EXISTS {p}work_enqueue(smallint, text, text, text, uuid, text, text, text, smallint, timestamptz,
    timestamptz, jsonb, uuid, smallint, uuid);
DROP FUNCTION IF EXISTS {p}work_enqueue_many(smallint, text[], text[], text[], uuid[], text[], text[], text[],
    smallint[], timestamptz[], timestamptz[], jsonb[], uuid[], smallint[], uuid[]);
DROP FUNCTION IF EXISTS {p}work_claim(smallint, uuid, int, int, text, text[], timestamptz[], uuid[]);
DROP FUNCTION IF EXISTS {p}work_pick(int, smallint, smallint[], timestamptz, int, int[], timestamptz[], uuid[]);
DROP FUNCTION IF EXISTS {p}work_claim_hint(int, timestamptz, interval, boolean, boolean, {p}hint, uuid[], timestamptz[]);
DROP FUNCTION IF EXISTS {p}work_settle(smallint, uuid, uuid[], bigint[], smallint[], text[], bigint[]);
DROP FUNCTION IF EXISTS {p}work_count(smallint, text);
DROP FUNCTION IF EXISTS {p}work_queues(smallint, text);
DROP FUNCTION IF EXISTS {p}work_list(smallint, text, text, int, boolean, int, uuid, boolean);
DROP FUNCTION IF EXISTS {p}work_lease_shrink({p}lease, int[]);
DROP FUNCTION IF EXISTS {p}work_done(uuid[], int, timestamptz, uuid);
DROP FUNCTION IF EXISTS {p}message_problem(text, text, text, uuid, text, text, text, int, timestamptz, timestamptz, jsonb, int,
    uuid);

ALTER TABLE {p}queue DROP CONSTRAINT {p}queue_door_check;
ALTER TABLE {p}queue ADD CONSTRAINT {p}queue_door_check CHECK (door IN (0, 1, 2, 3)); -- outbox, inbox, timers, job runs
ALTER TABLE {p}queue ADD dead_head smallint NOT NULL DEFAULT 1;      -- 1 skip, 2 block
ALTER TABLE {p}queue ADD affinity_grace_ms int NOT NULL DEFAULT 1000; -- -1: none
ALTER TABLE {p}queue ADD has_streams boolean NOT NULL DEFAULT false; -- ever since its first one

-- An ordered lane. An enqueue locks its row until it commits, so last_seq is given in the order
-- of commits. A claim does not wait for the lock, and a settlement does not touch the row.
CREATE TABLE {p}stream (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    last_seq   bigint NOT NULL,      -- of its newest message
    hash       bigint NOT NULL,      -- the number in the first 15 hex digits of SHA-256 of its key
    created_at timestamptz NOT NULL,
    queue      int NOT NULL,
    busy       boolean NOT NULL,     -- it has a token: one row of pending, or a run in one lease
    key        text COLLATE "C" NOT NULL,
    UNIQUE (queue, key)
) WITH (fillfactor = 70);

-- source: of inbox messages, whose id there is in dedupe_key.
ALTER TABLE {p}message ADD stream_id bigint, ADD seq bigint, ADD source text COLLATE "C";
CREATE INDEX {p}message_stream ON {p}message (stream_id, seq) WHERE stream_id IS NOT NULL;

-- A row with a stream is that stream's token: its head, with seq that of the message. Or, if
-- the next message was not there when the one before was settled, an empty token: seq is the
-- number from which to look. Or, with due infinity, a blocked one: seq is that of the dead
-- head. These two are no messages: id begins with a bit 1 (no message's does), and lane is
-- -queue, where nobody looks for messages.
ALTER TABLE {p}pending ADD stream bigint, ADD seq bigint;
CREATE UNIQUE INDEX {p}pending_stream ON {p}pending (stream) WHERE stream IS NOT NULL;

-- runs: four numbers per run of a stream: the stream, where its ids begin in ids (from 1), how
-- many there are, and the seq of the last one. Null: there is none.
ALTER TABLE {p}lease ADD runs bigint[];
CREATE INDEX {p}lease_runs ON {p}lease (id) WHERE runs IS NOT NULL;

CREATE TABLE {p}instance (
    id           uuid PRIMARY KEY, -- the owner of its leases
    started_at   timestamptz NOT NULL,
    heartbeat_at timestamptz NOT NULL,
    ended_at     timestamptz,      -- null: live
    process_id   int NOT NULL,
    lease_s      int NOT NULL,
    stale_s      int NOT NULL,     -- silent for so long: dead
    partitions   int NOT NULL,     -- by how many it shares streams
    state        smallint NOT NULL, -- 1 live, 2 left, 3 evicted: kept for a while, so that it is told
    service      text COLLATE "C" NOT NULL,
    host         text NOT NULL,
    metadata     jsonb
) WITH (fillfactor = 50);
CREATE INDEX {p}instance_live ON {p}instance (service, id) WHERE state = 1;
CREATE INDEX {p}instance_ended_at ON {p}instance (ended_at) WHERE state <> 1;

-- How one of several parties fared with a message. By message id, so that it outlives an
-- operator's retry.
CREATE TABLE {p}receptor (
    message_id uuid NOT NULL,
    first_at   timestamptz NOT NULL,
    last_at    timestamptz NOT NULL,
    attempts   int NOT NULL,
    completed  boolean NOT NULL,
    name       text COLLATE "C" NOT NULL,
    error      text,
    PRIMARY KEY (message_id, name)
);

-- How far a consumer has come in a stream.
CREATE TABLE {p}checkpoint (
    stream     bigint NOT NULL,
    seq        bigint NOT NULL,          -- no gap up to here
    updated_at timestamptz NOT NULL,
    rewound_at timestamptz,
    error_at   timestamptz,
    error_seq  bigint,
    consumer   text COLLATE "C" NOT NULL,
    error      text,
    ahead      int8multirange NOT NULL DEFAULT '{}', -- completed above the gap
    PRIMARY KEY (stream, consumer)
);

ALTER TABLE {p}stream SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000,
    autovacuum_vacuum_cost_delay = 0);
ALTER TABLE {p}instance SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 200);

-- What process_work_batch answers. A type, since one of its arguments is called flags, too.
CREATE TYPE {p}batch_item AS (
    door text, flags int, work_id uuid, message_id text, fence bigint, topic text, payload text, tenant_id uuid,
    dedupe_key text, correlation_id text, stream text, headers jsonb, attempts int, retry_count int,
    created_at timestamptz, due_at timestamptz, last_error text, source text);
