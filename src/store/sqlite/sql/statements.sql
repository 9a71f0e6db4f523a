-- statements.sql - the statements of the library, by name: those of messages and queues. Parameters
-- are numbered in the order in which the C code binds them.

-- name: begin_read
BEGIN

-- name: begin_write
BEGIN IMMEDIATE

-- name: commit
COMMIT

-- name: rollback
ROLLBACK

-- name: savepoint
-- In the caller's transaction a savepoint makes one call all or nothing.
SAVEPOINT "{prefix}call"

-- name: savepoint_undo
ROLLBACK TO "{prefix}call"

-- name: savepoint_release
RELEASE "{prefix}call"

-- name: lock
-- Takes the write lock and changes nothing: the first statement of a writing
-- call in the caller's transaction, so that a lock can still be waited for.
UPDATE {p}store SET version = version WHERE false

-- name: store_get
SELECT store_id, version, serves_from, clock_us FROM {p}store WHERE one = 1

-- name: clock_set
UPDATE {p}store SET clock_us = ?1

-- name: schema_version
-- Changes with every change of the schema.
PRAGMA main.schema_version

-- name: schema_objects
SELECT type, name, tbl_name, sql FROM main.sqlite_schema WHERE sql IS NOT NULL

-- name: index_is_plain
-- Not unique, without a condition, and on nothing but columns?
SELECT NOT l."unique" AND NOT l.partial
       AND NOT EXISTS (SELECT 1 FROM pragma_index_xinfo(?1, 'main') x WHERE x.cid = -2)
  FROM pragma_index_list(?2, 'main') l WHERE l.name = ?1

-- name: temp_any
-- Has a handler left tables, views or triggers of its own on the connection?
SELECT 1 FROM sqlite_temp_schema LIMIT 1

-- name: data_version
-- Changes when another connection has committed.
PRAGMA data_version

-- name: journal_mode
PRAGMA journal_mode

-- name: synchronous
PRAGMA synchronous

-- name: quick_check
PRAGMA quick_check(5)

-- ---------------------------------------------------------------- queues

-- name: queue_by_name
SELECT id, paused, max_attempts, backoff, backoff_base_ms, backoff_max_ms, max_payload_bytes,
       max_lease_s, delete_on_ack, dead_head, affinity_grace_ms, has_streams, by_topic
  FROM {p}queue WHERE door = ?1 AND namespace = ?2

-- name: queue_by_id
SELECT id, paused, max_attempts, backoff, backoff_base_ms, backoff_max_ms, max_payload_bytes,
       max_lease_s, delete_on_ack, dead_head, affinity_grace_ms, has_streams, by_topic
  FROM {p}queue WHERE id = ?1

-- name: queue_insert
-- An inbox keeps its dedupe keys for ever.
INSERT INTO {p}queue (door, namespace, dedupe_retention_s)
VALUES (?1, ?2, iif(?1 = 1, -1, 604800))

-- name: queue_has_streams
UPDATE {p}queue SET has_streams = 1 WHERE id = ?1

-- name: queue_by_topic
UPDATE {p}queue SET by_topic = ?2 WHERE id = ?1

-- name: turn_begin
-- How far a queue has come on its way into the index of topics: the key of a row of pending.
SELECT turned_level, turned_line, turned_due, turned_id FROM {p}queue WHERE id = ?1

-- name: turn_end
-- The last row of the next portion.
SELECT level, line, due, id FROM {p}pending
 WHERE queue = ?1 AND (level, line, due, id) > (?2, ?3, ?4, ?5)
 ORDER BY level, line, due, id LIMIT 1 OFFSET ?6 - 1

-- name: turn_rows
-- Those of a portion that were put there before claims of their queue named topics.
UPDATE {p}pending SET topic = ~topic
 WHERE queue = ?1 AND (level, line, due, id) > (?2, ?3, ?4, ?5)
   AND (level, line, due, id) <= (?6, ?7, ?8, ?9) AND topic < 0

