-- work_places(from, n): the doctor's count of one stretch of messages, from an id
-- on, n of them. Answers where the next stretch begins (null: this was the last),
-- how many messages there are in this one, how many are not in exactly one of
-- pending, lease, done, dead and join_wait, or parked behind the token of their stream, or are
-- there without a message, and up to three of those in words; and about how many messages
-- there are in all. With the last stretch: leases that do not say how many are open, and streams
-- without a token, or with one too many.
--
-- Reads only, and all of a stretch in one moment: messages may move meanwhile.
-- pending and lease are read whole for each stretch; the others by their indexes.
CREATE OR REPLACE FUNCTION {p}work_places(
    _from uuid, _n int, OUT upto uuid, OUT messages bigint, OUT wrong bigint, OUT examples text[], OUT total bigint)
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
    SET jit = off SET work_mem = '64MB'
AS $$
DECLARE
    _to uuid;
    _broken text[];
BEGIN
    SELECT m.id INTO upto FROM {p}message m WHERE m.id >= _from ORDER BY m.id OFFSET _n LIMIT 1;
    _to := coalesce(upto, 'ffffffff-ffff-ffff-ffff-ffffffffffff');
    WITH place AS (
        SELECT p.id, 'pending' AS place FROM {p}pending p WHERE p.id >= _from AND p.id < _to AND p.lane > 0
        UNION ALL
        SELECT x.id, 'dead' FROM {p}dead x WHERE x.id >= _from AND x.id < _to
        UNION ALL
        SELECT m.id, 'parked' FROM {p}message m JOIN {p}work_token t ON t.stream = m.stream_id AND m.seq > t.upto
        WHERE m.id >= _from AND m.id < _to
        UNION ALL
        SELECT w.id, 'join_wait' FROM {p}join_wait w WHERE w.id >= _from AND w.id < _to
        UNION ALL
        SELECT u.id, 'done' FROM {p}done d, unnest(d.ids) u(id)
        WHERE d.span && int8range({p}id_number(_from), {p}id_number(_to), '[]') AND u.id >= _from AND u.id < _to
        UNION ALL
        SELECT u.id, 'lease' FROM {p}lease l, unnest(l.ids) WITH ORDINALITY u(id, i)
        WHERE (l.settled IS NULL OR get_bit(l.settled, u.i::int - 1) = 0) AND u.id >= _from AND u.id < _to),
    seen AS (
        SELECT coalesce(m.id, p.id) AS id, m.id IS NOT NULL AS is_there, p.n IS DISTINCT FROM 1 OR m.id IS NULL AS is_wrong,
               CASE WHEN p.n IS NULL THEN 'in no place'
                    WHEN m.id IS NULL THEN 'in ' || p.one || ', but there is no such message'
                    WHEN p.one = p.other THEN p.n || ' times in ' || p.one
                    ELSE 'in ' || p.one || ' and in ' || p.other END AS what
        FROM (SELECT m.id FROM {p}message m WHERE m.id >= _from AND m.id < _to) m
        FULL JOIN (SELECT place.id, count(*) AS n, min(place.place) AS one, max(place.place) AS other
                   FROM place GROUP BY place.id) p ON p.id = m.id)
    SELECT count(*) FILTER (WHERE s.is_there), count(*) FILTER (WHERE s.is_wrong),
           (array_agg(s.id || ' ' || s.what ORDER BY s.id) FILTER (WHERE s.is_wrong))[1:3]
    INTO messages, wrong, examples FROM seen s;
    IF upto IS NULL THEN -- once, with the last stretch
        SELECT array_agg(format('lease %s says that %s messages are open, but has %s', l.id, l.open, c.open)) INTO _broken
        FROM {p}lease l, LATERAL (SELECT cardinality(l.ids) - coalesce(length(replace(l.settled::text, '0', '')), 0) AS open) c
        WHERE l.open < 1 OR l.open <> c.open;
        wrong := wrong + coalesce(cardinality(_broken), 0);
        examples := (examples || _broken)[1:3];
        SELECT array_agg(format('stream %s: ', c.key) || c.what) INTO _broken
        FROM (SELECT s.key, CASE WHEN s.busy AND t.n IS NULL THEN 'busy, but its head is nowhere'
                                 WHEN NOT s.busy AND t.n > 0 THEN 'idle, but its head waits somewhere'
                                 WHEN t.n > 1 THEN 'its head is in ' || t.n || ' places'
                                 WHEN t.upto > s.last_seq THEN 'its head has a number above the last one'
                                 WHEN t.heads > 0 THEN 'the number of its head is not that of the message' END AS what
              FROM {p}stream s
              FULL JOIN (SELECT t.stream, count(*) AS n, max(t.upto) AS upto,
                                count(*) FILTER (WHERE m.seq <> CASE t.kind WHEN 3 THEN t.upto ELSE t.next_seq END
                                                 OR m.stream_id <> t.stream) AS heads
                         FROM {p}work_token t LEFT JOIN {p}message m ON m.id = t.head GROUP BY t.stream) t ON t.stream = s.id) c
        WHERE c.what IS NOT NULL OR c.key IS NULL;
        wrong := wrong + coalesce(cardinality(_broken), 0);
        examples := (examples || _broken)[1:3];
    END IF;
    SELECT greatest(c.reltuples, 0)::bigint INTO total FROM pg_class c WHERE c.oid = '{p}message'::regclass;
END
$$;
