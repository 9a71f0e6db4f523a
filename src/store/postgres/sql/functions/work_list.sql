-- work_list(…) → messages of a door, in the columns of the library's look-up.
--
-- ns, topic: null for all. state: 0 all, 1 ready, 2 scheduled, 3 in progress,
-- 4 done, 5 dead and not retried, 6 waiting, 7 parked. after: the last id of the page before; all
-- zero: from the beginning. With payload a page ends before they are too many bytes (work_list_fit).
-- Reads only; the page and its rows are of one moment.
CREATE OR REPLACE FUNCTION {p}work_list(
    _door smallint, _ns text, _topic text, _state int, _oldest_first boolean, _limit int, _after uuid,
    _with_payload boolean)
    RETURNS TABLE ({lookup})
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
    SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    _queues int[] := ARRAY(SELECT q.id FROM {p}queue q WHERE q.door = _door AND (_ns IS NULL OR q.namespace = _ns));
    _ids uuid[] := {p}work_list_page(_queues, _topic, _state, _oldest_first, _limit, _after, {p}clock());
BEGIN
    RETURN QUERY SELECT * FROM {p}work_list_rows(CASE WHEN _with_payload THEN {p}work_list_fit(_ids) ELSE _ids END, _with_payload);
END
$$;
