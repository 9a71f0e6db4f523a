-- The statements that the library sends. It reads their results by position.

-- name: schema_version
SELECT version, serves_from FROM {schema}.{p}schema_version()

-- name: clock
SELECT {schema}.{p}clock()

-- name: enqueue
SELECT work_id, message_id, is_new, problem, 0, join_problem, joins
FROM {schema}.{p}work_enqueue($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)

-- name: enqueue_many
SELECT ids, message_ids, is_new, problem, at, join_problem, joins, problem_message
FROM {schema}.{p}work_enqueue_many($1, $2)

-- name: claim
SELECT work_id, message_id, fence, topic, payload, tenant_id, dedupe_key, correlation_id, headers::text, attempts,
       retry_count, created_at, due_at, last_error, priority, joins, stream, seq, source
FROM {schema}.{p}work_claim($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)

-- name: settle
SELECT outcomes, joins FROM {schema}.{p}work_settle($1, $2, $3, $4, $5, $6, $7, false, $8)

-- name: settle_last
-- Between this and the commit the connection may break without the server noticing: then it gives
-- up the row of the lease by itself, and no one else waits for hours. In a handler's transaction: a
-- message that was acked before is stale.
SELECT outcomes, joins, pg_catalog.set_config('idle_in_transaction_session_timeout', '5s', true)
FROM {schema}.{p}work_settle($1, $2, $3, $4, $5, $6, $7)

-- name: exchange
-- The first row has only outcomes, the others are claimed messages; both may tell of joins.
-- The claim takes its batch size from the settlement's row, so that it cannot come first.
WITH settled AS MATERIALIZED (SELECT outcomes, joins FROM {schema}.{p}work_settle($1, $2, $3, $4, $5, $6, $7, false, $16))
SELECT NULL::uuid, NULL::uuid, NULL::bigint, NULL::text, NULL::text, NULL::uuid, NULL::text, NULL::text, NULL::text,
       NULL::int, NULL::int, NULL::timestamptz, NULL::timestamptz, NULL::text, NULL::int, joins,
       NULL::text, NULL::bigint, NULL::text, outcomes
FROM settled
UNION ALL
SELECT c.work_id, c.message_id, c.fence, c.topic, c.payload, c.tenant_id, c.dedupe_key, c.correlation_id,
       c.headers::text, c.attempts, c.retry_count, c.created_at, c.due_at, c.last_error, c.priority, c.joins,
       c.stream, c.seq, c.source, NULL
FROM settled, LATERAL {schema}.{p}work_claim($1, $2, $8, CASE WHEN outcomes IS NOT NULL THEN $9 END,
                                             $10, $11, $12, $13, $14, $15) c

-- name: renew
SELECT {schema}.{p}work_renew($1, $2, $3, $4, $5)

-- name: reap
SELECT count, joins FROM {schema}.{p}work_reap_expired($1)

-- name: find
SELECT id, message_id, coalesce(fence, 0), topic, payload, tenant_id, dedupe_key, correlation_id, headers::text, attempts,
       retry_count, created_at,
       coalesce(due_time_utc, created_at), last_error, priority::int,
       namespace, status_code, max_attempts, due_time_utc, expires_at, locked_until,
       coalesce(owner_token, processed_by::uuid, (SELECT x.owner_token FROM {schema}.{p}dead_letters x WHERE x.id = o.id)),
       processed_at, updated_at, next_attempt_at,
       (SELECT x.reason FROM {schema}.{p}dead_letters x WHERE x.id = o.id),
       (SELECT x.retried_as FROM {schema}.{p}dead_letters x WHERE x.id = o.id), waits_for,
       stream, seq, source
FROM {schema}.{p}work_state o WHERE o.id = $1 AND o.door = $2

-- name: history
SELECT attempt, kind, error, at, owner, next_due FROM {schema}.{p}work_history($1)

-- name: count
SELECT ready, scheduled, in_progress, dead, expired_leases, oldest_ready_ms, parked, waiting FROM {schema}.{p}work_count($1, $2)

-- name: dead_retry
SELECT old, new FROM {schema}.{p}dead_retry($1)

-- name: dead_discard
SELECT {schema}.{p}dead_discard($1)::bigint

