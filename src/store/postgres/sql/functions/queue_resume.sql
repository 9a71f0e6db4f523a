-- queue_resume(door, namespace): claims of this queue answer again.
-- Two statements: one that both made the queue and updated it would not see the new row.
CREATE OR REPLACE FUNCTION {p}queue_resume(door text, namespace text) RETURNS void
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    _queue {p}queue := {p}queue_named('queue_resume', queue_resume.door, queue_resume.namespace);
BEGIN
    UPDATE {p}queue q SET paused = false, deleted = false WHERE q.id = _queue.id;
END
$$;
