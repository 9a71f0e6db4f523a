-- 0006: short ways for plain messages, and an index that finds messages by their topics.

-- Nobody may be in the midst of a call that has read the number of a queue, see below.
LOCK TABLE {p}queue, {p}message, {p}pending, {p}lease, {p}done, {p}dead, {p}dedupe, {p}stream, {p}hint, {p}retention_turn
    IN ACCESS EXCLUSIVE MODE;

-- Functions that answer otherwise than before.
DROP FUNCTION IF EXISTS {p}settle_named(text, smallint, smallint, uuid, uuid[], bigint[], text, interval, int, boolean);
DROP FUNCTION IF EXISTS {p}call_is_single(text, text);
DROP FUNCTION IF EXISTS {p}work_affinity(uuid, smallint, text, text[], int, int, timestamptz);
DROP FUNCTION IF EXISTS {p}work_claim_hint(int, timestamptz, interval, boolean, boolean, {p}hint, uuid[], timestamptz[], bigint[], boolean);
DROP FUNCTION IF EXISTS {p}work_pick(int, smallint, smallint[], timestamptz, int, text[], int[], timestamptz[], uuid[], boolean, int, bigint[],
                                     timestamptz, bigint, bigint[], int[], smallint, smallint);
DROP FUNCTION IF EXISTS {p}work_batch(
    uuid, text, text, int, jsonb, int, int, int, boolean, uuid[], bigint[], smallint[], text[], bigint[],
    uuid[], bigint[], smallint[], text[], bigint[], uuid[], bigint[], uuid[], bigint[], boolean);
DROP FUNCTION IF EXISTS {p}work_batch_whole(
    uuid, text, text, int, jsonb, int, int, int, boolean, uuid[], bigint[], smallint[], text[], bigint[],
    uuid[], bigint[], smallint[], text[], bigint[], uuid[], bigint[], uuid[], bigint[], uuid[], text[], boolean[], text[],
    smallint[], text[], text[], text[], bigint[], boolean[], text[],
    text[], text[], text[], uuid[], text[], text[], text[], smallint[], timestamptz[], timestamptz[], jsonb[], uuid[],
    smallint[], uuid[], text[], boolean[],
    text[], text[], text[], uuid[], text[], text[], text[], smallint[], timestamptz[], timestamptz[], jsonb[], uuid[],
    smallint[], uuid[], text[], boolean[], boolean);
DROP FUNCTION IF EXISTS {p}work_enqueue_many(
    smallint, text[], text[], text[], uuid[], text[], text[], text[], smallint[], timestamptz[], timestamptz[], jsonb[],
    uuid[], smallint[], uuid[], text[], boolean[]);
DROP FUNCTION IF EXISTS {p}messages_read(text, jsonb);
DROP FUNCTION IF EXISTS {p}batch_settlements(text, jsonb, jsonb);
DROP FUNCTION IF EXISTS {p}batch_receptors(jsonb, jsonb);
DROP FUNCTION IF EXISTS {p}batch_checkpoints(jsonb, jsonb);
DROP FUNCTION IF EXISTS {p}batch_inbox(jsonb);

-- What functions of the one exchange take: a few rows of lists instead of many lists (decision 0048).
-- The lists of a row have one length. A list without any value is null; so is a row without lists.
CREATE TYPE {p}work_instance AS (
    id uuid, service text, host text, process_id int, metadata jsonb, lease_s int, stale_s int, partitions int);
CREATE TYPE {p}work_settlements AS (ids uuid[], fences bigint[], verbs smallint[], errors text[], delays bigint[]);
CREATE TYPE {p}work_renewals AS (ids uuid[], fences bigint[]);
CREATE TYPE {p}work_receptor_results AS (ids uuid[], names text[], failed boolean[], errors text[]);
CREATE TYPE {p}work_checkpoint_results AS (
    doors smallint[], ns text[], streams text[], consumers text[], seqs bigint[], failed boolean[], errors text[]);
CREATE TYPE {p}work_messages AS (
    ns text[], topics text[], payloads text[], tenant_ids uuid[], keys text[], correlation_ids text[], streams text[],
    levels smallint[], due_ats timestamptz[], expires_ats timestamptz[], headers jsonb[], message_ids uuid[],
    max_attempts smallint[], join_ids uuid[], sources text[], handled boolean[]);
CREATE TYPE {p}work_wanted AS ( -- to claim
    lease_s int, batch_size int, ns text, topics text[], from_due timestamptz[], from_id uuid[], partition_count int,
    max_partitions int, last smallint);

