-- 0003: joins, timers and jobs. The tables of messages stay as they are, but for an
-- index on message ids that users gave, and settings of queues.

-- Functions that answer more than before: replaced, not overloaded.
DROP FUNCTION IF EXISTS {p}work_enqueue(smallint, text, text, text, uuid, text, text, text, smallint, timestamptz,
    timestamptz, jsonb, uuid, smallint);
DROP FUNCTION IF EXISTS {p}work_enqueue_many(smallint, text[], text[], text[], uuid[], text[], text[], text[],
    smallint[], timestamptz[], timestamptz[], jsonb[], uuid[], smallint[]);
DROP FUNCTION IF EXISTS {p}work_settle(smallint, uuid, uuid[], bigint[], smallint[], text[], bigint[]);
DROP FUNCTION IF EXISTS {p}work_claim(smallint, uuid, int, int, text, text[], timestamptz[], uuid[]);
DROP FUNCTION IF EXISTS {p}work_reap(smallint, timestamptz, timestamptz, int);
DROP FUNCTION IF EXISTS {p}work_bury(uuid[], smallint, timestamptz, uuid);
DROP FUNCTION IF EXISTS {p}work_bury_unfit(uuid[], smallint[], boolean[], timestamptz);
DROP FUNCTION IF EXISTS {p}work_give_up(uuid, smallint, smallint, smallint, text, bigint, timestamptz, uuid);
DROP FUNCTION IF EXISTS {p}work_done(uuid[], int, timestamptz, uuid);
DROP FUNCTION IF EXISTS {p}work_forget(uuid[]);
DROP FUNCTION IF EXISTS {p}work_outcomes_rest(uuid[], smallint[]);
DROP FUNCTION IF EXISTS {p}settle_named(text, smallint, smallint, uuid, uuid[], bigint[], text, interval, int);
DROP FUNCTION IF EXISTS {p}outbox_ack(uuid, uuid[], bigint[]);
DROP FUNCTION IF EXISTS {p}outbox_abandon(uuid, uuid[], text, interval, bigint[]);
DROP FUNCTION IF EXISTS {p}outbox_fail(uuid, uuid[], text, bigint[]);
DROP FUNCTION IF EXISTS {p}work_list(smallint, text, text, int, boolean, int, uuid, boolean);
DROP FUNCTION IF EXISTS {p}work_queues(smallint, text);

ALTER TABLE {p}queue DROP CONSTRAINT {p}queue_door_check;
ALTER TABLE {p}queue ADD CONSTRAINT {p}queue_door_check CHECK (door IN (0, 2, 3)); -- outbox, timers, job runs
ALTER TABLE {p}queue ADD join_wait_topic text COLLATE "C" NOT NULL DEFAULT 'join.wait';

-- A message is found by the id that its producer (or a timer, a job run, an operator's retry) gave it.
CREATE INDEX {p}message_message_id ON {p}message (message_id) WHERE message_id IS NOT NULL;

CREATE TABLE {p}join_head (
    id           uuid PRIMARY KEY,
    created_at   timestamptz NOT NULL,
    updated_at   timestamptz NOT NULL,
    deadline     timestamptz,
    finished_at  timestamptz,          -- null: open
    expected     int NOT NULL,
    attached     int NOT NULL DEFAULT 0,
    completed    int NOT NULL DEFAULT 0,
    failed       int NOT NULL DEFAULT 0,
    reports      int NOT NULL DEFAULT 0, -- steps that were counted by hand
    status       smallint NOT NULL DEFAULT 0, -- 0 pending, 1 completed, 2 failed, 3 cancelled
    grouping_key text COLLATE "C",
    metadata     text,
    CHECK (completed + failed <= attached AND attached <= expected)
) WITH (fillfactor = 70);
CREATE INDEX {p}join_head_grouping_key ON {p}join_head (grouping_key, id) WHERE grouping_key IS NOT NULL;
CREATE INDEX {p}join_head_deadline ON {p}join_head (deadline) WHERE status = 0 AND deadline IS NOT NULL;
CREATE INDEX {p}join_head_reported ON {p}join_head (id) WHERE reports > 0 AND status = 0; -- see work_count_found
CREATE INDEX {p}join_head_finished_at ON {p}join_head (finished_at) WHERE finished_at IS NOT NULL;

-- A step. Settling its message counts it in the head and leaves this row alone:
-- status is null for as long as the message itself tells how it stands.
CREATE TABLE {p}join_member (
    created_at timestamptz NOT NULL,
    join_id    uuid NOT NULL, -- inserts and deletes lock the head: a foreign key would check in vain
    work_id    uuid NOT NULL, -- the stay of the message that counts
    message_id uuid NOT NULL,
    status     smallint,      -- 0 pending, 1 completed, 2 failed; null: as the message
    PRIMARY KEY (join_id, message_id)
);
CREATE INDEX {p}join_member_work_id ON {p}join_member (work_id);

-- Where a wait is until its join ends: one more place, beside pending, lease, done and dead.
CREATE TABLE {p}join_wait (
    id      uuid PRIMARY KEY, -- the wait's work id
    join_id uuid NOT NULL
);
CREATE INDEX {p}join_wait_join_id ON {p}join_wait (join_id);

CREATE TABLE {p}job (
    name          text COLLATE "C" PRIMARY KEY,
    namespace     text COLLATE "C" NOT NULL,
    topic         text COLLATE "C" NOT NULL,
    payload       text,
    cron          text NOT NULL,
    timezone      text NOT NULL,
    misfire       smallint NOT NULL, -- 1 once, 2 skip, 3 all
    misfire_limit int NOT NULL,
    overlap       smallint NOT NULL, -- 1 allow, 2 skip
    paused        boolean NOT NULL DEFAULT false,
    created_at    timestamptz NOT NULL,
    updated_at    timestamptz NOT NULL,
    generation    bigint NOT NULL DEFAULT 1, -- rises with every change by a user
    anchor_at     timestamptz NOT NULL,      -- the next instant is the first after it
    next_at       timestamptz,               -- null: to be computed by a scheduler; infinity: never again
    last_at       timestamptz,
    last_run      uuid,
    skipped       bigint NOT NULL DEFAULT 0,
    problem       text
) WITH (fillfactor = 70);
-- What a scheduler must look at comes first: what is not computed yet, then by instant.
CREATE INDEX {p}job_due ON {p}job (coalesce(next_at, '-infinity'), name) WHERE NOT paused AND problem IS NULL;

-- What a job run is besides a message of the door job_runs.
CREATE TABLE {p}job_run (
    id           uuid PRIMARY KEY, -- the run's work id
    scheduled_at timestamptz NOT NULL,
    triggered    boolean NOT NULL,
    maybe_open   boolean NOT NULL, -- false: it has ended, as the overlap policy once found out
    job          text COLLATE "C" NOT NULL
);
CREATE UNIQUE INDEX {p}job_run_instant ON {p}job_run (job, scheduled_at) WHERE NOT triggered;
CREATE INDEX {p}job_run_job ON {p}job_run (job, id);
CREATE INDEX {p}job_run_open ON {p}job_run (job, id) WHERE maybe_open;

ALTER TABLE {p}join_head SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_cost_delay = 0);
