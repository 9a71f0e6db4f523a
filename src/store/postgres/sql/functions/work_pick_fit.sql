-- work_pick_fit(…) → as work_pick: the messages that may be handed out. The others, which have expired or
-- spent their attempts, it buries; dead: those, or null; got: how many rows it took, buried ones included.
CREATE OR REPLACE FUNCTION {p}work_pick_fit(
    _queue int, _max smallint, _levels smallint[], _t timestamptz, _n int, _topics text[], _hashes int[], _from_due timestamptz[],
    _from_id uuid[], _has_streams boolean, _by_topic boolean, _partitions int, _only bigint[], _grace timestamptz, _seed bigint, _others bigint[],
    _other_topics int[], _with smallint, _last smallint,
    OUT ids uuid[], OUT attempts smallint[], OUT dues timestamptz[], OUT lost smallint[], OUT streams bigint[], OUT seqs bigint[],
    OUT lying timestamptz, OUT ended boolean, OUT alone boolean, OUT waits boolean, OUT dead uuid[], OUT got int)
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    _p record;
BEGIN
    _p := {p}work_pick(_queue, _max, _levels, _t, _n, _topics, _hashes, _from_due, _from_id, _has_streams, _by_topic, _partitions, _only, _grace,
                       _seed, _others, _other_topics, _with, _last);
    ids := _p.ids;
    attempts := _p.attempts;
    dues := _p.dues;
    lost := _p.lost;
    streams := _p.streams;
    seqs := _p.seqs;
    lying := _p.lying;
    ended := _p.ended;
    alone := _p.alone;
    waits := _p.waits;
    got := coalesce(cardinality(_p.ids), 0);
    IF _p.unfit IS NULL THEN
        RETURN;
    END IF;
    PERFORM {p}work_bury_unfit(array_agg(u.id), array_agg(u.attempts), array_agg(u.expired), _t)
    FROM unnest(_p.ids, _p.attempts, _p.expired, _p.unfit) u(id, attempts, expired, unfit) WHERE u.unfit;
    dead := ARRAY(SELECT u.id FROM unnest(_p.ids, _p.unfit) u(id, unfit) WHERE u.unfit);
    IF _has_streams THEN
        PERFORM {p}work_heads_died(_queue, dead, _t);
    END IF;
    SELECT array_agg(u.id ORDER BY i), array_agg(u.attempts ORDER BY i), array_agg(u.due ORDER BY i), array_agg(u.lost ORDER BY i),
           array_agg(u.stream ORDER BY i), array_agg(u.seq ORDER BY i)
    INTO ids, attempts, dues, lost, streams, seqs
    FROM unnest(_p.ids, _p.attempts, _p.dues, _p.lost, _p.unfit, _p.streams, _p.seqs)
         WITH ORDINALITY u(id, attempts, due, lost, unfit, stream, seq, i)
    WHERE NOT u.unfit;
END
$$;
