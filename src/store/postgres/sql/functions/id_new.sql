-- id_new(door) → a fresh work id (layout: src/core/id.h).
CREATE OR REPLACE FUNCTION {p}id_new(door smallint) RETURNS uuid
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN (
        SELECT encode(int8send((nextval('{p}message_number') << 16) | 32768)
                      || int8send((-9223372036854775808) | (door::bigint << 60) | (s.store_id::bigint << 32)
                                  | floor(random() * 4294967296)::bigint), 'hex')::uuid
        FROM {p}store s WHERE s.one);
END
$$;
