-- receptors: one row per message and receptor that has reported. Several messages can have
-- one message id: a dead one, and its retry.
CREATE OR REPLACE VIEW {p}receptors AS
SELECT r.message_id,
       r.name AS receptor,
       CASE WHEN r.completed THEN 'completed' ELSE 'failed' END AS status,
       r.attempts,
       r.error,
       r.first_at,
       r.last_at
FROM {p}receptor r;
