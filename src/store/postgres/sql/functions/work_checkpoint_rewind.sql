-- work_checkpoint_rewind(door, ns, stream, consumer, seq) → where the checkpoint was, or the
-- problem (enum ph__result_problem; 0: none): sets it, and forgets completions above it.
--
-- Locks: the stream against being deleted, then the checkpoint's row; waits for a report of
-- the same consumer.
CREATE OR REPLACE FUNCTION {p}work_checkpoint_rewind(
    _door smallint, _ns text, _stream text, _consumer text, _seq bigint, OUT problem smallint, OUT old bigint)
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
    SET enable_seqscan = off SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    _t timestamptz := {p}clock();
    _found {p}stream;
BEGIN
    SELECT s.* INTO _found FROM {p}queue q, {p}stream s
    WHERE q.door = _door AND q.namespace = _ns AND s.queue = q.id AND s.key = _stream FOR KEY SHARE OF s;
    problem := CASE WHEN NOT FOUND THEN 2 WHEN _seq > _found.last_seq THEN 3 ELSE 0 END;
    IF problem > 0 THEN
        RETURN;
    END IF;
    INSERT INTO {p}checkpoint (stream, seq, updated_at, consumer) VALUES (_found.id, 0, _t, _consumer) ON CONFLICT DO NOTHING;
    SELECT c.seq INTO old FROM {p}checkpoint c WHERE c.stream = _found.id AND c.consumer = _consumer FOR UPDATE;
    UPDATE {p}checkpoint c
    SET seq = _seq, ahead = '{}', updated_at = _t, rewound_at = _t, error = NULL, error_seq = NULL, error_at = NULL
    WHERE c.stream = _found.id AND c.consumer = _consumer;
END
$$;
