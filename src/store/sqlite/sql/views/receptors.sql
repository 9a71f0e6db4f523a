-- work_id is that of the newest message with the message id: the id in outbox and inbox.
CREATE VIEW {p}receptors AS
SELECT {uuid:r.message_id} AS message_id, r.name AS receptor,
       iif(r.completed, 'completed', 'failed') AS state, r.attempts, r.error,
       {time:r.first_at} AS first_at,
       {time:r.last_at} AS last_at,
       coalesce((SELECT {work_id:m} FROM {p}message m CROSS JOIN {p}queue q ON q.id = m.queue
                  WHERE m.message_id = r.message_id AND q.door IN (0, 1) ORDER BY m.id DESC LIMIT 1),
                {uuid:r.message_id}) AS work_id
  FROM {p}receptor r;
