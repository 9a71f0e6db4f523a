-- work_pick_topics(…): locks the first n due rows of some topics, in the order (level, due, id) over all
-- of them, in a queue whose messages are all in the index on topics (queue.by_topic 2). Answers
-- parallel arrays, or null; special: some of the rows are not plain (work_claim). Heads of streams are
-- passed over.
--
-- One topic is a stretch of the index. Of several, the first rows of each are merged, and then locked
-- in order; if others hold so many of them that some are missing, four times as many are looked at.
-- Two topics may have one hash: the topic itself decides before a row is locked.
-- Locks: pending rows, SKIP LOCKED.
-- Plans: pinned by the settings of work_claim.
CREATE OR REPLACE FUNCTION {p}work_pick_topics(
    _n int, _topics text[], _from_due timestamptz[], _from_id uuid[], _last smallint,
    _queue int, _max smallint, _levels smallint[], _t timestamptz,
    OUT rows tid[], OUT ids uuid[], OUT attempts smallint[], OUT dues timestamptz[], OUT special boolean)
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    _hashes CONSTANT int[] := ARRAY(SELECT DISTINCT {p}topic_hash(x) FROM unnest(_topics) x);
    _ahead CONSTANT int := CASE WHEN _last IS NULL THEN 0 ELSE 1 END;
    _look int := _n + 100;
    _seen int;
BEGIN
    IF cardinality(_hashes) = 1 THEN
        SELECT array_agg(p.tid), array_agg(p.id), array_agg(p.attempts), array_agg(p.due), bool_or(p.special)
        INTO rows, ids, attempts, dues, special FROM (
            SELECT p.* FROM unnest(_levels) v(level) CROSS JOIN LATERAL (
                SELECT p.ctid AS tid, p.id, p.attempts, p.due,
                       p.attempts > 0 OR p.lost > 0 OR p.expires_at <= _t OR p.attempts + _ahead >= coalesce(p.max_attempts, _max) AS special
                FROM {p}pending p
                WHERE p.lane = {p}lane(_queue, v.level) AND p.topic = _hashes[1] AND p.topic >= 0 AND p.due <= _t AND p.stream IS NULL
                      AND (p.due, p.id) >= (coalesce(_from_due[v.level + 1], '-infinity'),
                                            coalesce(_from_id[v.level + 1], '00000000-0000-0000-0000-000000000000'))
                      AND (SELECT m.topic FROM {p}message m WHERE m.id = p.id) = ANY (_topics)
                ORDER BY p.lane, p.topic, p.due, p.id LIMIT _n FOR UPDATE SKIP LOCKED) p
            LIMIT _n) p;
        RETURN;
    END IF;
    LOOP
        WITH first AS MATERIALIZED (
            SELECT x.tid FROM unnest(_levels) WITH ORDINALITY v(level, i) CROSS JOIN unnest(_hashes) h(hash) CROSS JOIN LATERAL (
                SELECT p.ctid AS tid, p.due, p.id FROM {p}pending p
                WHERE p.lane = {p}lane(_queue, v.level) AND p.topic = h.hash AND p.topic >= 0 AND p.due <= _t AND p.stream IS NULL
                      AND (p.due, p.id) >= (coalesce(_from_due[v.level + 1], '-infinity'),
                                            coalesce(_from_id[v.level + 1], '00000000-0000-0000-0000-000000000000'))
                ORDER BY p.lane, p.topic, p.due, p.id LIMIT _look) x
            ORDER BY v.i, x.due, x.id LIMIT _look)
        SELECT array_agg(p.tid), array_agg(p.id), array_agg(p.attempts), array_agg(p.due), bool_or(p.special), (SELECT count(*) FROM first)
        INTO rows, ids, attempts, dues, special, _seen FROM (
            SELECT p.* FROM first f CROSS JOIN LATERAL (
                SELECT p.ctid AS tid, p.id, p.attempts, p.due,
                       p.attempts > 0 OR p.lost > 0 OR p.expires_at <= _t OR p.attempts + _ahead >= coalesce(p.max_attempts, _max) AS special
                FROM {p}pending p
                WHERE p.ctid = f.tid AND p.due <= _t AND (SELECT m.topic FROM {p}message m WHERE m.id = p.id) = ANY (_topics)
                FOR UPDATE SKIP LOCKED) p
            LIMIT _n) p;
        EXIT WHEN _seen < _look OR cardinality(rows) >= _n;
        _look := _look * 4;
    END LOOP;
END
$$;
