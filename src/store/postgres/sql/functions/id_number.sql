-- id_number(id) → the number that a work id begins with. The names in the body
-- are bound when it is created, so it needs no search path of its own and the
-- planner can put its expression in the place of the call.
CREATE OR REPLACE FUNCTION {p}id_number(id uuid) RETURNS bigint
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN ('x' || substr(id::text, 1, 8) || substr(id::text, 10, 4))::bit(48)::bigint;
