-- work_leave(instance) → whether it was live; it is not any more: its leases are released,
-- message by message. joins: those that ended with it (see work_join_fire).
--
-- Locks: the instance's row; then its leases. Waits for a beat of the same instance, and for a call
-- that evicts it: then the answer is false.
CREATE OR REPLACE FUNCTION {p}work_leave(_id uuid, OUT has_left boolean, OUT joins text)
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _t timestamptz := {p}clock();
BEGIN
    UPDATE {p}instance i SET state = 2, ended_at = _t WHERE i.id = _id AND i.state = 1;
    has_left := FOUND;
    IF has_left THEN
        SELECT r.joins INTO joins FROM {p}work_release_owner(_id, _t) r;
    END IF;
END
$$;
