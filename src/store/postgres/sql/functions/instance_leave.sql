-- instance_leave(instance_id) → whether it was live: an instance says good-bye. Its leases
-- are released, attempts refunded.
CREATE OR REPLACE FUNCTION {p}instance_leave(instance_id uuid) RETURNS boolean
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF instance_id IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = 'instance_leave: instance_id is null';
    END IF;
    RETURN (SELECT l.has_left FROM {p}work_leave(instance_id) l);
END
$$;
