-- token_id(stream) → the id of an empty token in pending. It begins with a bit 1, which no
-- message's id does. The names in the body are bound when it is created (see id_number).
CREATE OR REPLACE FUNCTION {p}token_id(stream bigint) RETURNS uuid
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN ('ffffffff-ffff-ffff-' || substr(lpad(to_hex(stream), 16, '0'), 1, 4) || '-' || substr(lpad(to_hex(stream), 16, '0'), 5))::uuid;
