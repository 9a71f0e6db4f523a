-- coordination.sql - statements of streams, instances, receptors and consumers.

-- --------------------------------------------------------------- streams

-- name: stream_get
SELECT id, last_seq, busy FROM {p}stream WHERE queue = ?1 AND key = ?2

-- name: stream_by_id
SELECT id, last_seq, busy, key, hash FROM {p}stream WHERE id = ?1

-- name: stream_insert
INSERT INTO {p}stream (queue, key, hash, last_seq, busy, created_at)
VALUES (?1, ?2, ?3, 0, 0, ?4)

-- name: stream_update
UPDATE {p}stream SET last_seq = ?2, busy = ?3 WHERE id = ?1

-- name: stream_idle
UPDATE {p}stream SET busy = 0 WHERE id = ?1

-- name: stream_next
SELECT id, queue, level, seq, due_at, expires_at, topic
  FROM {p}message WHERE stream = ?1 AND seq > ?2 ORDER BY seq LIMIT 1

-- name: stream_token
-- Its row of pending, if that is where it is.
SELECT queue, level, due, id FROM {p}pending WHERE stream = ?1

-- name: stream_blocked
-- The first stream of a queue that a dead head blocks.
SELECT p.stream, p.level, p.due, p.id, m.seq
  FROM {p}pending p CROSS JOIN {p}message m ON m.id = p.id
 WHERE p.queue = ?1 AND p.level IN (0, 1, 2, 3) AND p.line = 0 AND p.due = 9223372036854775807
 LIMIT 1

-- name: stream_delete
-- When nothing is left of it.
DELETE FROM {p}stream
 WHERE id = ?1 AND NOT busy
   AND NOT EXISTS (SELECT 1 FROM {p}message m WHERE m.stream = ?1)
   AND NOT EXISTS (SELECT 1 FROM {p}checkpoint c WHERE c.stream = ?1)

-- name: stream_tokens
-- Those in pending, with the number of the head. +queue: through the index on the stream.
SELECT p.stream, m.seq, s.last_seq
  FROM {p}pending p CROSS JOIN {p}message m ON m.id = p.id
 CROSS JOIN {p}stream s ON s.id = p.stream
 WHERE p.stream IS NOT NULL
   AND +p.queue IN (SELECT id FROM {p}queue WHERE door = ?1 AND (?2 IS NULL OR namespace = ?2))

-- name: stream_behind
SELECT id FROM {p}message WHERE stream = ?1 AND seq > ?2

-- name: lease_with_runs
SELECT fence, owner, queue, claimed_at, until, lost, open, settled, attempts, ids, runs
  FROM {p}lease
 WHERE runs IS NOT NULL
   AND queue IN (SELECT id FROM {p}queue WHERE door = ?1 AND (?2 IS NULL OR namespace = ?2))

-- name: instance_service
SELECT service FROM {p}instance WHERE id = ?1 AND state = 1

-- name: claimer_live
-- The live instances of a service that claim from a queue, and come.
SELECT i.id, c.since, c.topics
  FROM {p}instance i CROSS JOIN {p}claimer c ON c.instance = i.id
 WHERE i.service = ?1 AND i.state = 1 AND c.door = ?2 AND c.namespace = ?3 AND c.comes
 ORDER BY i.id

-- name: claimer_all
-- Of every service, whether they come or not.
SELECT c.topics
  FROM {p}instance i CROSS JOIN {p}claimer c ON c.instance = i.id
 WHERE i.state = 1 AND c.door = ?1 AND c.namespace = ?2

-- name: message_topic
SELECT topic FROM {p}message WHERE id = ?1

-- name: claimer_get
SELECT comes, topics FROM {p}claimer WHERE instance = ?1 AND door = ?2 AND namespace = ?3

-- name: claimer_set
-- Only of an instance that is live.
INSERT INTO {p}claimer (instance, door, namespace, since, comes, topics)
SELECT id, ?2, ?3, ?4, 1, ?5 FROM {p}instance WHERE id = ?1 AND state = 1
    ON CONFLICT (instance, door, namespace) DO UPDATE
       SET since = iif(comes, since, excluded.since), comes = 1, topics = excluded.topics

-- name: claimer_away
-- ?2 NULL: from every queue.
UPDATE {p}claimer SET comes = 0
 WHERE instance = ?1 AND (?2 IS NULL OR (door = ?2 AND namespace = ?3)) AND comes

-- ------------------------------------------------------------- instances

-- name: instance_get
-- And whether it is stored as it says that it is.
SELECT state, heartbeat_at, stale_s,
       (service, host, process_id, lease_s, stale_s, partitions) = (?2, ?3, ?4, ?6, ?7, ?8)
       AND metadata IS ?5
  FROM {p}instance WHERE id = ?1

-- name: instance_insert
INSERT INTO {p}instance (id, service, host, process_id, metadata, lease_s, stale_s, partitions,
                         started_at, heartbeat_at, state)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?9, 1)

