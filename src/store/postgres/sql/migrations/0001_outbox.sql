-- 0001: messages and their places. See docs/states.md for the states, and
-- src/store/postgres/README.md for who locks what.

CREATE TABLE {p}store (
    one         boolean PRIMARY KEY DEFAULT true CHECK (one),
    store_id    int NOT NULL CHECK (store_id BETWEEN 0 AND 268435455),
    version     int NOT NULL,
    serves_from int NOT NULL,
    functions   text NOT NULL, -- a digest of the functions and views that are installed
    clock       timestamptz    -- null: the server's; only tests set it (test_clock.sql)
);
INSERT INTO {p}store (store_id, version, serves_from, functions)
VALUES (('x' || left(gen_random_uuid()::text, 7))::bit(28)::int, 0, 0, '');

CREATE TABLE {p}migration (
    version    int PRIMARY KEY,
    name       text NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- A queue is a (door, namespace) pair. Times of -1 mean for ever.
CREATE TABLE {p}queue (
    id                 int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    door               smallint NOT NULL CHECK (door = 0), -- outbox; a producer must not make others
    namespace          text COLLATE "C" NOT NULL,
    paused             boolean NOT NULL DEFAULT false,
    max_attempts       smallint NOT NULL DEFAULT 10,
    backoff            smallint NOT NULL DEFAULT 1, -- 1 exponential, 2 equal-jitter
    backoff_base_ms    bigint NOT NULL DEFAULT 1000,
    backoff_max_ms     bigint NOT NULL DEFAULT 60000,
    retention_s        bigint NOT NULL DEFAULT 604800,
    dead_retention_s   bigint NOT NULL DEFAULT -1,
    dedupe_retention_s bigint NOT NULL DEFAULT 604800,
    max_payload_bytes  int NOT NULL DEFAULT 1048576,
    max_lease_s        int NOT NULL DEFAULT 86400,
    delete_on_ack      boolean NOT NULL DEFAULT false,
    -- What enqueue and claim need of the store, so that they read one row and not two:
    store_id           int NOT NULL,
    clock              timestamptz,
    UNIQUE (door, namespace)
);
INSERT INTO {p}queue (door, namespace, store_id) SELECT 0, '', store_id FROM {p}store;

-- What slow claims remember, so that the next ones need not walk over the
-- same dead index entries (an old open transaction keeps vacuum from removing
-- them). Only hints: nothing breaks when a row is stale or missing.
CREATE TABLE {p}hint (
    queue           int PRIMARY KEY,
    written_at      timestamptz NOT NULL,
    from_due        timestamptz[], -- per level
    whole_look_next timestamptz NOT NULL DEFAULT '-infinity',
    reap_from       timestamptz NOT NULL DEFAULT '-infinity',
    reap_whole_next timestamptz NOT NULL DEFAULT '-infinity'
) WITH (fillfactor = 50);

-- The body: inserted once, never updated. id is a UUIDv8 that begins with a
-- number from this sequence (src/core/id.h), so the index only grows at its end.
CREATE SEQUENCE {p}message_number MAXVALUE 140737488355327;
CREATE TABLE {p}message (
    id             uuid PRIMARY KEY,
    created_at     timestamptz NOT NULL,
    due_at         timestamptz,
    expires_at     timestamptz,
    message_id     uuid,     -- null: the same as id
    tenant_id      uuid,
    queue          int NOT NULL,
    level          smallint NOT NULL, -- 0 … 3
    max_attempts   smallint, -- null: the queue's
    topic          text COLLATE "C" NOT NULL,
    dedupe_key     text COLLATE "C",
    correlation_id text,
    stream         text COLLATE "C",
    headers        jsonb,
    payload        text NOT NULL
);

-- lane = queue * 4 + level. Eight columns, so that the null bitmap costs nothing.
CREATE TABLE {p}pending (
    due          timestamptz NOT NULL,
    id           uuid NOT NULL,
    expires_at   timestamptz,
    lane         int NOT NULL,
    topic        int NOT NULL, -- hashtext(topic): a filter, checked again against the body
    attempts     smallint NOT NULL,
    lost         smallint NOT NULL,
    max_attempts smallint,
    PRIMARY KEY (lane, due, id)
);

CREATE SEQUENCE {p}fence;
CREATE TABLE {p}lease (
    id         bigint PRIMARY KEY, -- the fence
    owner      uuid NOT NULL,
    claimed_at timestamptz NOT NULL,
    until      timestamptz NOT NULL,
    queue      int NOT NULL,
    open       int NOT NULL,       -- how many of ids are not settled
    door       smallint NOT NULL,
    lost       smallint NOT NULL,  -- above 0: the only message is one whose worker died
    ids        uuid[] NOT NULL,
    attempts   smallint[],         -- null: all 1
    settled    bit varying         -- null: none
) WITH (fillfactor = 50);
ALTER TABLE {p}lease ALTER ids SET STORAGE EXTERNAL, ALTER attempts SET STORAGE EXTERNAL;
CREATE INDEX {p}lease_owner ON {p}lease (owner, until);
CREATE INDEX {p}lease_until ON {p}lease (door, until);

-- One row per acked batch, or several: span covers the numbers of its ids and
-- is at most 100 000 wide (work_done), so that one message is found through the
-- range index.
CREATE TABLE {p}done (
    span  int8range NOT NULL,
    at    timestamptz NOT NULL,
    owner uuid NOT NULL,
    queue int NOT NULL,
    ids   uuid[] NOT NULL
);
ALTER TABLE {p}done ALTER ids SET STORAGE EXTERNAL;
CREATE INDEX {p}done_span ON {p}done USING gist (span);
CREATE INDEX {p}done_at ON {p}done (queue, at);

CREATE TABLE {p}dead (
    id         uuid PRIMARY KEY,
    died_at    timestamptz NOT NULL,
    owner      uuid,
    retried_as uuid,
    queue      int NOT NULL,
    reason     smallint NOT NULL -- 1 failed, 2 attempts, 3 lost, 4 expired
);
CREATE INDEX {p}dead_died_at ON {p}dead (queue, died_at);

-- Why a message came back or ended: appended only. The newest row's next_due
-- is the due of its pending row, which is how that row is found by id.
CREATE TABLE {p}attempt_log (
    n        bigint GENERATED ALWAYS AS IDENTITY,
    at       timestamptz NOT NULL,
    next_due timestamptz,
    id       uuid NOT NULL,
    owner    uuid,
    attempt  smallint NOT NULL,
    kind     smallint NOT NULL, -- 1 abandoned, 2 failed, 3 released, 4 lost, 5 expired
    error    text,
    PRIMARY KEY (id, n)
);

CREATE TABLE {p}dedupe (
    created_at timestamptz NOT NULL,
    id         uuid NOT NULL,
    message_id uuid, -- null: the same as id
    queue      int NOT NULL,
    topic      text COLLATE "C" NOT NULL,
    gone       boolean NOT NULL DEFAULT false, -- its message is: retention may delete the key
    key        text COLLATE "C" NOT NULL,
    PRIMARY KEY (queue, topic, key)
);
CREATE INDEX {p}dedupe_gone ON {p}dedupe (queue, created_at) WHERE gone;

-- The small hot tables are vacuumed by the number of dead rows alone.
ALTER TABLE {p}pending SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000,
    autovacuum_vacuum_cost_delay = 0, autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 100000);
ALTER TABLE {p}lease SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000,
    autovacuum_vacuum_cost_delay = 0, toast.autovacuum_vacuum_scale_factor = 0,
    toast.autovacuum_vacuum_threshold = 20000, toast.autovacuum_vacuum_cost_delay = 0);
ALTER TABLE {p}hint SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 200);

CREATE TYPE {p}enqueued AS (work_id uuid, message_id uuid, is_new boolean);