-- name: queue_set
SELECT {schema}.{p}queue_set($1, $2, CASE WHEN $4::text IS NULL THEN $3
                                     ELSE $3 || pg_catalog.jsonb_build_object('join_wait_topic', $4::text) END)

-- name: queue_pause
SELECT {schema}.{p}queue_pause($1, $2)

-- name: queue_resume
SELECT {schema}.{p}queue_resume($1, $2)

-- name: queue_delete
SELECT deleted, messages, keys, streams, coming, jobs FROM {schema}.{p}work_queue_delete($1, $2)

-- name: retention
SELECT {schema}.{p}retention_run($1)

-- name: list
SELECT * FROM {schema}.{p}work_list($1, $2, $3, $4, $5, $6, $7, $8)

-- name: queues
SELECT * FROM {schema}.{p}work_queues($1, $2)

-- name: timer_cancel
SELECT {schema}.{p}timer_cancel($1)

-- name: job_set
SELECT {schema}.{p}work_job_set($1, $2, $3, $4, $5, $6, $7, $8, $9)

-- name: job_delete
SELECT {schema}.{p}job_delete($1)

-- name: job_trigger
SELECT {schema}.{p}work_job_trigger($1)

-- name: job_pause
SELECT {schema}.{p}work_job_pause($1, $2)

-- name: jobs
SELECT name, namespace, topic, cron, timezone, payload, pg_catalog.array_position('{once,skip,all}', misfire), misfire_limit,
       pg_catalog.array_position('{allow,skip}', overlap), paused, problem, next_at, last_at, last_run, skipped, created_at, updated_at
FROM {schema}.{p}jobs
WHERE ($1 IS NULL OR name = $1) AND ($2 IS NULL OR namespace = $2) AND ($3 IS NULL OR name > $3)
ORDER BY name LIMIT $4

-- name: tick
SELECT * FROM {schema}.{p}work_tick($1, $2, $3, $4)

-- name: advance
SELECT {schema}.{p}work_advance($1, $2, $3, $4, $5, $6, $7)

-- name: doorbell_ring
-- Its commit waits for no disk, and it gives up rather than wait for others that notify.
SELECT pg_catalog.set_config('synchronous_commit', 'off', true), pg_catalog.set_config('lock_timeout', '50ms', true),
       {schema}.{p}doorbell_ring(ns)
FROM pg_catalog.unnest($1) ns

-- name: begin
BEGIN ISOLATION LEVEL READ COMMITTED

-- name: server
SELECT pg_catalog.current_setting('server_version'), pg_catalog.current_setting('server_version_num')::int,
       pg_catalog.current_setting('fsync')::boolean, pg_catalog.current_setting('full_page_writes')::boolean,
       pg_catalog.current_setting('synchronous_commit'), pg_catalog.pg_backend_pid()

-- name: identity
SELECT store_id FROM {schema}.{p}store

-- name: ownership
-- The role whose rights our functions have, the owner of the schema, other roles that may create in
-- it, and objects of others in it that could be called in place of ours.
SELECT pg_catalog.pg_get_userbyid(c.relowner), pg_catalog.pg_get_userbyid(o.owner),
       (SELECT pg_catalog.string_agg(DISTINCT CASE WHEN a.grantee = 0 THEN 'PUBLIC'
                                              ELSE pg_catalog.quote_ident(pg_catalog.pg_get_userbyid(a.grantee)) END, ', ')
        FROM pg_catalog.aclexplode(n.nspacl) a
        WHERE a.privilege_type = 'CREATE' AND a.grantee <> n.nspowner
          AND (a.grantee = 0 OR NOT pg_catalog.pg_has_role(a.grantee, c.relowner, 'MEMBER'))),
       (SELECT pg_catalog.string_agg(x.name, ', ' ORDER BY x.name)
        FROM (SELECT 'OPERATOR ' || p.oid::regoperator::text AS name, p.oprowner AS owner FROM pg_catalog.pg_operator p
              WHERE p.oprnamespace = n.oid
              UNION ALL
              SELECT 'ROUTINE ' || p.oid::regprocedure::text, p.proowner FROM pg_catalog.pg_proc p
              WHERE p.pronamespace = n.oid) x
        WHERE NOT pg_catalog.pg_has_role(x.owner, c.relowner, 'MEMBER'))
