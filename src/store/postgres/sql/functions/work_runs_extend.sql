-- work_runs_extend(…): the messages that a claim has taken, and up to `room` more of the streams of
-- which it has runs: from the first run as many as there are (see work_take), then from the next
-- one. Only runs of at least `cap` messages have more: all others have come to their end.
--
-- Reads only; plans: as work_take.
CREATE OR REPLACE FUNCTION {p}work_runs_extend(
    _ids uuid[], _attempts smallint[], _dues timestamptz[], _streams bigint[], _seqs bigint[], _cap int, _room int,
    _topics text[], _t timestamptz,
    OUT ids uuid[], OUT attempts smallint[], OUT dues timestamptz[], OUT streams bigint[], OUT seqs bigint[])
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    SELECT array_agg(x.id ORDER BY x.i, x.seq), array_agg(x.attempts ORDER BY x.i, x.seq),
           array_agg(x.due ORDER BY x.i, x.seq), array_agg(x.stream ORDER BY x.i, x.seq), array_agg(x.seq ORDER BY x.i, x.seq)
    INTO ids, attempts, dues, streams, seqs
    FROM (SELECT u.i, u.id, u.attempts, u.due, u.stream, u.seq
          FROM unnest(_ids, _attempts, _dues, _streams, _seqs) WITH ORDINALITY u(id, attempts, due, stream, seq, i)
          UNION ALL
          SELECT * FROM (
              SELECT r.i, f.id, 0::smallint, f.due, r.stream, f.seq
              FROM (SELECT max(u.i) AS i, u.stream, max(u.seq) AS last FROM unnest(_streams, _seqs) WITH ORDINALITY u(stream, seq, i)
                    WHERE u.stream IS NOT NULL GROUP BY u.stream HAVING count(*) >= _cap ORDER BY 1) r
              CROSS JOIN LATERAL {p}work_followers(r.stream, r.last, _room, _topics, _t) f
              LIMIT _room) more) x;
END
$$;
