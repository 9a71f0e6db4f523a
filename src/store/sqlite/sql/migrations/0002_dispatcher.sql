-- 0002_dispatcher.sql - the version in which workers exchange, list and listen.
--
-- No table, index or view changes: SQLite has no functions to bring along, and
-- the new verbs live on what is there. The number rises with PostgreSQL's, where
-- functions are a part of the schema.

UPDATE {p}store SET version = 2, serves_from = 1;
INSERT INTO {p}migration (version, name, applied_at)
VALUES (2, 'dispatcher', CAST(strftime('%s', 'now') AS INTEGER) * 1000000);
