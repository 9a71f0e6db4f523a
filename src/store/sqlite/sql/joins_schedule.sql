-- joins_schedule.sql - statements of joins, timers, jobs and their scheduler.

-- ----------------------------------------------------------------- joins

-- name: join_insert
INSERT INTO {p}join_head (salt, expected, created_at, updated_at, deadline, grouping_key, metadata)
VALUES (?1, ?2, ?3, ?3, ?4, ?5, ?6)

-- name: join_get
SELECT id, salt, expected, attached, completed, failed, status, updated_at
  FROM {p}join_head WHERE id = ?1

-- name: join_overdue
-- The first open join whose deadline has passed.
SELECT id, salt, expected, attached, completed, failed, status, updated_at
  FROM {p}join_head
 WHERE status = 0 AND deadline IS NOT NULL AND deadline <= ?1 ORDER BY deadline, id LIMIT 1

-- name: join_update
-- Touches no index.
UPDATE {p}join_head SET attached = ?2, completed = ?3, failed = ?4, updated_at = ?5 WHERE id = ?1

-- name: join_finish
UPDATE {p}join_head
   SET attached = ?2, completed = ?3, failed = ?4, updated_at = ?5, status = ?6, finished_at = ?5
 WHERE id = ?1

-- name: steps_between
-- Steps without a status of their own, by the numbers of their messages: all in the index.
SELECT message, join_id FROM {p}join_member
 WHERE status IS NULL AND message BETWEEN ?1 AND ?2 ORDER BY message

-- name: steps_keep
-- Steps of a join keep the status that they show as their own.
UPDATE {p}join_member AS m
   SET status = (SELECT s.status FROM {p}join_step s
                  WHERE s.join_id = m.join_id AND s.message_id = m.message_id)
 WHERE m.join_id = ?1 AND m.status IS NULL

-- name: steps_keep_message
-- The same for the steps that one message is.
UPDATE {p}join_member SET status = ?2 WHERE message = ?1 AND status IS NULL

-- name: member_status
SELECT status FROM {p}join_step WHERE join_id = ?1 AND message_id = ?2

-- name: member_insert
INSERT INTO {p}join_member (join_id, message_id, message, salt, n, status, created_at, given)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)

-- name: steps_given_any
SELECT 1 FROM {p}join_member WHERE given AND status IS NULL LIMIT 1

-- name: steps_given_take
-- A message has ended: it becomes the one that counts where another with its message id was to, and
-- has not ended.
UPDATE {p}join_member AS m
   SET message = ?1, salt = (SELECT b.salt FROM {p}message b WHERE b.id = ?1)
 WHERE m.message_id = (SELECT b.message_id FROM {p}message b WHERE b.id = ?1)
   AND m.given AND m.status IS NULL AND m.message <> ?1
   AND (SELECT h.status FROM {p}join_head h WHERE h.id = m.join_id) = 0
   AND NOT EXISTS (SELECT 1 FROM {p}dead x WHERE x.id = m.message)
   AND NOT EXISTS (SELECT 1 FROM {p}done d
                    WHERE d.hi BETWEEN m.message AND m.message + 1000 AND d.lo <= m.message
                      AND instr(d.ids, printf(',%012x', m.message)) > 0)

-- name: member_report
UPDATE {p}join_member SET status = ?3 WHERE join_id = ?1 AND message_id = ?2

-- name: members_get
-- The first ones: n has no gaps, so that no more than those are sorted.
SELECT message_id, id, salt, status, created_at, topic
  FROM {p}join_step WHERE join_id = ?1 AND n <= ?2 ORDER BY n

-- name: message_newest
-- Of the outbox, with a message id that was given.
SELECT m.id, m.salt FROM {p}message m
 WHERE m.message_id = ?1 AND (SELECT q.door FROM {p}queue q WHERE q.id = m.queue) = 0
 ORDER BY m.id DESC LIMIT 1

-- name: message_named
-- Is the work id the message id too?
SELECT 1 FROM {p}message WHERE id = ?1 AND salt = ?2 AND message_id IS NULL

-- name: message_acked
-- One that was acked and deleted, by its dedupe key.
SELECT d.id, d.salt FROM {p}dedupe d WHERE d.acked AND d.message_id = ?1
 UNION ALL
SELECT d.id, d.salt FROM {p}dedupe d
 WHERE d.acked AND d.message_id IS NULL AND d.id = ?2 AND d.salt = ?3

