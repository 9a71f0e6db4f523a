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
-- The call that settles a message looks here for the steps to count. With status, so that
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

UPDATE {p}store SET version = 3, serves_from = 3;
INSERT INTO {p}migration (version, name, applied_at)
VALUES (3, 'joins_schedule', CAST(strftime('%s', 'now') AS INTEGER) * 1000000);
