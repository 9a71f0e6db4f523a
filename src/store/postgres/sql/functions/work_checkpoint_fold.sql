-- work_checkpoint_fold(row, seq, failed, error, t) → the checkpoint's row after one more
-- result; it is not stored here. Reads messages only to see whether a gap is one: messages that
-- retention has deleted make none. A message below one that is visible is visible, too, or gone:
-- numbers are given in the order of commits.
CREATE OR REPLACE FUNCTION {p}work_checkpoint_fold(_row {p}checkpoint, _seq bigint, _failed boolean, _error text, _t timestamptz)
    RETURNS {p}checkpoint
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
    {by_index} {one_plan}
AS $$
DECLARE
    _first int8range;
BEGIN
    IF _seq <= _row.seq THEN
        RETURN _row;
    END IF;
    IF _failed THEN
        _row.error := _error;
        _row.error_seq := _seq;
        _row.error_at := _t;
        _row.updated_at := _t;
        RETURN _row;
    END IF;
    IF _row.ahead @> _seq AND _row.error_seq IS DISTINCT FROM _seq THEN
        RETURN _row;
    END IF;
    _row.ahead := _row.ahead + int8multirange(int8range(_seq, _seq + 1));
    WHILE NOT isempty(_row.ahead)
          AND (lower(_row.ahead) = _row.seq + 1
               OR NOT EXISTS (SELECT FROM {p}message m
                              WHERE m.stream_id = _row.stream AND m.seq > _row.seq AND m.seq < lower(_row.ahead))) LOOP
        _first := (SELECT r FROM unnest(_row.ahead) r LIMIT 1);
        _row.seq := upper(_first) - 1;
        _row.ahead := _row.ahead - int8multirange(_first);
    END LOOP;
    IF _row.error_seq <= _row.seq OR _row.error_seq = _seq THEN
        _row.error := NULL;
        _row.error_seq := NULL;
        _row.error_at := NULL;
    END IF;
    _row.updated_at := _t;
    RETURN _row;
END
$$;