-- name: turn_up_to
UPDATE {p}queue SET turned_level = ?2, turned_line = ?3, turned_due = ?4, turned_id = ?5
 WHERE id = ?1

-- name: queue_update
-- A policy other than the present one brings its own defaults. 0: leave as it is.
UPDATE {p}queue
   SET max_attempts = iif(?2 <> 0, ?2, max_attempts),
       backoff = iif(?3 <> 0, ?3, backoff),
       backoff_base_ms = CASE WHEN ?4 <> 0 THEN ?4
                              WHEN ?3 NOT IN (0, backoff) THEN 1000
                              ELSE backoff_base_ms END,
       backoff_max_ms = CASE WHEN ?5 <> 0 THEN ?5
                             WHEN ?3 NOT IN (0, backoff) THEN iif(?3 = 2, 300000, 60000)
                             ELSE backoff_max_ms END,
       retention_s = iif(?6 <> 0, ?6, retention_s),
       dead_retention_s = iif(?7 <> 0, ?7, dead_retention_s),
       dedupe_retention_s = iif(?8 <> 0, ?8, dedupe_retention_s),
       max_payload_bytes = iif(?9 <> 0, ?9, max_payload_bytes),
       max_lease_s = iif(?10 <> 0, ?10, max_lease_s),
       delete_on_ack = iif(?11 <> 0, ?11 > 0, delete_on_ack),
       join_wait_topic = coalesce(?12, join_wait_topic),
       dead_head = iif(?13 <> 0, ?13, dead_head),
       affinity_grace_ms = iif(?14 <> 0, ?14, affinity_grace_ms)
 WHERE id = ?1

-- name: queue_pause
UPDATE {p}queue SET paused = ?2 WHERE id = ?1

-- name: queue_contents
-- Beside the messages that ph__count_within counts. A done row has ',%012x' per message.
SELECT (SELECT coalesce(sum(length(ids) / 13), 0) FROM {p}done WHERE queue = ?1)
           + (SELECT count(*) FROM {p}dead WHERE queue = ?1),
       (SELECT count(*) FROM {p}dedupe WHERE queue = ?1),
       (SELECT count(*) FROM {p}stream WHERE queue = ?1)

-- name: queue_coming
-- What will come into a queue by itself: timers and job runs into the outbox, runs of jobs.
SELECT (SELECT count(*) FROM {p}queue q CROSS JOIN {p}pending p ON p.queue = q.id
         WHERE ?1 = 0 AND q.door IN (2, 3) AND q.namespace = ?2),
       (SELECT count(*) FROM {p}job WHERE ?1 IN (0, 3) AND namespace = ?2)

-- name: queue_delete
DELETE FROM {p}queue WHERE id = ?1

-- --------------------------------------------------------------- enqueue

-- name: message_insert
INSERT INTO {p}message (salt, queue, level, topic, message_id, tenant_id, dedupe_key,
                        correlation_id, headers, created_at, due_at, expires_at, max_attempts,
                        payload)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)

-- name: message_insert_more
-- The same with a stream or a source.
INSERT INTO {p}message (salt, queue, level, topic, message_id, tenant_id, dedupe_key,
                        correlation_id, headers, created_at, due_at, expires_at, max_attempts,
                        payload, stream, seq, source)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)

-- name: pending_insert
INSERT INTO {p}pending (queue, level, due, id, attempts, lost, topic)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)

-- name: pending_insert_head
-- The token of a stream.
INSERT INTO {p}pending (queue, level, due, id, attempts, lost, topic, stream)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)

-- name: dedupe_get
SELECT id, salt, message_id FROM {p}dedupe WHERE queue = ?1 AND topic = ?2 AND key = ?3

-- name: dedupe_insert
INSERT INTO {p}dedupe (queue, topic, key, id, salt, message_id, created_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)

-- ----------------------------------------------------------------- claim

-- name: claim_look
-- The due rows of one level, without the bodies. One level at a time (equality): an order over
-- (level, due) would wade through all scheduled rows of the better levels.
SELECT due, id, topic
  FROM {p}pending
 WHERE queue = ?1 AND level = ?2 AND line = 0 AND due <= ?3
 ORDER BY due, id