-- name: message_as_step
-- The status that a message shows as a step: 0 pending, 1 completed, 2 failed; 3: it is a wait, or
-- was one (no other message is done by the owner zero).
SELECT CASE WHEN EXISTS (SELECT 1 FROM {p}dead x WHERE x.id = ?1) THEN 2
            WHEN EXISTS (SELECT 1 FROM {p}join_wait w WHERE w.id = ?1) THEN 3
            ELSE coalesce((SELECT iif(d.owner = zeroblob(16), 3, 1) FROM {p}done d
                            WHERE d.hi BETWEEN ?1 AND ?1 + 1000 AND d.lo <= ?1
                              AND instr(d.ids, printf(',%012x', ?1)) > 0), 0) END

-- name: wait_body
SELECT join_wait_topic,
       json_object('join_id', ?2, 'fail_if_any_step_failed', json(iif(?3, 'true', 'false')),
                   'on_complete_topic', ?4, 'on_complete_payload', ?5,
                   'on_fail_topic', ?6, 'on_fail_payload', ?7)
  FROM {p}queue WHERE id = ?1

-- name: wait_insert
INSERT INTO {p}join_wait (id, join_id) VALUES (?1, ?2)

-- name: wait_next
-- The first wait for a join, with the messages that it may send.
SELECT w.id, m.salt, q.namespace, json_extract(m.payload, '$.fail_if_any_step_failed'),
       json_extract(m.payload, '$.on_complete_topic'),
       json_extract(m.payload, '$.on_complete_payload'),
       json_extract(m.payload, '$.on_fail_topic'), json_extract(m.payload, '$.on_fail_payload')
  FROM {p}join_wait w CROSS JOIN {p}message m ON m.id = w.id
 CROSS JOIN {p}queue q ON q.id = m.queue
 WHERE w.join_id = ?1 ORDER BY w.id LIMIT 1

-- name: wait_delete
DELETE FROM {p}join_wait WHERE id = ?1

-- name: join_info
SELECT j.id, j.salt, j.expected, j.attached, j.completed, j.failed, j.status, j.updated_at,
       j.created_at, j.deadline, j.finished_at, j.grouping_key, j.metadata,
       (SELECT count(*) FROM {p}join_wait w WHERE w.join_id = j.id)
  FROM {p}join_head j WHERE j.id = ?1

-- name: join_list_newest
SELECT j.id, j.salt, j.expected, j.attached, j.completed, j.failed, j.status, j.updated_at,
       j.created_at, j.deadline, j.finished_at, j.grouping_key, j.metadata,
       (SELECT count(*) FROM {p}join_wait w WHERE w.join_id = j.id)
  FROM {p}join_head j
 WHERE j.id < ?1 AND (?2 < 0 OR j.status = ?2)
 ORDER BY j.id DESC LIMIT ?3

-- name: join_list_oldest
SELECT j.id, j.salt, j.expected, j.attached, j.completed, j.failed, j.status, j.updated_at,
       j.created_at, j.deadline, j.finished_at, j.grouping_key, j.metadata,
       (SELECT count(*) FROM {p}join_wait w WHERE w.join_id = j.id)
  FROM {p}join_head j
 WHERE j.id > ?1 AND (?2 < 0 OR j.status = ?2)
 ORDER BY j.id LIMIT ?3

-- name: join_group_newest
SELECT j.id, j.salt, j.expected, j.attached, j.completed, j.failed, j.status, j.updated_at,
       j.created_at, j.deadline, j.finished_at, j.grouping_key, j.metadata,
       (SELECT count(*) FROM {p}join_wait w WHERE w.join_id = j.id)
  FROM {p}join_head j
 WHERE j.grouping_key = ?4 AND j.id < ?1 AND (?2 < 0 OR j.status = ?2)
 ORDER BY j.id DESC LIMIT ?3

-- name: join_group_oldest
SELECT j.id, j.salt, j.expected, j.attached, j.completed, j.failed, j.status, j.updated_at,
       j.created_at, j.deadline, j.finished_at, j.grouping_key, j.metadata,
       (SELECT count(*) FROM {p}join_wait w WHERE w.join_id = j.id)
  FROM {p}join_head j
 WHERE j.grouping_key = ?4 AND j.id > ?1 AND (?2 < 0 OR j.status = ?2)
 ORDER BY j.id LIMIT ?3

