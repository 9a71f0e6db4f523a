-- work_streams_drop(ids): deletes those of these streams that are idle and have nothing left: no
-- message and no checkpoint.
--
-- Locks: the streams' rows, SKIP LOCKED: a transaction that holds one is adding a message. The look
-- for messages is a statement of its own after that. It begins at the newest, so that it need not
-- walk over rows just deleted, unless all were.
CREATE OR REPLACE FUNCTION {p}work_streams_drop(_ids bigint[]) RETURNS void
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
    {pinned}
AS $$
DECLARE
    _locked bigint[];
BEGIN
    _locked := ARRAY(
        SELECT s.id FROM {p}stream s
        WHERE s.id = ANY (_ids) AND NOT s.busy
          AND (SELECT m.id FROM {p}message m WHERE m.stream_id = s.id ORDER BY m.stream_id DESC, m.seq DESC LIMIT 1) IS NULL
        FOR UPDATE SKIP LOCKED);
    IF cardinality(_locked) > 0 AND current_setting('transaction_isolation') = 'read committed' THEN
        DELETE FROM {p}stream s
        WHERE s.id = ANY (_locked) AND NOT s.busy
          AND (SELECT m.id FROM {p}message m WHERE m.stream_id = s.id ORDER BY m.stream_id DESC, m.seq DESC LIMIT 1) IS NULL
          AND NOT EXISTS (SELECT FROM {p}checkpoint c WHERE c.stream = s.id);
    END IF;
END
$$;
