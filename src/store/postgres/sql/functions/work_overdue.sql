-- work_overdue(…) → what a claim does before it picks: joins past their deadline end, and leases that
-- have run out are taken back, at most 20 of each; the lines of work_claim's last row, or null. After
-- a slow look for leases that found none, a hint.
CREATE OR REPLACE FUNCTION {p}work_overdue(
    _door smallint, _queue int, _t timestamptz, _has_joins boolean, _some_expired boolean, _reap_from timestamptz,
    _started timestamptz) RETURNS text
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _joins text;
    _more text;
BEGIN
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
    END IF;
    RETURN nullif(concat_ws(E'\n', _joins, nullif(_more, '')), '');
END
$$;
