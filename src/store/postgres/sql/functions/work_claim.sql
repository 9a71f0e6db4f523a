-- work_claim(…) leases up to n due messages of a queue and answers them in order. If
-- joins ended with it, or leases were taken back, there is one more row, the last, with
-- nothing but joins: lines as of work_join_fire, and of the leases
--     R <how many messages were given back or buried>
--
-- Locks, in this order: joins past their deadline, expired leases, pending rows, all SKIP LOCKED; it
-- waits for no lock, but for a moment if it buries steps of joins that others hold (work_heads_get).
-- An empty claim writes nothing, unless it was slow over a large index and leaves a hint, and takes
-- no transaction id.
-- The usual case is a look at the queue, a pick of plain messages, which have never been claimed
-- before, their removal from pending, their bodies, and a lease. Everything else is the work of work_claim_rest.
-- Only rows that the pick has locked are deleted, so no other can take them in between. The pick passes
-- over heads of streams, which are younger than the look at the queue.
-- partitions above 0: the owner is an instance, which is noted if it is news that it claims here
-- (work_comes). Heads of some partitions are left to it, and those of others to others, for a while
-- (work_pick), unless those do not come (work_left_lying); max_partitions: of how many partitions it may hold runs at once.
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
    RETURNS TABLE ({claimed})
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
    {pinned}
AS $$
#variable_conflict use_column
DECLARE
    _started CONSTANT timestamptz := clock_timestamp();
    _q record;      -- the queue, as all that follows sees it
    _joins text;
    _rows tid[];
    _ids uuid[];
    _dues timestamptz[];
    _plain boolean; -- so are all, and none that are due were passed by because the look began at from_due
    _fence bigint;
    _took interval;
    _deleted int;
    _fit int; -- how many of those are handed out: all would be too many bytes
