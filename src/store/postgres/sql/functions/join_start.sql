-- join_start(expected_steps, …) → the id of a new join. Bad arguments: SQLSTATE 22023.
CREATE OR REPLACE FUNCTION {p}join_start(
    expected_steps int, grouping_key text = NULL, metadata text = NULL, deadline timestamptz = NULL) RETURNS uuid
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _started record;
BEGIN
    _started := {p}work_join_start(expected_steps, grouping_key, metadata, deadline);
    PERFORM {p}join_raise('join_start', _started.problem, NULL, NULL);
    RETURN _started.id;
END
$$;
