-- 0006_batch_part: what functions of the one exchange take, a few rows of lists instead of many
-- lists (decision 0048). It becomes a part of migration 0006; until that is here it runs before the
-- functions, and so does nothing the second time.
DO $$
BEGIN
    IF to_regtype('{p}work_messages') IS NOT NULL THEN
        RETURN;
    END IF;
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
END
$$;
