-- checkpoint_fail(stream, consumer, seq, error): the consumer has failed at this message of
-- the stream. That is kept; the checkpoint does not move.
CREATE OR REPLACE FUNCTION {p}checkpoint_fail(
    stream text, consumer text, seq bigint, error text = NULL, namespace text = '', door text = 'outbox') RETURNS void
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM {p}checkpoint_named('checkpoint_fail', door, namespace, stream, consumer, seq, true, error);
END
$$;
