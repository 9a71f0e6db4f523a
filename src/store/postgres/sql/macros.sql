-- macros.sql - texts that functions share; {name} in a function's file stands for one.
--
-- Planner settings (README.md, "Plans"). Each setting costs a call a little: a function takes those
-- that its statements need.
--
-- by_index: no walk through a whole table, whatever its size was when the plan was made.
-- nested_loops: row by row through the indexes, never by a hash of or a sort by all.
-- in_order: both, and no sort, for functions whose order comes from an index.
-- one_plan: made once per session, not anew for each call's arguments.
-- pinned: all of it.
--
-- lookup: the columns of a look-up or a list (ph__pg_read_info).
-- claimed: the columns of a claim (work_claim).
-- gathered: what a claim has taken (work_gather).

-- name: by_index
SET enable_seqscan = off SET enable_bitmapscan = off

-- name: nested_loops
SET enable_hashjoin = off SET enable_mergejoin = off SET enable_memoize = off

-- name: one_plan
SET jit = off SET plan_cache_mode = force_generic_plan

-- name: in_order
{by_index} SET enable_sort = off {nested_loops}

-- name: pinned
{in_order} {one_plan}

-- name: lookup
work_id uuid, message_id uuid, fence bigint, topic text, payload text, tenant_id uuid, dedupe_key text,
    correlation_id text, headers text, attempts int, retry_count int, created_at timestamptz, due_at timestamptz,
    last_error text, priority int, namespace text, status_code int, max_attempts int, due_time_utc timestamptz,
    expires_at timestamptz, locked_until timestamptz, owner uuid, processed_at timestamptz, updated_at timestamptz,
    next_attempt_at timestamptz, dead_reason text, retried_as uuid, waits_for uuid,
    stream text, seq bigint, source text, payload_length int

-- name: claimed
work_id uuid, message_id uuid, fence bigint, topic text, payload text, tenant_id uuid,
    dedupe_key text, correlation_id text, stream text, headers jsonb, attempts int,
    retry_count int, created_at timestamptz, due_at timestamptz, last_error text, priority int, joins text,
    seq bigint, source text, orphan boolean

-- name: gathered
OUT ids uuid[], OUT attempts smallint[], OUT dues timestamptz[], OUT lost smallint, OUT streams bigint[],
    OUT seqs bigint[], OUT joins text, OUT alone boolean, OUT waits boolean, OUT knows boolean, OUT whole boolean,
    OUT tokens_seen boolean
