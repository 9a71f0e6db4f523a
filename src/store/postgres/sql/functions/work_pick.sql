-- work_pick(…): takes up to n due rows out of pending, level by level, in
-- order. Answers parallel arrays; lost and unfit are null unless a row has lost
-- its worker, or has expired or spent its attempts; streams and seqs are null if
-- the queue has no streams.
--
-- Locks: pending rows, SKIP LOCKED. Only rows that the first statement has locked are taken, so no
-- other can take them in between; the last one deletes them by address, and it is an error if one
-- is not there.
-- topics: null: all. hashes: of those, and their complements; they sort out most of the unwanted rows, and the topic
-- itself decides, before a row is locked or counted. by_topic: the index on topics finds them (work_pick_topics).
-- with, last: which rows go together, see work_pick_closer; alone, waits, ended: as answered there.
-- from_due, from_id: per level (1…4), where to start reading the index; null: the start.
-- partitions above 0: the claimer is an instance. It takes heads of the partitions `only`
-- (null: of all; otherwise of a thousand rows per level), and those that became due after `grace` only
-- if none of the others that want its topic (seeds and topics, see work_affinity; null: there are none)
-- has a higher score than its own seed. lying: when the last of the heads was due that others could
-- have had before; null: none of them.
-- has_streams false: heads are passed over, which are younger than the caller's look at the queue.
-- Plans: pinned by the settings of work_claim.
CREATE OR REPLACE FUNCTION {p}work_pick(
    _queue int, _max smallint, _levels smallint[], _t timestamptz, _n int, _topics text[], _hashes int[], _from_due timestamptz[],
    _from_id uuid[], _has_streams boolean, _by_topic boolean, _partitions int, _only bigint[], _grace timestamptz, _seed bigint, _others bigint[],
    _other_topics int[], _with smallint, _last smallint,
    OUT ids uuid[], OUT attempts smallint[], OUT dues timestamptz[], OUT lost smallint[],
    OUT unfit boolean[], OUT expired boolean[], OUT streams bigint[], OUT seqs bigint[], OUT lying timestamptz,
    OUT ended boolean, OUT alone boolean, OUT waits boolean)
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    _rows tid[];
    _some_special boolean;
    _ahead CONSTANT int := CASE WHEN _last IS NULL THEN 0 ELSE 1 END;
    _near record;
    _deleted int;
    _to_due timestamptz[]; -- per level, where to end reading
    _to_id uuid[];
