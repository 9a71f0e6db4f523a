-- door_number(word) → the stored number of a door, or an error.
CREATE OR REPLACE FUNCTION {p}door_number(_door text) RETURNS smallint
    LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _number smallint := CASE _door WHEN 'outbox' THEN 0 WHEN 'inbox' THEN 1 WHEN 'timers' THEN 2 WHEN 'job_runs' THEN 3 END;
BEGIN
    IF _number IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = format(
            'there is no door "%s"; this version of the schema has: outbox, inbox, timers, job_runs', coalesce(_door, 'null'));
    END IF;
    RETURN _number;
END
$$;
