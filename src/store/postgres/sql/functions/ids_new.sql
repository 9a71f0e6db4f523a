-- ids_new(door, n) → n fresh work ids, rising: id_new() for many. Three of them share a random UUID,
-- each with 32 random bits of its own: making random bytes is what costs most here.
CREATE OR REPLACE FUNCTION {p}ids_new(_door smallint, _n int) RETURNS uuid[]
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN (
        WITH b AS MATERIALIZED (
            SELECT int4send((-2147483648) | (_door::int << 28) | s.store_id) AS base, (
                SELECT string_agg(substr(uuid_send(r.id), 1, 6) || substr(uuid_send(r.id), 11, 6), '') -- the version is between
                FROM (SELECT gen_random_uuid() AS id FROM generate_series(1, (_n + 2) / 3)) r) AS random
            FROM {p}store s WHERE s.one)
        SELECT array_agg(encode(int8send((nextval('{p}message_number') << 16) | 32768)
                                || b.base || substr(b.random, i * 4 - 3, 4), 'hex')::uuid)
        FROM b CROSS JOIN generate_series(1, _n) i);
END
$$;
