-- work_count_steps(done, dead, t) → the joins that ended with it, or null: counts messages that
-- have just been acked, and messages that have just died, in the joins of which they are steps. The
-- one place that does so. Both lists in ascending order, or null. The caller has taken the messages
-- out of pending or their lease in this transaction.
--
-- In a store that never had a join: one look at its row. Without steps among them: at two indexes.
-- See work_count_found for the rest.
-- Plans: pinned by the settings of its callers.
CREATE OR REPLACE FUNCTION {p}work_count_steps(_done uuid[], _dead uuid[], _t timestamptz) RETURNS text
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _low uuid := least(_done[1], _dead[1]);
    _high uuid := greatest(_done[cardinality(_done)], _dead[cardinality(_dead)]);
    _there boolean;
    _given boolean;
BEGIN
    IF NOT (SELECT s.has_joins FROM {p}store s WHERE s.one) THEN
        RETURN NULL;
    END IF;
    SELECT EXISTS (SELECT FROM {p}join_member m WHERE m.work_id >= _low AND m.work_id <= _high),
           EXISTS (SELECT FROM {p}join_member m WHERE m.message_id <> m.work_id AND m.status IS NULL)
    INTO _there, _given;
    IF _given AND {p}work_steps_given(_done, _dead) THEN
        _there := true;
    END IF;
    IF _there THEN
        RETURN {p}work_count_found(_done, _dead, _low, _high, _t);
    END IF;
    RETURN NULL;
END
$$;
