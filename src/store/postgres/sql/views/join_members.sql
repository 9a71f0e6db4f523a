-- join_members: one row per step of a join, with the status that it shows: its own if it has one,
-- else that of its message; pending, if it has ended and is still to be counted.
CREATE OR REPLACE VIEW {p}join_members AS
SELECT j.join_id,
       j.message_id,
       j.work_id,
       CASE w.code WHEN 0 THEN 'pending' WHEN 1 THEN 'completed' WHEN 2 THEN 'failed' END AS status,
       w.code AS status_code,
       j.created_at,
       m.topic -- null: the message was deleted
FROM {p}join_member j
LEFT JOIN {p}message m ON m.id = j.work_id
-- Each look-up stays whole (OFFSET 0), and is made only if the ones before found nothing.
LEFT JOIN LATERAL (
    SELECT x.id FROM {p}dead x WHERE j.status IS NULL AND j.loose IS NULL AND x.id = j.work_id
    OFFSET 0) x ON true
LEFT JOIN LATERAL (
    SELECT d.at FROM {p}done d
    WHERE j.status IS NULL AND j.loose IS NULL AND x.id IS NULL AND d.span @> {p}id_number(j.work_id) AND d.ids @> ARRAY[j.work_id]
    LIMIT 1) d ON true
LEFT JOIN LATERAL (
    SELECT u.work_id FROM {p}join_uncounted u
    WHERE (x.id IS NOT NULL OR d.at IS NOT NULL) AND u.join_id = j.join_id AND u.work_id = j.work_id
    OFFSET 0) u ON true
CROSS JOIN LATERAL (
    SELECT coalesce(j.status, CASE WHEN u.work_id IS NOT NULL THEN 0 WHEN x.id IS NOT NULL THEN 2 WHEN d.at IS NOT NULL THEN 1
                                   ELSE 0 END)::int AS code) w;
