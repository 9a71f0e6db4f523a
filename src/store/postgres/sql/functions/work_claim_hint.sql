-- work_claim_hint(…): after a slow claim, remembers where its batch began. One
-- writer at a time, at most once per second, so that the row stays small even
-- when an old transaction keeps its dead versions. Not while the index is small:
-- then something else was slow, such as planning in a new session. The fifth element is
-- for empty tokens (work_tokens).
CREATE OR REPLACE FUNCTION {p}work_claim_hint(
    _queue int, _t timestamptz, _took interval, _whole boolean, _n int, _ids uuid[],
    _dues timestamptz[], _streams bigint[], _tokens_seen boolean) RETURNS void
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _full CONSTANT boolean := cardinality(_ids) >= _n;
    _hint CONSTANT {p}hint := (SELECT h FROM {p}hint h WHERE h.queue = _queue);
    _from timestamptz[];
    _tokens timestamptz := CASE WHEN _tokens_seen THEN _t ELSE _hint.from_due[5] END;
BEGIN
    IF _took < cardinality(_ids) * interval '20 us' OR pg_relation_size('{p}pending_pkey') < 4194304 -- 4 MB
       OR (_hint.written_at <= _t AND _hint.written_at > _t - interval '1 s' AND NOT _whole)
       OR NOT pg_try_advisory_xact_lock(hashtextextended('{schema}.{p}hint', _queue)) THEN
        RETURN;
    END IF;
    IF _full THEN
        SELECT array_agg(b.due ORDER BY v.level) INTO _from FROM generate_series(0, 3) v(level)
        LEFT JOIN (SELECT m.level, min(u.due) AS due FROM unnest(_ids, _dues, _streams) WITH ORDINALITY u(id, due, stream, i), {p}message m
                   WHERE m.id = u.id AND (u.stream IS NULL OR array_position(_streams, u.stream) = u.i) -- no followers
                   GROUP BY m.level) b ON b.level = v.level;
    ELSE -- all due rows were taken: later ones are due from now on
        _from := array_fill(_t, ARRAY[4]);
    END IF;
    _from := _from || _tokens;
    INSERT INTO {p}hint AS h (queue, written_at, from_due, whole_look_next)
    VALUES (_queue, _t, _from, _t + CASE WHEN _whole THEN 20 * _took ELSE interval '0' END)
    ON CONFLICT (queue) DO UPDATE SET written_at = _t, from_due = _from,
        whole_look_next = CASE WHEN _whole THEN _t + 20 * _took ELSE h.whole_look_next END;
END
$$;
