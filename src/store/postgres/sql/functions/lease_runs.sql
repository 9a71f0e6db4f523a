-- lease_runs(streams, seqs) → the runs of a lease whose messages, in order, belong to these
-- streams (null: to none) with these numbers: see the table lease. Null: there are none.
CREATE OR REPLACE FUNCTION {p}lease_runs(_streams bigint[], _seqs bigint[]) RETURNS bigint[]
    LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _runs bigint[];
    _stream bigint; -- of the present run; null: none
    _start int;
    _n CONSTANT int := cardinality(_streams);
BEGIN
    FOR _i IN 1 .. _n LOOP
        IF _streams[_i] = _stream THEN
            CONTINUE;
        END IF;
        IF _stream IS NOT NULL THEN
            _runs := _runs || ARRAY[_stream, _start, _i - _start, _seqs[_i - 1]];
        END IF;
        _stream := _streams[_i];
        _start := _i;
    END LOOP;
    IF _stream IS NOT NULL THEN
        _runs := _runs || ARRAY[_stream, _start, _n - _start + 1, _seqs[_n]];
    END IF;
    RETURN _runs;
END
$$;
