-- work_leases(…) → the ids of the lease rows that may hold these messages, in
-- ascending order, which is the order in which all calls lock them.
--
-- With fences: those. Without: the owner's leases; first the live ones, which
-- the index finds without walking over dead entries of past ones, and the
-- expired ones only if a message is not (or no more) among those.
CREATE OR REPLACE FUNCTION {p}work_leases(
    _door smallint, _owner uuid, _ids uuid[], _fences bigint[], _t timestamptz) RETURNS bigint[]
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _live bigint[];
    _past bigint[];
BEGIN
    IF _fences IS NOT NULL AND 0 <> ALL (_fences) THEN
        RETURN (SELECT array_agg(DISTINCT f ORDER BY f) FROM unnest(_fences) f);
    END IF;
    SELECT array_agg(l.id ORDER BY l.id) INTO _live
    FROM {p}lease l WHERE l.owner = _owner AND l.until >= _t AND l.door = _door AND l.ids && _ids;
    IF EXISTS (SELECT unnest(_ids) EXCEPT
               SELECT h.id FROM {p}lease l, unnest(l.ids) WITH ORDINALITY h(id, pos)
               WHERE l.id = ANY (_live) AND (l.settled IS NULL OR get_bit(l.settled, h.pos::int - 1) = 0)) THEN
        SELECT array_agg(l.id ORDER BY l.id) INTO _past
        FROM {p}lease l WHERE l.owner = _owner AND l.until < _t AND l.door = _door AND l.ids && _ids;
    END IF;
    RETURN (SELECT array_agg(DISTINCT x ORDER BY x) FROM unnest(_live || _past || _fences) x WHERE x > 0);
END
$$;
