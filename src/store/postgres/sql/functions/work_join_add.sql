-- work_join_add(joins, ids, messages, states, t, at) → the joins that ended with it, or null: makes
-- messages steps, unless they are. Elements without a join are passed over. A message whose state
-- is done or dead (1, 2) is counted at once; one that is leased (4) becomes a loose step: see
-- work_join_settle. The caller holds the other messages and the heads, and has checked them
-- (work_hold, work_join_check). First, a line for each that was a step before: its place in the
-- caller's list, from 0; at: if not as here.
--     A <place>
CREATE OR REPLACE FUNCTION {p}work_join_add(
    _joins uuid[], _ids uuid[], _messages uuid[], _states smallint[], _t timestamptz, _at int[] = NULL) RETURNS text
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
    {pinned}
AS $$
DECLARE
    _wanted CONSTANT int := cardinality(array_remove(_joins, NULL));
    _of uuid[];
    _attached int[];
    _completed int[];
    _failed int[];
    _added bigint;
    _new text[]; -- the added ones, if not all
    _repeated text;
    _ended text;
BEGIN
    WITH added AS (
        INSERT INTO {p}join_member (created_at, join_id, work_id, message_id, status, loose)
        SELECT _t, u.join_id, u.id, u.message_id, CASE WHEN u.state IN (1, 2) THEN u.state END, CASE u.state WHEN 4 THEN floor(random() * 2147483647)::int END
        FROM unnest(_joins, _ids, _messages, _states) u(join_id, id, message_id, state) WHERE u.join_id IS NOT NULL
        ON CONFLICT DO NOTHING RETURNING join_id, message_id, status)
    SELECT array_agg(c.join_id), array_agg(c.attached), array_agg(c.completed), array_agg(c.failed), coalesce(sum(c.attached), 0),
           CASE WHEN coalesce(sum(c.attached), 0) < _wanted THEN (SELECT array_agg(a.join_id::text || a.message_id) FROM added a) END
    INTO _of, _attached, _completed, _failed, _added, _new FROM (
        SELECT a.join_id, count(*) AS attached, count(*) FILTER (WHERE a.status = 1) AS completed,
               count(*) FILTER (WHERE a.status = 2) AS failed FROM added a GROUP BY a.join_id) c;
    IF _added < _wanted THEN
        SELECT string_agg('A ' || (coalesce(_at[x.i], x.i - 1)), E'\n' ORDER BY x.i) INTO _repeated
        FROM (SELECT u.join_id::text || u.message_id AS step, u.i,
                     row_number() OVER (PARTITION BY u.join_id, u.message_id ORDER BY u.i) AS k
              FROM unnest(_joins, _messages) WITH ORDINALITY u(join_id, message_id, i) WHERE u.join_id IS NOT NULL OFFSET 0) x
        WHERE x.k > 1 OR (x.step IN (SELECT unnest(_new))) IS NOT TRUE;
    END IF;
    IF _of IS NOT NULL THEN
        _ended := {p}work_join_tally(_of, _attached, _completed, _failed, _t);
    END IF;
    RETURN nullif(concat_ws(E'\n', _repeated, _ended), '');
END
$$;
