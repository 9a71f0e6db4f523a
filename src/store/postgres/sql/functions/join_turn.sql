-- join_turn(join) → when in a round it is the turn of that join to be caught up with, 0 to 2^31 - 1: a
-- number that has nothing to do with its age (work_join_settle). It is of the random end of the id.
CREATE OR REPLACE FUNCTION {p}join_turn(id uuid) RETURNS int
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN ('x' || right(id::text, 8))::bit(32)::int & 2147483647;