-- A store that never had a join is not searched for steps and deadlines: see work_join_start.
ALTER TABLE {p}store ADD has_joins boolean NOT NULL DEFAULT false;
UPDATE {p}store SET has_joins = EXISTS (SELECT FROM {p}join_head);

-- The number of a queue has 21 bits, so that a lane of pending has room for a key (see lane). Version 5
-- gave longer ones.
DO $$
DECLARE
    _old int;
    _new int;
    _of text;
BEGIN
    FOR _old IN SELECT q.id FROM {p}queue q WHERE q.id >= 2097152 ORDER BY 1 LOOP
        SELECT n INTO _new FROM generate_series(1, 2097151) n WHERE NOT EXISTS (SELECT FROM {p}queue q WHERE q.id = n) LIMIT 1;
        UPDATE {p}queue SET id = _new WHERE id = _old;
        FOREACH _of IN ARRAY ARRAY['hint', 'message', 'lease', 'done', 'dead', 'dedupe', 'stream', 'retention_turn'] LOOP
            EXECUTE format('UPDATE {p}%s SET queue = $1 WHERE queue = $2', _of) USING _new, _old;
        END LOOP;
        UPDATE {p}pending SET lane = CASE WHEN lane < 0 THEN -_new ELSE _new * 4 + lane % 4 END
        WHERE lane = -_old OR (lane >= _old::bigint * 4 AND lane < _old::bigint * 4 + 4);
    END LOOP;
END
$$;
ALTER TABLE {p}queue ADD CONSTRAINT {p}queue_id_check CHECK (id BETWEEN 1 AND 2097151);
-- Whether messages are found by their topics: 0 no, 1 new ones are, 2 all are: see work_topics_turn.
ALTER TABLE {p}queue ADD by_topic smallint NOT NULL DEFAULT 0;

-- pending is written anew, since views use its columns. The old table goes when they have their new
-- definitions (closing.sql).
ALTER TABLE {p}pending RENAME TO {p}pending_5;
ALTER INDEX {p}pending_pkey RENAME TO {p}pending_5_pkey;
ALTER INDEX {p}pending_stream RENAME TO {p}pending_5_stream;
CREATE TABLE {p}pending (
    due          timestamptz NOT NULL,
    id           uuid NOT NULL,
    expires_at   timestamptz,
    lane         bigint NOT NULL, -- see lane; of tokens that are no messages: -queue
    topic        int NOT NULL,    -- see topic_mark; of such tokens: -1
    attempts     smallint NOT NULL,
    lost         smallint NOT NULL,
    max_attempts smallint,
    stream       bigint,
    seq          bigint
);
INSERT INTO {p}pending (due, id, expires_at, lane, topic, attempts, lost, max_attempts, stream, seq)
SELECT p.due, p.id, p.expires_at, CASE WHEN p.lane > 0 THEN p.lane::bigint << 40 ELSE p.lane END,
       CASE WHEN p.lane > 0 THEN ~(p.topic & 2147483647) ELSE -1 END, p.attempts, p.lost, p.max_attempts, p.stream, p.seq
FROM {p}pending_5 p ORDER BY p.lane, p.due, p.id;
ALTER TABLE {p}pending ADD PRIMARY KEY (lane, due, id);
CREATE UNIQUE INDEX {p}pending_stream ON {p}pending (stream) WHERE stream IS NOT NULL;
CREATE INDEX {p}pending_topic ON {p}pending (lane, topic, due, id) WHERE topic >= 0;
ALTER TABLE {p}pending SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000,
    autovacuum_vacuum_cost_delay = 0, autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 100000);

-- A queue on its way to the index on topics: see work_topics_turn.
CREATE TABLE {p}topic_turn (
    flagged xid8 NOT NULL,      -- by this transaction
    upto    xid8,
    next_at timestamptz NOT NULL DEFAULT '-infinity', -- not again before
    lane    bigint NOT NULL,    -- how far its rows have been read
    due     timestamptz NOT NULL DEFAULT '-infinity',
    id      uuid NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000',
    queue   int PRIMARY KEY,
    clean   boolean NOT NULL DEFAULT true, -- none had to be left
    before  text[]
);

-- A column of a view keeps its type: this is the lane's upper part.
ALTER VIEW IF EXISTS {p}work_state RENAME COLUMN lane TO queue_level;
