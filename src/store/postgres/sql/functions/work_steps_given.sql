-- work_steps_given(done, dead) → whether one of these messages, which have just ended, has become the
-- stay that counts of a step: several messages may have the id that a producer gave, and the
-- first of them that ends counts. Only for steps whose message id is not a work id.
--
-- Locks: the heads of the joins, SKIP LOCKED, for a moment (work_heads_get); in those that others
-- hold the step is put aside, as in work_count_found.
-- reports rises: a call that has looked at the steps before, without the lock, looks again
-- (work_count_found).
CREATE OR REPLACE FUNCTION {p}work_steps_given(_done uuid[], _dead uuid[]) RETURNS boolean
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
    {pinned}
AS $$
DECLARE
    _ids CONSTANT uuid[] := _done || _dead;
    _joins uuid[];
    _held uuid[];
BEGIN
    SELECT array_agg(DISTINCT m.join_id) INTO _joins
    FROM unnest(_ids) u(id)
    CROSS JOIN LATERAL (SELECT b.message_id FROM {p}message b WHERE b.id = u.id AND b.message_id IS NOT NULL OFFSET 0) b
    CROSS JOIN LATERAL (SELECT m.join_id FROM {p}join_member m
                        WHERE m.message_id = b.message_id AND m.message_id <> m.work_id AND m.status IS NULL
                          AND m.work_id <> u.id OFFSET 0) m;
    IF _joins IS NULL THEN
        RETURN false;
    END IF;
    _held := coalesce({p}work_heads_get(_joins), '{}');
    WITH found AS MATERIALIZED (
        SELECT DISTINCT ON (m.join_id, m.message_id) m.join_id, m.message_id, m.work_id AS other, u.id, u.status
        FROM (SELECT unnest(_done) AS id, 1 AS status UNION ALL SELECT unnest(_dead), 2) u
        CROSS JOIN LATERAL (SELECT b.message_id FROM {p}message b
                            WHERE b.id = u.id AND b.message_id IS NOT NULL OFFSET 0) b
        CROSS JOIN LATERAL (SELECT m.join_id, m.message_id, m.work_id FROM {p}join_member m
                            WHERE m.message_id = b.message_id AND m.message_id <> m.work_id AND m.status IS NULL
                              AND m.work_id <> ALL (_ids) OFFSET 0) m
        WHERE EXISTS (SELECT FROM {p}join_head h WHERE h.id = m.join_id AND h.status = 0)
        ORDER BY m.join_id, m.message_id, u.id),
    aside AS (
        INSERT INTO {p}join_uncounted (turn, status, join_id, work_id, message_id)
        SELECT {p}join_turn(f.join_id), f.status, f.join_id, f.id, f.message_id FROM found f WHERE f.join_id <> ALL (_held)),
    counting AS (
        UPDATE {p}join_member m SET work_id = f.id FROM found f
        WHERE m.join_id = f.join_id AND m.message_id = f.message_id AND f.join_id = ANY (_held)
          AND NOT EXISTS (SELECT FROM {p}dead x WHERE x.id = f.other)
          AND NOT EXISTS (SELECT FROM {p}done d WHERE d.span @> {p}id_number(f.other) AND d.ids @> ARRAY[f.other])
        RETURNING m.join_id)
    UPDATE {p}join_head h SET reports = h.reports + 1 WHERE h.id IN (SELECT c.join_id FROM counting c);
    RETURN FOUND;
END
$$;
