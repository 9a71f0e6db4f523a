-- lease_fronts(lease) → the positions of its messages that are not settled, without those that
-- stand in a run of a stream behind another that is not settled.
CREATE OR REPLACE FUNCTION {p}lease_fronts(_lease {p}lease) RETURNS int[]
    LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _follows boolean[] := array_fill(false, ARRAY[cardinality(_lease.ids)]);
BEGIN
    FOR _r IN 1 .. coalesce(cardinality(_lease.runs), 0) BY 4 LOOP
        FOR _pos IN _lease.runs[_r + 1] + 1 .. _lease.runs[_r + 1] + _lease.runs[_r + 2] - 1 LOOP
            _follows[_pos] := _lease.settled IS NULL OR get_bit(_lease.settled, _pos - 2) = 0;
        END LOOP;
    END LOOP;
    RETURN ARRAY(SELECT u.i::int FROM unnest(_follows) WITH ORDINALITY u(follows, i)
                 WHERE NOT u.follows AND (_lease.settled IS NULL OR get_bit(_lease.settled, u.i::int - 1) = 0) ORDER BY u.i);
END
$$;
