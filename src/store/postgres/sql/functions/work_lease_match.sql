-- work_lease_match(…): which of these messages a lease holds and has not settled: at, where they
-- are in the call, and pos, where in the lease, in the lease's order. Left out are those that have
-- an outcome, and those asked for under another fence; of an id given twice the first counts.
--
-- Reads no table. A hash of the ids, since a walk through two long lists for each of their
-- elements takes seconds.
CREATE OR REPLACE FUNCTION {p}work_lease_match(
    _held uuid[], _settled bit varying, _fence bigint, _ids uuid[], _fences bigint[], _outcomes smallint[],
    OUT at int[], OUT pos int[])
    LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp
    SET enable_hashjoin = on SET enable_nestloop = off SET enable_mergejoin = off SET jit = off
AS $$
BEGIN
    SELECT array_agg(f.i), array_agg(f.pos) INTO at, pos FROM (
        SELECT min(u.i)::int AS i, h.pos::int AS pos
        FROM unnest(_ids) WITH ORDINALITY u(id, i) JOIN unnest(_held) WITH ORDINALITY h(id, pos) ON h.id = u.id
        WHERE _settled IS NULL OR get_bit(_settled, h.pos::int - 1) = 0
        GROUP BY h.pos ORDER BY h.pos) f
    WHERE _outcomes[f.i] IS NULL AND (_fences IS NULL OR _fences[f.i] IN (0, _fence));
END
$$;
