-- receptor_complete(work_id, receptor): this one of the parties that the message concerns is
-- done with it, for good.
CREATE OR REPLACE FUNCTION {p}receptor_complete(work_id uuid, receptor text) RETURNS void
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM {p}receptor_named('receptor_complete', work_id, receptor, false, NULL);
END
$$;
