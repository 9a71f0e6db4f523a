-- Run in one transaction. The lock makes two migrations at once wait for each
-- other; the search path makes the names of tables land in the schema.
SET LOCAL search_path = pg_catalog, pg_temp;
SET LOCAL client_min_messages = warning;
SET LOCAL check_function_bodies = off;
SELECT pg_advisory_xact_lock(hashtextextended('posthorn migrate {schema}.{p}', 0));
-- The schema is made if it is missing: that needs CREATE in the database.
-- Functions run with the rights of the migrating role. Another role that can put objects into the
-- schema, or remove ours, could make them run its own code. So the schema must belong to the
-- migrating role (one of pg_database_owner belongs to the owner of the database), no other role may
-- create in it, and objects of an earlier version in it must belong to the migrating role, too.
-- Functions and operators that another role has left in it count like the right to create:
-- PostgreSQL calls the one that fits the arguments best, which may be theirs. Members of the
-- migrating role can do all that it can; so can superusers.
DO $$
DECLARE
    _me CONSTANT oid := (SELECT r.oid FROM pg_roles r WHERE r.rolname = current_user);
    _schema pg_namespace;
    _owner text;
    _others record;
    _left record;
BEGIN
    IF NOT EXISTS (SELECT FROM pg_namespace n WHERE n.nspname = '{s}') THEN
        CREATE SCHEMA {schema};
    END IF;
    SELECT * INTO _schema FROM pg_namespace n WHERE n.nspname = '{s}';
    _owner := pg_get_userbyid(CASE WHEN _schema.nspowner = 'pg_database_owner'::regrole
                              THEN (SELECT d.datdba FROM pg_database d WHERE d.datname = current_database())
                              ELSE _schema.nspowner END);
    IF _owner <> current_user THEN
        RAISE EXCEPTION USING ERRCODE = 'PH002', MESSAGE = format(
            'schema {s} belongs to %I, who could replace our functions; migrate as that role, or run ALTER SCHEMA {schema} OWNER TO %I',
            _owner, current_user);
    END IF;
    SELECT string_agg(DISTINCT CASE WHEN a.grantee = 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(a.grantee)) END, ', ') AS names,
           CASE WHEN bool_or(a.grantor <> _schema.nspowner) THEN ' CASCADE' ELSE '' END AS cascade
    INTO _others
    FROM aclexplode(_schema.nspacl) a
    WHERE a.privilege_type = 'CREATE' AND a.grantee <> _schema.nspowner
      AND (a.grantee = 0 OR NOT pg_has_role(a.grantee, _me, 'MEMBER'));
    IF _others.names IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'PH002', MESSAGE = format(
            'others may create in schema {s}, and so replace what our functions call; run REVOKE CREATE ON SCHEMA {schema} FROM %s%s',
            _others.names, _others.cascade);
    END IF;
    SELECT x.kind, x.name, pg_get_userbyid(x.owner) AS owner, count(*) OVER () - 1 AS more INTO _left
    FROM (SELECT 'OPERATOR' AS kind, o.oid::regoperator::text AS name, o.oprowner AS owner FROM pg_operator o
          WHERE o.oprnamespace = _schema.oid
          UNION ALL
          SELECT 'ROUTINE', p.oid::regprocedure::text, p.proowner FROM pg_proc p WHERE p.pronamespace = _schema.oid) x
    WHERE NOT pg_has_role(x.owner, _me, 'MEMBER') ORDER BY x.kind, x.name LIMIT 1; -- operators need their functions
    IF FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'PH002', MESSAGE = format(
            'schema {s} has a function or operator of %I%s, which could be called in place of ours; run DROP %s %s',
            _left.owner, CASE WHEN _left.more > 0 THEN format(' (and %s more)', _left.more) END, _left.kind, _left.name);
    END IF;
    SELECT pg_get_userbyid(c.relowner) INTO _owner FROM pg_class c
    WHERE c.oid = to_regclass('{schema}.{p}store') AND c.relowner <> _me;
    IF FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'PH002', MESSAGE = format(
            'the tables in schema {s} belong to %I; migrate as that role', _owner);
    END IF;
END
$$;
SET LOCAL search_path = {schema}, pg_temp;