FROM pg_catalog.pg_namespace n
JOIN pg_catalog.pg_class c ON c.relnamespace = n.oid AND c.relname = '{p}store'
CROSS JOIN LATERAL (SELECT CASE WHEN n.nspowner = 'pg_database_owner'::regrole
                                THEN (SELECT d.datdba FROM pg_catalog.pg_database d WHERE d.datname = pg_catalog.current_database())
                                ELSE n.nspowner END AS owner) o
WHERE n.nspname = '{s}'

-- name: vacuum_holder
-- The cause that keeps vacuum from removing dead rows of this database: the session, prepared
-- transaction or replication slot with the oldest transaction in sight. A session's activity is
-- hidden from roles without pg_read_all_stats; its query is never read, for it may hold values.
SELECT what, who, seconds, is_hidden, is_idle_slot, is_session
FROM (SELECT 'session' AS what,
             pg_catalog.format('%s (user %s, application %s, %s)', a.pid, a.usename, coalesce(nullif(a.application_name, ''), '-'),
                    coalesce(a.state, 'state hidden')) AS who,
             pg_catalog.floor(extract(epoch FROM pg_catalog.clock_timestamp() - a.xact_start))::bigint AS seconds,
             greatest(pg_catalog.age(a.backend_xid), pg_catalog.age(a.backend_xmin)) AS age, a.xact_start IS NULL AS is_hidden,
             false AS is_idle_slot, true AS is_session
      FROM pg_catalog.pg_stat_activity a
      WHERE a.pid <> pg_catalog.pg_backend_pid() AND (a.datname = pg_catalog.current_database() OR a.datname IS NULL)
        AND a.backend_type IS DISTINCT FROM 'autovacuum worker'
        AND (a.backend_xid IS NOT NULL OR a.backend_xmin IS NOT NULL)
      UNION ALL
      SELECT 'prepared transaction', pg_catalog.format('"%s" (user %s)', x.gid, x.owner),
             pg_catalog.floor(extract(epoch FROM pg_catalog.clock_timestamp() - x.prepared))::bigint, pg_catalog.age(x.transaction), false,
             false, false
      FROM pg_catalog.pg_prepared_xacts x WHERE x.database = pg_catalog.current_database()
      UNION ALL
      SELECT 'replication slot', pg_catalog.format('"%s" (%s)', s.slot_name, CASE WHEN s.active THEN 'active' ELSE 'inactive' END),
             NULL, pg_catalog.age(s.xmin), false, NOT s.active, false
      FROM pg_catalog.pg_replication_slots s WHERE s.xmin IS NOT NULL) h
ORDER BY age DESC, seconds DESC NULLS LAST LIMIT 1

-- name: places
SELECT upto, messages, wrong, examples[1], examples[2], examples[3], total FROM {schema}.{p}work_places($1, $2)

-- name: join_start
SELECT problem, id FROM {schema}.{p}work_join_start($1, $2, $3, $4)

-- name: join_attach
SELECT problem, message, joins FROM {schema}.{p}work_join_attach($1, $2)

-- name: join_report
SELECT problem, joins FROM {schema}.{p}work_join_report($1, $2, $3)

-- name: join_wait
SELECT problem, id, joins FROM {schema}.{p}work_join_wait($1, $2, $3, $4, $5, $6, $7)

-- name: join_cancel
SELECT problem, cancelled, joins FROM {schema}.{p}work_join_cancel($1)

-- name: join_find
SELECT * FROM {schema}.{p}joins WHERE id = $1

-- name: join_members
SELECT message_id, work_id, status_code, created_at, topic FROM {schema}.{p}join_members
WHERE join_id = $1 ORDER BY created_at, work_id LIMIT $2

-- name: joins
SELECT * FROM {schema}.{p}work_joins($1, $2, $3, $4, $5, $6)

