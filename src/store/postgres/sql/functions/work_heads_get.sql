-- work_heads_get(joins) → those of the open ones among them that this transaction has locked now; null:
-- none. Others hold the rest, and may sit in their transactions: it gives them 30 ms to end, enough
-- for those that only settle.
--
-- Locks: heads, SKIP LOCKED, again and again: it stands in no queue, so that it can be part of no
-- deadlock.
-- Plans: pinned by the settings of its callers.
CREATE OR REPLACE FUNCTION {p}work_heads_get(_joins uuid[]) RETURNS uuid[]
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _held uuid[];
    _ms int;
BEGIN
    FOREACH _ms IN ARRAY '{1,2,4,8,16,0}'::int[] LOOP
        SELECT array_agg(l.id) INTO _held
        FROM (SELECT h.id FROM {p}join_head h WHERE h.id = ANY (_joins) AND h.status = 0 ORDER BY h.id FOR UPDATE SKIP LOCKED) l;
        EXIT WHEN _ms = 0 OR NOT EXISTS (SELECT FROM {p}join_head h WHERE h.id = ANY (_joins) AND h.status = 0
                                           AND h.id <> ALL (coalesce(_held, '{}')));
        PERFORM pg_sleep(_ms / 1000.0);
    END LOOP;
    RETURN _held;
END
$$;
