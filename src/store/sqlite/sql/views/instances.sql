-- One row per instance: the live ones, and for a day those that ended.
CREATE VIEW {p}instances AS
SELECT {uuid:i.id} AS id, i.service, i.host, i.process_id, i.metadata,
       CASE i.state WHEN 1 THEN 'live' WHEN 2 THEN 'left' WHEN 3 THEN 'evicted' END AS state,
       {time:i.started_at} AS started_at,
       {time:i.heartbeat_at} AS last_heartbeat_at,
       {time:i.ended_at} AS ended_at,
       i.lease_s AS lease_seconds, i.stale_s AS stale_threshold_seconds,
       i.partitions AS partition_count,
       (SELECT coalesce(sum(l.open), 0) FROM {p}lease l WHERE l.owner = i.id) AS in_progress
  FROM {p}instance i;