-- name: join_step_newest
-- Those of which a message is a step.
SELECT j.id, j.salt, j.expected, j.attached, j.completed, j.failed, j.status, j.updated_at,
       j.created_at, j.deadline, j.finished_at, j.grouping_key, j.metadata,
       (SELECT count(*) FROM {p}join_wait w WHERE w.join_id = j.id)
  FROM {p}join_head j
 WHERE j.id IN (SELECT m.join_id FROM {p}join_member m WHERE m.message_id = ?5)
   AND j.id < ?1 AND (?2 < 0 OR j.status = ?2) AND (?4 IS NULL OR j.grouping_key = ?4)
 ORDER BY j.id DESC LIMIT ?3

-- name: join_step_oldest
-- Those of which a message is a step.
SELECT j.id, j.salt, j.expected, j.attached, j.completed, j.failed, j.status, j.updated_at,
       j.created_at, j.deadline, j.finished_at, j.grouping_key, j.metadata,
       (SELECT count(*) FROM {p}join_wait w WHERE w.join_id = j.id)
  FROM {p}join_head j
 WHERE j.id IN (SELECT m.join_id FROM {p}join_member m WHERE m.message_id = ?5)
   AND j.id > ?1 AND (?2 < 0 OR j.status = ?2) AND (?4 IS NULL OR j.grouping_key = ?4)
 ORDER BY j.id LIMIT ?3

-- ----------------------------------------------- timers, jobs, scheduler

-- name: pending_of
-- A message in pending, through its whole key.
SELECT p.queue, p.level, p.due
  FROM {p}message m
 CROSS JOIN {p}pending p
    ON p.queue = m.queue AND p.level = m.level AND p.line = 0 AND p.id = m.id
   AND p.due = coalesce((SELECT a.next_due FROM {p}attempt_log a
                          WHERE a.message = m.id ORDER BY a.n DESC LIMIT 1),
                        max(coalesce(m.due_at, m.created_at), m.created_at))
 WHERE m.id = ?1 AND m.salt = ?2

-- name: job_update
-- A change of anything but cron and timezone leaves the next instant as it is. With another
-- expression it is computed anew from now on; instants that were due by now, and that no scheduler
-- has made yet, are still owed. If an earlier change still owes, its old expression is taken to
-- have held until now. A job with a problem has nothing due. (Every expression here sees the row as
-- it was.)
UPDATE {p}job
   SET namespace = ?2, topic = ?3, payload = ?4, cron = ?5, timezone = ?6, misfire = ?7,
       misfire_limit = ?8, overlap = ?9, updated_at = ?10, problem = NULL,
       generation = generation + 1,
       anchor_at = iif(cron = ?5 AND timezone = ?6, anchor_at, ?10),
       next_at = iif(cron = ?5 AND timezone = ?6, next_at, NULL),
       owed_cron = iif(owed_from IS NULL, cron, owed_cron),
       owed_timezone = iif(owed_from IS NULL, timezone, owed_timezone),
       owed_from = CASE WHEN owed_from IS NOT NULL THEN owed_from
                        WHEN cron = ?5 AND timezone = ?6 THEN NULL
                        WHEN paused OR problem IS NOT NULL OR next_at > ?10 THEN NULL
                        ELSE coalesce(next_at, anchor_at + 1) END
 WHERE name = ?1

-- name: job_same
-- 1 if there is such a job, and it is just so and has no problem; 0 if there is one.
SELECT (namespace, topic, cron, timezone) = (?2, ?3, ?5, ?6) AND payload IS ?4
   AND (misfire, misfire_limit, overlap) = (?7, ?8, ?9) AND problem IS NULL
  FROM {p}job WHERE name = ?1

-- name: job_insert
-- The first generation is a random number: a scheduler that saw a job since deleted never takes a
-- new one of the same name for it.
INSERT INTO {p}job (name, namespace, topic, payload, cron, timezone, misfire, misfire_limit,
                    overlap, updated_at, created_at, anchor_at, generation)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?10, ?10, random() & 4611686018427387903)

-- name: job_get
SELECT name, namespace, topic, payload, cron, timezone, misfire, misfire_limit, overlap, paused,
       problem, next_at, last_at, last_run, skipped, created_at, updated_at, generation
  FROM {p}job WHERE name = ?1

-- name: job_list
SELECT name, namespace, topic, payload, cron, timezone, misfire, misfire_limit, overlap, paused,
       problem, next_at, last_at, last_run, skipped, created_at, updated_at, generation
  FROM {p}job WHERE name > ?1 AND (?2 IS NULL OR namespace = ?2) ORDER BY name LIMIT ?3

