-- instances: one row per instance that is live, or ended within the last day or so.
-- in_progress: messages that it has claimed.
CREATE OR REPLACE VIEW {p}instances AS
SELECT i.id,
       i.service,
       i.host,
       i.process_id,
       i.metadata,
       CASE i.state WHEN 1 THEN 'live' WHEN 2 THEN 'left' WHEN 3 THEN 'evicted' END AS state,
       i.started_at,
       i.heartbeat_at AS last_heartbeat_at,
       i.ended_at,
       i.lease_s AS lease_seconds,
       i.stale_s AS stale_threshold_seconds,
       i.partitions AS partition_count,
       (SELECT coalesce(sum(l.open), 0)::bigint FROM {p}lease l WHERE l.owner = i.id) AS in_progress
FROM {p}instance i;
