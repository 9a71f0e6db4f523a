-- work_join_prepare(joins, ids, final, shown): the facts that work_enqueue_many needs about
-- messages that are to become steps. ids: the new ones; final: those that answer (another one of a
-- duplicate); shown: their message ids, if they are not the same.
-- Answers message ids, work ids and states as work_join_add takes them, or the first
-- problem (see work_join_check).
--
-- Locks: duplicates where they are (work_hold), then the heads.
CREATE OR REPLACE FUNCTION {p}work_join_prepare(
    _joins uuid[], _new uuid[], _final uuid[], _shown uuid[],
    OUT problem smallint, OUT at int, OUT messages uuid[], OUT ids uuid[], OUT states smallint[])
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _at int[];
    _held record;
BEGIN
    SELECT array_agg(coalesce(u.shown, u.final) ORDER BY u.i),
           array_agg(u.i ORDER BY u.i) FILTER (WHERE u.join_id IS NOT NULL AND u.final <> u.id
                                               AND (u.final IN (SELECT unnest(_new))) IS NOT TRUE) -- not of this call
    INTO messages, _at FROM unnest(_joins, _new, _final, _shown) WITH ORDINALITY u(join_id, id, final, shown, i);
    ids := _final;
    states := array_fill(NULL::smallint, ARRAY[cardinality(_new)]);
    IF _at IS NOT NULL THEN
        _held := {p}work_hold(ARRAY(SELECT messages[u.i] FROM unnest(_at) WITH ORDINALITY u(i, k) ORDER BY u.k));
        FOR _k IN 1 .. cardinality(_at) LOOP
            ids[_at[_k]] := _held.ids[_k];
            states[_at[_k]] := _held.states[_k];
        END LOOP;
    END IF;
    SELECT c.problem, c.at INTO problem, at FROM {p}work_join_check(_joins, messages, states) c;
END
$$;