-- name: claim_topic
-- Due rows of one level with one topic, behind a row, from the index of topics. (topic >= 0: SQLite
-- must see that the index has them.)
SELECT due, id, NULL
  FROM {p}pending INDEXED BY "{prefix}pending_topic"
 WHERE queue = ?1 AND level = ?2 AND line = 0 AND topic = ?3 AND topic >= 0 AND due <= ?4
   AND (due, id) > (?5, ?6)
 ORDER BY due, id LIMIT ?7

-- name: claim_one
SELECT p.due, p.id, p.attempts, p.lost, m.salt, m.topic, m.message_id, m.tenant_id, m.dedupe_key,
       m.correlation_id, m.headers, m.created_at, m.expires_at, m.max_attempts, m.payload,
       m.due_at
  FROM {p}pending p CROSS JOIN {p}message m ON m.id = p.id
 WHERE p.queue = ?1 AND p.level = ?2 AND p.line = 0 AND p.due = ?3 AND p.id = ?4

-- name: claim_walk
-- The same for all that are due.
SELECT p.due, p.id, p.attempts, p.lost, m.salt, m.topic, m.message_id, m.tenant_id, m.dedupe_key,
       m.correlation_id, m.headers, m.created_at, m.expires_at, m.max_attempts, m.payload,
       m.due_at
  FROM {p}pending p CROSS JOIN {p}message m ON m.id = p.id
 WHERE p.queue = ?1 AND p.level = ?2 AND p.line = 0 AND p.due <= ?3
 ORDER BY p.due, p.id

-- name: claim_look_more
-- The three above for queues with streams or sources.
SELECT due, id, topic, stream
  FROM {p}pending
 WHERE queue = ?1 AND level = ?2 AND line = 0 AND due <= ?3
 ORDER BY due, id

-- name: claim_topic_more
SELECT due, id, stream
  FROM {p}pending INDEXED BY "{prefix}pending_topic"
 WHERE queue = ?1 AND level = ?2 AND line = 0 AND topic = ?3 AND topic >= 0 AND due <= ?4
   AND (due, id) > (?5, ?6)
 ORDER BY due, id LIMIT ?7

-- name: claim_one_more
SELECT p.due, p.id, p.attempts, p.lost, m.salt, m.topic, m.message_id, m.tenant_id, m.dedupe_key,
       m.correlation_id, m.headers, m.created_at, m.expires_at, m.max_attempts, m.payload,
       m.due_at, p.stream, m.seq, m.source
  FROM {p}pending p CROSS JOIN {p}message m ON m.id = p.id
 WHERE p.queue = ?1 AND p.level = ?2 AND p.line = 0 AND p.due = ?3 AND p.id = ?4

-- name: claim_walk_more
SELECT p.due, p.id, p.attempts, p.lost, m.salt, m.topic, m.message_id, m.tenant_id, m.dedupe_key,
       m.correlation_id, m.headers, m.created_at, m.expires_at, m.max_attempts, m.payload,
       m.due_at, p.stream, m.seq, m.source
  FROM {p}pending p CROSS JOIN {p}message m ON m.id = p.id
 WHERE p.queue = ?1 AND p.level = ?2 AND p.line = 0 AND p.due <= ?3
 ORDER BY p.due, p.id

-- name: claim_follow
-- The next messages of a stream, as if they were in pending.
SELECT max(coalesce(due_at, created_at), created_at), id, 0, 0, salt, topic, message_id, tenant_id,
       dedupe_key, correlation_id, headers, created_at, expires_at, max_attempts, payload,
       due_at, stream, seq, source, level
  FROM {p}message
 WHERE stream = ?1 AND seq > ?2
 ORDER BY seq

-- name: fence_last
SELECT seq FROM main.sqlite_sequence WHERE name = '{prefix}lease'

-- name: pending_delete
DELETE FROM {p}pending WHERE queue = ?1 AND level = ?2 AND line = 0 AND due = ?3 AND id = ?4

