-- 0005_hardening.sql - what attacks from outside have found. Each part says what it is for.

-- A job whose expression is changed still owes the instants of the old one that were due by then.
ALTER TABLE {p}job ADD COLUMN owed_from INTEGER;  -- up to anchor_at; NULL: nothing
ALTER TABLE {p}job ADD COLUMN owed_cron TEXT;
ALTER TABLE {p}job ADD COLUMN owed_timezone TEXT;

-- The joins of a message: posthorn show and explain name them.
CREATE INDEX {p}join_member_message_id ON {p}join_member (message_id);

-- When posthorn_process_work_batch last did retention.
ALTER TABLE {p}store ADD COLUMN retention_at INTEGER NOT NULL DEFAULT 0;
UPDATE {p}store SET retention_at = CAST(strftime('%s', 'now') AS INTEGER) * 1000000;

UPDATE {p}store SET version = 5, serves_from = 5;
INSERT INTO {p}migration (version, name, applied_at)
VALUES (5, 'hardening', CAST(strftime('%s', 'now') AS INTEGER) * 1000000);
