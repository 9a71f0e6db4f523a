-- work_history(id) → the past attempts of a message, oldest first.
CREATE OR REPLACE FUNCTION {p}work_history(_id uuid)
    RETURNS TABLE (attempt int, kind int, error text, at timestamptz, owner uuid, next_due timestamptz)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
    SELECT a.attempt::int, a.kind::int, a.error, a.at, a.owner, a.next_due
    FROM {p}attempt_log a WHERE a.id = _id ORDER BY a.n
$$;
