-- queue_resume(door, namespace): claims of this queue answer again.
CREATE OR REPLACE FUNCTION {p}queue_resume(door text, namespace text) RETURNS void
    LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = {schema}, pg_temp
AS $$
    UPDATE {p}queue q SET paused = false
    WHERE q.id = (SELECT g.id FROM {p}queue_get({p}door_number(queue_resume.door), queue_resume.namespace) g)
$$;