-- name: instance_beat
UPDATE {p}instance
   SET service = ?2, host = ?3, process_id = ?4, metadata = ?5, lease_s = ?6, stale_s = ?7,
       partitions = ?8, heartbeat_at = ?9
 WHERE id = ?1

-- name: instance_stale
-- The first live one, other than the caller, that was silent for longer than it said.
SELECT id FROM {p}instance
 WHERE state = 1 AND id <> ?1 AND heartbeat_at + stale_s * 1000000 < ?2 LIMIT 1

-- name: instance_end
UPDATE {p}instance SET state = ?2, ended_at = ?3 WHERE id = ?1

-- name: instance_list
-- The live ones; ?2: also those that have ended since then.
SELECT i.id, i.service, i.host, i.process_id, i.metadata, i.state, i.started_at, i.heartbeat_at,
       i.ended_at, i.lease_s, i.stale_s,
       (SELECT sum(l.open) FROM {p}lease l WHERE l.owner = i.id), i.partitions
  FROM {p}instance i
 WHERE (?1 IS NULL OR i.service = ?1) AND (i.state = 1 OR i.ended_at >= ?2)
 ORDER BY i.service, i.started_at, i.id

-- name: lease_lost
SELECT lost FROM {p}lease WHERE fence = ?1

-- ------------------------------------------------------------- receptors

-- name: receptor_message
-- The id under which a message's receptors are kept; NULL: its work id.
SELECT message_id FROM {p}message WHERE id = ?1 AND salt = ?2

-- name: receptor_report
-- A completed receptor stays completed.
INSERT INTO {p}receptor (message_id, name, completed, attempts, error, first_at, last_at)
VALUES (?1, ?2, ?3, 1, ?4, ?5, ?5)
    ON CONFLICT (message_id, name) DO UPDATE
   SET completed = excluded.completed, attempts = attempts + 1, error = excluded.error,
       last_at = excluded.last_at
 WHERE NOT completed

-- name: receptor_list
SELECT name, completed, attempts, error, first_at, last_at
  FROM {p}receptor WHERE message_id = ?1 ORDER BY name

-- ------------------------------------------------- consumers of streams

-- name: stream_by_name
SELECT s.id, s.last_seq
  FROM {p}queue q CROSS JOIN {p}stream s ON s.queue = q.id
 WHERE q.door = ?1 AND q.namespace = ?2 AND s.key = ?3

-- name: consumer_get
SELECT seq, ahead, error, error_seq, error_at, rewound_at
  FROM {p}checkpoint WHERE stream = ?1 AND consumer = ?2

-- name: consumer_put
INSERT OR REPLACE INTO {p}checkpoint (stream, consumer, seq, ahead, error, error_seq, error_at,
                                      updated_at, rewound_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)

-- name: stream_between
-- Is there a message between two numbers of a stream?
SELECT 1 FROM {p}message WHERE stream = ?1 AND seq > ?2 AND seq < ?3 LIMIT 1

-- name: consumer_list
-- Messages that retention has deleted no longer lie ahead.
SELECT consumer, seq, ahead, error, error_seq, error_at, updated_at, rewound_at,
       (SELECT count(*) FROM {p}message m WHERE m.stream = c.stream AND m.seq > c.seq)
  FROM {p}checkpoint c WHERE stream = ?1 AND (?2 IS NULL OR consumer = ?2) ORDER BY consumer

-- name: stream_after
-- A dead head that was put back in its place has the number of its replacement.
SELECT id FROM {p}message m
 WHERE stream = ?1 AND seq > ?2
   AND NOT EXISTS (SELECT 1 FROM {p}message n
                    WHERE n.stream = m.stream AND n.seq = m.seq AND n.id > m.id)
 ORDER BY seq LIMIT ?3

-- name: stream_list
-- By namespace and key, as the indexes have them: nothing is sorted, and a page begins where the
-- one before has ended. No key is empty.
SELECT q.namespace, s.key, s.id, s.hash, s.last_seq, s.busy, s.created_at
  FROM {p}queue q
 CROSS JOIN {p}stream s ON s.queue = q.id AND s.key > iif(q.namespace = ?4, ?5, '')
 WHERE q.door = ?1 AND (?2 IS NULL OR q.namespace = ?2) AND (?3 OR s.busy)
   AND q.namespace >= coalesce(?4, '')
 ORDER BY q.namespace, s.key LIMIT ?6

-- name: stream_one
SELECT q.namespace, s.key, s.id, s.hash, s.last_seq, s.busy, s.created_at
  FROM {p}queue q CROSS JOIN {p}stream s ON s.queue = q.id AND s.key = ?7
 WHERE q.door = ?1 AND (?2 IS NULL OR q.namespace = ?2) AND (?3 OR s.busy)
   AND (?4 IS NULL OR (q.namespace, s.key) > (?4, ?5))
 ORDER BY q.namespace LIMIT ?6

-- name: stream_shown
SELECT head, head_salt, head_seq, due, attempts, owner, until,
       (SELECT m.topic FROM {p}message m WHERE m.id = s.head)
  FROM {p}stream_state s WHERE id = ?1
