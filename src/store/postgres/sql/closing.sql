-- PostgreSQL lets everybody execute new functions: take that back, from our
-- functions only, for the schema may be shared: all but one pin this search
-- path or are named here. The roles are given what they need by grants.sql.
DO $$
DECLARE
    routine regprocedure;
BEGIN
    FOR routine IN SELECT p.oid FROM pg_proc p
                   WHERE p.pronamespace = '{schema}'::regnamespace AND starts_with(p.proname, '{p}')
                     AND (p.proname IN ('{p}id_number', '{p}token_id', '{p}token_blocked_id', '{p}work_followers')
                          OR format('search_path=%I, pg_temp', '{s}') = ANY (p.proconfig)) LOOP
        EXECUTE format('REVOKE ALL ON FUNCTION %s FROM PUBLIC', routine);
    END LOOP;
END
$$;
