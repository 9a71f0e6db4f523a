-- work_join_report(join, message, failed) → the problem (enum ph__join_problem; 0:
-- none), and the joins that ended with it, or null: counts a step by hand, if its join is open and
-- it shows pending. Steps that have ended before are counted first.
--
-- Locks: the head, then the step. A call that settles the message at the same time counts under the
-- head's lock, too, and only steps without a status of their own.
CREATE OR REPLACE FUNCTION {p}work_join_report(
    _join uuid, _message uuid, _failed boolean, OUT problem smallint, OUT joins text)
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
    {pinned}
AS $$
DECLARE
    _t timestamptz := {p}clock();
    _shown int;
BEGIN
    problem := 0;
    PERFORM FROM {p}join_head h WHERE h.id = _join FOR UPDATE;
    IF NOT FOUND THEN
        problem := 1;
        RETURN;
    END IF;
    joins := {p}work_join_catch_up(_join, ARRAY(SELECT m.message_id FROM {p}join_member m WHERE m.join_id = _join
                                                AND m.message_id = _message AND m.loose IS NOT NULL), _t);
    SELECT m.status_code INTO _shown FROM {p}join_members m WHERE m.join_id = _join AND m.message_id = _message;
    IF NOT FOUND THEN
        problem := 5;
        RETURN;
    END IF;
    IF _shown = 0 AND EXISTS (SELECT FROM {p}join_head h WHERE h.id = _join AND h.status = 0) THEN
        UPDATE {p}join_member m SET status = 1 + _failed::int, loose = NULL
        WHERE m.join_id = _join AND m.message_id = _message;
        UPDATE {p}join_head h SET reports = h.reports + 1 WHERE h.id = _join; -- see work_count_found
        joins := nullif(concat_ws(E'\n', joins, {p}work_join_tally(
            ARRAY[_join], NULL, ARRAY[(NOT _failed)::int], ARRAY[_failed::int], _t)), '');
    END IF;
END
$$;
