-- queue_pause(door, namespace): claims of this queue answer nothing until it is resumed.
CREATE OR REPLACE FUNCTION {p}queue_pause(door text, namespace text) RETURNS void
    LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = {schema}, pg_temp
AS $$
    UPDATE {p}queue q SET paused = true
    WHERE q.id = (SELECT g.id FROM {p}queue_get({p}door_number(queue_pause.door), queue_pause.namespace) g)
$$;
