-- 0005_hardening.sql - what attacks from outside have found. Each part says what it is for.

UPDATE {p}store SET version = 5, serves_from = 5;
INSERT INTO {p}migration (version, name, applied_at)
VALUES (5, 'hardening', CAST(strftime('%s', 'now') AS INTEGER) * 1000000);
