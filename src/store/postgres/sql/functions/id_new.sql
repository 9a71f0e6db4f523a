-- id_new(door) → a fresh work id (layout: src/core/id.h).
CREATE OR REPLACE FUNCTION {p}id_new(door smallint) RETURNS uuid
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN (
        SELECT encode(int8send((nextval('{p}message_number') << 16) | 32768)
                      || int4send((-2147483648) | (door::int << 28) | s.store_id)
                      || substr(uuid_send(gen_random_uuid()), 1, 4), 'hex')::uuid -- random() can be made to repeat
        FROM {p}store s WHERE s.one);
END
$$;
