-- 0005: what attacks from outside have found. Each part says what it is for.

-- What an instance claims: partitions belong only to those who claim the queue and the topic of a
-- head, and who come for it. No key: two sessions of one instance must not wait for each other.
CREATE TABLE {p}claimer (
    since     timestamptz NOT NULL, -- it has come ever since, as far as is known
    instance  uuid NOT NULL,
    door      smallint NOT NULL,
    comes     boolean NOT NULL,     -- false: it left a head lying, or its lease ran out; until it claims again
    namespace text COLLATE "C" NOT NULL,
    topics    text[]                -- null: all
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 200);
CREATE INDEX {p}claimer_instance ON {p}claimer (instance);
DROP FUNCTION IF EXISTS {p}work_affinity(uuid, int, int, timestamptz);
DROP FUNCTION IF EXISTS {p}partition_owner(text, int);

-- A claim compares topics themselves where it picks rows, not only their hashes; and messages whose
-- worker was lost once come in small groups.
DROP FUNCTION IF EXISTS {p}work_pick(int, smallint, smallint[], timestamptz, int, int[], timestamptz[], uuid[], boolean, int, bigint[],
                                     timestamptz, bigint, bigint[]);

-- Joins: functions that take more than before are replaced, not overloaded.
DROP FUNCTION IF EXISTS {p}work_join_add(uuid[], uuid[], uuid[], smallint[], timestamptz);
DROP FUNCTION IF EXISTS {p}work_join_tally(uuid[], int[], int[], int[], timestamptz, boolean);
DROP FUNCTION IF EXISTS {p}work_joins(text, int, boolean, int, uuid);
DROP FUNCTION IF EXISTS {p}work_count(smallint, text);
DROP FUNCTION IF EXISTS {p}work_queues(smallint, text);
-- A stream has an owner and a receptor has a state, as other things have.
ALTER VIEW IF EXISTS {p}streams RENAME COLUMN locked_by TO owner;
ALTER VIEW IF EXISTS {p}receptors RENAME COLUMN status TO state;
DROP FUNCTION IF EXISTS {p}work_streams(smallint, text, text, text, text, text, boolean, int, int);

-- The joins of a message that has another message id than its own; of the others join_member_work_id tells.
CREATE INDEX {p}join_member_message_id ON {p}join_member (message_id) WHERE message_id <> work_id;
-- A message that was acked and deleted can be attached for as long as its dedupe key is known.
ALTER TABLE {p}dedupe ADD acked boolean NOT NULL DEFAULT false;
CREATE INDEX {p}dedupe_acked ON {p}dedupe (coalesce(message_id, id)) WHERE acked;
-- Steps that may be counted by more than one message: see work_steps_given.
CREATE INDEX {p}join_member_given ON {p}join_member (message_id) WHERE message_id <> work_id AND status IS NULL;

-- A job whose expression is changed still owes the instants of the old one that were due by then.
DROP FUNCTION IF EXISTS {p}work_tick(uuid, int, boolean, boolean); -- answers more
ALTER TABLE {p}job ADD owed_from timestamptz; -- up to anchor_at; null: nothing
ALTER TABLE {p}job ADD owed_cron text;
ALTER TABLE {p}job ADD owed_timezone text;

-- What the names of this database's roles begin with; null: the schema's name. See roles.sql.
ALTER TABLE {p}store ADD role_prefix text COLLATE "C";
-- A grant stays with a function that is replaced: workers no longer run the scheduler.
DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = '{s}_worker') AND to_regproc('{schema}.{p}work_advance') IS NOT NULL THEN
        REVOKE ALL ON FUNCTION {p}work_advance FROM "{s}_worker";
    END IF;
END
$$;

-- A queue has any free number, not the next one of a sequence: see queue_get.
ALTER TABLE {p}queue ALTER id DROP IDENTITY;
-- The row of a queue that was deleted stays, for those who have read it: see work_queue_delete.
ALTER TABLE {p}queue ADD deleted boolean NOT NULL DEFAULT false;

-- When process_work_batch does retention next, and behind which queue: see batch_retention. Not in
-- store, which every call reads: while an old snapshot is held each change makes reading slower.
CREATE TABLE {p}retention_turn (
    next_at timestamptz NOT NULL,
    queue   int NOT NULL,
    one     boolean PRIMARY KEY CHECK (one)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 200);
INSERT INTO {p}retention_turn VALUES (now(), 0, true);
DROP FUNCTION IF EXISTS {p}work_join_forget(timestamptz, int);

-- Who acks again is told so: under which fence it was acked. Null: by no claim, or before this version.
ALTER TABLE {p}done ADD fence bigint;
DROP FUNCTION IF EXISTS {p}work_done(uuid[], int, timestamptz, uuid, boolean);
DROP FUNCTION IF EXISTS {p}work_outcomes_rest(smallint, uuid[], smallint[]);
DROP FUNCTION IF EXISTS {p}work_settle(smallint, uuid, uuid[], bigint[], smallint[], text[], bigint[], boolean);
DROP FUNCTION IF EXISTS {p}work_batch(uuid, text, text, int, jsonb, int, int, int, boolean, uuid[], bigint[], smallint[], text[], bigint[],
                                      uuid[], bigint[], smallint[], text[], bigint[], uuid[], bigint[], uuid[], bigint[]);
DROP FUNCTION IF EXISTS {p}work_batch_whole(
    uuid, text, text, int, jsonb, int, int, int, boolean, uuid[], bigint[], smallint[], text[], bigint[],
    uuid[], bigint[], smallint[], text[], bigint[], uuid[], bigint[], uuid[], bigint[], uuid[], text[], boolean[], text[],
    smallint[], text[], text[], text[], bigint[], boolean[], text[],
    text[], text[], text[], uuid[], text[], text[], text[], smallint[], timestamptz[], timestamptz[], jsonb[], uuid[], smallint[],
    uuid[], text[], boolean[],
    text[], text[], text[], uuid[], text[], text[], text[], smallint[], timestamptz[], timestamptz[], jsonb[], uuid[], smallint[],
    uuid[], text[], boolean[]);
DROP FUNCTION IF EXISTS {p}settle_named(text, smallint, smallint, uuid, uuid[], bigint[], text, interval, int);

-- Attaching a leased message delays no other call: such a step is loose until it is counted,
-- since the call that settles the message may not see it. The number is random: see work_join_settle.
ALTER TABLE {p}join_member ADD loose int;
CREATE INDEX {p}join_member_loose ON {p}join_member (work_id) WHERE loose IS NOT NULL;
CREATE INDEX {p}join_member_loose_turn ON {p}join_member (loose) WHERE loose IS NOT NULL;
-- Steps that have ended and are still to be counted in their join: see work_join_catch_up.
CREATE TABLE {p}join_uncounted (
    turn       int NOT NULL,      -- of the join: join_turn
    status     smallint NOT NULL, -- 1 completed, 2 failed
    join_id    uuid NOT NULL,
    work_id    uuid NOT NULL,     -- the message that has ended
    message_id uuid NOT NULL,     -- the step
    PRIMARY KEY (join_id, work_id)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 200);
CREATE INDEX {p}join_uncounted_turn ON {p}join_uncounted (turn, join_id);

-- A dispatcher says how last attempts are to come.
DROP FUNCTION IF EXISTS {p}work_claim(smallint, uuid, int, int, text, text[], timestamptz[], uuid[], int, int);
