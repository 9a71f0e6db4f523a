-- enqueue_bytes_max() → how many bytes of payloads and headers one call may store: PH_ENQUEUE_BYTES_MAX.
-- No array of such messages, nor several of them, comes near the gigabyte at which a value ends.
CREATE OR REPLACE FUNCTION {p}enqueue_bytes_max() RETURNS int
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN 134217728;
