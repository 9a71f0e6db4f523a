-- work_join_catch_up(join, loose, t) → the joins that ended with it, or null: counts the steps of a
-- join that have ended uncounted: those that join_uncounted tells of, and of the loose steps with
-- these message ids those whose message has ended. The caller holds the head.
--
-- A step that is counted here has a status of its own from then on, which says that it was: so once.
-- A report by hand, or the join's end, may have been faster, and another message with the same
-- message id: its stay is the one that counts then. If it is ours, reports rises: a call that has
-- looked at the steps before, without the lock, looks again (work_count_found).
-- Plans: pinned by the settings of its callers.
CREATE OR REPLACE FUNCTION {p}work_join_catch_up(_join uuid, _loose uuid[], _t timestamptz) RETURNS text
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _steps uuid[]; -- message ids of those that have ended
    _works uuid[];
    _states smallint[];
    _counted record;
BEGIN
    IF _loose <> '{}' THEN -- before the notes: a message forgotten in between has died by this look, or is noted
        SELECT array_agg(m.message_id), array_agg(m.work_id), array_agg(m.status)
        INTO _steps, _works, _states
        FROM (SELECT m.message_id, m.work_id, {p}work_ended(m.work_id) AS status FROM {p}join_member m
              WHERE m.join_id = _join AND m.message_id = ANY (_loose) AND m.loose IS NOT NULL OFFSET 0) m
        WHERE m.status IS NOT NULL;
    END IF;
    WITH gone AS (DELETE FROM {p}join_uncounted u WHERE u.join_id = _join RETURNING u.message_id, u.work_id, u.status)
    SELECT _steps || array_agg(g.message_id), _works || array_agg(g.work_id), _states || array_agg(g.status)
    INTO _steps, _works, _states FROM gone g;
    IF _steps IS NULL THEN
        RETURN NULL;
    END IF;
    WITH ended AS MATERIALIZED (
        SELECT DISTINCT ON (u.message_id) u.message_id, u.work_id, u.status
        FROM unnest(_steps, _works, _states) u(message_id, work_id, status) ORDER BY u.message_id, u.work_id, u.status DESC), -- one noted as dead, and gone since, has died
    counted AS (
        UPDATE {p}join_member m SET status = e.status, work_id = e.work_id, loose = NULL
        FROM ended e CROSS JOIN LATERAL (
            SELECT o.work_id FROM {p}join_member o WHERE o.join_id = _join AND o.message_id = e.message_id OFFSET 0) o
        WHERE m.join_id = _join AND m.message_id = e.message_id AND m.status IS NULL
          AND EXISTS (SELECT FROM {p}join_head h WHERE h.id = _join AND h.status = 0)
          AND (m.work_id = ANY (_works) OR m.loose IS NOT NULL OR {p}work_ended(m.work_id) IS NULL)
        RETURNING m.status, m.work_id <> o.work_id AS moved)
    SELECT count(*) FILTER (WHERE c.status = 1)::int AS completed, count(*) FILTER (WHERE c.status = 2)::int AS failed,
           bool_or(c.moved) AS moved
    INTO _counted FROM counted c;
    IF _counted.moved THEN
        UPDATE {p}join_head h SET reports = h.reports + 1 WHERE h.id = _join;
    END IF;
    IF _counted.completed + _counted.failed > 0 THEN
        RETURN {p}work_join_tally(ARRAY[_join], NULL, ARRAY[_counted.completed], ARRAY[_counted.failed], _t);
    END IF;
    RETURN NULL;
END
$$;
