-- work_claim(…) leases up to n due messages of a queue and answers them in order. If
-- joins ended with it, or leases were taken back, there is one more row, the last, with
-- nothing but joins: lines as of work_join_fire, and of the leases
--     R <how many messages were given back or buried>
--
-- Locks, in this order: joins past their deadline, expired leases, pending rows, all SKIP LOCKED; it
-- waits for no lock, but for a moment if it buries steps of joins that others hold (work_heads_get).
-- An empty claim writes nothing, unless it was slow over a large index and leaves a hint, and takes
-- no transaction id.
-- In a queue that has streams, rows are picked a few at a time, and the head of a stream brings a
-- run of the messages behind it (work_take). Before that, empty tokens whose next message has come
-- become heads; the others are looked at when there is room, when they are many, and in any case
-- after 100 ms (work_tokens), which locks streams' rows, SKIP LOCKED.
-- partitions above 0: the owner is an instance, which is noted if it is news that it claims here
-- (work_comes). Heads of some partitions are left to it, and those of others to others, for a while
-- (work_pick), unless those do not come (work_left_lying); max_partitions: of how many it may hold runs at the same time.
-- last: null: last attempts come like others; 1: one comes alone; 0: none comes, and nothing that
-- stands behind one: the claimer has no thread that could begin with it. Then, and after one that
-- came alone, the last row is there, too: orphan is false or true in it. In seq it has how many
-- messages that were due were left where they are, since payloads and headers would be more than
-- claim_bytes_max(); null: none.
-- from_due, from_id: per level, where this claimer's last full batch began; a
-- hint that spares it the walk over index entries of rows already taken. Without
-- it the hint table serves, which slow claims write (at most once per second).
-- After a short batch the start is looked at again, but at most for 5 % of the
-- time.
CREATE OR REPLACE FUNCTION {p}work_claim(
    _door smallint, _owner uuid, _lease_s int, _n int, _ns text, _topics text[], _from_due timestamptz[],
    _from_id uuid[], _partitions int = 0, _max_partitions int = NULL,
    _last smallint = NULL)
    RETURNS TABLE (work_id uuid, message_id uuid, fence bigint, topic text, payload text, tenant_id uuid,
                   dedupe_key text, correlation_id text, stream text, headers jsonb, attempts int,
                   retry_count int, created_at timestamptz, due_at timestamptz, last_error text, priority int, joins text,
                   seq bigint, source text, orphan boolean)
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
    {pinned}
AS $$
#variable_conflict use_column
DECLARE
    _t timestamptz;
    _started timestamptz := clock_timestamp();
    _q record;         -- the queue, and its due messages
    _queue int;
    _max smallint;
    _has_streams boolean;
    _hint {p}hint;
    _bound timestamptz[] := _from_due;
    _levels smallint[] := '{0,1,2,3}';
    _hashes int[];
    _picked record;
    _ids uuid[] := '{}';
    _attempts smallint[] := '{}';
    _dues timestamptz[] := '{}';
    _streams bigint[]; -- in a queue that has streams: of each message, or null
    _seqs bigint[];
    _taken record;
    _near record;      -- see work_affinity
    _cap int := greatest(1, _n / 5); -- of a run, while other rows wait
    _cap_least int := _cap;
    _ask int := _n;    -- how many rows to pick
    _got int;
    _more_rows boolean;
    _tokens record;    -- a look at the empty ones
    _tokens_seen boolean;
    _tokens_from timestamptz := '-infinity';
    _runs bigint[];
    _lost smallint;    -- how often the workers of the taken messages died; null: nothing is taken yet
    _buried int := 0;
    _all boolean := false; -- nothing more was due
    _fence bigint;
    _fit int;      -- how many of the messages taken are handed out …
    _took interval; -- to pick them
    _full boolean;
    _left int := 0; -- … and how many are not, since all would be too many bytes
    _dead uuid[];
    _joins text;
    _more text;
