-- receptor_fail(work_id, receptor, error): this one of the parties that the message concerns
-- has failed this time. If it is completed already nothing changes.
CREATE OR REPLACE FUNCTION {p}receptor_fail(work_id uuid, receptor text, error text = NULL) RETURNS void
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM {p}receptor_named('receptor_fail', work_id, receptor, true, error);
END
$$;
