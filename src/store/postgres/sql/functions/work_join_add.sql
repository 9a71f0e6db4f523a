-- work_join_add(joins, ids, messages, states, t) → what ended with it, or null: makes
-- messages steps, unless they are. Elements without a join are passed over. A message
-- whose state is done or dead (1, 2) is counted at once. The caller holds the messages
-- and the heads, and has checked them (work_hold, work_join_check).
CREATE OR REPLACE FUNCTION {p}work_join_add(
    _joins uuid[], _ids uuid[], _messages uuid[], _states smallint[], _t timestamptz) RETURNS text
    LANGUAGE plpgsql VOLATILE SET search_path = {schema}, pg_temp
    SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off SET enable_hashjoin = off
    SET enable_mergejoin = off SET enable_memoize = off SET jit = off SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    _of uuid[];
    _attached int[];
    _completed int[];
    _failed int[];
BEGIN
    WITH added AS (
        INSERT INTO {p}join_member (created_at, join_id, work_id, message_id, status)
        SELECT _t, u.join_id, u.id, u.message_id, nullif(u.state, 0)
        FROM unnest(_joins, _ids, _messages, _states) u(join_id, id, message_id, state) WHERE u.join_id IS NOT NULL
        ON CONFLICT DO NOTHING RETURNING join_id, status)
    SELECT array_agg(c.join_id), array_agg(c.attached), array_agg(c.completed), array_agg(c.failed)
    INTO _of, _attached, _completed, _failed FROM (
        SELECT a.join_id, count(*) AS attached, count(*) FILTER (WHERE a.status = 1) AS completed,
               count(*) FILTER (WHERE a.status = 2) AS failed FROM added a GROUP BY a.join_id) c;
    IF _of IS NULL THEN
        RETURN NULL;
    END IF;
    RETURN (SELECT t.joins FROM {p}work_join_tally(_of, _attached, _completed, _failed, _t, true) t);
END
$$;
