-- work_comes(owner, door, ns, topics, t): a live instance claims from this queue. Noted, unless a
-- stored row says so: it has not claimed these topics before, or has left a head lying since, or
-- its lease has run out. topics: null: all.
--
-- Locks: its own row of claimer, SKIP LOCKED: it does not wait for a transaction that is marking
-- it, since the next claim comes soon. Two sessions of one instance may leave two rows, which mean
-- the same. In a REPEATABLE READ transaction the row may be newer than its snapshot: then, too,
-- next time.
CREATE OR REPLACE FUNCTION {p}work_comes(_owner uuid, _door smallint, _ns text, _topics text[], _t timestamptz) RETURNS void
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
    {by_index} {one_plan}
AS $$
BEGIN
    IF EXISTS (SELECT FROM {p}claimer o WHERE o.instance = _owner AND o.door = _door AND o.namespace = _ns AND o.comes
                 AND (o.topics IS NULL OR o.topics = _topics OR o.topics @> _topics)) THEN
        RETURN;
    END IF;
    UPDATE {p}claimer c
    SET comes = true, since = CASE WHEN c.comes THEN c.since ELSE _t END,
        topics = CASE WHEN NOT c.comes OR cardinality(c.topics) + cardinality(_topics) > 1000 THEN _topics
                      WHEN _topics IS NULL OR c.topics IS NULL THEN NULL
                      ELSE ARRAY(SELECT DISTINCT x FROM unnest(c.topics || _topics) x) END
    WHERE c.ctid = (SELECT o.ctid FROM {p}claimer o WHERE o.instance = _owner AND o.door = _door AND o.namespace = _ns
                    LIMIT 1 FOR UPDATE SKIP LOCKED);
    IF NOT FOUND AND NOT EXISTS (SELECT FROM {p}claimer o WHERE o.instance = _owner AND o.door = _door AND o.namespace = _ns)
       AND EXISTS (SELECT FROM {p}instance i WHERE i.id = _owner AND i.state = 1) THEN
        INSERT INTO {p}claimer (since, instance, door, comes, namespace, topics) VALUES (_t, _owner, _door, true, _ns, _topics);
    END IF;
EXCEPTION WHEN serialization_failure THEN
    NULL;
END
$$;
