-- work_gather(…) takes up to n messages for a claim, in order, from a queue without streams: of some
-- topics, or messages that came back, have expired, or are in their last attempt. Rows that may not be
-- handed out are buried. See work_claim.
--
-- Answers parallel arrays; lost: how often their worker died, for all alike; joins: those that ended
-- with it; alone, waits: see work_pick_closer. For the hint: knows: the claim took all that was due,
-- or the first n of that; whole: it has read from the start of the index.
-- A claim of topics brings the queue a step nearer to the index on topics, until it is there.
-- Plans: pinned by the settings of work_claim, its only caller.
CREATE OR REPLACE FUNCTION {p}work_gather(
    _door smallint, _n int, _topics text[], _from_due timestamptz[], _from_id uuid[], _last smallint,
    _queue int, _max smallint, _upwards boolean, _t timestamptz,
    {gathered})
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _started CONSTANT timestamptz := clock_timestamp();
    _hint CONSTANT {p}hint := (SELECT h FROM {p}hint h WHERE h.queue = _queue);
    _levels CONSTANT smallint[] := {p}levels(_upwards);
    _hashes CONSTANT int[] := (SELECT array_agg(h) FROM unnest(_topics) x, {p}topic_hash(x) t, unnest(ARRAY[t, ~t]) h);
    _by_topic boolean := _topics IS NOT NULL;
    _picked record;
    _all boolean := false; -- nothing more was due
    _dead uuid[];
BEGIN
    IF _by_topic AND (SELECT q.by_topic < 2 FROM {p}queue q WHERE q.id = _queue) THEN
        PERFORM {p}work_topics_turn(_queue);
        _by_topic := false;
    END IF;
    ids := '{}';
    attempts := '{}';
    dues := '{}';
    LOOP
        _picked := {p}work_pick_fit(_queue, _max, _levels, _t, _n - cardinality(ids), _topics, _hashes, _from_due,
                                    CASE WHEN _from_due IS NOT NULL THEN _from_id END,
                                    false, _by_topic, 0, NULL, NULL, NULL, NULL, NULL, lost, _last);
        alone := _picked.alone;
        waits := _picked.waits;
        IF alone THEN
            _n := 1;
        ELSIF lost IS NULL AND _picked.lost[1] > 0 THEN -- their worker died, perhaps of one of them: a small group
            _n := least(_n, CASE _picked.lost[1] WHEN 1 THEN 8 ELSE 1 END);
        END IF;
        lost := coalesce(lost, _picked.lost[1], CASE WHEN _picked.ids IS NOT NULL THEN 0 END);
        ids := ids || _picked.ids;
        attempts := attempts || _picked.attempts;
        dues := dues || _picked.dues;
        _dead := _dead || _picked.dead;
        EXIT WHEN cardinality(ids) >= _n OR _picked.ended;
        EXIT WHEN cardinality(_dead) >= 1000 AND (cardinality(ids) > 0 OR clock_timestamp() - _started > interval '500 ms');
        CONTINUE WHEN _picked.dead IS NOT NULL;
        -- That was all from the bound on: look from the start too, unless that is slow and was done lately.
        _all := _from_due IS NULL OR coalesce(_hint.whole_look_next > _t, false);
        EXIT WHEN _all;
        _from_due := NULL;
    END LOOP;
    IF _dead IS NOT NULL AND _door = 0 THEN
        joins := {p}work_count_steps(NULL, ARRAY(SELECT x FROM unnest(_dead) x ORDER BY x), _t);
    END IF;
    whole := _from_due IS NULL;
    knows := _topics IS NULL AND coalesce(lost, 0) = 0 AND alone IS NOT TRUE AND (_all OR cardinality(ids) >= _n);
END
$$;
