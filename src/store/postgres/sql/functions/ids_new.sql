-- ids_new(door, n) → n fresh work ids, rising: id_new() for many.
CREATE OR REPLACE FUNCTION {p}ids_new(_door smallint, _n int) RETURNS uuid[]
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _base bytea;
BEGIN
    SELECT int4send((-2147483648) | (_door::int << 28) | s.store_id) INTO _base FROM {p}store s WHERE s.one;
    RETURN (
        SELECT array_agg(encode(int8send((nextval('{p}message_number') << 16) | 32768)
                                || _base || substr(uuid_send(gen_random_uuid()), 1, 4), 'hex')::uuid)
        FROM generate_series(1, _n));
END
$$;