BEGIN
    SELECT c.t, q.id, q.max_attempts, q.has_streams, q.by_topic, s.has_joins AND _door = 0 AS has_joins,
           EXISTS (SELECT FROM {p}lease l WHERE l.door = _door AND l.until >= r.reap_from AND l.until < c.t
                   ORDER BY l.door, l.until LIMIT 1) AS some_expired, r.reap_from,
           (SELECT f.is_called AND f.last_value % 16 = 15 FROM {p}fence f) AS upwards,
           coalesce(_from_due, CASE WHEN h.written_at <= c.t THEN h.from_due END) AS from_due, h.whole_look_next
    INTO _q
    FROM {p}store s CROSS JOIN {p}queue q CROSS JOIN LATERAL (SELECT coalesce(q.clock, clock_timestamp()) AS t OFFSET 0) c
    LEFT JOIN {p}hint h ON h.queue = q.id
    CROSS JOIN LATERAL (SELECT CASE WHEN h.reap_from < c.t AND c.t < h.reap_whole_next THEN h.reap_from
                                    ELSE '-infinity' END AS reap_from OFFSET 0) r
    WHERE s.one AND q.door = _door AND q.namespace = _ns AND NOT q.paused;
    IF _partitions > 0 OR _q.has_joins OR _q.some_expired OR clock_timestamp() - _started > interval '3 ms' THEN
        _joins := {p}work_claim_first(_door, _owner, _ns, _topics, _partitions, _q.id, _q.t, _q.has_joins, _q.some_expired,
                                      _q.reap_from, _started);
    END IF;
    IF _q.id IS NULL THEN
        RETURN;
    END IF;
    IF _topics IS NULL AND NOT _q.has_streams THEN
        SELECT array_agg(p.tid), array_agg(p.id), array_agg(p.due),
               bool_or(p.special) IS NOT TRUE AND (count(*) >= _n OR _q.from_due IS NULL OR coalesce(_q.whole_look_next > _q.t, false))
        INTO _rows, _ids, _dues, _plain FROM (
            SELECT p.* FROM unnest({p}levels(_q.upwards)) v(level) CROSS JOIN LATERAL (
                SELECT p.ctid AS tid, p.id, p.due,
                       p.attempts > 0 OR p.lost > 0 OR p.expires_at <= _q.t
                       OR (_last IS NOT NULL AND coalesce(p.max_attempts, _q.max_attempts) < 2) AS special
                FROM {p}pending p
                WHERE p.lane = {p}lane(_q.id, v.level) AND p.due <= _q.t AND p.stream IS NULL
                      AND (p.due, p.id) >= (coalesce(_q.from_due[v.level + 1], '-infinity'),
                                            coalesce(_from_id[v.level + 1], '00000000-0000-0000-0000-000000000000'))
                ORDER BY p.lane, p.due, p.id LIMIT _n FOR UPDATE SKIP LOCKED) p
            LIMIT _n) p;
    ELSIF _q.by_topic = 2 AND NOT _q.has_streams THEN
        SELECT t.rows, t.ids, t.dues, t.special IS NOT TRUE AND (coalesce(cardinality(t.ids) >= _n, false) OR _q.from_due IS NULL)
        INTO _rows, _ids, _dues, _plain
        FROM {p}work_pick_topics(_n, _topics, _q.from_due, _from_id, _last, _q.id, _q.max_attempts, {p}levels(_q.upwards), _q.t) t;
    END IF;
    IF _plain IS NOT TRUE THEN
        RETURN QUERY SELECT * FROM {p}work_claim_rest(
            _door, _owner, _lease_s, _n, _ns, _topics, _q.from_due, CASE WHEN _q.from_due IS NOT NULL THEN _from_id END, _partitions,
            _max_partitions, _last, _q.id, _q.max_attempts, _q.has_streams, _q.upwards, _q.t, _started, _joins);
        RETURN;
    END IF;
    IF _ids IS NOT NULL THEN
        DELETE FROM {p}pending p WHERE p.ctid = ANY (_rows);
        GET DIAGNOSTICS _deleted = ROW_COUNT;
        IF _deleted <> cardinality(_rows) THEN
            RAISE EXCEPTION 'work_claim: locked % pending rows, but deleted %', cardinality(_rows), _deleted;
        END IF;
        _took := clock_timestamp() - _started;
        _fence := nextval('{p}fence');
        RETURN QUERY
        SELECT m.id, coalesce(m.message_id, m.id), _fence, m.topic, m.payload, m.tenant_id, m.dedupe_key, m.correlation_id, m.stream,
               m.headers, 1, 0, m.created_at, coalesce(m.due_at, m.created_at), NULL::text, m.level::int, NULL::text, m.seq, m.source, false
        FROM (SELECT m.*, sum(m.bytes) OVER (ROWS UNBOUNDED PRECEDING) AS total
              FROM unnest(_ids) u(id)
              -- OFFSET 0 keeps this a look-up per id, in their order: a join could start from a small table of messages.
              CROSS JOIN LATERAL (SELECT *, octet_length(m.payload) + coalesce(pg_column_size(m.headers), 0) AS bytes
                                  FROM {p}message m WHERE m.id = u.id OFFSET 0) m) m
        WHERE m.total <= {p}claim_bytes_max() OR m.total = m.bytes;
        GET DIAGNOSTICS _fit = ROW_COUNT;
        IF _fit < _deleted THEN
            PERFORM {p}work_put_back(_ids, array_fill(0::smallint, ARRAY[_deleted]), _dues, NULL, 0::smallint, _fit);
        END IF;
        INSERT INTO {p}lease (id, owner, claimed_at, until, queue, open, door, lost, ids)
        VALUES (_fence, _owner, _q.t, _q.t + _lease_s * interval '1 s', _q.id, _fit, _door, 0, _ids[1:_fit]);
    END IF;
    IF _topics IS NULL AND coalesce(_took, clock_timestamp() - _started) > interval '5 ms' AND (_fit < _deleted) IS NOT TRUE THEN
        PERFORM {p}work_claim_hint(_q.id, _q.t, coalesce(_took, clock_timestamp() - _started), _q.from_due IS NULL, _n, _ids, _dues, NULL, false);
    END IF;
    IF _joins <> '' OR _fit < _deleted THEN
        RETURN QUERY SELECT * FROM {p}work_claim_last(_joins, _deleted - _fit, NULL);
    END IF;
END
$$;
