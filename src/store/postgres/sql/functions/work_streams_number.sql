-- work_streams_number(queues, keys, ids, final, t) → for each of these messages the id of its
-- stream, its number there, and whether it waits behind another; nulls, and false, if it has no
-- stream or is a duplicate (final is not its id). Numbers rise in the order given.
--
-- Locks: the streams' rows, in order of queue and key: see work_streams_take.
CREATE OR REPLACE FUNCTION {p}work_streams_number(
    _queues int[], _keys text[], _ids uuid[], _final uuid[], _t timestamptz,
    OUT streams bigint[], OUT seqs bigint[], OUT waits boolean[])
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    _which int[]; -- of each message its stream, from 1 in their order
    _place int[]; -- and its place among the messages of that stream
    _taken record;
BEGIN
    SELECT array_agg(n.which ORDER BY n.i), array_agg(n.place ORDER BY n.i) INTO _which, _place
    FROM (SELECT u.i, CASE WHEN u.is_in THEN dense_rank() OVER (ORDER BY u.is_in DESC, u.queue, u.key) END AS which,
                 row_number() OVER (PARTITION BY u.is_in, u.queue, u.key ORDER BY u.i) AS place
          FROM (SELECT u.i, u.queue, u.key COLLATE "C" AS key, u.key IS NOT NULL AND u.id = u.final AS is_in
                FROM unnest(_queues, _keys, _ids, _final) WITH ORDINALITY u(queue, key, id, final, i)) u) n;
    SELECT array_agg(_queues[s.at] ORDER BY s.which) AS queues, array_agg(_keys[s.at] ORDER BY s.which) AS keys,
           array_agg(s.n ORDER BY s.which) AS counts
    INTO _taken
    FROM (SELECT u.which, min(u.i) AS at, max(u.place) AS n FROM unnest(_which, _place) WITH ORDINALITY u(which, place, i)
          WHERE u.which IS NOT NULL GROUP BY u.which) s;
    IF _taken.queues IS NULL THEN
        RETURN;
    END IF;
    _taken := {p}work_streams_take(_taken.queues, _taken.keys, _taken.counts, _t);
    SELECT array_agg(_taken.ids[u.which] ORDER BY u.i), array_agg(_taken.firsts[u.which] + u.place - 1 ORDER BY u.i),
           array_agg(u.which IS NOT NULL AND (_taken.were_busy[u.which] OR u.place > 1) ORDER BY u.i)
    INTO streams, seqs, waits FROM unnest(_which, _place) WITH ORDINALITY u(which, place, i);
END
$$;
