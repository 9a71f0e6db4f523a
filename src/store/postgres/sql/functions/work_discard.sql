-- work_discard(ids) → how many dead messages were deleted, with body and
-- history. Ids that are not dead are left alone. A stream that one of them has blocked goes on.
-- Locks: the dead rows, in order; then tokens of streams that they block.
CREATE OR REPLACE FUNCTION {p}work_discard(_ids uuid[]) RETURNS int
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _gone uuid[];
    _blocked record;
BEGIN
    WITH locked AS MATERIALIZED (SELECT d.id FROM {p}dead d WHERE d.id = ANY (_ids) ORDER BY d.id FOR UPDATE),
         gone AS (DELETE FROM {p}dead d USING locked WHERE d.id = locked.id RETURNING d.id)
    SELECT coalesce(array_agg(g.id), '{}') INTO _gone FROM gone g;
    FOR _blocked IN
        WITH token AS (DELETE FROM {p}pending p USING {p}message m
                       WHERE m.id = ANY (_gone) AND p.stream = m.stream_id AND p.id = {p}token_blocked_id(m.id)
                       RETURNING m.queue, p.stream, p.seq)
        SELECT t.queue, array_agg(t.stream) AS streams, array_agg(t.seq) AS seqs FROM token t GROUP BY t.queue LOOP
        PERFORM {p}work_next_heads(_blocked.queue, _blocked.streams, _blocked.seqs, {p}clock());
    END LOOP;
    PERFORM {p}work_forget(_gone, 2::smallint);
    RETURN cardinality(_gone);
END
$$;
