-- work_claim_first(…) → what a claim does before it picks: an instance is noted that claims here
-- (work_comes), joins past their deadline end, and leases that have run out are taken back, at most 20
-- of each; the lines of work_claim's last row, or null. After a slow look for leases that found none,
-- a hint. Without a queue (null), or if it is paused, only the first.
CREATE OR REPLACE FUNCTION {p}work_claim_first(
    _door smallint, _owner uuid, _ns text, _topics text[], _partitions int, _queue int, _t timestamptz, _has_joins boolean,
    _some_expired boolean, _reap_from timestamptz, _started timestamptz) RETURNS text
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _joins text;
    _more text;
BEGIN
    IF _partitions > 0 THEN
        PERFORM {p}work_comes(_owner, _door, _ns, _topics, coalesce(_t, {p}clock()));
    END IF;
    IF _queue IS NULL THEN
        RETURN NULL;
    END IF;
    IF NOT _some_expired AND clock_timestamp() - _started > interval '3 ms' THEN
        PERFORM {p}work_claim_hint_reap(_queue, _t);
    END IF;
    IF _has_joins AND (EXISTS (SELECT FROM {p}join_head h WHERE h.status = 0 AND h.deadline <= _t)
                       OR EXISTS (SELECT FROM {p}join_member m WHERE m.loose IS NOT NULL)
                       OR EXISTS (SELECT FROM {p}join_uncounted)) THEN
        SELECT x.joins INTO _joins FROM {p}work_join_expire(_t, 20) x;
    END IF;
    IF _some_expired THEN
        SELECT concat_ws(E'\n', 'R ' || nullif(r.count, 0), r.joins) INTO _more
        FROM {p}work_reap(_door, _t, _reap_from, 20) r;
        IF _partitions > 0 THEN -- one of them may have been its own
            PERFORM {p}work_comes(_owner, _door, _ns, _topics, _t);
        END IF;
    END IF;
    RETURN nullif(concat_ws(E'\n', _joins, nullif(_more, '')), '');
END
$$;
