-- queue_get(door, ns) → the queue's row; makes it if it is missing: an inbox keeps its
-- dedupe keys for ever, others theirs for 7 days, unless set otherwise. Two
-- transactions that both make it: the second waits for the first, and makes it
-- itself if the first rolls back. One that was deleted is there again; that is the same.
-- Its number is any that is free, not the next one: so a rollback uses none up, as it would with a
-- sequence, and a call waits for one that makes another queue only if both draw the same number.
-- There are 2^21; once nearly all are taken, the first free one is looked for.
CREATE OR REPLACE FUNCTION {p}queue_get(_door smallint, _ns text) RETURNS {p}queue
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
    {by_index} -- a plan that is kept: the first caller may have none of this set
AS $$
DECLARE
    _queue {p}queue;
    _tries int := 0;
    _id int;
BEGIN
    LOOP
        SELECT * INTO _queue FROM {p}queue q WHERE q.door = _door AND q.namespace = _ns;
        EXIT WHEN FOUND AND NOT _queue.deleted;
        IF FOUND THEN
            UPDATE {p}queue q SET deleted = false WHERE q.id = _queue.id RETURNING q.* INTO _queue;
            EXIT;
        END IF;
        _tries := _tries + 1;
        IF _tries <= 20 THEN
            _id := greatest(('x' || left(gen_random_uuid()::text, 8))::bit(32)::int & 2097151, 1);
        ELSE
            SELECT n INTO _id FROM generate_series(1, 2097151) n WHERE NOT EXISTS (SELECT FROM {p}queue q WHERE q.id = n) LIMIT 1;
            IF NOT FOUND THEN
                RAISE EXCEPTION USING ERRCODE = '54000', MESSAGE = 'there are 2097151 namespaces, deleted ones included; use those that are there';
            END IF;
        END IF;
        INSERT INTO {p}queue (id, door, namespace, store_id, clock, dedupe_retention_s)
        SELECT _id, _door, _ns, s.store_id, s.clock,
               CASE WHEN _door = 1 THEN -1 ELSE 604800 END
        FROM {p}store s WHERE s.one ON CONFLICT DO NOTHING;
    END LOOP;
    RETURN _queue;
END
$$;
