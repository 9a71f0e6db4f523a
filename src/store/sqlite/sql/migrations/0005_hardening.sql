-- 0005_hardening.sql - what attacks from outside have found. Each part says what it is for.

-- A job whose expression is changed still owes the instants of the old one that were due by then.
ALTER TABLE {p}job ADD COLUMN owed_from INTEGER;  -- up to anchor_at; NULL: nothing
ALTER TABLE {p}job ADD COLUMN owed_cron TEXT;
ALTER TABLE {p}job ADD COLUMN owed_timezone TEXT;

-- The joins of a message: posthorn show and explain name them.
CREATE INDEX {p}join_member_message_id ON {p}join_member (message_id);
-- A message that was acked and deleted can be attached for as long as its dedupe key is known.
ALTER TABLE {p}dedupe ADD COLUMN acked INTEGER NOT NULL DEFAULT 0;
CREATE INDEX {p}dedupe_acked ON {p}dedupe (message_id, id) WHERE acked;
-- Steps whose message id was given: several messages may have it, and the first that ends counts.
ALTER TABLE {p}join_member ADD COLUMN given INTEGER NOT NULL DEFAULT 0;
UPDATE {p}join_member SET given = 1 WHERE hex(message_id) <> printf('%012X8000%016X', message, salt);
CREATE INDEX {p}join_member_given ON {p}join_member (given) WHERE given AND status IS NULL;

-- When posthorn_process_work_batch does retention next, and behind which queue.
ALTER TABLE {p}store ADD COLUMN retention_at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE {p}store ADD COLUMN retention_queue INTEGER NOT NULL DEFAULT 0;

-- What an instance claims: partitions belong only to those who claim the queue and the topic of a
-- head, and who come for it.
CREATE TABLE {p}claimer (
    instance  BLOB NOT NULL,
    door      INTEGER NOT NULL,
    namespace TEXT NOT NULL,
    since     INTEGER NOT NULL, -- it has come ever since, as far as is known
    comes     INTEGER NOT NULL, -- 0: it left a head lying, or its lease ran out; until it claims again
    topics    TEXT,             -- each as LENGTH:TOPIC, one behind the other; NULL: all
    PRIMARY KEY (instance, door, namespace)
) STRICT, WITHOUT ROWID;

-- Who acks again is told so: under which fence it was acked. NULL: by no claim, or before this version.
ALTER TABLE {p}done ADD COLUMN fence INTEGER;

UPDATE {p}store SET version = 5, serves_from = 5;
INSERT INTO {p}migration (version, name, applied_at)
VALUES (5, 'hardening', CAST(strftime('%s', 'now') AS INTEGER) * 1000000);
