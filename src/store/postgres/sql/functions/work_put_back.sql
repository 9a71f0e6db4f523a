-- work_put_back(ids, attempts, dues, streams, lost, keep): puts back, as they were, all messages
-- that a claim has taken after the first `keep`. Of a run only the head was ever in pending; the
-- others are parked as before if the run is cut. streams: null if there are none.
CREATE OR REPLACE FUNCTION {p}work_put_back(
    _ids uuid[], _attempts smallint[], _dues timestamptz[], _streams bigint[], _lost smallint, _keep int) RETURNS void
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    FOR _i IN _keep + 1 .. cardinality(_ids) LOOP
        IF (_streams[_i] = _streams[_i - 1]) IS NOT TRUE THEN
            PERFORM {p}work_unpick(_ids[_i], _attempts[_i], _lost, _dues[_i]);
        END IF;
    END LOOP;
END
$$;
