-- lane(queue, level) → where in pending the messages of a queue with this priority begin: those that
-- have no key. The low 40 bits are for a key's line; the lanes of a queue end before lane(queue, 4).
-- The planner puts the expression in the place of the call.
CREATE OR REPLACE FUNCTION {p}lane(queue int, level int) RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (queue::bigint * 4 + level) << 40;
