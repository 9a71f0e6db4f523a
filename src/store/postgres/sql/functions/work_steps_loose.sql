-- work_steps_loose(join) → the message ids of its loose steps (see work_join_settle).
-- Plans: pinned by the settings of its callers.
CREATE OR REPLACE FUNCTION {p}work_steps_loose(_join uuid) RETURNS uuid[]
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN ARRAY(SELECT m.message_id FROM {p}join_member m WHERE m.join_id = _join AND m.loose IS NOT NULL);
END
$$;
