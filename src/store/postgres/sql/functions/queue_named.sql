-- queue_named(verb, door, ns) → the queue that a caller from SQL names; makes it if it is missing.
CREATE OR REPLACE FUNCTION {p}queue_named(_verb text, _door text, _ns text) RETURNS {p}queue
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF _ns IS NULL OR char_length(_ns) > 255 THEN
        RAISE EXCEPTION USING ERRCODE = '22023',
            MESSAGE = _verb || ': namespace is null or has more than 255 characters';
    END IF;
    RETURN {p}queue_get({p}door_number(_door), _ns);
END
$$;
