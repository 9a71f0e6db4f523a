-- One row per stream. partition is the one of 10000; next_seq is that of the first message that
-- is not settled; head is that message, or the dead one that blocks the stream.
CREATE VIEW {p}streams AS
SELECT CASE s.door WHEN 0 THEN 'outbox' WHEN 1 THEN 'inbox' END AS door, s.namespace,
       s.key AS stream,
       CASE WHEN NOT s.busy THEN 'idle' WHEN s.due IS NULL THEN 'in_progress'
            WHEN s.due = 9223372036854775807 THEN 'blocked'
            WHEN s.due <= (SELECT coalesce(o.clock_us, CAST(round((julianday('now') - 2440587.5)
                                                                  * 86400000) AS INTEGER) * 1000)
                             FROM {p}store o) THEN 'ready' ELSE 'scheduled' END AS state,
       s.hash % 10000 AS partition, s.last_seq,
       coalesce(s.head_seq + (s.due IS 9223372036854775807), s.last_seq + 1) AS next_seq,
       coalesce(s.last_seq - s.head_seq + (s.due IS NOT 9223372036854775807), 0) AS unsettled,
       CASE WHEN s.head IS NOT NULL
            THEN printf('%08x-%04x-8000-%04x-%012x', s.head >> 16, s.head & 65535,
                        (s.head_salt >> 48) & 65535, s.head_salt & 281474976710655) END AS head,
       CASE WHEN s.due < 9223372036854775807 THEN {time:s.due} END AS head_due_at,
       CASE WHEN s.due IS NOT 9223372036854775807 THEN s.attempts END AS head_attempts,
       {uuid:s.owner} AS owner,
       {time:s.until} AS locked_until,
       {time:s.created_at} AS created_at
  FROM {p}stream_state s;
