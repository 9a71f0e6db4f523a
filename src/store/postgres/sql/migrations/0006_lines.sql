-- 0006: short ways for plain messages.

-- Functions that answer otherwise than before.
DROP FUNCTION IF EXISTS {p}settle_named(text, smallint, smallint, uuid, uuid[], bigint[], text, interval, int, boolean);
DROP FUNCTION IF EXISTS {p}call_is_single(text, text);
DROP FUNCTION IF EXISTS {p}work_affinity(uuid, smallint, text, text[], int, int, timestamptz);
DROP FUNCTION IF EXISTS {p}work_claim_hint(int, timestamptz, interval, boolean, boolean, {p}hint, uuid[], timestamptz[], bigint[], boolean);

-- A store that never had a join is not searched for steps and deadlines: see work_join_start.
ALTER TABLE {p}store ADD has_joins boolean NOT NULL DEFAULT false;
UPDATE {p}store SET has_joins = EXISTS (SELECT FROM {p}join_head);
