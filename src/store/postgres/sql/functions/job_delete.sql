-- job_delete(name) → true if there was such a job. Its runs that are pending go
-- with it; those that are claimed, or have ended, stay.
--
-- Locks: the job's row, so that no scheduler makes runs meanwhile, then the
-- pending rows of its runs (see work_withdraw).
CREATE OR REPLACE FUNCTION {p}job_delete(name text) RETURNS boolean
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    _name text := {p}job_named('job_delete', job_delete.name);
BEGIN
    DELETE FROM {p}job j WHERE j.name = _name;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    PERFORM {p}work_withdraw(3::smallint, ARRAY(SELECT r.id FROM {p}job_run r WHERE r.job = _name AND r.maybe_open));
    RETURN true;
END
$$;