-- name: pending_delete_up_to
DELETE FROM {p}pending WHERE queue = ?1 AND level = ?2 AND line = 0 AND (due, id) <= (?3, ?4)

-- name: attempt_facts
SELECT (SELECT count(*) FROM {p}attempt_log WHERE message = ?1 AND kind = 1),
       (SELECT error FROM {p}attempt_log WHERE message = ?1 AND kind IN (1, 2)
         ORDER BY n DESC LIMIT 1)

-- name: lease_insert
INSERT INTO {p}lease (owner, queue, claimed_at, until, lost, open, lo, hi, attempts, ids, runs)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)

-- ---------------------------------------------------- settle, renew, reap

-- name: lease_by_fence
SELECT fence, owner, queue, claimed_at, until, lost, open, settled, attempts, ids, runs
  FROM {p}lease WHERE fence = ?1 AND owner = ?2

-- name: lease_by_owner
SELECT fence, owner, queue, claimed_at, until, lost, open, settled, attempts, ids, runs
  FROM {p}lease WHERE owner = ?1 ORDER BY fence

-- name: outlook
-- When the next message of a namespace comes due, a lease runs out or a join is overdue; and is any
-- of that so already? ?3: the doors that are asked about, a bit each.
-- CROSS: each queue and level has a range of the key.
SELECT min(at), max(due)
  FROM (SELECT (SELECT p.due FROM {p}pending p
                 WHERE p.queue = q.id AND p.level = l.value AND p.line = 0 AND p.due > ?1
                 ORDER BY p.due LIMIT 1) AS at,
               EXISTS (SELECT 1 FROM {p}pending p
                        WHERE p.queue = q.id AND p.level = l.value AND p.line = 0
                          AND p.due <= ?1) AS due
          FROM (SELECT 0 AS value UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3) l
         CROSS JOIN {p}queue q
         WHERE q.door IN (0, 1) AND (?3 >> q.door) & 1 AND q.namespace = ?2 AND q.paused = 0
        UNION ALL
        SELECT (SELECT until FROM {p}lease l
                 WHERE until >= ?1
                   AND (?3 >> (SELECT door FROM {p}queue q WHERE q.id = l.queue)) & 1
                 ORDER BY until LIMIT 1),
               EXISTS (SELECT 1 FROM {p}lease l
                        WHERE until < ?1
                          AND (?3 >> (SELECT door FROM {p}queue q WHERE q.id = l.queue)) & 1)
        UNION ALL
        SELECT (SELECT deadline FROM {p}join_head
                 WHERE status = 0 AND deadline > ?1 AND ?3 & 1 ORDER BY deadline LIMIT 1),
               EXISTS (SELECT 1 FROM {p}join_head
                        WHERE status = 0 AND deadline <= ?1 AND ?3 & 1))

-- name: lease_expired
-- The first one. A subquery, not a join, so that the index on until gives the order.
SELECT fence, owner, queue, claimed_at, until, lost, open, settled, attempts, ids, runs
  FROM {p}lease l
 WHERE until < ?1 AND (SELECT door FROM {p}queue q WHERE q.id = l.queue) = ?2
 ORDER BY until, fence LIMIT 1

-- name: lease_of_owner
-- The first one.
SELECT fence, owner, queue, claimed_at, until, lost, open, settled, attempts, ids, runs
  FROM {p}lease WHERE owner = ?1 ORDER BY fence LIMIT 1

-- name: lease_settle
UPDATE {p}lease SET open = ?2, settled = ?3 WHERE fence = ?1

-- name: lease_renew
UPDATE {p}lease SET until = ?2 WHERE fence = ?1

-- name: lease_delete
DELETE FROM {p}lease WHERE fence = ?1

-- name: message_facts
SELECT salt, level, max_attempts, topic FROM {p}message WHERE id = ?1

-- name: done_insert
INSERT INTO {p}done (queue, owner, at, lo, hi, ids, fence)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, nullif(?7, 0))

