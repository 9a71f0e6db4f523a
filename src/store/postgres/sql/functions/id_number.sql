-- id_number(id) → the number that a work id begins with.
CREATE OR REPLACE FUNCTION {p}id_number(id uuid) RETURNS bigint
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE SET search_path = {schema}, pg_temp
AS $$ SELECT ('x' || substr(id::text, 1, 8) || substr(id::text, 10, 4))::bit(48)::bigint $$;
