-- work_gather_streams(…) → as work_gather, from a queue that has streams: rows are picked a few at a
-- time, and the head of a stream brings a run of the messages behind it (work_take).
-- Before that, empty tokens whose next message has come become heads (work_tokens_look); the others
-- are looked at when there is room, when they are many, and in any case after 100 ms (work_tokens),
-- which locks streams' rows, SKIP LOCKED.
-- owner, ns, partitions, max_partitions, grace: see work_claim; streams and seqs: of each message, or null.
-- Plans: pinned by the settings of work_claim, its only caller.
CREATE OR REPLACE FUNCTION {p}work_gather_streams(
    _door smallint, _n int, _topics text[], _from_due timestamptz[], _from_id uuid[], _last smallint,
    _queue int, _max smallint, _upwards boolean, _t timestamptz, _owner uuid, _ns text, _partitions int, _max_partitions int,
    {gathered})
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _started CONSTANT timestamptz := clock_timestamp();
    _hint CONSTANT {p}hint := (SELECT h FROM {p}hint h WHERE h.queue = _queue);
    _levels CONSTANT smallint[] := {p}levels(_upwards);
    _hashes CONSTANT int[] := (SELECT array_agg(h) FROM unnest(_topics) x, {p}topic_hash(x) t, unnest(ARRAY[t, ~t]) h);
    _tokens_from CONSTANT timestamptz := CASE WHEN _hint.written_at <= _t AND _t < _hint.whole_look_next THEN _hint.from_due[5] END;
    _tokens record;    -- a look at the empty ones
    _grace CONSTANT interval := (SELECT q.affinity_grace_ms * interval '1 ms' FROM {p}queue q WHERE q.id = _queue);
    _near record;      -- see work_affinity
    _picked record;
    _taken record;
    _cap int := greatest(1, _n / 5); -- of a run, while other rows wait
    _cap_least int := _cap;
    _ask int := (_n + _cap - 1) / _cap; -- how many rows to pick
    _more boolean;
    _all boolean := false; -- nothing more was due
    _dead uuid[];
BEGIN
    IF _from_due IS NULL AND NOT EXISTS (
           SELECT FROM {p}pending p WHERE p.due <= _t AND p.lane IN (
               {p}lane(_queue, 0), {p}lane(_queue, 1), {p}lane(_queue, 2), {p}lane(_queue, 3), -_queue))
       AND clock_timestamp() - _started < interval '5 ms' THEN
        RETURN; -- mostly there is nothing, which is known soon; if not soon, the long way leaves a hint
    END IF;
    SELECT '{}', '{}', '{}', false INTO ids, attempts, dues, tokens_seen;
    _tokens := {p}work_tokens_look(_queue, _t, coalesce(_tokens_from, '-infinity'));
    _near := {p}work_affinity(_owner, _door, _ns, _topics, _partitions, _max_partitions, _t, _grace);
    LOOP
        _picked := {p}work_pick_fit(_queue, _max, _levels, _t, _ask, _topics, _hashes, _from_due,
                                    CASE WHEN _from_due IS NOT NULL THEN _from_id END, true, false, _partitions,
                                    CASE WHEN cardinality(_near.held) >= _max_partitions THEN _near.held END,
                                    _t - _grace, _near.seed, _near.others, _near.other_topics, lost, _last);
        IF _picked.lying >= _near.since THEN -- rare: the instance that it was left to did not come
            PERFORM {p}work_left_lying(_owner, _door, _ns, _partitions, _t - _grace, _picked.ids, _picked.streams, _picked.dues);
        END IF;
        SELECT _dead || _picked.dead, _picked.alone, _picked.waits INTO _dead, alone, waits;
        IF alone OR (lost IS NULL AND _picked.lost[1] > 0) THEN -- their worker died, perhaps of one of them: a small group
            _n := CASE WHEN alone OR _picked.lost[1] > 1 THEN 1 ELSE least(_n, 8) END;
            _cap := 1;
            _cap_least := 1;
        END IF;
        lost := coalesce(lost, _picked.lost[1], CASE WHEN _picked.ids IS NOT NULL THEN 0 END);
        IF _picked.ids IS NOT NULL THEN
            _taken := {p}work_take(_picked.ids, _picked.attempts, _picked.dues, _picked.streams, _picked.seqs, lost, _cap,
                                   _n - cardinality(ids), _topics, _t, _partitions, _max_partitions, _near.held);
            ids := ids || _taken.ids;
            attempts := attempts || _taken.attempts;
            dues := dues || _taken.dues;
            streams := streams || _taken.streams;
            seqs := seqs || _taken.seqs;
            _near.held := _taken.held;
            _cap_least := least(_cap_least, _taken.cap);
        END IF;
        EXIT WHEN cardinality(ids) >= _n OR _picked.ended;
        EXIT WHEN cardinality(_dead) >= 1000 AND (cardinality(ids) > 0 OR clock_timestamp() - _started > interval '500 ms');
        _more := _picked.got >= _ask;
        IF array_remove(_picked.streams, NULL) <> '{}' THEN
            _ask := (_n - cardinality(ids) + _cap - 1) / _cap;
            IF _n >= 100 THEN -- as many as will fill the batch if the next runs are as long as these; each has one message at least
                _ask := least(_n - cardinality(ids),
                              greatest(_ask, (_n - cardinality(ids)) * _picked.got / greatest(cardinality(_taken.ids), 1)));
            END IF;
        ELSE -- plain messages need a row each
            _ask := least(_n - cardinality(ids), _ask::bigint * 4);
        END IF;
        CONTINUE WHEN _picked.dead IS NOT NULL OR _more;
        -- That was all from the bound on: look from the start too, unless that is slow and was done lately.
        _all := _from_due IS NULL OR coalesce(_hint.whole_look_next > _t, false);
        IF _all AND NOT tokens_seen THEN
            tokens_seen := true;
            CONTINUE WHEN {p}work_tokens(_queue, _t, coalesce(_tokens_from, '-infinity'), _dead IS NULL) > 0;
        END IF;
        EXIT WHEN _all;
        _from_due := NULL;
    END LOOP;
    IF _all AND cardinality(ids) BETWEEN 1 AND _n - 1 THEN
        SELECT x.ids, x.attempts, x.dues, x.streams, x.seqs INTO ids, attempts, dues, streams, seqs
        FROM {p}work_runs_extend(ids, attempts, dues, streams, seqs, _cap_least, _n - cardinality(ids), _topics, _t) x;
    END IF;
    IF _dead IS NOT NULL AND _door = 0 THEN
        joins := {p}work_count_steps(NULL, ARRAY(SELECT x FROM unnest(_dead) x ORDER BY x), _t);
    END IF;
    IF NOT tokens_seen AND (_tokens.n >= 50 OR _tokens.oldest <= _t - interval '100 ms') THEN
        PERFORM {p}work_tokens(_queue, _t, greatest(_tokens_from, _tokens.oldest), true);
    END IF;
    whole := _from_due IS NULL;
    -- A claim that has left heads to others does not know which messages those can take.
    knows := _topics IS NULL AND _near.others IS NULL AND _near.held IS NULL AND coalesce(lost, 0) = 0 AND alone IS NOT TRUE
             AND (_all OR cardinality(ids) >= _n);
END
$$;