-- name: joins_wrong
-- For the doctor: how many joins there are, how many are wrong (counters that differ from their
-- steps, waits left behind, complete but open), and one of those.
SELECT pg_catalog.count(*), pg_catalog.count(*) FILTER (WHERE j.is_wrong), (pg_catalog.array_agg(j.id) FILTER (WHERE j.is_wrong))[1]
FROM (SELECT j.id, j.attached_steps <> coalesce(m.attached, 0) OR j.completed_steps <> coalesce(m.completed, 0)
                   OR j.failed_steps <> coalesce(m.failed, 0) OR (j.status_code <> 0 AND j.open_waits > 0)
                   OR (j.status_code = 0 AND j.completed_steps + j.failed_steps >= j.expected_steps) AS is_wrong
      FROM {schema}.{p}joins j
      LEFT JOIN (SELECT m.join_id, pg_catalog.count(*) AS attached, pg_catalog.count(*) FILTER (WHERE m.status_code = 1) AS completed,
                        pg_catalog.count(*) FILTER (WHERE m.status_code = 2) AS failed
                 FROM {schema}.{p}join_members m GROUP BY m.join_id) m ON m.join_id = j.id) j

-- name: work_batch
-- The first row has the outcomes of the parts before the claims, the others are claimed messages;
-- all may tell of joins. The claims take their batch size from the first row, so that they cannot
-- come before; null: none. It is hidden from the planner in b, whose plan would change with it.
-- The parameters are rows of types of ours (see migration 0006).
WITH b AS MATERIALIZED (
    SELECT *, ($8::{schema}.{p}work_wanted).batch_size AS outbox_n, ($9::{schema}.{p}work_wanted).batch_size AS inbox_n
    FROM {schema}.{p}work_batch($1, $2, $3, $4, $5, $6, $7))
SELECT NULL::uuid, NULL::uuid, NULL::bigint, NULL::text, NULL::text, NULL::uuid, NULL::text, NULL::text, NULL::text,
       NULL::int, NULL::int, NULL::timestamptz, NULL::timestamptz, NULL::text, NULL::int, joins,
       NULL::text, NULL::bigint, NULL::text, NULL::boolean,
       NULL::smallint, registered, evicted, evicted_one, ended_at, outbox_outcomes, inbox_outcomes, outbox_renewed, inbox_renewed
FROM b
UNION ALL
SELECT c.work_id, c.message_id, c.fence, c.topic, c.payload, c.tenant_id, c.dedupe_key, c.correlation_id,
       c.headers::text, c.attempts, c.retry_count, c.created_at, c.due_at, c.last_error, c.priority, c.joins,
       c.stream, c.seq, c.source, c.orphan, 0::smallint,
       NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
FROM b, LATERAL {schema}.{p}work_claim(
    0::smallint, ($1).id, ($8).lease_s, b.outbox_n, ($8).ns, ($8).topics, ($8).from_due, ($8).from_id,
    ($8).partition_count, ($8).max_partitions, ($8).last) c
WHERE b.outbox_n IS NOT NULL AND b.ended_at IS NULL
UNION ALL
SELECT c.work_id, c.message_id, c.fence, c.topic, c.payload, c.tenant_id, c.dedupe_key, c.correlation_id,
       c.headers::text, c.attempts, c.retry_count, c.created_at, c.due_at, c.last_error, c.priority, c.joins,
       c.stream, c.seq, c.source, c.orphan, 1::smallint,
       NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
FROM b, LATERAL {schema}.{p}work_claim(
    1::smallint, ($1).id, ($9).lease_s, b.inbox_n, ($9).ns, ($9).topics, ($9).from_due, ($9).from_id,
    ($9).partition_count, ($9).max_partitions, ($9).last) c
WHERE b.inbox_n IS NOT NULL AND b.ended_at IS NULL

-- name: work_batch_whole
WITH b AS MATERIALIZED (
    SELECT *, ($12::{schema}.{p}work_wanted).batch_size AS outbox_n, ($13::{schema}.{p}work_wanted).batch_size AS inbox_n
    FROM {schema}.{p}work_batch_whole($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11))
