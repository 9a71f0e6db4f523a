-- work_settle_runs(lease, at, pos, verbs): of the items of a call that are messages of
-- this lease (at: where in the call, pos: where in the lease, ascending) those that can be
-- settled, as at and pos again; other_at, others: outcomes that are known already (1 stale, 6
-- released); gone: positions to be marked as settled; runs: the rest of them; ended, after: streams
-- of which the run is settled to its end, and the number of its last message.
--
-- A run is settled from its first message that is not: acks as long as there is no gap, then at
-- most one abandon, fail or release, with which the run ends: the messages behind it are parked
-- again. A release further behind ends the run there, and leaves no entry in the history, as for
-- any message that is parked again. An ended run has a count of 0.
-- The caller holds the lease's row, and with it the streams.
CREATE OR REPLACE FUNCTION {p}work_settle_runs(
    _lease {p}lease, _at int[], _pos int[], _verbs smallint[],
    OUT at int[], OUT pos int[], OUT other_at int[], OUT others smallint[], OUT gone int[], OUT runs bigint[],
    OUT ended bigint[], OUT after bigint[])
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_variable
DECLARE
    _items int[] := array_fill(0, ARRAY[cardinality(_lease.ids)]); -- of each message its place in the call, or 0
    _run int := -3;     -- where in runs the present one begins
    _start int;
    _stop int;          -- its last message, as leased
    _k int := 1;
    _p int;
    _i int;
    _verb smallint;
    _cut boolean;
BEGIN
    runs := _lease.runs;
    FOR _k IN 1 .. cardinality(_pos) LOOP
        _items[_pos[_k]] := _at[_k];
    END LOOP;
    WHILE _k <= cardinality(_pos) LOOP
        WHILE _run + 4 <= cardinality(runs) AND (_run < 1 OR _stop < _pos[_k]) LOOP
            _run := _run + 4;
            _start := runs[_run + 1];
            _stop := _start + runs[_run + 2] - 1;
        END LOOP;
        IF _run < 1 OR _pos[_k] NOT BETWEEN _start AND _stop THEN -- a plain message
            at := at || _at[_k];
            pos := pos || _pos[_k];
            gone := gone || _pos[_k];
            _k := _k + 1;
            CONTINUE;
        END IF;
        _p := _start; -- the first that is not settled
        WHILE _lease.settled IS NOT NULL AND get_bit(_lease.settled, _p - 1) = 1 LOOP
            _p := _p + 1;
        END LOOP;
        WHILE _p <= _stop AND _items[_p] > 0 AND {p}for_item(_verbs, _items[_p]) = 1 LOOP
            at := at || _items[_p];
            pos := pos || _p;
            gone := gone || _p;
            _p := _p + 1;
        END LOOP;
        IF _p > _stop THEN
            ended := ended || runs[_run];
            after := after || runs[_run + 3];
            runs[_run + 2] := 0;
        ELSIF _items[_p] > 0 THEN -- abandoned, failed or released: it takes the token along
            at := at || _items[_p];
            pos := pos || _p;
            gone := gone || array(SELECT generate_series(_p, _stop));
            runs[_run + 2] := 0;
            _p := _p + 1;
        END IF;
        -- The call's other items of this run.
        _cut := runs[_run + 2] = 0;
        WHILE _k <= cardinality(_pos) AND _pos[_k] <= _stop LOOP
            _i := _at[_k];
            _verb := {p}for_item(_verbs, _i);
            IF _pos[_k] >= _p AND NOT _cut AND _verb = 4 THEN
                runs[_run + 3] := (SELECT m.seq - 1 FROM {p}message m WHERE m.id = _lease.ids[_pos[_k]]);
                runs[_run + 2] := _pos[_k] - _start;
                gone := gone || array(SELECT generate_series(_pos[_k], _stop));
                _cut := true;
            END IF;
            IF _pos[_k] >= _p THEN
                other_at := other_at || _i;
                others := others || CASE WHEN _cut AND _verb = 4 THEN 6 ELSE 1 END::smallint;
            END IF;
            _k := _k + 1;
        END LOOP;
    END LOOP;
END
$$;