-- name: job_pause
UPDATE {p}job SET paused = 1, generation = generation + 1 WHERE name = ?1

-- name: job_resume
UPDATE {p}job
   SET paused = 0, problem = NULL, anchor_at = ?2, next_at = NULL, owed_from = NULL,
       generation = generation + 1
 WHERE name = ?1 AND (paused OR problem IS NOT NULL)

-- name: job_delete
DELETE FROM {p}job WHERE name = ?1 RETURNING 1

-- name: job_pending_runs
-- From pending on, where few wait, and not from the job on, which may have had many runs.
SELECT p.queue, p.level, p.due, p.id
  FROM {p}queue q
 CROSS JOIN {p}pending p ON p.queue = q.id
 CROSS JOIN {p}job_run r ON r.id = p.id
 WHERE q.door = 3 AND r.job = ?1

-- name: job_ran
UPDATE {p}job SET last_at = ?2, last_run = ?3 WHERE name = ?1

-- name: job_run_headers
SELECT printf('{"job": %s, "scheduled_at": "%s"}', json_quote(?1), {time:?2})

-- name: job_run_insert
INSERT INTO {p}job_run (id, job, scheduled_at, triggered, maybe_open) VALUES (?1, ?2, ?3, ?4, 1)

-- name: job_run_exists
SELECT 1 FROM {p}job_run WHERE job = ?1 AND scheduled_at = ?2 AND NOT triggered

-- name: job_run_open
-- Runs that may not have ended, the newest first: most likely it is that one.
SELECT r.id, m.salt
  FROM {p}job_run r CROSS JOIN {p}message m ON m.id = r.id
 WHERE r.job = ?1 AND r.maybe_open
 ORDER BY r.id DESC LIMIT 1

-- name: job_run_mark
UPDATE {p}job_run SET maybe_open = ?2 WHERE id = ?1

-- name: job_run_message
-- The newest stay of a message, by the id that it was given.
SELECT id FROM {p}message WHERE message_id = ?1 ORDER BY id DESC LIMIT 1

-- name: message_status
SELECT status FROM {p}message_state WHERE id = ?1

-- name: tick_first
-- The earliest time after ?2 at which something behind a door is due. One look per queue: a
-- minimum over all of them would walk through everything that is scheduled.
SELECT min((SELECT p.due FROM {p}pending p
             WHERE p.queue = q.id AND p.level = 1 AND p.line = 0 AND p.due > ?2
             ORDER BY p.due LIMIT 1))
  FROM {p}queue q WHERE q.door = ?1 AND NOT q.paused

-- name: tick_queues
-- Where something is due: the queue that has waited longest comes first.
SELECT q.id, q.namespace, (SELECT p.due FROM {p}pending p
                            WHERE p.queue = q.id AND p.level = 1 AND p.line = 0 AND p.due <= ?2
                            ORDER BY p.due LIMIT 1) AS first
  FROM {p}queue q WHERE q.door = ?1 AND NOT q.paused AND first IS NOT NULL
 ORDER BY first, q.id

-- name: tick_walk
SELECT p.due, p.id, m.salt, m.topic, m.correlation_id, m.headers, m.payload
  FROM {p}pending p CROSS JOIN {p}message m ON m.id = p.id
 WHERE p.queue = ?1 AND p.level = 1 AND p.line = 0 AND p.due <= ?2
 ORDER BY p.due, p.id

-- name: tick_jobs
-- Those whose next instant is not known come first.
SELECT name, cron, timezone, generation, next_at, anchor_at, misfire, misfire_limit, owed_from,
       owed_cron, owed_timezone
  FROM {p}job
 WHERE NOT paused AND problem IS NULL AND coalesce(next_at, 0) <= ?1
 ORDER BY coalesce(next_at, 0), name LIMIT ?2

-- name: tick_next_job
SELECT next_at FROM {p}job
 WHERE NOT paused AND problem IS NULL AND coalesce(next_at, 0) > ?1
 ORDER BY coalesce(next_at, 0) LIMIT 1

-- name: tick_next_deadline
SELECT deadline FROM {p}join_head
 WHERE status = 0 AND deadline IS NOT NULL AND deadline > ?1 ORDER BY deadline LIMIT 1

-- name: job_problem
UPDATE {p}job SET problem = ?2 WHERE name = ?1

-- name: job_advance
UPDATE {p}job SET next_at = ?2, skipped = skipped + ?3, owed_from = NULL WHERE name = ?1
