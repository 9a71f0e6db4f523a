-- ids_new(door, n) → n fresh work ids, rising: id_new() for many.
CREATE OR REPLACE FUNCTION {p}ids_new(_door smallint, _n int) RETURNS uuid[]
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _base bigint;
BEGIN
    SELECT (-9223372036854775808) | (_door::bigint << 60) | (s.store_id::bigint << 32) INTO _base
    FROM {p}store s WHERE s.one;
    RETURN (
        SELECT array_agg(encode(int8send((nextval('{p}message_number') << 16) | 32768)
                                || int8send(_base | floor(random() * 4294967296)::bigint), 'hex')::uuid)
        FROM generate_series(1, _n));
END
$$;
