-- work_join_check(joins, messages, states) → the first message that cannot become a
-- step of its join (at, from 1) and why (enum ph__join_problem); nulls if all can.
-- Elements without a join are passed over. states: of work_hold; null: live.
--
-- Locks: the heads, in order of id; work_join_add relies on that.
CREATE OR REPLACE FUNCTION {p}work_join_check(
    _joins uuid[], _messages uuid[], _states smallint[], OUT problem smallint, OUT at int)
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
    {pinned}
AS $$
BEGIN
    PERFORM FROM {p}join_head h WHERE h.id = ANY (_joins) ORDER BY h.id FOR UPDATE;
    -- The usual case, at the least cost: every join is open and has room for all.
    IF NOT EXISTS (
        SELECT FROM (SELECT u.join_id, count(*) AS n, bool_or(u.state IN (-1, 3)) AS bad
                     FROM unnest(_joins, _states) u(join_id, state) WHERE u.join_id IS NOT NULL GROUP BY u.join_id OFFSET 0) c
        LEFT JOIN LATERAL (SELECT h.expected - h.attached AS room FROM {p}join_head h
                           WHERE h.id = c.join_id AND h.status = 0 OFFSET 0) h ON true
        WHERE c.bad OR h.room IS NULL OR h.room < c.n) THEN
        RETURN;
    END IF;
    SELECT c.problem, s.i INTO problem, at
    FROM (SELECT n.*, row_number() OVER (PARTITION BY n.join_id ORDER BY n.i) AS k FROM (
              SELECT DISTINCT ON (u.join_id, u.message_id) u.*
              FROM unnest(_joins, _messages, _states) WITH ORDINALITY u(join_id, message_id, state, i)
              WHERE u.join_id IS NOT NULL
                AND NOT EXISTS (SELECT FROM {p}join_member m WHERE m.join_id = u.join_id AND m.message_id = u.message_id)
              ORDER BY u.join_id, u.message_id, u.i) n) s
    LEFT JOIN LATERAL (SELECT * FROM {p}join_head h WHERE h.id = s.join_id OFFSET 0) h ON true
    CROSS JOIN LATERAL (
        SELECT CASE WHEN h.id IS NULL THEN 1
                    WHEN s.state = -1 THEN 2
                    WHEN s.state = 3 THEN 6
                    WHEN h.status = 3 OR (h.status = 2 AND h.completed + h.failed < h.expected) THEN 3
                    WHEN s.k > h.expected - h.attached THEN 4 END AS problem) c
    WHERE c.problem IS NOT NULL ORDER BY s.i LIMIT 1;
END
$$;
