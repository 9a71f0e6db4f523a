-- work_checkpoints(doors, namespaces, streams, consumers, seqs, failed, errors): results of
-- consumers, in the order given, all or none. problem (enum ph__result_problem) and at
-- (from 0): why nothing was stored, and because of which; 0: all is well. Errors are fit to
-- store.
--
-- Locks: streams that get their first checkpoint of a consumer, against being deleted; then
-- checkpoints' rows in order of (stream, consumer), each locked before it is read: so two
-- reports of one consumer come one after the other, and none is overlooked.
CREATE OR REPLACE FUNCTION {p}work_checkpoints(
    _doors smallint[], _ns text[], _streams text[], _consumers text[], _seqs bigint[], _failed boolean[], _errors text[],
    OUT problem smallint, OUT at int)
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
    {by_index} {nested_loops} {one_plan}
AS $$
#variable_conflict use_column
DECLARE
    _t timestamptz := {p}clock();
    _ids bigint[];
    _missing int;
    _beyond int;
    _made int[] := '{}'; -- results for which a row was made
    _r record;
    _row {p}checkpoint;
    _rows {p}checkpoint[] := '{}';
BEGIN
    problem := 0;
    SELECT array_agg(s.id ORDER BY u.i), min(u.i) FILTER (WHERE s.id IS NULL), min(u.i) FILTER (WHERE u.seq > s.last_seq)
    INTO _ids, _missing, _beyond
    FROM unnest(_doors, _ns, _streams, _seqs) WITH ORDINALITY u(door, ns, key, seq, i)
    LEFT JOIN LATERAL (SELECT s.id, s.last_seq FROM {p}queue q, {p}stream s
                       WHERE q.door = u.door AND q.namespace = u.ns AND s.queue = q.id AND s.key = u.key OFFSET 0) s ON true;
    IF _missing IS NOT NULL OR _beyond IS NOT NULL THEN
        at := least(_missing, _beyond) - 1;
        problem := CASE WHEN at + 1 = _missing THEN 2 ELSE 3 END;
        RETURN;
    END IF;
    FOR _r IN SELECT u.*, row_number() OVER w = 1 AS is_first, row_number() OVER w = count(*) OVER (PARTITION BY u.stream, u.consumer) AS is_last
              FROM unnest(_ids, _consumers, _seqs, _failed, _errors) WITH ORDINALITY u(stream, consumer, seq, failed, error, i)
              WINDOW w AS (PARTITION BY u.stream, u.consumer COLLATE "C" ORDER BY u.i)
              ORDER BY u.stream, u.consumer COLLATE "C", u.i LOOP
        IF _r.is_first THEN
            SELECT * INTO _row FROM {p}checkpoint c WHERE c.stream = _r.stream AND c.consumer = _r.consumer FOR UPDATE;
            IF NOT FOUND THEN
                PERFORM FROM {p}stream s WHERE s.id = _r.stream FOR KEY SHARE;
                problem := CASE WHEN FOUND THEN 0 ELSE 2 END; -- it has just been forgotten
                INSERT INTO {p}checkpoint (stream, seq, updated_at, consumer) VALUES (_r.stream, 0, _t, _r.consumer)
                ON CONFLICT DO NOTHING;
                _made := CASE WHEN FOUND THEN _made || _r.i::int ELSE _made END;
                SELECT * INTO _row FROM {p}checkpoint c WHERE c.stream = _r.stream AND c.consumer = _r.consumer FOR UPDATE;
            END IF;
        END IF;
        _row := {p}work_checkpoint_fold(_row, _r.seq, coalesce(_r.failed, false), _r.error, _t);
        -- A range takes at least 16 bytes: count them only if there may be too many.
        IF pg_column_size(_row.ahead) > 16000 AND (SELECT count(*) FROM unnest(_row.ahead)) > 1000 THEN
            problem := 4;
        END IF;
        IF problem > 0 THEN
            at := _r.i - 1;
            DELETE FROM {p}checkpoint c USING unnest(_made) m WHERE c.stream = _ids[m] AND c.consumer = _consumers[m];
            RETURN;
        END IF;
        IF _r.is_last THEN
            _rows := _rows || _row;
        END IF;
    END LOOP;
    UPDATE {p}checkpoint c
    SET seq = r.seq, ahead = r.ahead, updated_at = r.updated_at, error = r.error, error_seq = r.error_seq, error_at = r.error_at
    FROM unnest(_rows) r
    WHERE c.stream = r.stream AND c.consumer = r.consumer
      AND (c.seq, c.ahead, c.error, c.error_seq, c.error_at) IS DISTINCT FROM (r.seq, r.ahead, r.error, r.error_seq, r.error_at);
END
$$;
