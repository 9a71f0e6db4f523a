-- receptor_named(verb, …): checks a report of a receptor from SQL, and stores it.
CREATE OR REPLACE FUNCTION {p}receptor_named(_verb text, _id uuid, _name text, _failed boolean, _error text) RETURNS void
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _problem text := CASE
        WHEN _id IS NULL THEN 'work_id is null; it is required'
        ELSE {p}name_problem('receptor', _name)
    END;
BEGIN
    IF _problem IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = _verb || ': ' || _problem;
    END IF;
    PERFORM {p}result_raise(_verb, (
        SELECT r.problem FROM {p}work_receptors(ARRAY[_id], ARRAY[_name], ARRAY[_failed], ARRAY[{p}error_cut(_error)]) r));
END
$$;
