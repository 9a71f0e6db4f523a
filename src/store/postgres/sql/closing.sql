-- PostgreSQL lets everybody execute new functions: take that back. The roles
-- are given what they need by roles.sql.
DO $$
DECLARE
    routine regprocedure;
BEGIN
    FOR routine IN SELECT p.oid FROM pg_proc p WHERE p.pronamespace = '{schema}'::regnamespace LOOP
        EXECUTE format('REVOKE ALL ON FUNCTION %s FROM PUBLIC', routine);
    END LOOP;
END
$$;
