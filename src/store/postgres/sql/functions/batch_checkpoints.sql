-- batch_checkpoints(completions, failures) → results of consumers, from the arguments
-- of process_work_batch: items {stream, consumer, seq, namespace, door}, the last two with
-- defaults; those of failures also error. No items: nulls. Bad ones: an error with SQLSTATE 22023.
CREATE OR REPLACE FUNCTION {p}batch_checkpoints(_completions jsonb, _failures jsonb) RETURNS {p}work_checkpoint_results
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _c {p}work_checkpoint_results;
    _problem text;
BEGIN
    IF _completions IS NULL AND _failures IS NULL THEN
        RETURN _c;
    END IF;
    SELECT array_agg(CASE b.item ->> 'door' WHEN 'inbox' THEN 1 ELSE 0 END), array_agg(coalesce(b.item ->> 'namespace', '')),
           array_agg(b.item ->> 'stream'), array_agg(b.item ->> 'consumer'), array_agg((b.item ->> 'seq')::bigint),
           array_agg(b.failed), array_agg({p}error_cut(b.item ->> 'error')),
           (array_agg(b.place || ': ' || c.problem) FILTER (WHERE c.problem IS NOT NULL))[1]
    INTO _c.doors, _c.ns, _c.streams, _c.consumers, _c.seqs, _c.failed, _c.errors, _problem
    FROM {p}batch_items('checkpoint', _completions, _failures,
                        '{"stream": "text!", "consumer": "text!", "seq": "whole!", "namespace": "text", "door": "text"}',
                        '{"error": "text"}') b
    CROSS JOIN LATERAL (SELECT {p}stream_problem(
        coalesce(b.item ->> 'door', 'outbox'), coalesce(b.item ->> 'namespace', ''), b.item ->> 'stream',
        b.item ->> 'consumer', (b.item ->> 'seq')::bigint, 1) AS problem OFFSET 0) c;
    PERFORM {p}batch_raise(_problem);
    RETURN _c;
END
$$;
