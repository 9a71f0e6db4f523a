-- batch_retention(t): a bite of retention for workers that know only process_work_batch, at most
-- once a minute, whoever comes.
--
-- Locks: the row of the store, without waiting; then as retention_run. It comes first in the call,
-- before leases and joins, and not in one that stores messages, which may wait for dedupe keys.
-- A strict isolation level would make a conflict of it: then it is left to others.
CREATE OR REPLACE FUNCTION {p}batch_retention(_t timestamptz) RETURNS void
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RETURN;
    END IF;
    PERFORM FROM {p}store s WHERE s.one AND s.retention_at <= _t - interval '1 minute' FOR UPDATE SKIP LOCKED;
    IF FOUND THEN
        UPDATE {p}store s SET retention_at = _t WHERE s.one;
        PERFORM {p}retention_run(5000);
    END IF;
END
$$;
