-- work_token: where each busy stream stands, one row per stream. kind: 1 its head waits in
-- pending; 2 an empty token: it is not known yet whether a message follows; 3 blocked by a dead
-- head; 4 a run of it is leased. next_seq: of the first message that is not settled, or would be;
-- upto: messages with higher numbers are parked. head: the first message that is not settled, or
-- the dead one; null: see kind 2. fence: of the lease.
CREATE OR REPLACE VIEW {p}work_token AS
SELECT p.stream,
       CASE WHEN p.lane > 0 THEN 1 WHEN p.due < 'infinity' THEN 2 ELSE 3 END AS kind,
       CASE WHEN p.lane < 0 AND p.due = 'infinity' THEN p.seq + 1 ELSE p.seq END AS next_seq,
       CASE WHEN p.lane < 0 AND p.due < 'infinity' THEN p.seq - 1 ELSE p.seq END AS upto,
       CASE WHEN p.lane > 0 THEN p.id
            WHEN p.due = 'infinity' THEN encode(set_byte(uuid_send(p.id), 0, get_byte(uuid_send(p.id), 0) & 127), 'hex')::uuid
       END AS head,
       p.due, p.attempts, NULL::uuid AS owner, NULL::timestamptz AS until, NULL::bigint AS fence
FROM {p}pending p WHERE p.stream IS NOT NULL
UNION ALL
SELECT l.runs[r.i], 4, l.runs[r.i + 3] - l.runs[r.i + 2] + 1 + f.settled, l.runs[r.i + 3], l.ids[l.runs[r.i + 1] + f.settled],
       NULL, coalesce(l.attempts[l.runs[r.i + 1] + f.settled], 1::smallint), l.owner, l.until, l.id
FROM {p}lease l
CROSS JOIN LATERAL generate_series(1, cardinality(l.runs), 4) r(i)
CROSS JOIN LATERAL (
    SELECT CASE WHEN l.settled IS NULL THEN 0
                ELSE position('0' IN substr(l.settled::text, l.runs[r.i + 1]::int, l.runs[r.i + 2]::int)) - 1 END AS settled) f
WHERE l.runs IS NOT NULL AND l.runs[r.i + 2] > 0;
