-- work_claim(…) leases up to n due messages of a queue and answers them in order. If
-- joins ended with it, there is one more row, the last, with nothing but joins (see
-- work_join_fire).
--
-- Locks, in this order: joins past their deadline, expired leases, pending rows, all
-- SKIP LOCKED; it waits for nobody, unless it buries steps of joins: then for those
-- who count in the same joins, with what it took back first and once more at the end. An empty claim writes nothing, unless it was slow
-- over a large index and leaves a hint, and takes no transaction id.
-- from_due, from_id: per level, where this claimer's last full batch began; a
-- hint that spares it the walk over index entries of rows already taken. Without
-- it the hint table serves, which slow claims write (at most once per second).
-- After a short batch the start is looked at again, but at most for 5 % of the
-- time.
CREATE OR REPLACE FUNCTION {p}work_claim(
    _door smallint, _owner uuid, _lease_s int, _n int, _ns text, _topics text[], _from_due timestamptz[],
    _from_id uuid[])
    RETURNS TABLE (work_id uuid, message_id uuid, fence bigint, topic text, payload text, tenant_id uuid,
                   dedupe_key text, correlation_id text, stream text, headers jsonb, attempts int,
                   retry_count int, created_at timestamptz, due_at timestamptz, last_error text, priority int, joins text)
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = {schema}, pg_temp
    SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off SET enable_hashjoin = off
    SET enable_mergejoin = off SET enable_memoize = off SET jit = off SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
DECLARE
    _t timestamptz;
    _started timestamptz := clock_timestamp();
    _queue int;
    _max smallint;
    _paused boolean;
    _hint {p}hint;
    _reap_from timestamptz := '-infinity';
    _bound timestamptz[] := _from_due;
    _levels smallint[] := '{0,1,2,3}';
    _hashes int[];
    _picked record;
    _ids uuid[] := '{}';
    _attempts smallint[] := '{}';
    _dues timestamptz[] := '{}';
    _lost smallint := 0;
    _buried int := 0;
    _all boolean := false; -- nothing more was due
    _fence bigint;
    _wrong uuid[];
    _dead uuid[];
    _joins text;
    _more text;
