-- work_pick_closer(…): of the rows that work_pick has locked, those that go together: the first `keep`.
-- Answers parallel arrays: how often each has lost its worker, whether it must be buried instead
-- (unfit), and whether that is because it has expired.
--
-- A row whose worker died once (lost = 1) goes only with its like, at most 8 of them; one that was
-- lost more often goes alone. The pick ends before a row that does not go with those before it, or
-- with the rows that the caller has taken already (with: how often their worker was lost; null:
-- none yet). Rows to bury go with any.
-- last: how last attempts go: null: like others; 1: alone; 0: not at all, the pick ends before one.
-- alone: that is what was taken; waits: that is why it ended.
CREATE OR REPLACE FUNCTION {p}work_pick_closer(
    _rows tid[], _max smallint, _t timestamptz, _n int, _with smallint, _last smallint,
    OUT keep int, OUT lost smallint[], OUT unfit boolean[], OUT expired boolean[], OUT ended boolean, OUT alone boolean, OUT waits boolean)
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    _some CONSTANT boolean := _with IS NOT NULL;
    _fit int := 0;
    _lasts boolean[];
BEGIN
    SELECT array_agg(p.lost ORDER BY u.i),
           array_agg(p.attempts >= coalesce(p.max_attempts, _max) OR coalesce(p.expires_at <= _t, false) ORDER BY u.i),
           array_agg(coalesce(p.expires_at <= _t, false) ORDER BY u.i),
           array_agg(p.attempts + 1 >= coalesce(p.max_attempts, _max) ORDER BY u.i)
    INTO lost, unfit, expired, _lasts FROM unnest(_rows) WITH ORDINALITY u(tid, i), {p}pending p WHERE p.ctid = u.tid;
    keep := 0;
    FOR _i IN 1 .. cardinality(_rows) LOOP
        IF NOT unfit[_i] THEN
            _with := coalesce(_with, lost[_i]);
            waits := _last = 0 AND _lasts[_i];
            ended := waits OR alone OR lost[_i] <> _with OR _fit >= CASE _with WHEN 0 THEN _n WHEN 1 THEN 8 ELSE 1 END
                     OR (_last = 1 AND _lasts[_i] AND (_some OR _fit > 0));
            EXIT WHEN ended;
            alone := _last = 1 AND _lasts[_i];
            _fit := _fit + 1;
        END IF;
        keep := _i;
    END LOOP;
    lost := lost[1:keep];
    expired := expired[1:keep];
    unfit := CASE WHEN true = ANY (unfit[1:keep]) THEN unfit[1:keep] END;
END
$$;
