-- PostgreSQL lets every role execute new functions: this takes that back from the functions that
-- this transaction has written, for the schema may be shared. grants.sql gives the roles the rights
-- that they need. A function that was there before still belongs to its owner, and so does a view:
-- if that is another role, the migration fails. It also fails if the schema holds others of the
-- same name as a function of ours: a call of ours may fit them better.
DROP TABLE IF EXISTS {schema}.{p}pending_5; -- see 0006_lines.sql
DO $$
DECLARE
    _written record;
    _other text;
BEGIN
    SELECT p.oid::regprocedure::text INTO _other FROM pg_proc p
    WHERE p.pronamespace = '{schema}'::regnamespace AND p.xmin <> pg_current_xact_id()::xid
      AND EXISTS (SELECT FROM pg_proc w WHERE w.pronamespace = p.pronamespace AND w.proname = p.proname
                  AND w.xmin = pg_current_xact_id()::xid)
    ORDER BY 1 LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'PH002', MESSAGE = format(
            '%s has the name of a function of ours, which could call it; run DROP ROUTINE %1$s', _other);
    END IF;
    FOR _written IN SELECT p.oid::regprocedure::text AS name, true AS is_function, p.proowner AS owner FROM pg_proc p
                    WHERE p.pronamespace = '{schema}'::regnamespace AND starts_with(p.proname, '{p}')
                      AND p.xmin = pg_current_xact_id()::xid
                    UNION ALL
                    SELECT c.oid::regclass::text, false, c.relowner FROM pg_class c JOIN pg_rewrite r ON r.ev_class = c.oid
                    WHERE c.relnamespace = '{schema}'::regnamespace AND c.relkind = 'v' AND starts_with(c.relname, '{p}')
                      AND r.xmin = pg_current_xact_id()::xid LOOP
        IF pg_get_userbyid(_written.owner) <> current_user THEN
            RAISE EXCEPTION USING ERRCODE = 'PH002', MESSAGE = format(
                '%s belongs to %I, who could change it later; run DROP %s %1$s', _written.name,
                pg_get_userbyid(_written.owner), CASE WHEN _written.is_function THEN 'ROUTINE' ELSE 'VIEW' END);
        ELSIF _written.is_function THEN
            EXECUTE format('REVOKE ALL ON FUNCTION %s FROM PUBLIC', _written.name);
        END IF;
    END LOOP;
END
$$;
