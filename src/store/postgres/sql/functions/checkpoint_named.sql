-- checkpoint_named(verb, …) → the checkpoint: checks a report of a consumer from SQL, and stores
-- it.
CREATE OR REPLACE FUNCTION {p}checkpoint_named(
    _verb text, _door text, _ns text, _stream text, _consumer text, _seq bigint, _failed boolean, _error text) RETURNS bigint
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
    {in_order} SET jit = off
AS $$
DECLARE
    _problem text := {p}stream_problem(_door, _ns, _stream, _consumer, _seq, 1);
    _number smallint;
BEGIN
    IF _problem IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = _verb || ': ' || _problem;
    END IF;
    _number := {p}door_number(_door);
    PERFORM {p}result_raise(_verb, (
        SELECT c.problem FROM {p}work_checkpoints(ARRAY[_number], ARRAY[_ns], ARRAY[_stream], ARRAY[_consumer], ARRAY[_seq],
                                                  ARRAY[_failed], ARRAY[{p}error_cut(_error)]) c));
    RETURN (SELECT c.seq FROM {p}queue q, {p}stream s, {p}checkpoint c
            WHERE q.door = _number AND q.namespace = _ns AND s.queue = q.id AND s.key = _stream AND c.stream = s.id
              AND c.consumer = _consumer);
END
$$;
