-- settings.sql - the planner settings that functions carry (README.md, "Plans"); {name} in a
-- function's file stands for them. Each setting costs a call a little: a function takes those that
-- its statements need.
--
-- by_index: no walk through a whole table, whatever its size was when the plan was made.
-- nested_loops: row by row through the indexes, never by a hash of or a sort by all.
-- in_order: both, and no sort, for functions whose order comes from an index.
-- one_plan: made once per session, not anew for each call's arguments.
-- pinned: all of it.

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