BEGIN
    -- All that every claim must know, in one look.
    SELECT c.t, q.id, q.max_attempts, q.paused, q.has_streams, q.affinity_grace_ms * interval '1 ms' AS grace, h AS hint, r.reap_from,
           _door = 0 AND (EXISTS (SELECT FROM {p}join_head h WHERE h.status = 0 AND h.deadline <= c.t)
                         OR EXISTS (SELECT FROM {p}join_member m WHERE m.loose IS NOT NULL)
                         OR EXISTS (SELECT FROM {p}join_uncounted)) AS some_overdue,
           EXISTS (SELECT FROM {p}lease l WHERE l.door = _door AND l.until >= r.reap_from AND l.until < c.t
                   ORDER BY l.door, l.until LIMIT 1) AS some_expired,
           _partitions > 0 AND NOT EXISTS (
               SELECT FROM {p}claimer o WHERE o.instance = _owner AND o.door = _door AND o.namespace = _ns AND o.comes
                 AND (o.topics IS NULL OR o.topics = _topics OR o.topics @> _topics)) AS comes_anew
    INTO _q
    FROM {p}queue q CROSS JOIN LATERAL (SELECT coalesce(q.clock, clock_timestamp()) AS t OFFSET 0) c
    LEFT JOIN {p}hint h ON h.queue = q.id
    CROSS JOIN LATERAL (SELECT CASE WHEN h.reap_from < c.t AND c.t < h.reap_whole_next THEN h.reap_from
                                    ELSE '-infinity' END AS reap_from OFFSET 0) r
    WHERE q.door = _door AND q.namespace = _ns;
    IF _q.comes_anew OR (_partitions > 0 AND NOT FOUND) THEN
        PERFORM {p}work_comes(_owner, _door, _ns, _topics, coalesce(_q.t, {p}clock()));
    END IF;
    IF _q.id IS NULL OR _q.paused THEN
        RETURN;
    END IF;
    _t := _q.t;
    _queue := _q.id;
    _max := _q.max_attempts;
    _has_streams := _q.has_streams;
    _hint := _q.hint;
    IF NOT _q.some_expired AND clock_timestamp() - _started > interval '3 ms' THEN
        PERFORM {p}work_claim_hint_reap(_queue, _t);
    END IF;
    IF NOT _q.some_overdue AND NOT _q.some_expired AND _from_due IS NULL
       AND coalesce(_hint.whole_look_next <= _t, true) THEN
        -- Mostly there is nothing, which is known soon. If not soon, the long way leaves a hint.
        IF NOT EXISTS (SELECT FROM {p}pending p WHERE p.due <= _t
                         AND p.lane = ANY (ARRAY[_queue * 4, _queue * 4 + 1, _queue * 4 + 2, _queue * 4 + 3, -_queue]))
           AND clock_timestamp() - _started < interval '5 ms' THEN
            RETURN;
        END IF;
    END IF;
    IF _q.some_overdue THEN
        SELECT x.joins INTO _joins FROM {p}work_join_expire(_t, 20) x;
    END IF;
    IF _q.some_expired THEN
        SELECT concat_ws(E'\n', 'R ' || nullif(r.count, 0), r.joins) INTO _more
        FROM {p}work_reap(_door, _t, _q.reap_from, 20) r;
        _joins := concat_ws(E'\n', _joins, nullif(_more, ''));
        IF _partitions > 0 THEN -- one of them may have been its own
            PERFORM {p}work_comes(_owner, _door, _ns, _topics, _t);
        END IF;
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

    _tokens_seen := NOT _has_streams;
    SELECT NULL::bigint AS seed, NULL::bigint[] AS others, NULL::int[] AS other_topics, NULL::timestamptz AS since,
           NULL::bigint[] AS held INTO _near;
    IF _has_streams THEN
        _ask := (_n + _cap - 1) / _cap;
        IF _hint.written_at <= _t AND _t < _hint.whole_look_next THEN
            _tokens_from := coalesce(_hint.from_due[5], '-infinity');
        END IF;
        -- In a large index mostly the recent ones: entries of rows that are gone lie before them.
        SELECT min(p.due) AS oldest, count(*) AS n, bool_or(m.is_there) AS some INTO _tokens
        FROM (SELECT p.due, p.stream, p.seq FROM {p}pending p
              WHERE p.lane = -_queue AND p.due <= _t
                AND p.due >= CASE WHEN random() < 0.95 AND pg_relation_size('{p}pending_pkey') >= 1048576
                                  THEN greatest(_tokens_from, _t - interval '1 s') ELSE _tokens_from END
              ORDER BY p.lane, p.due, p.id LIMIT 100) p
        CROSS JOIN LATERAL (SELECT EXISTS (SELECT FROM {p}message m WHERE m.stream_id = p.stream AND m.seq >= p.seq) AS is_there
                            OFFSET 0) m;
        IF _tokens.some THEN
            PERFORM {p}work_tokens(_queue, _t, _tokens_from, false);
        END IF;
        IF _partitions > 0 THEN
            _near := {p}work_affinity(_owner, _door, _ns, _topics, _partitions, _max_partitions, _t);
            IF _q.grace <= interval '0' THEN -- nothing is left to others
                _near.others := NULL;
                _near.since := NULL;
            END IF;
        END IF;
    END IF;
    LOOP
        _picked := {p}work_pick(_queue, _max, _levels, _t, _ask, _topics, _hashes, _bound,
                                CASE WHEN _bound IS NOT NULL THEN _from_id END, _has_streams, _partitions,
                                CASE WHEN cardinality(_near.held) >= _max_partitions THEN _near.held END,
                                _t - _q.grace, _near.seed, _near.others, _near.other_topics, _lost, _last);
        _got := coalesce(cardinality(_picked.ids), 0);
        IF _picked.lying >= _near.since THEN -- rare: the instance that it was left to did not come
            PERFORM {p}work_left_lying(_owner, _door, _ns, _partitions, _t - _q.grace, _picked.ids, _picked.streams, _picked.dues);
        END IF;
        IF _picked.unfit IS NOT NULL THEN -- rare: some have expired or spent their attempts
            PERFORM {p}work_bury_unfit(array_agg(u.id), array_agg(u.attempts), array_agg(u.expired), _t)
            FROM unnest(_picked.ids, _picked.attempts, _picked.expired, _picked.unfit) u(id, attempts, expired, unfit)
            WHERE u.unfit;
            IF _has_streams THEN
                PERFORM {p}work_heads_died(_queue, ARRAY(SELECT u.id FROM unnest(_picked.ids, _picked.unfit) u(id, unfit)
                                                         WHERE u.unfit), _t);
            END IF;
            _dead := _dead || ARRAY(SELECT u.id FROM unnest(_picked.ids, _picked.unfit) u(id, unfit) WHERE u.unfit);
            _buried := _buried + cardinality(array_positions(_picked.unfit, true));
            SELECT array_agg(u.id ORDER BY i) AS ids, array_agg(u.attempts ORDER BY i) AS attempts,
                   array_agg(u.due ORDER BY i) AS dues, array_agg(u.lost ORDER BY i) AS lost, _picked.unfit AS unfit,
                   _picked.ended AS ended, _picked.alone AS alone, _picked.waits AS waits,
                   array_agg(u.stream ORDER BY i) AS streams, array_agg(u.seq ORDER BY i) AS seqs
            INTO _picked
            FROM unnest(_picked.ids, _picked.attempts, _picked.dues, _picked.lost, _picked.unfit, _picked.streams, _picked.seqs)
                 WITH ORDINALITY u(id, attempts, due, lost, unfit, stream, seq, i)
            WHERE NOT u.unfit;
        END IF;
        IF _lost IS NULL AND _picked.lost[1] > 0 THEN -- their worker died, perhaps of one of them: a small group
            _n := least(_n, CASE _picked.lost[1] WHEN 1 THEN 8 ELSE 1 END);
            _cap := 1;
            _cap_least := 1;
        END IF;
        IF _picked.alone THEN
            _n := 1;
            _cap := 1;
            _cap_least := 1;
        END IF;
        _lost := coalesce(_lost, _picked.lost[1], CASE WHEN _picked.ids IS NOT NULL THEN 0 END);
        IF _has_streams AND _picked.ids IS NOT NULL THEN
            _taken := {p}work_take(_picked.ids, _picked.attempts, _picked.dues, _picked.streams, _picked.seqs, _lost, _cap,
                                   _n - cardinality(_ids), _topics, _t, _partitions, _max_partitions, _near.held);
            _ids := _ids || _taken.ids;
            _attempts := _attempts || _taken.attempts;
            _dues := _dues || _taken.dues;
            _streams := _streams || _taken.streams;
            _seqs := _seqs || _taken.seqs;
            _near.held := _taken.held;
            _cap_least := least(_cap_least, _taken.cap);
        ELSE
            _ids := _ids || _picked.ids;
            _attempts := _attempts || _picked.attempts;
            _dues := _dues || _picked.dues;
        END IF;
        EXIT WHEN cardinality(_ids) >= _n OR _picked.ended;
        EXIT WHEN _buried >= 1000 AND (cardinality(_ids) > 0 OR clock_timestamp() - _started > interval '500 ms');
        _more_rows := _has_streams AND _got = _ask;
        IF _has_streams AND array_remove(_picked.streams, NULL) <> '{}' THEN
            _ask := (_n - cardinality(_ids) + _cap - 1) / _cap;
            IF _n >= 100 THEN -- as many as will fill the batch if the next runs are as long as these; each has one message at least
                _ask := least(_n - cardinality(_ids),
                              greatest(_ask, (_n - cardinality(_ids)) * _got / greatest(cardinality(_taken.ids), 1)));
            END IF;
        ELSE -- plain messages need a row each
            _ask := least(_n - cardinality(_ids), _ask::bigint * 4);
        END IF;
        CONTINUE WHEN _picked.unfit IS NOT NULL;
        CONTINUE WHEN _more_rows;
        -- That was all from the bound on: look from the start too, unless that is slow and was done lately.
        _all := _bound IS NULL OR coalesce(_hint.whole_look_next > _t, false);
        IF _all AND NOT _tokens_seen THEN
            _tokens_seen := true;
            CONTINUE WHEN {p}work_tokens(_queue, _t, _tokens_from, _dead IS NULL) > 0;
        END IF;
        EXIT WHEN _all;
        _bound := NULL;
    END LOOP;
    IF _has_streams AND _all AND cardinality(_ids) BETWEEN 1 AND _n - 1 THEN
        SELECT x.ids, x.attempts, x.dues, x.streams, x.seqs INTO _ids, _attempts, _dues, _streams, _seqs
        FROM {p}work_runs_extend(_ids, _attempts, _dues, _streams, _seqs, _cap_least, _n - cardinality(_ids), _topics, _t) x;
    END IF;
    _took := clock_timestamp() - _started;
    _full := cardinality(_ids) >= _n;
    IF _dead IS NOT NULL AND _door = 0 THEN
        _more := {p}work_count_steps(NULL, ARRAY(SELECT x FROM unnest(_dead) x ORDER BY x), _t);
        _joins := concat_ws(E'\n', _joins, _more);
    END IF;
    IF NOT _tokens_seen THEN
        IF _tokens.n >= 50 OR _tokens.oldest <= _t - interval '100 ms' THEN
            PERFORM {p}work_tokens(_queue, _t, greatest(_tokens_from, _tokens.oldest), true);
        END IF;
    END IF;

    IF cardinality(_ids) > 0 THEN
        _fence := nextval('{p}fence');
        RETURN QUERY
        SELECT m.id, coalesce(m.message_id, m.id), _fence, m.topic, m.payload, m.tenant_id, m.dedupe_key,
               m.correlation_id, m.stream, m.headers, m.attempts + 1,
               CASE WHEN m.attempts > 0 THEN (SELECT count(*)::int FROM {p}attempt_log a WHERE a.id = m.id AND a.kind = 1) ELSE 0 END,
               m.created_at, coalesce(m.due_at, m.created_at),
               CASE WHEN m.attempts > 0 THEN (SELECT a.error FROM {p}attempt_log a WHERE a.id = m.id AND a.kind IN (1, 2)
                                              ORDER BY a.id DESC, a.n DESC LIMIT 1) END,
               m.level::int, NULL::text, m.seq, m.source, _lost > 0
        FROM (SELECT m.*, u.attempts, sum(m.bytes) OVER (ROWS UNBOUNDED PRECEDING) AS total
              FROM unnest(_ids, _attempts) u(id, attempts)
              -- OFFSET 0 keeps this a look-up per id, in their order: a join could start from a small table of messages.
              CROSS JOIN LATERAL (SELECT *, octet_length(m.payload) + coalesce(pg_column_size(m.headers), 0) AS bytes
                                  FROM {p}message m WHERE m.id = u.id OFFSET 0) m) m
        WHERE m.total <= {p}claim_bytes_max() OR m.total = m.bytes;
        GET DIAGNOSTICS _fit = ROW_COUNT;
        _left := cardinality(_ids) - _fit;
        IF _left > 0 THEN -- rare
            PERFORM {p}work_put_back(_ids, _attempts, _dues, _streams, _lost, _fit);
            _ids := _ids[1:_fit];
            _attempts := _attempts[1:_fit];
        END IF;
        IF _has_streams THEN
            _runs := {p}lease_runs(_streams[1:_fit], _seqs);
        END IF;
        INSERT INTO {p}lease (id, owner, claimed_at, until, queue, open, door, lost, ids, attempts, runs)
        VALUES (_fence, _owner, _t, _t + make_interval(secs => _lease_s), _queue, _fit, _door, _lost, _ids,
                CASE WHEN 0 < ANY (_attempts) THEN (SELECT array_agg((a + 1)::smallint ORDER BY i)
                                                    FROM unnest(_attempts) WITH ORDINALITY u(a, i)) END, _runs);
    END IF;
    -- A claim that named topics, or stopped before the end, does not know which messages others can
    -- take. Nor does one that has left heads to others, or took messages whose worker was lost.
    IF _left = 0 AND _topics IS NULL AND _near.others IS NULL AND _near.held IS NULL AND coalesce(_lost, 0) = 0
       AND _picked.alone IS NOT TRUE AND (_all OR _full)
       AND _took > greatest(interval '5 ms', cardinality(_ids) * interval '20 us') THEN
        PERFORM {p}work_claim_hint(_queue, _t, _took, _bound IS NULL, _full, _hint, _ids, _dues, _streams,
                                   _has_streams AND _tokens_seen);
    END IF;
    IF _joins <> '' OR _picked.alone OR _picked.waits OR _left > 0 THEN
        RETURN QUERY SELECT NULL::uuid, NULL::uuid, NULL::bigint, NULL::text, NULL::text, NULL::uuid, NULL::text, NULL::text,
                            NULL::text, NULL::jsonb, NULL::int, NULL::int, NULL::timestamptz, NULL::timestamptz, NULL::text,
                            NULL::int, nullif(_joins, ''), nullif(_left, 0)::bigint, NULL::text,
                            CASE WHEN _picked.alone THEN true WHEN _picked.waits THEN false END;
    END IF;
END
$$;
