-- door_number(word) → the stored number of a door, or an error.
CREATE OR REPLACE FUNCTION {p}door_number(_door text) RETURNS smallint
    LANGUAGE plpgsql IMMUTABLE SET search_path = {schema}, pg_temp
AS $$
BEGIN
    IF _door = 'outbox' THEN
        RETURN 0;
    END IF;
    RAISE EXCEPTION USING ERRCODE = '22023',
        MESSAGE = format('there is no door "%s"; this version of the schema has: outbox', coalesce(_door, 'null'));
END
$$;
