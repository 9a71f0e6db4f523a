-- work_lease_shrink(lease, positions, runs): marks messages of a locked lease row as
-- settled; the row goes with its last one. Sets bits only: ids are not rewritten. runs: those
-- of the lease, as they are now.
CREATE OR REPLACE FUNCTION {p}work_lease_shrink(_lease {p}lease, _pos int[], _runs bigint[]) RETURNS void
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _bits bit varying := coalesce(_lease.settled, repeat('0', cardinality(_lease.ids))::bit varying);
    _p int;
BEGIN
    IF _lease.open <= cardinality(_pos) THEN
        DELETE FROM {p}lease l WHERE l.id = _lease.id;
        RETURN;
    END IF;
    FOREACH _p IN ARRAY _pos LOOP
        _bits := set_bit(_bits, _p - 1, 1);
    END LOOP;
    UPDATE {p}lease l SET settled = _bits, open = l.open - cardinality(_pos), runs = _runs WHERE l.id = _lease.id;
END
$$;
