-- join_attach_many(join_id, message_ids): makes outbox messages steps of a join, all or
-- none; those that are already are left alone. Errors: SQLSTATE 22023 (bad arguments),
-- P0002 (no such join or message), 55000 (the join has all its steps or is closed, or
-- the message is a wait).
CREATE OR REPLACE FUNCTION {p}join_attach_many(join_id uuid, message_ids uuid[]) RETURNS void
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM {p}join_attach_named('join_attach_many', join_id, message_ids);
END
$$;
