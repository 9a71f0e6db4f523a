-- 0006_lines.sql - the key of pending has a line, and topics get an index of their own (decision
-- 0047).

-- Do claims of the queue name topics? 0: none ever did. 1: one did, and rows from before are still
-- brought into the index of topics. 2: all rows are in it.
ALTER TABLE {p}queue ADD COLUMN by_topic INTEGER NOT NULL DEFAULT 0;
-- While that is 1: the key of the last row that was looked at.
ALTER TABLE {p}queue ADD COLUMN turned_level INTEGER NOT NULL DEFAULT -1;
ALTER TABLE {p}queue ADD COLUMN turned_line INTEGER NOT NULL DEFAULT 0;
ALTER TABLE {p}queue ADD COLUMN turned_due INTEGER NOT NULL DEFAULT 0;
ALTER TABLE {p}queue ADD COLUMN turned_id INTEGER NOT NULL DEFAULT 0;

-- The table is written anew. Not by renaming: that would look at all views in the file, and those
-- of users may stand on ours, which are not there at the moment.
CREATE TABLE {p}pending_before AS
SELECT queue, level, due, id, attempts, lost, topic, stream FROM {p}pending;
DROP TABLE {p}pending;

-- What can be claimed, in the order of claiming. due is always that of the newest attempt_log row
-- of the message or, without one, the later of due_at and created_at: so a row is found by its
-- whole key. A row with a stream is that stream's token: its head; or, with the largest number as
-- due, a dead head that blocks it.
CREATE TABLE {p}pending (
    queue    INTEGER NOT NULL,
    level    INTEGER NOT NULL,
    line     INTEGER NOT NULL DEFAULT 0,  -- 0: the message has no key
    due      INTEGER NOT NULL,
    id       INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    lost     INTEGER NOT NULL,
    topic    INTEGER NOT NULL,  -- h, a hash of 31 bits: the row is in the index; ~h: it is not
    stream   INTEGER,
    PRIMARY KEY (queue, level, line, due, id)
) STRICT, WITHOUT ROWID;

INSERT INTO {p}pending (queue, level, due, id, attempts, lost, topic, stream)
SELECT queue, level, due, id, attempts, lost, ~(topic & 2147483647), stream
  FROM {p}pending_before ORDER BY queue, level, due, id;
DROP TABLE {p}pending_before;

CREATE UNIQUE INDEX {p}pending_stream ON {p}pending (stream) WHERE stream IS NOT NULL;
-- Claims that name topics find their messages here.
CREATE INDEX {p}pending_topic ON {p}pending (queue, level, topic, due, id) WHERE topic >= 0;

UPDATE {p}store SET version = 6, serves_from = 6;
INSERT INTO {p}migration (version, name, applied_at)
VALUES (6, 'lines', CAST(strftime('%s', 'now') AS INTEGER) * 1000000);
