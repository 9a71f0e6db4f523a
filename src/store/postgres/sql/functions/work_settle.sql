-- work_settle(…) → one outcome per id (0 unknown, 1 stale, 2 acked, 3 abandoned,
-- 4 failed, 5 dead, 6 released), in order; and the joins that ended with it (see work_join_fire).
--
-- keep: acked messages stay, even if their queue deletes them.
-- again: an ack of a message that this owner has acked before, under the same fence if one is
-- given, is answered 2, too. Pass it only if the call is all that its transaction does: otherwise
-- the transaction may write the effect of the message, before or after, for the second time, and
-- must be rolled back.
-- verbs (1 ack, 2 abandon, 3 fail, 4 release), errors and delays (ms; -1: by
-- policy, of a release: none) have one element for all or one per id; fences:
-- null, or one per id, where 0 means any.
--
-- The usual case is a batch that is acked as it was claimed: its lease is deleted, and done gets a
-- row. Everything else is the work of work_settle_leases.
-- Locks: the row of the lease. A settle that waits for another one, or for a renewal, then sees
-- the row as the other left it. If steps of joins have ended: the heads of those, SKIP LOCKED (work_count_found).
-- The rows of streams are not touched: a transaction that holds one neither waits for a settle nor
-- holds one up.
CREATE OR REPLACE FUNCTION {p}work_settle(
    _door smallint, _owner uuid, _ids uuid[], _fences bigint[], _verbs smallint[], _errors text[], _delays bigint[],
    _keep boolean = false, _again boolean = false, OUT outcomes smallint[], OUT joins text)
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
    {pinned}
AS $$
DECLARE
    _n CONSTANT int := cardinality(_ids);
    _lease record;
BEGIN
    IF _verbs <> '{1}' THEN
        NULL;
    ELSIF _fences IS NULL THEN -- among the live ones of the owner, which are few
        DELETE FROM {p}lease l USING (SELECT coalesce(s.clock, clock_timestamp()) AS t FROM {p}store s OFFSET 0) c
        WHERE l.owner = _owner AND l.until >= c.t AND l.ids = _ids AND l.door = _door AND l.settled IS NULL
        RETURNING l.id, l.queue, l.runs, c.t INTO _lease;
    ELSIF _fences[1] > 0 AND _fences[1] = ALL (_fences) THEN
        DELETE FROM {p}lease l USING (SELECT coalesce(s.clock, clock_timestamp()) AS t FROM {p}store s OFFSET 0) c
        WHERE l.id = _fences[1] AND l.owner = _owner AND l.ids = _ids AND l.door = _door AND l.settled IS NULL
        RETURNING l.id, l.queue, l.runs, c.t INTO _lease;
    END IF;
    IF NOT FOUND THEN
        SELECT s.outcomes, s.joins INTO outcomes, joins
        FROM {p}work_settle_leases(_door, _owner, _ids, _fences, _verbs, _errors, _delays, _keep, _again) s;
        RETURN;
    END IF;

    IF _n > 1 THEN
        SELECT array_agg(x ORDER BY x) INTO _ids FROM unnest(_ids) x;
    END IF;
    IF {p}work_done(_ids, _lease.queue, _lease.t, _owner, _keep, _lease.id) THEN
        joins := CASE WHEN _door = 0 THEN {p}work_count_steps(_ids, NULL, _lease.t) END;
        PERFORM {p}work_forget(_ids, 1::smallint);
    ELSIF _door = 0 THEN
        joins := {p}work_count_steps(_ids, NULL, _lease.t);
    END IF;
    IF _lease.runs IS NOT NULL THEN
        PERFORM {p}work_next_heads(_lease.queue, array_agg(_lease.runs[r]), array_agg(_lease.runs[r + 3]), _lease.t)
        FROM generate_series(1, cardinality(_lease.runs), 4) r WHERE _lease.runs[r + 2] > 0;
    END IF;
    outcomes := array_fill(2::smallint, ARRAY[_n]);
END
$$;