BEGIN
    IF _only IS NOT NULL THEN -- mostly heads that are not for it: it looks at the first thousand
        SELECT array_agg(e.due ORDER BY v.level), array_agg(e.id ORDER BY v.level) INTO _to_due, _to_id
        FROM generate_series(0, 3) v(level) LEFT JOIN LATERAL (
            SELECT p.due, p.id FROM {p}pending p
            WHERE p.lane = {p}lane(_queue, v.level) AND p.due <= _t
                  AND (p.due, p.id) >= (coalesce(_from_due[v.level + 1], '-infinity'),
                                        coalesce(_from_id[v.level + 1], '00000000-0000-0000-0000-000000000000'))
            ORDER BY p.lane, p.due, p.id OFFSET 1000 LIMIT 1) e ON true;
    END IF;
    IF _by_topic THEN
        SELECT t.rows, t.ids, t.attempts, t.dues, t.special INTO _rows, ids, attempts, dues, _some_special
        FROM {p}work_pick_topics(_n, _topics, _from_due, _from_id, _last, _queue, _max, _levels, _t) t;
    ELSIF NOT _has_streams THEN
        SELECT array_agg(c.tid), array_agg(c.id), array_agg(c.attempts), array_agg(c.due), bool_or(c.special)
        INTO _rows, ids, attempts, dues, _some_special FROM (
            SELECT p.* FROM unnest(_levels) v(level) CROSS JOIN LATERAL (
                SELECT p.ctid AS tid, p.id, p.attempts, p.due,
                       p.lost > 0 OR p.attempts + _ahead >= coalesce(p.max_attempts, _max) OR p.expires_at <= _t AS special
                FROM {p}pending p
                WHERE p.lane = {p}lane(_queue, v.level) AND p.due <= _t
                      AND (p.due, p.id) >= (coalesce(_from_due[v.level + 1], '-infinity'),
                                            coalesce(_from_id[v.level + 1], '00000000-0000-0000-0000-000000000000'))
                      AND (_hashes IS NULL OR p.topic = ANY (_hashes)) AND p.stream IS NULL
                      AND (_topics IS NULL OR (SELECT m.topic FROM {p}message m WHERE m.id = p.id) = ANY (_topics))
                ORDER BY p.lane, p.due, p.id LIMIT _n FOR UPDATE SKIP LOCKED) p
            LIMIT _n) c;
    ELSE
        SELECT array_agg(c.tid), array_agg(c.id), array_agg(c.attempts), array_agg(c.due), bool_or(c.special),
               array_agg(c.stream), array_agg(c.seq), max(c.due) FILTER (WHERE c.stream IS NOT NULL AND c.due <= _grace)
        INTO _rows, ids, attempts, dues, _some_special, streams, seqs, lying FROM (
            SELECT p.* FROM unnest(_levels) v(level) CROSS JOIN LATERAL (
                SELECT p.ctid AS tid, p.id, p.attempts, p.due, p.stream, p.seq,
                       p.lost > 0 OR p.attempts + _ahead >= coalesce(p.max_attempts, _max) OR p.expires_at <= _t AS special
                FROM {p}pending p
                WHERE p.lane = {p}lane(_queue, v.level) AND p.due <= _t
                      AND (p.due, p.id) >= (coalesce(_from_due[v.level + 1], '-infinity'),
                                            coalesce(_from_id[v.level + 1], '00000000-0000-0000-0000-000000000000'))
                      AND (p.due, p.id) < (coalesce(_to_due[v.level + 1], 'infinity'),
                                           coalesce(_to_id[v.level + 1], 'ffffffff-ffff-ffff-ffff-ffffffffffff'))
                      AND (_hashes IS NULL OR p.topic = ANY (_hashes))
                      AND (_topics IS NULL OR (SELECT m.topic FROM {p}message m WHERE m.id = p.id) = ANY (_topics))
                      AND (_partitions = 0 OR p.stream IS NULL
                           OR ((_only IS NULL OR (SELECT s.hash % _partitions FROM {p}stream s WHERE s.id = p.stream) = ANY (_only))
                               AND (_others IS NULL OR p.due <= _grace OR NOT EXISTS (
                                   SELECT FROM {p}stream s, unnest(_others, _other_topics) o(seed, topic)
                                   WHERE s.id = p.stream AND coalesce(o.topic = greatest(p.topic, ~p.topic), true) AND hashint8extended(s.hash % _partitions, o.seed)
                                                             > hashint8extended(s.hash % _partitions, _seed)))))
                ORDER BY p.lane, p.due, p.id LIMIT _n FOR UPDATE SKIP LOCKED) p
            LIMIT _n) c;
    END IF;
    IF _rows IS NULL THEN
        RETURN;
    END IF;
    IF _some_special OR _with > 0 THEN -- rare: look closer at the rows, which are locked
        _near := {p}work_pick_closer(_rows, _max, _t, _n, _with, _last);
        lost := _near.lost;
        unfit := _near.unfit;
        expired := _near.expired;
        ended := _near.ended;
        alone := _near.alone;
        waits := _near.waits;
        _rows := _rows[1:_near.keep];
        ids := ids[1:_near.keep];
        attempts := attempts[1:_near.keep];
        dues := dues[1:_near.keep];
        streams := streams[1:_near.keep];
        seqs := seqs[1:_near.keep];
    END IF;
    DELETE FROM {p}pending p WHERE p.ctid = ANY (_rows);
    GET DIAGNOSTICS _deleted = ROW_COUNT;
    IF _deleted <> cardinality(_rows) THEN
        RAISE EXCEPTION 'work_pick: locked % pending rows, but deleted %', cardinality(_rows), _deleted;
    END IF;
END
$$;
