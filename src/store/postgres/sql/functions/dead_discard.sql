-- dead_discard(work_ids) → how many dead messages were deleted for good. Ids
-- that are not dead are left alone.
CREATE OR REPLACE FUNCTION {p}dead_discard(work_ids uuid[]) RETURNS int
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _problem text := {p}ids_problem(work_ids);
BEGIN
    IF _problem IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = 'dead_discard: ' || _problem;
    END IF;
    RETURN {p}work_discard(work_ids);
END
$$;
