-- checkpoint_complete(stream, consumer, seq) → the checkpoint: the consumer is done with this
-- message of the stream. Above a gap it is remembered, and the checkpoint stays below.
CREATE OR REPLACE FUNCTION {p}checkpoint_complete(
    stream text, consumer text, seq bigint, namespace text = '', door text = 'outbox') RETURNS bigint
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN {p}checkpoint_named('checkpoint_complete', door, namespace, stream, consumer, seq, false, NULL);
END
$$;
