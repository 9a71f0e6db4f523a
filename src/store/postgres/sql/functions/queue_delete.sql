-- queue_delete(door, namespace) → true if there was such a queue, and it was deleted. One that has
-- something in it is not: SQLSTATE 55006. See work_queue_delete.
CREATE OR REPLACE FUNCTION {p}queue_delete(door text, namespace text) RETURNS boolean
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _done record;
BEGIN
    IF namespace IS NULL OR char_length(namespace) > 255 THEN
        RAISE EXCEPTION USING ERRCODE = '22023',
            MESSAGE = 'queue_delete: namespace is null or has more than 255 characters';
    END IF;
    _done := {p}work_queue_delete({p}door_number(door), namespace);
    IF _done.messages + _done.keys + _done.streams + _done.coming + _done.jobs > 0 THEN
        RAISE EXCEPTION USING ERRCODE = '55006', MESSAGE = format(
            'queue_delete: the queue has %s messages, %s dedupe keys, %s streams, %s timers or job runs to come and %s jobs',
            _done.messages, _done.keys, _done.streams, _done.coming, _done.jobs),
            HINT = 'Settle or discard its messages, then call retention_run(), which deletes what its settings do not keep.';
    END IF;
    RETURN _done.deleted;
END
$$;
