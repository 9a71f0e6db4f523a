-- token_blocked_id(id) → the id of the token of a stream that is blocked by the dead message
-- with that id: the same, but for its first bit. The names in the body are bound when it is
-- created (see id_number).
CREATE OR REPLACE FUNCTION {p}token_blocked_id(id uuid) RETURNS uuid
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN encode(set_byte(uuid_send(id), 0, get_byte(uuid_send(id), 0) | 128), 'hex')::uuid;
