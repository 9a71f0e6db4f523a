-- stream_hash(key) → the number in the first 15 hex digits of SHA-256 of a stream's key: its
-- partition is that modulo the number of partitions. The same on every backend.
CREATE OR REPLACE FUNCTION {p}stream_hash(key text) RETURNS bigint
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
    SELECT ('x' || substr(encode(sha256(convert_to(key, 'UTF8')), 'hex'), 1, 15))::bit(60)::bigint
$$;