SELECT NULL::uuid, NULL::uuid, NULL::bigint, NULL::text, NULL::text, NULL::uuid, NULL::text, NULL::text, NULL::text,
       NULL::int, NULL::int, NULL::timestamptz, NULL::timestamptz, NULL::text, NULL::int, joins,
       NULL::text, NULL::bigint, NULL::text, NULL::boolean,
       NULL::smallint, registered, evicted, evicted_one, ended_at, outbox_outcomes, inbox_outcomes, outbox_renewed, inbox_renewed,
       new_outbox_ids, new_outbox_message_ids, new_outbox_is_new, new_inbox_ids, new_inbox_message_ids, new_inbox_is_new,
       part, at, result_problem, join_problem, problem_message, problem
FROM b
UNION ALL
SELECT c.work_id, c.message_id, c.fence, c.topic, c.payload, c.tenant_id, c.dedupe_key, c.correlation_id,
       c.headers::text, c.attempts, c.retry_count, c.created_at, c.due_at, c.last_error, c.priority, c.joins,
       c.stream, c.seq, c.source, c.orphan, 0::smallint,
       NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
       NULL
FROM b, LATERAL {schema}.{p}work_claim(
    0::smallint, ($1).id, ($12).lease_s, b.outbox_n, ($12).ns, ($12).topics, ($12).from_due, ($12).from_id,
    ($12).partition_count, ($12).max_partitions, ($12).last) c
WHERE b.outbox_n IS NOT NULL AND b.ended_at IS NULL AND b.part IS NULL
UNION ALL
SELECT c.work_id, c.message_id, c.fence, c.topic, c.payload, c.tenant_id, c.dedupe_key, c.correlation_id,
       c.headers::text, c.attempts, c.retry_count, c.created_at, c.due_at, c.last_error, c.priority, c.joins,
       c.stream, c.seq, c.source, c.orphan, 1::smallint,
       NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
       NULL
FROM b, LATERAL {schema}.{p}work_claim(
    1::smallint, ($1).id, ($13).lease_s, b.inbox_n, ($13).ns, ($13).topics, ($13).from_due, ($13).from_id,
    ($13).partition_count, ($13).max_partitions, ($13).last) c
WHERE b.inbox_n IS NOT NULL AND b.ended_at IS NULL AND b.part IS NULL

-- name: instance_leave
SELECT has_left, joins FROM {schema}.{p}work_leave($1)

-- name: instances
SELECT id, service, host, process_id, metadata::text, pg_catalog.array_position('{live,left,evicted}', state), started_at,
       last_heartbeat_at, ended_at, lease_seconds, stale_threshold_seconds, in_progress, partition_count
FROM {schema}.{p}instances WHERE ($1 IS NULL OR service = $1) AND ($2 OR state = 'live')
ORDER BY service, started_at, id

-- name: unclaimed
SELECT topic, messages, oldest, worked, t FROM {schema}.{p}work_unclaimed($1, $2, $3, $4)

-- name: streams
SELECT * FROM {schema}.{p}work_streams($1, $2, $3, $4, $5, $6, $7, $8, $9)

-- name: stream_read
SELECT * FROM {schema}.{p}work_stream_read($1, $2, $3, $4, $5)

-- name: receptor_report
SELECT problem, at FROM {schema}.{p}work_receptors($1, $2, $3, $4)

-- name: receptors
SELECT r.receptor, r.state = 'completed', r.attempts, r.error, r.first_at, r.last_at
FROM {schema}.{p}receptors r
WHERE r.message_id = (SELECT w.message_id FROM {schema}.{p}work_state w WHERE w.id = $1 AND w.door IN (0, 1))
ORDER BY r.receptor

-- name: checkpoint_report
SELECT problem, at FROM {schema}.{p}work_checkpoints($1, $2, $3, $4, $5, $6, $7)

-- name: checkpoint_rewind
SELECT problem, old FROM {schema}.{p}work_checkpoint_rewind($1, $2, $3, $4, $5)

-- name: checkpoints
SELECT consumer, seq, ahead, lag, error, error_seq, error_at, updated_at, rewound_at
FROM {schema}.{p}checkpoints
WHERE door = CASE $1 WHEN 0 THEN 'outbox' ELSE 'inbox' END AND namespace = $2 AND stream = $3 AND ($4 IS NULL OR consumer = $4)
ORDER BY consumer