-- name: done_by_owner
SELECT 1 FROM {p}done
 WHERE hi BETWEEN ?1 AND ?1 + 1000 AND lo <= ?1 AND instr(ids, printf(',%012x', ?1)) > 0
   AND owner = ?2 AND (?3 = 0 OR fence = ?3)

-- name: attempt_log_insert
INSERT INTO {p}attempt_log (message, attempt, kind, error, at, owner, next_due)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)

-- name: retry_count
SELECT count(*) FROM {p}attempt_log WHERE message = ?1 AND kind = 1

-- name: dead_insert
INSERT INTO {p}dead (id, queue, reason, died_at, owner) VALUES (?1, ?2, ?3, ?4, ?5)

-- --------------------------------------------- deleting a message for good

-- name: dedupe_gone
-- Of the messages from one number to another.
UPDATE {p}dedupe AS d SET gone = 1, acked = ?3 AND m.source IS NULL
  FROM {p}message m
 WHERE m.id BETWEEN ?1 AND ?2 AND m.dedupe_key IS NOT NULL AND d.queue = m.queue
   AND d.topic = coalesce(m.source, m.topic) AND d.key = m.dedupe_key AND d.id = m.id

-- name: attempt_log_delete
DELETE FROM {p}attempt_log WHERE message BETWEEN ?1 AND ?2

-- name: job_run_delete
DELETE FROM {p}job_run WHERE id BETWEEN ?1 AND ?2

-- name: message_delete
DELETE FROM {p}message WHERE id BETWEEN ?1 AND ?2

-- name: belongings_any
-- Are there streams, receptors, dedupe keys, histories or job runs that messages could have?
SELECT EXISTS (SELECT 1 FROM {p}stream), EXISTS (SELECT 1 FROM {p}receptor),
       EXISTS (SELECT 1 FROM {p}dedupe), EXISTS (SELECT 1 FROM {p}attempt_log),
       EXISTS (SELECT 1 FROM {p}job_run)

-- name: message_belongs
SELECT stream, seq, message_id, salt FROM {p}message WHERE id = ?1

-- name: receptors_delete
-- With the last message that has this id, be it given (?1) or the work id (?2, ?3).
DELETE FROM {p}receptor
 WHERE message_id = ?1
   AND NOT EXISTS (SELECT 1 FROM {p}message m WHERE m.message_id = ?1)
   AND NOT EXISTS (SELECT 1 FROM {p}message m
                    WHERE m.id = ?2 AND m.salt = ?3 AND m.message_id IS NULL)

-- ------------------------------------------------------- look and operate

-- name: state_get
SELECT salt, door, namespace, level, topic, payload, message_id, tenant_id, dedupe_key,
       correlation_id, headers, created_at, due_at, expires_at, max_attempts, status, attempts,
       retry_count, last_error, next_due, fence, locked_until,
       coalesce(lease_owner, done_owner, dead_owner), done_at, updated_at,
       reason, retried_as, waits_for, stream, seq, source,
       coalesce(due_at, created_at)
  FROM {p}message_state s WHERE id = ?1

-- name: attempt_log_get
SELECT attempt, kind, error, at, owner, next_due
  FROM {p}attempt_log WHERE message = ?1 ORDER BY n

-- name: count_pending
-- A stream that a dead head blocks is not a message.
SELECT coalesce(sum(due <= ?3), 0), coalesce(sum(due > ?3), 0), min(due)
  FROM {p}pending
 WHERE due < 9223372036854775807
   AND queue IN (SELECT id FROM {p}queue WHERE door = ?1 AND (?2 IS NULL OR namespace = ?2))

-- name: count_lease
SELECT coalesce(sum(open), 0), coalesce(sum(iif(until < ?3, open, 0)), 0)
  FROM {p}lease
 WHERE queue IN (SELECT id FROM {p}queue WHERE door = ?1 AND (?2 IS NULL OR namespace = ?2))

-- name: count_dead
SELECT count(*)
  FROM {p}dead
 WHERE retried_as IS NULL
   AND queue IN (SELECT id FROM {p}queue WHERE door = ?1 AND (?2 IS NULL OR namespace = ?2))

