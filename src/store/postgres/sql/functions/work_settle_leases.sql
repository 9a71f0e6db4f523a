-- work_settle_leases(…) → as work_settle: messages of several leases, parts of leases, and all verbs.
--
-- Locks: lease rows in ascending order, by primary key. Each is locked first, and the work on its
-- messages uses only the row as locked: a reap that was faster has deleted it, and then it is not
-- found; one that comes later passes it over (SKIP LOCKED). Two partial settles of one lease wait
-- for each other. Then as work_settle.
-- Plans: pinned by the settings of work_settle, its only caller.
CREATE OR REPLACE FUNCTION {p}work_settle_leases(
    _door smallint, _owner uuid, _ids uuid[], _fences bigint[], _verbs smallint[], _errors text[], _delays bigint[],
    _keep boolean, _again boolean, OUT outcomes smallint[], OUT joins text)
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _t timestamptz;
    _n int := cardinality(_ids);
    _leases bigint[];
    _lease {p}lease;
    _fence bigint;
    _mine record;
    _at int[];
    _verb smallint;
    _run record;
    _acked uuid[];
    _done uuid[];
    _dead uuid[];
    _forget uuid[];
    _k int;
    _i int;
BEGIN
    outcomes := array_fill(NULL::smallint, ARRAY[_n]);
    SELECT coalesce(s.clock, clock_timestamp()) INTO _t FROM {p}store s WHERE s.one; -- clock(), without the call
    IF _fences[1] > 0 AND _fences[1] = ALL (_fences) THEN
        _leases := ARRAY[_fences[1]]; -- a batch, or a part of one: the usual case
    ELSE
        _leases := coalesce({p}work_leases(_door, _owner, _ids, _fences, _t), '{}');
    END IF;
    FOREACH _fence IN ARRAY _leases LOOP
        SELECT * INTO _lease FROM {p}lease l WHERE l.id = _fence AND l.owner = _owner AND l.door = _door FOR UPDATE;
        CONTINUE WHEN NOT FOUND;
        _mine := {p}work_lease_match(_lease.ids, _lease.settled, _fence, _ids, _fences, outcomes);
        CONTINUE WHEN _mine.at IS NULL;
        IF _lease.runs IS NOT NULL THEN -- in runs not everything goes: see there
            _run := {p}work_settle_runs(_lease, _mine.at, _mine.pos, _verbs);
            _mine.at := _run.at;
            _mine.pos := _run.pos;
            FOR _k IN 1 .. coalesce(cardinality(_run.other_at), 0) LOOP
                outcomes[_run.other_at[_k]] := _run.others[_k];
            END LOOP;
            IF cardinality(_run.gone) > 0 THEN
                PERFORM {p}work_lease_shrink(_lease, _run.gone, _run.runs);
            END IF;
        ELSE
            PERFORM {p}work_lease_shrink(_lease, _mine.pos, NULL);
        END IF;
        _at := _mine.at;
        FOR _k IN 1 .. coalesce(cardinality(_at), 0) LOOP
            _i := _at[_k];
            _verb := CASE WHEN cardinality(_verbs) = 1 THEN _verbs[1] ELSE _verbs[_i] END; -- for_item(), without the call
            IF _verb = 1 THEN
                outcomes[_i] := 2;
                CONTINUE;
            END IF;
            outcomes[_i] := {p}work_give_up(
                _ids[_i], _verb, coalesce(_lease.attempts[_mine.pos[_k]], 1::smallint), _lease.lost,
                {p}for_item(_errors, _i), coalesce({p}for_item(_delays, _i), -1), _t, _owner);
            IF outcomes[_i] IN (4, 5) THEN
                _dead := _dead || _ids[_i];
                IF _lease.runs IS NOT NULL THEN
                    PERFORM {p}work_heads_died(_lease.queue, _ids[_i:_i], _t);
                END IF;
            END IF;
        END LOOP;
        SELECT array_agg(_ids[x] ORDER BY _ids[x]) INTO _acked FROM unnest(_at) x WHERE outcomes[x] = 2;
        IF _acked IS NOT NULL AND {p}work_done(_acked, _lease.queue, _t, _owner, _keep, _fence) THEN
            _forget := _forget || _acked;
        END IF;
        _done := _done || _acked;
        IF _lease.runs IS NOT NULL THEN
            PERFORM {p}work_next_heads(_lease.queue, _run.ended, _run.after, _t);
        END IF;
    END LOOP;
    IF _door = 0 AND (_done IS NOT NULL OR _dead IS NOT NULL) THEN
        IF _dead IS NOT NULL OR cardinality(_leases) > 1 THEN
            SELECT array_agg(x ORDER BY x) INTO _done FROM unnest(_done) x;
            SELECT array_agg(x ORDER BY x) INTO _dead FROM unnest(_dead) x;
        END IF;
        joins := {p}work_count_steps(_done, _dead, _t);
    END IF;
    IF _forget IS NOT NULL THEN
        PERFORM {p}work_forget(_forget, 1::smallint);
    END IF;
    IF array_position(outcomes, NULL) IS NOT NULL THEN
        outcomes := {p}work_outcomes_rest(_door, _ids, outcomes, CASE WHEN _again THEN _owner END, _fences, _verbs);
    END IF;
END
$$;
