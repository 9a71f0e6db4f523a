-- receptors: one row per message and receptor that has reported. Several messages can have
-- one message id: a dead one, and its retry; work_id is that of the newest, the id in outbox
-- and inbox.
CREATE OR REPLACE VIEW {p}receptors AS
SELECT r.message_id,
       r.name AS receptor,
       CASE WHEN r.completed THEN 'completed' ELSE 'failed' END AS state,
       r.attempts,
       r.error,
       r.first_at,
       r.last_at,
       coalesce((SELECT m.id FROM {p}message m JOIN {p}queue q ON q.id = m.queue
                 WHERE m.message_id = r.message_id AND q.door IN (0, 1) ORDER BY m.id DESC LIMIT 1), r.message_id) AS work_id
FROM {p}receptor r;