-- name: count_waiting
SELECT count(*)
  FROM {p}join_wait w CROSS JOIN {p}message m ON m.id = w.id
 WHERE m.queue IN (SELECT id FROM {p}queue WHERE door = ?1 AND (?2 IS NULL OR namespace = ?2))

-- name: queue_list
SELECT namespace, paused, max_attempts, backoff, backoff_base_ms, backoff_max_ms, retention_s,
       dead_retention_s, dedupe_retention_s, max_payload_bytes, max_lease_s, delete_on_ack,
       join_wait_topic, dead_head, affinity_grace_ms
  FROM {p}queue WHERE door = ?1 AND (?2 IS NULL OR namespace = ?2) ORDER BY namespace

-- name: list_all_newest
-- Lists are walked by number; +queue keeps an index on the queue from being
-- preferred, which would have to be sorted.
SELECT id FROM {p}message
 WHERE id < ?3 AND (?4 IS NULL OR topic = ?4)
   AND +queue IN (SELECT id FROM {p}queue WHERE door = ?1 AND (?2 IS NULL OR namespace = ?2))
 ORDER BY id DESC LIMIT ?5

-- name: list_all_oldest
SELECT id FROM {p}message
 WHERE id > ?3 AND (?4 IS NULL OR topic = ?4)
   AND +queue IN (SELECT id FROM {p}queue WHERE door = ?1 AND (?2 IS NULL OR namespace = ?2))
 ORDER BY id LIMIT ?5

-- name: list_pending
-- Not in the order of claiming, hence sorted: SQLite keeps no more than the limit.
-- ?4: those that are due, or those that are not; ?5: 1 ascending, -1 descending.
SELECT id FROM {p}pending
 WHERE (due <= ?3) = ?4 AND due < 9223372036854775807 AND id * ?5 > ?6
   AND (?7 IS NULL OR topic IN (?7, ~?7))
   AND queue IN (SELECT id FROM {p}queue WHERE door = ?1 AND (?2 IS NULL OR namespace = ?2))
 ORDER BY id * ?5 LIMIT ?8

-- name: list_lease
SELECT fence, owner, queue, claimed_at, until, lost, open, settled, attempts, ids, runs
  FROM {p}lease
 WHERE queue IN (SELECT id FROM {p}queue WHERE door = ?1 AND (?2 IS NULL OR namespace = ?2))

-- name: list_done_newest
SELECT hi, ids FROM {p}done
 WHERE hi < ?3
   AND +queue IN (SELECT id FROM {p}queue WHERE door = ?1 AND (?2 IS NULL OR namespace = ?2))
 ORDER BY hi DESC

-- name: list_done_oldest
SELECT hi, ids FROM {p}done
 WHERE hi > ?3
   AND +queue IN (SELECT id FROM {p}queue WHERE door = ?1 AND (?2 IS NULL OR namespace = ?2))
 ORDER BY hi

-- name: list_dead_newest
SELECT x.id FROM {p}dead x
 WHERE x.id < ?3 AND x.retried_as IS NULL
   AND (?4 IS NULL OR ?4 = (SELECT m.topic FROM {p}message m WHERE m.id = x.id))
   AND +queue IN (SELECT id FROM {p}queue WHERE door = ?1 AND (?2 IS NULL OR namespace = ?2))
 ORDER BY x.id DESC LIMIT ?5

-- name: list_dead_oldest
SELECT x.id FROM {p}dead x
 WHERE x.id > ?3 AND x.retried_as IS NULL
   AND (?4 IS NULL OR ?4 = (SELECT m.topic FROM {p}message m WHERE m.id = x.id))
   AND +queue IN (SELECT id FROM {p}queue WHERE door = ?1 AND (?2 IS NULL OR namespace = ?2))
 ORDER BY x.id LIMIT ?5

-- name: list_waiting_newest
SELECT w.id FROM {p}join_wait w CROSS JOIN {p}message m ON m.id = w.id
 WHERE w.id < ?3 AND (?4 IS NULL OR m.topic = ?4)
   AND m.queue IN (SELECT id FROM {p}queue WHERE door = ?1 AND (?2 IS NULL OR namespace = ?2))
 ORDER BY w.id DESC LIMIT ?5