BEGIN
    SELECT coalesce(q.clock, clock_timestamp()), q.id, q.max_attempts, q.paused INTO _t, _queue, _max, _paused
    FROM {p}queue q WHERE q.door = _door AND q.namespace = _ns;
    IF NOT FOUND OR _paused THEN
        RETURN;
    END IF;
    SELECT * INTO _hint FROM {p}hint h WHERE h.queue = _queue;
    IF _hint.reap_from < _t AND _t < _hint.reap_whole_next THEN
        _reap_from := _hint.reap_from;
    END IF;
    IF _door = 0 AND EXISTS (SELECT FROM {p}join_head h WHERE h.status = 0 AND h.deadline <= _t) THEN
        SELECT x.joins INTO _joins FROM {p}work_join_expire(_t, 20) x;
    END IF;
    IF EXISTS (SELECT FROM {p}lease l WHERE l.door = _door AND l.until >= _reap_from AND l.until < _t
               ORDER BY l.door, l.until LIMIT 1) THEN
        SELECT r.joins INTO _more FROM {p}work_reap(_door, _t, _reap_from, 20) r;
        _joins := concat_ws(E'\n', _joins, _more);
    ELSIF clock_timestamp() - _started > interval '3 ms' THEN
        PERFORM {p}work_claim_hint_reap(_queue, _t);
    END IF;

    IF (SELECT CASE WHEN f.is_called THEN f.last_value ELSE 0 END FROM {p}fence f) % 16 = 15 THEN
        _levels := '{3,2,1,0}';
    END IF;
    IF _topics IS NOT NULL THEN
        SELECT array_agg(hashtext(x)) INTO _hashes FROM unnest(_topics) x;
    END IF;
    IF _bound IS NULL AND _hint.written_at <= _t THEN
        _bound := _hint.from_due;
    END IF;

    LOOP
        _picked := {p}work_pick(_queue, _max, _levels, _t, _n - cardinality(_ids), _hashes, _bound,
                                CASE WHEN _bound IS NOT NULL THEN _from_id END);
        IF _picked.unfit IS NOT NULL THEN -- rare: some have expired or spent their attempts
            PERFORM {p}work_bury_unfit(array_agg(u.id), array_agg(u.attempts), array_agg(u.expired), _t)
            FROM unnest(_picked.ids, _picked.attempts, _picked.expired, _picked.unfit) u(id, attempts, expired, unfit)
            WHERE u.unfit;
            _dead := _dead || ARRAY(SELECT u.id FROM unnest(_picked.ids, _picked.unfit) u(id, unfit) WHERE u.unfit);
            _buried := _buried + cardinality(array_positions(_picked.unfit, true));
            SELECT array_agg(u.id ORDER BY i) AS ids, array_agg(u.attempts ORDER BY i) AS attempts,
                   array_agg(u.due ORDER BY i) AS dues, array_agg(u.lost ORDER BY i) AS lost, _picked.unfit AS unfit
            INTO _picked
            FROM unnest(_picked.ids, _picked.attempts, _picked.dues, _picked.lost, _picked.unfit)
                 WITH ORDINALITY u(id, attempts, due, lost, unfit, i)
            WHERE NOT u.unfit;
        END IF;
        IF 0 < ANY (_picked.lost) AND cardinality(_ids) > 0 THEN -- goes alone: back, for the next claim
            PERFORM {p}work_unpick(_picked.ids[1], _picked.attempts[1], _picked.lost[1], _picked.dues[1]);
            EXIT;
        END IF;
        _ids := _ids || _picked.ids;
        _attempts := _attempts || _picked.attempts;
        _dues := _dues || _picked.dues;
        _lost := coalesce(_picked.lost[1], _lost);
        EXIT WHEN cardinality(_ids) >= _n OR _lost > 0;
        EXIT WHEN _buried >= 1000 AND (cardinality(_ids) > 0 OR clock_timestamp() - _started > interval '500 ms');
        CONTINUE WHEN _picked.unfit IS NOT NULL;
        EXIT WHEN _picked.lost IS NOT NULL; -- the pick ended before a row that goes alone
        -- That was all from the bound on: look from the start too, unless that is dear and was done lately.
        _all := _bound IS NULL OR coalesce(_hint.whole_look_next > _t, false);
        EXIT WHEN _all;
        _bound := NULL;
    END LOOP;
    -- A claim that named topics, or stopped before the end, does not know what others can take.
    IF _topics IS NULL AND (_all OR cardinality(_ids) >= _n)
       AND clock_timestamp() - _started > greatest(interval '5 ms', cardinality(_ids) * interval '20 us') THEN
        PERFORM {p}work_claim_hint(_queue, _t, clock_timestamp() - _started, _bound IS NULL, cardinality(_ids) >= _n,
                                   _hint, _ids, _dues);
    END IF;
    IF _dead IS NOT NULL AND _door = 0 THEN
        _more := {p}work_count_steps(NULL, ARRAY(SELECT x FROM unnest(_dead) x ORDER BY x), _t);
        _joins := concat_ws(E'\n', _joins, _more);
    END IF;

    IF _topics IS NOT NULL AND cardinality(_ids) > 0 THEN -- the hash is only a filter
        SELECT array_agg(m.id) INTO _wrong FROM unnest(_ids) u(id), {p}message m
        WHERE m.id = u.id AND m.topic <> ALL (_topics);
        IF _wrong IS NOT NULL THEN
            PERFORM {p}work_unpick(u.id, u.attempts, _lost, u.due) FROM unnest(_ids, _attempts, _dues) u(id, attempts, due)
            WHERE u.id = ANY (_wrong);
            SELECT array_agg(u.id ORDER BY i), array_agg(u.attempts ORDER BY i), array_agg(u.due ORDER BY i)
            INTO _ids, _attempts, _dues FROM unnest(_ids, _attempts, _dues) WITH ORDINALITY u(id, attempts, due, i)
            WHERE u.id <> ALL (_wrong);
        END IF;
    END IF;
    IF cardinality(_ids) > 0 THEN
        _fence := nextval('{p}fence');
        INSERT INTO {p}lease (id, owner, claimed_at, until, queue, open, door, lost, ids, attempts)
        VALUES (_fence, _owner, _t, _t + make_interval(secs => _lease_s), _queue, cardinality(_ids), _door, _lost, _ids,
                CASE WHEN 0 < ANY (_attempts) THEN (SELECT array_agg((a + 1)::smallint ORDER BY i)
                                                    FROM unnest(_attempts) WITH ORDINALITY u(a, i)) END);
        RETURN QUERY
        SELECT m.id, coalesce(m.message_id, m.id), _fence, m.topic, m.payload, m.tenant_id, m.dedupe_key,
               m.correlation_id, m.stream, m.headers, u.attempts + 1,
               CASE WHEN u.attempts > 0 THEN (SELECT count(*)::int FROM {p}attempt_log a WHERE a.id = m.id AND a.kind = 1) ELSE 0 END,
               m.created_at, u.due,
               CASE WHEN u.attempts > 0 THEN (SELECT a.error FROM {p}attempt_log a WHERE a.id = m.id AND a.kind IN (1, 2)
                                              ORDER BY a.id DESC, a.n DESC LIMIT 1) END,
               m.level::int, NULL::text
        FROM unnest(_ids, _attempts, _dues) u(id, attempts, due)
        -- OFFSET 0 keeps this a look-up per id, in their order: a join could start from a small table of messages.
        CROSS JOIN LATERAL (SELECT * FROM {p}message m WHERE m.id = u.id OFFSET 0) m;
    END IF;
    IF _joins <> '' THEN
        RETURN QUERY SELECT NULL::uuid, NULL::uuid, NULL::bigint, NULL::text, NULL::text, NULL::uuid, NULL::text, NULL::text,
                            NULL::text, NULL::jsonb, NULL::int, NULL::int, NULL::timestamptz, NULL::timestamptz, NULL::text,
                            NULL::int, _joins;
    END IF;
END
$$;
