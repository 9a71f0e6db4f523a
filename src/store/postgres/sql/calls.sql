-- What the library sends. Names in the result are read by position.

-- name: schema_version
SELECT version, serves_from FROM {schema}.{p}schema_version()

-- name: clock
SELECT {schema}.{p}clock()

-- name: enqueue
SELECT work_id, message_id, is_new, problem
FROM {schema}.{p}work_enqueue($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)

-- name: enqueue_many
SELECT work_id, message_id, is_new, problem, ord
FROM {schema}.{p}work_enqueue_many($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)

-- name: claim
SELECT work_id, message_id, fence, topic, payload, tenant_id, dedupe_key, correlation_id, headers::text, attempts,
       retry_count, created_at, due_at, last_error, priority
FROM {schema}.{p}work_claim($1, $2, $3, $4, $5, $6, $7, $8)

-- name: settle
SELECT {schema}.{p}work_settle($1, $2, $3, $4, $5, $6, $7)

-- name: renew
SELECT {schema}.{p}work_renew($1, $2, $3, $4, $5)

-- name: reap
SELECT {schema}.{p}outbox_reap_expired()::bigint

-- name: find
SELECT id, message_id, coalesce(fence, 0), topic, payload, tenant_id, dedupe_key, correlation_id, headers::text, attempts,
       retry_count, created_at,
       coalesce(next_attempt_at, (SELECT (array_agg(h.next_due ORDER BY h.ordinality DESC) FILTER (WHERE h.next_due IS NOT NULL))[1]
                                  FROM {schema}.{p}work_history(o.id) WITH ORDINALITY h), greatest(due_time_utc, created_at)),
       last_error, priority::int,
       namespace, status_code, max_attempts, due_time_utc, expires_at, locked_until,
       coalesce(owner_token, processed_by::uuid, (SELECT x.owner_token FROM {schema}.{p}dead_letters x WHERE x.id = o.id)),
       processed_at, updated_at, next_attempt_at,
       (SELECT x.reason FROM {schema}.{p}dead_letters x WHERE x.id = o.id),
       (SELECT x.retried_as FROM {schema}.{p}dead_letters x WHERE x.id = o.id)
FROM {schema}.{p}outbox o WHERE o.id = $1

-- name: history
SELECT attempt, kind, error, at, owner, next_due FROM {schema}.{p}work_history($1)

-- name: count
SELECT ready, scheduled, in_progress, dead, expired_leases, oldest_ready_ms FROM {schema}.{p}work_count($1, $2)

-- name: dead_retry
SELECT old, new FROM {schema}.{p}dead_retry($1)

-- name: dead_discard
SELECT {schema}.{p}dead_discard($1)::bigint

-- name: queue_set
SELECT {schema}.{p}queue_set($1, $2, $3)

-- name: queue_pause
SELECT {schema}.{p}queue_pause($1, $2)

-- name: queue_resume
SELECT {schema}.{p}queue_resume($1, $2)

-- name: retention
SELECT {schema}.{p}retention_run($1)