-- name: list_waiting_oldest
SELECT w.id FROM {p}join_wait w CROSS JOIN {p}message m ON m.id = w.id
 WHERE w.id > ?3 AND (?4 IS NULL OR m.topic = ?4)
   AND m.queue IN (SELECT id FROM {p}queue WHERE door = ?1 AND (?2 IS NULL OR namespace = ?2))
 ORDER BY w.id LIMIT ?5

-- name: dead_get
SELECT m.salt, m.queue, m.level, m.message_id, m.topic, x.retried_as IS NOT NULL, m.stream, m.seq
  FROM {p}dead x CROSS JOIN {p}message m ON m.id = x.id
 WHERE x.id = ?1

-- name: message_copy
INSERT INTO {p}message (salt, queue, level, topic, message_id, tenant_id, dedupe_key,
                        correlation_id, headers, created_at, due_at, expires_at, max_attempts,
                        payload, stream, seq, source)
SELECT ?2, queue, level, topic, ?3, tenant_id, dedupe_key, correlation_id, headers, ?4, NULL,
       iif(expires_at > ?4, expires_at, NULL), max_attempts, payload, stream, ?5, source
  FROM {p}message WHERE id = ?1

-- name: dedupe_move
-- The key of a dead message belongs to the copy that was put back.
UPDATE {p}dedupe AS d SET id = ?2, salt = ?3, message_id = ?4
  FROM {p}message m
 WHERE m.id = ?1 AND m.dedupe_key IS NOT NULL AND d.queue = m.queue
   AND d.topic = coalesce(m.source, m.topic) AND d.key = m.dedupe_key AND d.id = m.id

-- name: dead_mark
UPDATE {p}dead SET retried_as = ?2 WHERE id = ?1

-- name: dead_delete
DELETE FROM {p}dead WHERE id = ?1

-- ------------------------------------------------------------- retention

-- name: retention_turn
-- The queue behind which it goes on, if it is time.
SELECT retention_queue FROM {p}store WHERE one = 1 AND retention_at <= ?1

-- name: retention_taken
UPDATE {p}store SET retention_at = ?1, retention_queue = ?2 WHERE one = 1

-- name: retention_queue
SELECT min(id) FROM {p}queue WHERE id > ?1

-- name: retention_done
-- Through the index on (queue, at), queue by queue, from ?3 to ?4.
SELECT d.id, d.ids
  FROM {p}queue q CROSS JOIN {p}done d ON d.queue = q.id AND d.at <= ?1 - q.retention_s * 1000000
 WHERE q.retention_s >= 0 AND q.id BETWEEN ?3 AND ?4
 ORDER BY q.id, d.at, d.id LIMIT ?2

-- name: done_delete
DELETE FROM {p}done WHERE id = ?1

-- name: done_shorten
UPDATE {p}done SET lo = ?2, ids = ?3 WHERE id = ?1

-- name: retention_dead
SELECT x.id
  FROM {p}queue q
 CROSS JOIN {p}dead x ON x.queue = q.id AND x.died_at <= ?1 - q.dead_retention_s * 1000000
 WHERE q.dead_retention_s >= 0 AND q.id BETWEEN ?3 AND ?4
 ORDER BY q.id, x.died_at, x.id LIMIT ?2

-- name: retention_dedupe
DELETE FROM {p}dedupe
 WHERE (queue, topic, key) IN (
       SELECT d.queue, d.topic, d.key
         FROM {p}queue q
        CROSS JOIN {p}dedupe d
           ON d.queue = q.id AND d.created_at <= ?1 - q.dedupe_retention_s * 1000000 AND d.gone
        WHERE q.dedupe_retention_s >= 0 AND q.id BETWEEN ?3 AND ?4 LIMIT ?2)

