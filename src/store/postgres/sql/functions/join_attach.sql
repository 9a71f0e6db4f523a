-- join_attach(join_id, message_id): makes an outbox message a step of a join; see
-- join_attach_many.
CREATE OR REPLACE FUNCTION {p}join_attach(join_id uuid, message_id uuid) RETURNS void
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM {p}join_attach_named('join_attach', join_id, ARRAY[message_id]);
END
$$;
