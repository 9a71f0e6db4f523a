-- work_bury(id, reason, t, owner): the one way into dead. The caller has taken
-- the message out of pending or out of its lease in this transaction.
CREATE OR REPLACE FUNCTION {p}work_bury(_ids uuid[], _reason smallint, _t timestamptz, _owner uuid) RETURNS void
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    INSERT INTO {p}dead (id, died_at, owner, queue, reason)
    SELECT m.id, _t, _owner, m.queue, _reason FROM unnest(_ids) u(id), {p}message m WHERE m.id = u.id;
END
$$;
