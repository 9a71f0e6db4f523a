-- work_take(…): completes the rows that a claim has picked in a queue with streams: each head is
-- followed by the messages behind it in its stream, as many as may go in a run, and as there is
-- room for. lost above 0: nothing follows yet. max_partitions: rows are put back that would make
-- the claimer hold runs of more partitions; held: those that it holds before and, as answered,
-- after. cap: as given, or less: of how many messages runs were made at most.
--
-- Locks nothing: the caller has taken the tokens, so all messages behind the heads are parked, and
-- no other can take them. Plans: pinned by the settings of work_claim, its only caller.
CREATE OR REPLACE FUNCTION {p}work_take(
    _ids uuid[], _attempts smallint[], _dues timestamptz[], _streams bigint[], _seqs bigint[], _lost smallint, _cap int,
    _room int, _topics text[], _t timestamptz, _partitions int, _max_partitions int, _held bigint[],
    OUT ids uuid[], OUT attempts smallint[], OUT dues timestamptz[], OUT streams bigint[], OUT seqs bigint[], OUT held bigint[], OUT cap int)
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_variable
DECLARE
    _keep boolean[];
    _partition bigint;
    _all record;
BEGIN
    ids := _ids;
    attempts := _attempts;
    dues := _dues;
    streams := _streams;
    seqs := _seqs;
    held := _held;
    IF _partitions > 0 AND _max_partitions IS NOT NULL THEN
        FOR _i IN 1 .. cardinality(_streams) LOOP
            _partition := (SELECT s.hash % _partitions FROM {p}stream s WHERE s.id = _streams[_i]);
            _keep[_i] := _partition IS NULL OR _partition = ANY (held) OR cardinality(held) < _max_partitions;
            IF _keep[_i] AND _partition IS NOT NULL AND _partition <> ALL (held) THEN
                held := held || _partition;
            END IF;
        END LOOP;
        PERFORM {p}work_unpick(u.id, u.attempts, _lost, u.due)
        FROM unnest(_ids, _attempts, _dues, _keep) u(id, attempts, due, keep) WHERE NOT u.keep;
        SELECT array_agg(u.id ORDER BY u.i), array_agg(u.attempts ORDER BY u.i), array_agg(u.due ORDER BY u.i),
               array_agg(u.stream ORDER BY u.i), array_agg(u.seq ORDER BY u.i)
        INTO ids, attempts, dues, streams, seqs
        FROM unnest(_ids, _attempts, _dues, _streams, _seqs, _keep) WITH ORDINALITY u(id, attempts, due, stream, seq, keep, i)
        WHERE u.keep;
    END IF;
    IF cardinality(ids) * _cap >= _room + _cap THEN
        _cap := _room / cardinality(ids); -- more rows than the claim would ask for if all were heads
    END IF;
    cap := _cap;
    IF _lost > 0 OR _cap <= 1 OR array_remove(streams, NULL) = '{}' THEN
        RETURN;
    END IF;
    -- Mostly everything that follows may go along; if not, each is looked at in order.
    SELECT array_agg(r.id) AS ids, array_agg(r.attempts) AS attempts, array_agg(r.due) AS dues, array_agg(u.stream) AS streams,
           array_agg(r.seq) AS seqs, bool_and(r.fits) AS fits
    INTO _all
    FROM unnest(ids, attempts, dues, streams, seqs) u(id, attempts, due, stream, seq)
    CROSS JOIN LATERAL (
        SELECT u.id, u.attempts, u.due, u.seq, true AS fits
        UNION ALL
        SELECT * FROM (
            SELECT m.id, 0::smallint, greatest(m.due_at, m.created_at), m.seq,
                   coalesce(m.due_at <= _t, true) AND coalesce(m.expires_at > _t, true) AND (_topics IS NULL OR m.topic = ANY (_topics))
            FROM {p}message m WHERE m.stream_id = u.stream AND m.seq > u.seq ORDER BY m.stream_id, m.seq LIMIT _cap - 1) f) r;
    IF NOT _all.fits THEN
        SELECT array_agg(r.id) AS ids, array_agg(r.attempts) AS attempts, array_agg(r.due) AS dues, array_agg(u.stream) AS streams,
               array_agg(r.seq) AS seqs
        INTO _all
        FROM unnest(ids, attempts, dues, streams, seqs) u(id, attempts, due, stream, seq)
        CROSS JOIN LATERAL (
            SELECT u.id, u.attempts, u.due, u.seq
            UNION ALL
            SELECT f.id, 0::smallint, f.due, f.seq FROM {p}work_followers(u.stream, u.seq, _cap - 1, _topics, _t) f) r;
    END IF;
    ids := _all.ids[1:_room]; -- of the last run
    attempts := _all.attempts[1:_room];
    dues := _all.dues[1:_room];
    streams := _all.streams[1:_room];
    seqs := _all.seqs[1:_room];
END
$$;
