-- doorbell_ring(namespace): wakes the dispatchers of a namespace. Call it in a
-- transaction of its own, after the commit of the messages:
--     SELECT posthorn.doorbell_ring();
-- Inside the transaction of the messages it works too, but transactions that
-- notify wait for each other while they commit. It is no error if no one listens. It sends a
-- notification on the channel posthorn_<schema> with the namespace as its payload.
CREATE OR REPLACE FUNCTION {p}doorbell_ring(namespace text = '') RETURNS void
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF namespace IS NULL OR char_length(namespace) > 255 THEN
        RAISE EXCEPTION USING ERRCODE = '22023',
            MESSAGE = 'doorbell_ring: namespace is null or has more than 255 characters';
    END IF;
    PERFORM pg_notify('posthorn_{s}', namespace);
END
$$;
