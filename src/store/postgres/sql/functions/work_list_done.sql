-- work_list_done(…) → the ids of one page of settled messages; see work_list.
--
-- done has one row per batch, and batches overlap. Their spans are read, then the
-- ids of those rows only that reach highest (or, from the oldest on, lowest): all
-- numbers beyond the next row's edge are then known. More rows are taken until the
-- page is full. Numbers count down for both orders: a rank is the number, or its
-- negative if the oldest comes first.
CREATE OR REPLACE FUNCTION {p}work_list_done(
    _queues int[], _topic text, _oldest_first boolean, _limit int, _after uuid) RETURNS uuid[]
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
    SET jit = off
AS $$
DECLARE
    _sign CONSTANT int := CASE WHEN _oldest_first THEN -1 ELSE 1 END;
    _below bigint := CASE WHEN _after = '00000000-0000-0000-0000-000000000000' THEN 9223372036854775807
                          ELSE _sign * {p}id_number(_after) END;
    _rows int := 50;
    _tids tid[];
    _edges bigint[];
    _edge bigint; -- all ranks above it are known
    _found uuid[];
    _ids uuid[] := '{}';
BEGIN
    LOOP
        SELECT array_agg(c.tid), array_agg(c.edge) INTO _tids, _edges FROM (
            SELECT d.ctid AS tid, least(CASE WHEN _oldest_first THEN -lower(d.span) ELSE upper(d.span) - 1 END, _below - 1) AS edge
            FROM {p}done d
            WHERE d.queue = ANY (_queues) AND CASE WHEN _oldest_first THEN 1 - upper(d.span) ELSE lower(d.span) END < _below
            ORDER BY 2 DESC LIMIT _rows + 1) c;
        EXIT WHEN _tids IS NULL;
        _edge := coalesce(_edges[_rows + 1], -9223372036854775808);
        SELECT array_agg(f.id ORDER BY f.rank DESC) INTO _found FROM (
            SELECT u.id, _sign * {p}id_number(u.id) AS rank FROM {p}done d, unnest(d.ids) u(id)
            WHERE d.ctid = ANY (_tids[1:_rows])
              AND (_topic IS NULL OR EXISTS (SELECT FROM {p}message m WHERE m.id = u.id AND m.topic = _topic))) f
        WHERE f.rank < _below AND f.rank > _edge;
        _ids := _ids || _found;
        EXIT WHEN cardinality(_ids) >= _limit OR cardinality(_tids) <= _rows;
        _below := _edge + 1;
        _rows := _rows * 2;
    END LOOP;
    RETURN _ids[1:_limit];
END
$$;