-- name: retention_join
-- Finished ones only, as long as the outbox queue without a namespace keeps messages; or would, if
-- it was deleted.
SELECT j.id
  FROM {p}join_head j
 WHERE j.finished_at <= ?1 - 1000000 * nullif(coalesce(
           (SELECT retention_s FROM {p}queue WHERE door = 0 AND namespace = ''), 604800), -1)
   AND j.finished_at IS NOT NULL
 ORDER BY j.finished_at, j.id LIMIT ?2

-- name: retention_claimer
DELETE FROM {p}claimer
 WHERE instance IN (SELECT id FROM {p}instance
                     WHERE state <> 1 AND ended_at < ?1 - 86400000000 LIMIT ?2)

-- name: retention_instance
-- For a day a zombie is told that it was evicted.
DELETE FROM {p}instance
 WHERE id IN (SELECT id FROM {p}instance
               WHERE state <> 1 AND ended_at < ?1 - 86400000000 LIMIT ?2)

-- name: members_delete
DELETE FROM {p}join_member WHERE join_id = ?1

-- name: join_delete
DELETE FROM {p}join_head WHERE id = ?1

-- ------------------------------------------- the doctor's deep examination

-- name: places_range
SELECT (SELECT min(id) FROM {p}message), (SELECT max(id) FROM {p}message),
       (SELECT count(*) FROM {p}message)

-- name: places_message
SELECT id FROM {p}message WHERE id >= ?1 AND id < ?2

-- name: places_pending
-- A stream that a dead head blocks is not a message.
SELECT id FROM {p}pending WHERE due < 9223372036854775807

-- name: places_dead
SELECT id FROM {p}dead NOT INDEXED

-- name: places_lease
SELECT fence, owner, queue, claimed_at, until, lost, open, settled, attempts, ids, runs
  FROM {p}lease

-- name: places_done
SELECT id, ids FROM {p}done

-- name: places_wait
SELECT id FROM {p}join_wait

-- name: places_topics
-- The rows of pending with their topics, and whether one is in the index of topics and should not
-- be, or the reverse.
SELECT p.id, p.topic,
       CASE q.by_topic WHEN 0 THEN p.topic >= 0
            WHEN 1 THEN p.topic < 0 AND (p.level, p.line, p.due, p.id)
                            <= (q.turned_level, q.turned_line, q.turned_due, q.turned_id)
            ELSE p.topic < 0 END,
       m.topic
  FROM {p}pending p CROSS JOIN {p}queue q ON q.id = p.queue CROSS JOIN {p}message m ON m.id = p.id

-- name: places_joins
-- How many joins there are, how many are wrong (counters that differ from their steps, waits left
-- behind, complete but open), and one of those.
SELECT count(*), coalesce(sum(is_wrong), 0), min(iif(is_wrong, number, NULL)),
       min(iif(is_wrong, salt, NULL))
  FROM (SELECT h.id AS number, h.salt AS salt,
               h.attached <> count(s.join_id) OR h.completed <> coalesce(sum(s.status = 1), 0)
               OR h.failed <> coalesce(sum(s.status = 2), 0)
               OR (h.status <> 0 AND EXISTS (SELECT 1 FROM {p}join_wait w WHERE w.join_id = h.id))
               OR (h.status = 0 AND h.completed + h.failed >= h.expected) AS is_wrong
          FROM {p}join_head h LEFT JOIN {p}join_step s ON s.join_id = h.id GROUP BY h.id)

-- name: places_streams
SELECT count(*) FROM {p}stream

-- name: places_busy
SELECT id FROM {p}stream WHERE busy ORDER BY id

-- name: places_tokens
-- Tokens in pending that are wrong: of another stream than their message, or blocked by one that is
-- not dead, or was retried.
SELECT p.stream
  FROM {p}pending p LEFT JOIN {p}message m ON m.id = p.id
 WHERE p.stream IS NOT NULL
   AND (m.stream IS NOT p.stream
        OR (p.due = 9223372036854775807
            AND NOT EXISTS (SELECT 1 FROM {p}dead x
                             WHERE x.id = p.id AND x.retried_as IS NULL)))
 ORDER BY p.stream
