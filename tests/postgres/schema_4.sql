-- schema_4.sql - a schema of version 4 as its library left it, put on top of the migrations 0001 to
-- 0004: functions by their signatures and views by their columns, which is what a later migration
-- finds and must be able to replace; and data in every state, written by the library of version 4
-- (commit 1be55d0) while its clock stood at 2023-11-14 22:13:20 UTC.

CREATE VIEW checkpoints AS
SELECT NULL::text AS door, NULL::text COLLATE "C" AS namespace, NULL::text COLLATE "C" AS stream, NULL::text COLLATE "C" AS consumer,
       NULL::bigint AS seq, NULL::bigint AS ahead, NULL::bigint AS lag, NULL::text AS error, NULL::bigint AS error_seq, NULL::timestamptz AS
       error_at, NULL::timestamptz AS updated_at, NULL::timestamptz AS rewound_at;
CREATE VIEW dead_letters AS
SELECT NULL::uuid AS id, NULL::uuid AS message_id, NULL::text COLLATE "C" AS namespace, NULL::text COLLATE "C" AS topic, NULL::text AS
       payload, NULL::uuid AS tenant_id, NULL::text COLLATE "C" AS dedupe_key, NULL::text AS correlation_id, NULL::smallint AS priority,
       NULL::jsonb AS headers, NULL::timestamptz AS created_at, NULL::text AS reason, NULL::text AS error, NULL::int AS attempts, NULL::int
       AS retry_count, NULL::timestamptz AS died_at, NULL::uuid AS owner_token, NULL::uuid AS retried_as, NULL::jsonb AS history;
CREATE VIEW inbox AS
SELECT NULL::uuid AS id, NULL::text COLLATE "C" AS source, NULL::text COLLATE "C" AS message_id, NULL::text COLLATE "C" AS namespace,
       NULL::text COLLATE "C" AS topic, NULL::text AS payload, NULL::uuid AS tenant_id, NULL::text AS correlation_id, NULL::text COLLATE "C"
       AS stream, NULL::smallint AS priority, NULL::jsonb AS headers, NULL::timestamptz AS created_at, NULL::timestamptz AS due_time_utc,
       NULL::timestamptz AS expires_at, NULL::text AS status, NULL::int AS status_code, NULL::int AS attempts, NULL::int AS max_attempts,
       NULL::int AS retry_count, NULL::text AS last_error, NULL::timestamptz AS next_attempt_at, NULL::timestamptz AS locked_until,
       NULL::uuid AS owner_token, NULL::uuid AS locked_by, NULL::bigint AS fence, NULL::boolean AS is_processed, NULL::timestamptz AS
       processed_at, NULL::text AS processed_by, NULL::timestamptz AS updated_at, NULL::bigint AS seq;
CREATE VIEW instances AS
SELECT NULL::uuid AS id, NULL::text COLLATE "C" AS service, NULL::text AS host, NULL::int AS process_id, NULL::jsonb AS metadata, NULL::text
       AS state, NULL::timestamptz AS started_at, NULL::timestamptz AS last_heartbeat_at, NULL::timestamptz AS ended_at, NULL::int AS
       lease_seconds, NULL::int AS stale_threshold_seconds, NULL::int AS partition_count, NULL::bigint AS in_progress;
CREATE VIEW job_runs AS
SELECT NULL::uuid AS id, NULL::text COLLATE "C" AS namespace, NULL::text COLLATE "C" AS topic, NULL::text AS payload, NULL::text AS
       correlation_id, NULL::jsonb AS headers, NULL::timestamptz AS created_at, NULL::timestamptz AS due_time_utc, NULL::text AS status,
       NULL::int AS status_code, NULL::int AS attempts, NULL::int AS max_attempts, NULL::int AS retry_count, NULL::text AS last_error,
       NULL::timestamptz AS next_attempt_at, NULL::timestamptz AS locked_until, NULL::uuid AS owner_token, NULL::bigint AS fence,
       NULL::boolean AS is_processed, NULL::timestamptz AS processed_at, NULL::text AS processed_by, NULL::timestamptz AS updated_at,
       NULL::text COLLATE "C" AS job, NULL::timestamptz AS scheduled_at, NULL::boolean AS triggered;
CREATE VIEW jobs AS
SELECT NULL::text COLLATE "C" AS "name", NULL::text COLLATE "C" AS namespace, NULL::text COLLATE "C" AS topic, NULL::text AS payload,
       NULL::text AS cron, NULL::text AS timezone, NULL::text AS misfire, NULL::int AS misfire_limit, NULL::text AS overlap, NULL::boolean
       AS paused, NULL::text AS problem, NULL::timestamptz AS next_at, NULL::timestamptz AS last_at, NULL::uuid AS last_run, NULL::bigint AS
       skipped, NULL::timestamptz AS created_at, NULL::timestamptz AS updated_at;
CREATE VIEW join_members AS
SELECT NULL::uuid AS join_id, NULL::uuid AS message_id, NULL::uuid AS work_id, NULL::text AS status, NULL::int AS status_code,
       NULL::timestamptz AS created_at, NULL::text COLLATE "C" AS topic;
CREATE VIEW joins AS
SELECT NULL::uuid AS id, NULL::text COLLATE "C" AS grouping_key, NULL::text AS metadata, NULL::text AS status, NULL::int AS status_code,
       NULL::int AS expected_steps, NULL::int AS attached_steps, NULL::int AS completed_steps, NULL::int AS failed_steps, NULL::int AS
       open_waits, NULL::timestamptz AS created_at, NULL::timestamptz AS updated_at, NULL::timestamptz AS deadline, NULL::timestamptz AS
       finished_at;
CREATE VIEW outbox AS
SELECT NULL::uuid AS id, NULL::uuid AS message_id, NULL::text COLLATE "C" AS namespace, NULL::text COLLATE "C" AS topic, NULL::text AS
       payload, NULL::uuid AS tenant_id, NULL::text COLLATE "C" AS dedupe_key, NULL::text AS correlation_id, NULL::text COLLATE "C" AS
       stream, NULL::smallint AS priority, NULL::jsonb AS headers, NULL::timestamptz AS created_at, NULL::timestamptz AS due_time_utc,
       NULL::timestamptz AS expires_at, NULL::text AS status, NULL::int AS status_code, NULL::int AS attempts, NULL::int AS max_attempts,
       NULL::int AS retry_count, NULL::text AS last_error, NULL::timestamptz AS next_attempt_at, NULL::timestamptz AS locked_until,
       NULL::uuid AS owner_token, NULL::uuid AS locked_by, NULL::bigint AS fence, NULL::boolean AS is_processed, NULL::timestamptz AS
       processed_at, NULL::text AS processed_by, NULL::timestamptz AS updated_at, NULL::uuid AS waits_for, NULL::bigint AS seq;
CREATE VIEW queues AS
SELECT NULL::text AS door, NULL::text COLLATE "C" AS namespace, NULL::boolean AS paused, NULL::int AS max_attempts, NULL::text AS backoff,
       NULL::bigint AS backoff_base_ms, NULL::bigint AS backoff_max_ms, NULL::bigint AS retention_s, NULL::bigint AS dead_retention_s,
       NULL::bigint AS dedupe_retention_s, NULL::int AS max_payload_bytes, NULL::int AS max_lease_s, NULL::boolean AS delete_on_ack,
       NULL::text COLLATE "C" AS join_wait_topic, NULL::text AS dead_head, NULL::int AS affinity_grace_ms;
CREATE VIEW receptors AS
SELECT NULL::uuid AS message_id, NULL::text COLLATE "C" AS receptor, NULL::text AS status, NULL::int AS attempts, NULL::text AS error,
       NULL::timestamptz AS first_at, NULL::timestamptz AS last_at, NULL::uuid AS work_id;
CREATE VIEW streams AS
SELECT NULL::text AS door, NULL::text COLLATE "C" AS namespace, NULL::text COLLATE "C" AS stream, NULL::text AS state, NULL::int AS
       partition, NULL::bigint AS last_seq, NULL::bigint AS next_seq, NULL::bigint AS unsettled, NULL::uuid AS head, NULL::timestamptz AS
       head_due_at, NULL::int AS head_attempts, NULL::uuid AS locked_by, NULL::timestamptz AS locked_until, NULL::timestamptz AS created_at;
CREATE VIEW timers AS
SELECT NULL::uuid AS id, NULL::text COLLATE "C" AS namespace, NULL::text COLLATE "C" AS topic, NULL::text AS payload, NULL::text AS
       correlation_id, NULL::jsonb AS headers, NULL::timestamptz AS created_at, NULL::timestamptz AS due_time_utc, NULL::text AS status,
       NULL::int AS status_code, NULL::int AS attempts, NULL::int AS max_attempts, NULL::int AS retry_count, NULL::text AS last_error,
       NULL::timestamptz AS next_attempt_at, NULL::timestamptz AS locked_until, NULL::uuid AS owner_token, NULL::bigint AS fence,
       NULL::boolean AS is_processed, NULL::timestamptz AS processed_at, NULL::text AS processed_by, NULL::timestamptz AS updated_at;
CREATE VIEW work_state AS
SELECT NULL::uuid AS id, NULL::uuid AS message_id, NULL::text COLLATE "C" AS namespace, NULL::text COLLATE "C" AS topic, NULL::text AS
       payload, NULL::uuid AS tenant_id, NULL::text COLLATE "C" AS dedupe_key, NULL::text AS correlation_id, NULL::text COLLATE "C" AS
       stream, NULL::smallint AS priority, NULL::jsonb AS headers, NULL::timestamptz AS created_at, NULL::timestamptz AS due_time_utc,
       NULL::timestamptz AS expires_at, NULL::text AS status, NULL::int AS status_code, NULL::int AS attempts, NULL::int AS max_attempts,
       NULL::int AS retry_count, NULL::text AS last_error, NULL::timestamptz AS next_attempt_at, NULL::timestamptz AS locked_until,
       NULL::uuid AS owner_token, NULL::uuid AS locked_by, NULL::bigint AS fence, NULL::boolean AS is_processed, NULL::timestamptz AS
       processed_at, NULL::text AS processed_by, NULL::timestamptz AS updated_at, NULL::uuid AS waits_for, NULL::smallint AS door, NULL::int
       AS lane, NULL::bigint AS seq, NULL::text COLLATE "C" AS source, NULL::bigint AS stream_id;
CREATE VIEW work_token AS
SELECT NULL::bigint AS stream, NULL::int AS kind, NULL::bigint AS next_seq, NULL::bigint AS upto, NULL::uuid AS head, NULL::timestamptz AS
       due, NULL::smallint AS attempts, NULL::uuid AS owner, NULL::timestamptz AS until, NULL::bigint AS fence;

CREATE FUNCTION backoff_ms(_policy smallint, _base_ms bigint, _max_ms bigint, _retry_count bigint, _attempts int) RETURNS bigint LANGUAGE
    plpgsql AS 'BEGIN END';
CREATE FUNCTION batch_checkpoints(_completions jsonb, _failures jsonb, OUT doors smallint[], OUT ns text[], OUT streams text[], OUT
    consumers text[], OUT seqs bigint[], OUT failed boolean[], OUT errors text[]) RETURNS record LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION batch_fail(_part smallint, _at int, _result_problem smallint, _join_problem smallint, _problem text, _join uuid, _message
    uuid, _n int) RETURNS void LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION batch_inbox(_messages jsonb, OUT ns text[], OUT topics text[], OUT payloads text[], OUT tenant_ids uuid[], OUT keys text[],
    OUT correlation_ids text[], OUT streams text[], OUT levels smallint[], OUT due_ats timestamptz[], OUT expires_ats timestamptz[], OUT
    headers jsonb[], OUT message_ids uuid[], OUT max_attempts smallint[], OUT join_ids uuid[], OUT sources text[], OUT handled boolean[])
    RETURNS record LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION batch_items(_part text, _completions jsonb, _failures jsonb, _types jsonb, _more jsonb) RETURNS TABLE(item jsonb, failed
    boolean, place text) LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION batch_raise(_problem text) RETURNS void LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION batch_receptors(_completions jsonb, _failures jsonb, OUT ids uuid[], OUT names text[], OUT failed boolean[], OUT errors
    text[]) RETURNS record LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION batch_settlements(_door text, _completions jsonb, _failures jsonb, OUT ids uuid[], OUT fences bigint[], OUT verbs
    smallint[], OUT errors text[], OUT delays bigint[]) RETURNS record LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION checkpoint_complete(stream text, consumer text, seq bigint, namespace text DEFAULT '', door text DEFAULT 'outbox'::text)
    RETURNS bigint LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION checkpoint_fail(stream text, consumer text, seq bigint, error text DEFAULT NULL, namespace text DEFAULT '', door text
    DEFAULT 'outbox'::text) RETURNS void LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION checkpoint_named(_verb text, _door text, _ns text, _stream text, _consumer text, _seq bigint, _failed boolean, _error text)
    RETURNS bigint LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION checkpoint_rewind(stream text, consumer text, seq bigint, namespace text DEFAULT '', door text DEFAULT 'outbox'::text)
    RETURNS bigint LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION claim_problem(_owner uuid, _lease_seconds int, _batch_size int, _ns text, _topics text[], _from_due timestamptz[]) RETURNS
    text LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION clock() RETURNS timestamptz LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION dead_discard(work_ids uuid[]) RETURNS int LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION dead_retry(work_ids uuid[]) RETURNS TABLE(old uuid, new uuid) LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION door_number(_door text) RETURNS smallint LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION doorbell_ring(namespace text DEFAULT '') RETURNS void LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION enqueue(topic text, payload text, namespace text DEFAULT '', tenant_id uuid DEFAULT NULL, dedupe_key text DEFAULT NULL,
    correlation_id text DEFAULT NULL, stream text DEFAULT NULL, priority int DEFAULT 1, due_at timestamptz DEFAULT NULL, expires_at
    timestamptz DEFAULT NULL, headers jsonb DEFAULT NULL, message_id uuid DEFAULT NULL, join_id uuid DEFAULT NULL, max_attempts int DEFAULT
    NULL) RETURNS enqueued LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION enqueue_many(messages jsonb) RETURNS SETOF enqueued LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION error_cut(_error text) RETURNS text LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION for_item(_list anyarray, _i int) RETURNS anyelement LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION id_new(door smallint) RETURNS uuid LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION id_number(id uuid) RETURNS bigint LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION ids_new(_door smallint, _n int) RETURNS uuid[] LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION ids_problem(_ids uuid[]) RETURNS text LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION inbox_abandon(owner uuid, work_ids uuid[], error text DEFAULT NULL, delay interval DEFAULT NULL, fences bigint[] DEFAULT
    NULL) RETURNS TABLE(work_id uuid, outcome text, joins uuid[]) LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION inbox_ack(owner uuid, work_ids uuid[], fences bigint[] DEFAULT NULL) RETURNS TABLE(work_id uuid, outcome text, joins uuid[])
    LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION inbox_claim(owner uuid, lease_seconds int, batch_size int, namespace text DEFAULT '', topics text[] DEFAULT NULL, from_due
    timestamptz[] DEFAULT NULL) RETURNS TABLE(work_id uuid, message_id text, fence bigint, topic text, payload text, tenant_id uuid,
    dedupe_key text, correlation_id text, stream text, headers jsonb, attempts int, retry_count int, created_at timestamptz, due_at
    timestamptz, last_error text, source text) LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION inbox_fail(owner uuid, work_ids uuid[], error text DEFAULT NULL, fences bigint[] DEFAULT NULL) RETURNS TABLE(work_id uuid,
    outcome text, joins uuid[]) LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION inbox_problem(_source text, _id text, _handled boolean) RETURNS text LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION inbox_reap_expired() RETURNS int LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION inbox_receive(source text, message_id text, topic text, payload text, namespace text DEFAULT '', tenant_id uuid DEFAULT
    NULL, correlation_id text DEFAULT NULL, stream text DEFAULT NULL, priority int DEFAULT 1, headers jsonb DEFAULT NULL, handled boolean
    DEFAULT false, OUT work_id uuid, OUT is_new boolean) RETURNS record LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION inbox_release(owner uuid, work_ids uuid[], fences bigint[] DEFAULT NULL) RETURNS TABLE(work_id uuid, outcome text) LANGUAGE
    plpgsql AS 'BEGIN END';
CREATE FUNCTION inbox_renew(owner uuid, work_ids uuid[], lease_seconds int, fences bigint[] DEFAULT NULL) RETURNS TABLE(work_id uuid,
    outcome text) LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION instance_leave(instance_id uuid) RETURNS boolean LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION instance_problem(_id uuid, _service text, _host text, _process_id int, _metadata jsonb, _lease_s int, _stale_s int) RETURNS
    text LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION items_problem(_part text, _items jsonb, _types jsonb) RETURNS text LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION job_delete(name text) RETURNS boolean LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION job_missing(_verb text, _name text) RETURNS void LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION job_named(_verb text, _name text) RETURNS text LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION job_pause(name text) RETURNS void LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION job_problem(_name text, _topic text, _cron text, _payload text, _timezone text, _misfire text, _misfire_limit int, _overlap
    text, _ns text) RETURNS text LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION job_resume(name text) RETURNS void LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION job_runs_abandon(owner uuid, work_ids uuid[], error text DEFAULT NULL, delay interval DEFAULT NULL, fences bigint[] DEFAULT
    NULL) RETURNS TABLE(work_id uuid, outcome text, joins uuid[]) LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION job_runs_ack(owner uuid, work_ids uuid[], fences bigint[] DEFAULT NULL) RETURNS TABLE(work_id uuid, outcome text, joins
    uuid[]) LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION job_runs_claim(owner uuid, lease_seconds int, batch_size int, namespace text DEFAULT '', topics text[] DEFAULT NULL,
    from_due timestamptz[] DEFAULT NULL) RETURNS TABLE(work_id uuid, message_id uuid, fence bigint, topic text, payload text, tenant_id
    uuid, dedupe_key text, correlation_id text, stream text, headers jsonb, attempts int, retry_count int, created_at timestamptz, due_at
    timestamptz, last_error text) LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION job_runs_fail(owner uuid, work_ids uuid[], error text DEFAULT NULL, fences bigint[] DEFAULT NULL) RETURNS TABLE(work_id
    uuid, outcome text, joins uuid[]) LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION job_runs_reap_expired() RETURNS int LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION job_runs_release(owner uuid, work_ids uuid[], fences bigint[] DEFAULT NULL) RETURNS TABLE(work_id uuid, outcome text)
    LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION job_runs_renew(owner uuid, work_ids uuid[], lease_seconds int, fences bigint[] DEFAULT NULL) RETURNS TABLE(work_id uuid,
    outcome text) LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION job_set(name text, topic text, cron text, payload text DEFAULT NULL, timezone text DEFAULT 'UTC'::text, misfire text DEFAULT
    'once'::text, misfire_limit int DEFAULT 100, overlap text DEFAULT 'allow'::text, namespace text DEFAULT '') RETURNS void LANGUAGE
    plpgsql AS 'BEGIN END';
CREATE FUNCTION job_trigger(name text) RETURNS uuid LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION join_attach(join_id uuid, message_id uuid) RETURNS void LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION join_attach_many(join_id uuid, message_ids uuid[]) RETURNS void LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION join_attach_named(_verb text, _join uuid, _messages uuid[]) RETURNS void LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION join_cancel(join_id uuid) RETURNS boolean LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION join_ids_problem(_join uuid, _messages uuid[]) RETURNS text LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION join_problem(_code smallint, _join uuid, _message uuid) RETURNS text LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION join_raise(_where text, _code smallint, _join uuid, _message uuid) RETURNS boolean LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION join_report_completed(join_id uuid, message_id uuid) RETURNS void LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION join_report_failed(join_id uuid, message_id uuid) RETURNS void LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION join_report_named(_verb text, _join uuid, _message uuid, _failed boolean) RETURNS void LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION join_start(expected_steps int, grouping_key text DEFAULT NULL, metadata text DEFAULT NULL, deadline timestamptz DEFAULT
    NULL) RETURNS uuid LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION join_wait(join_id uuid, fail_if_any_step_failed boolean, on_complete_topic text, on_complete_payload text, on_fail_topic
    text DEFAULT NULL, on_fail_payload text DEFAULT NULL, namespace text DEFAULT '') RETURNS uuid LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION lease_fronts(_lease lease) RETURNS int[] LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION lease_runs(_streams bigint[], _seqs bigint[]) RETURNS bigint[] LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION message_problem(_topic text, _payload text, _ns text, _tenant_id uuid, _dedupe_key text, _correlation_id text, _stream text,
    _priority int, _due_at timestamptz, _expires_at timestamptz, _headers jsonb, _max_attempts int, _message_id uuid, _door smallint DEFAULT
    0, _source text DEFAULT NULL, _handled boolean DEFAULT false) RETURNS text LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION messages_cast_problem(_messages jsonb) RETURNS text LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION messages_problem(_messages jsonb) RETURNS text LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION messages_read(_where text, _messages jsonb, OUT ns text[], OUT topics text[], OUT payloads text[], OUT tenant_ids uuid[],
    OUT keys text[], OUT correlation_ids text[], OUT streams text[], OUT levels smallint[], OUT due_ats timestamptz[], OUT expires_ats
    timestamptz[], OUT headers jsonb[], OUT message_ids uuid[], OUT max_attempts smallint[], OUT join_ids uuid[]) RETURNS record LANGUAGE
    plpgsql AS 'BEGIN END';
CREATE FUNCTION name_problem(_what text, _name text) RETURNS text LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION outbox_abandon(owner uuid, work_ids uuid[], error text DEFAULT NULL, delay interval DEFAULT NULL, fences bigint[] DEFAULT
    NULL) RETURNS TABLE(work_id uuid, outcome text, joins uuid[]) LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION outbox_ack(owner uuid, work_ids uuid[], fences bigint[] DEFAULT NULL) RETURNS TABLE(work_id uuid, outcome text, joins
    uuid[]) LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION outbox_claim(owner uuid, lease_seconds int, batch_size int, namespace text DEFAULT '', topics text[] DEFAULT NULL, from_due
    timestamptz[] DEFAULT NULL) RETURNS TABLE(work_id uuid, message_id uuid, fence bigint, topic text, payload text, tenant_id uuid,
    dedupe_key text, correlation_id text, stream text, headers jsonb, attempts int, retry_count int, created_at timestamptz, due_at
    timestamptz, last_error text) LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION outbox_fail(owner uuid, work_ids uuid[], error text DEFAULT NULL, fences bigint[] DEFAULT NULL) RETURNS TABLE(work_id uuid,
    outcome text, joins uuid[]) LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION outbox_reap_expired() RETURNS int LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION outbox_release(owner uuid, work_ids uuid[], fences bigint[] DEFAULT NULL) RETURNS TABLE(work_id uuid, outcome text) LANGUAGE
    plpgsql AS 'BEGIN END';
CREATE FUNCTION outbox_renew(owner uuid, work_ids uuid[], lease_seconds int, fences bigint[] DEFAULT NULL) RETURNS TABLE(work_id uuid,
    outcome text) LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION partition_owner(_service text, _partition int) RETURNS uuid LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION process_work_batch(instance_id uuid, service_name text, host_name text, process_id int, metadata jsonb DEFAULT NULL,
    outbox_completions jsonb DEFAULT NULL, outbox_failures jsonb DEFAULT NULL, inbox_completions jsonb DEFAULT NULL, inbox_failures jsonb
    DEFAULT NULL, receptor_completions jsonb DEFAULT NULL, receptor_failures jsonb DEFAULT NULL, checkpoint_completions jsonb DEFAULT NULL,
    checkpoint_failures jsonb DEFAULT NULL, new_outbox_messages jsonb DEFAULT NULL, new_inbox_messages jsonb DEFAULT NULL, renew_outbox_ids
    uuid[] DEFAULT NULL, renew_inbox_ids uuid[] DEFAULT NULL, flags int DEFAULT 0, namespace text DEFAULT '', topics text[] DEFAULT NULL,
    batch_size int DEFAULT 50, partition_count int DEFAULT 10000, max_partitions_per_instance int DEFAULT NULL, lease_seconds int DEFAULT
    300, stale_threshold_seconds int DEFAULT 600) RETURNS SETOF batch_item LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION queue_get(_door smallint, _ns text) RETURNS queue LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION queue_named(_verb text, _door text, _ns text) RETURNS queue LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION queue_pause(door text, namespace text) RETURNS void LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION queue_resume(door text, namespace text) RETURNS void LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION queue_set(door text, namespace text, settings jsonb) RETURNS void LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION raise_problem(_verb text, _index int, _problem text) RETURNS boolean LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION receptor_complete(work_id uuid, receptor text) RETURNS void LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION receptor_fail(work_id uuid, receptor text, error text DEFAULT NULL) RETURNS void LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION receptor_named(_verb text, _id uuid, _name text, _failed boolean, _error text) RETURNS void LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION result_problem(_code smallint) RETURNS text LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION result_raise(_where text, _code smallint) RETURNS void LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION retention_run(batch int DEFAULT 1000) RETURNS bigint LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION schema_version(OUT version int, OUT serves_from int) RETURNS record LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION settings_problem(_settings jsonb) RETURNS text LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION settle_named(_name text, _door smallint, _verb smallint, _owner uuid, _ids uuid[], _fences bigint[], _error text, _delay
    interval, _lease_s int) RETURNS TABLE(work_id uuid, outcome text, joins uuid[]) LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION stream_hash(key text) RETURNS bigint LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION stream_problem(_door text, _ns text, _stream text, _consumer text, _seq bigint, _least int) RETURNS text LANGUAGE plpgsql AS
    'BEGIN END';
CREATE FUNCTION stream_read(stream text, after_seq bigint DEFAULT 0, batch_size int DEFAULT 50, namespace text DEFAULT '', door text DEFAULT
    'outbox'::text) RETURNS TABLE(seq bigint, work_id uuid, message_id text, topic text, payload text, tenant_id uuid, correlation_id text,
    headers jsonb, created_at timestamptz) LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION timer_cancel(timer_id uuid) RETURNS boolean LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION timer_problem(_door smallint, _tenant_id uuid, _dedupe_key text, _level smallint, _due_at timestamptz, _expires_at
    timestamptz, _message_id uuid, _max_attempts smallint, _join_id uuid) RETURNS text LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION timer_schedule(topic text, payload text, due_at timestamptz, namespace text DEFAULT '', correlation_id text DEFAULT NULL,
    headers jsonb DEFAULT NULL) RETURNS uuid LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION timers_abandon(owner uuid, work_ids uuid[], error text DEFAULT NULL, delay interval DEFAULT NULL, fences bigint[] DEFAULT
    NULL) RETURNS TABLE(work_id uuid, outcome text, joins uuid[]) LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION timers_ack(owner uuid, work_ids uuid[], fences bigint[] DEFAULT NULL) RETURNS TABLE(work_id uuid, outcome text, joins
    uuid[]) LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION timers_claim(owner uuid, lease_seconds int, batch_size int, namespace text DEFAULT '', topics text[] DEFAULT NULL, from_due
    timestamptz[] DEFAULT NULL) RETURNS TABLE(work_id uuid, message_id uuid, fence bigint, topic text, payload text, tenant_id uuid,
    dedupe_key text, correlation_id text, stream text, headers jsonb, attempts int, retry_count int, created_at timestamptz, due_at
    timestamptz, last_error text) LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION timers_fail(owner uuid, work_ids uuid[], error text DEFAULT NULL, fences bigint[] DEFAULT NULL) RETURNS TABLE(work_id uuid,
    outcome text, joins uuid[]) LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION timers_reap_expired() RETURNS int LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION timers_release(owner uuid, work_ids uuid[], fences bigint[] DEFAULT NULL) RETURNS TABLE(work_id uuid, outcome text) LANGUAGE
    plpgsql AS 'BEGIN END';
CREATE FUNCTION timers_renew(owner uuid, work_ids uuid[], lease_seconds int, fences bigint[] DEFAULT NULL) RETURNS TABLE(work_id uuid,
    outcome text) LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION token_blocked_id(id uuid) RETURNS uuid LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION token_id(stream bigint) RETURNS uuid LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION wait_problem(_fail_if_any_step_failed boolean, _on_complete_topic text, _on_complete_payload text, _on_fail_topic text, _ns
    text) RETURNS text LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION work_advance(_names text[], _generations bigint[], _seen timestamptz[], _next timestamptz[], _problems text[], _ends
    bigint[], _instants timestamptz[]) RETURNS bigint LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION work_affinity(_owner uuid, _partitions int, _max int, _t timestamptz, OUT seed bigint, OUT others bigint[], OUT held
    bigint[]) RETURNS record LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION work_batch(_id uuid, _service text, _host text, _process_id int, _metadata jsonb, _lease_s int, _stale_s int, _partitions
    int, _keep boolean, _outbox_ids uuid[], _outbox_fences bigint[], _outbox_verbs smallint[], _outbox_errors text[], _outbox_delays
    bigint[], _inbox_ids uuid[], _inbox_fences bigint[], _inbox_verbs smallint[], _inbox_errors text[], _inbox_delays bigint[],
    _renew_outbox_ids uuid[], _renew_outbox_fences bigint[], _renew_inbox_ids uuid[], _renew_inbox_fences bigint[], OUT registered boolean,
    OUT evicted int, OUT evicted_one uuid, OUT ended_at timestamptz, OUT outbox_outcomes smallint[], OUT inbox_outcomes smallint[], OUT
    outbox_renewed smallint[], OUT inbox_renewed smallint[], OUT joins text) RETURNS record LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION work_batch_whole(_id uuid, _service text, _host text, _process_id int, _metadata jsonb, _lease_s int, _stale_s int,
    _partitions int, _keep boolean, _outbox_ids uuid[], _outbox_fences bigint[], _outbox_verbs smallint[], _outbox_errors text[],
    _outbox_delays bigint[], _inbox_ids uuid[], _inbox_fences bigint[], _inbox_verbs smallint[], _inbox_errors text[], _inbox_delays
    bigint[], _renew_outbox_ids uuid[], _renew_outbox_fences bigint[], _renew_inbox_ids uuid[], _renew_inbox_fences bigint[], _receptor_ids
    uuid[], _receptors text[], _receptor_failed boolean[], _receptor_errors text[], _checkpoint_doors smallint[], _checkpoint_ns text[],
    _checkpoint_streams text[], _checkpoint_consumers text[], _checkpoint_seqs bigint[], _checkpoint_failed boolean[], _checkpoint_errors
    text[], _out_ns text[], _out_topics text[], _out_payloads text[], _out_tenant_ids uuid[], _out_keys text[], _out_correlation_ids text[],
    _out_streams text[], _out_levels smallint[], _out_due_ats timestamptz[], _out_expires_ats timestamptz[], _out_headers jsonb[],
    _out_message_ids uuid[], _out_max_attempts smallint[], _out_join_ids uuid[], _out_sources text[], _out_handled boolean[], _in_ns text[],
    _in_topics text[], _in_payloads text[], _in_tenant_ids uuid[], _in_keys text[], _in_correlation_ids text[], _in_streams text[],
    _in_levels smallint[], _in_due_ats timestamptz[], _in_expires_ats timestamptz[], _in_headers jsonb[], _in_message_ids uuid[],
    _in_max_attempts smallint[], _in_join_ids uuid[], _in_sources text[], _in_handled boolean[], OUT registered boolean, OUT evicted int,
    OUT evicted_one uuid, OUT ended_at timestamptz, OUT outbox_outcomes smallint[], OUT inbox_outcomes smallint[], OUT outbox_renewed
    smallint[], OUT inbox_renewed smallint[], OUT joins text, OUT new_outbox_ids uuid[], OUT new_outbox_message_ids uuid[], OUT
    new_outbox_is_new boolean[], OUT new_inbox_ids uuid[], OUT new_inbox_message_ids uuid[], OUT new_inbox_is_new boolean[], OUT part
    smallint, OUT at int, OUT result_problem smallint, OUT join_problem smallint, OUT problem_message uuid, OUT problem text) RETURNS record
    LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION work_beat(_id uuid, _service text, _host text, _process_id int, _metadata jsonb, _lease_s int, _stale_s int, _partitions
    int, _t timestamptz, OUT registered boolean, OUT evicted int, OUT evicted_one uuid, OUT ended_at timestamptz, OUT joins text) RETURNS
    record LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION work_bury(_ids uuid[], _reason smallint, _t timestamptz, _owner uuid) RETURNS void LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION work_bury_unfit(_ids uuid[], _attempts smallint[], _expired boolean[], _t timestamptz) RETURNS void LANGUAGE plpgsql AS
    'BEGIN END';
CREATE FUNCTION work_checkpoint_fold(_row checkpoint, _seq bigint, _failed boolean, _error text, _t timestamptz) RETURNS checkpoint LANGUAGE
    plpgsql AS 'BEGIN END';
CREATE FUNCTION work_checkpoint_rewind(_door smallint, _ns text, _stream text, _consumer text, _seq bigint, OUT problem smallint, OUT old
    bigint) RETURNS record LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION work_checkpoints(_doors smallint[], _ns text[], _streams text[], _consumers text[], _seqs bigint[], _failed boolean[],
    _errors text[], OUT problem smallint, OUT at int) RETURNS record LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION work_claim(_door smallint, _owner uuid, _lease_s int, _n int, _ns text, _topics text[], _from_due timestamptz[], _from_id
    uuid[], _partitions int DEFAULT 0, _max_partitions int DEFAULT NULL) RETURNS TABLE(work_id uuid, message_id uuid, fence bigint, topic
    text, payload text, tenant_id uuid, dedupe_key text, correlation_id text, stream text, headers jsonb, attempts int, retry_count int,
    created_at timestamptz, due_at timestamptz, last_error text, priority int, joins text, seq bigint, source text, orphan boolean) LANGUAGE
    plpgsql AS 'BEGIN END';
CREATE FUNCTION work_claim_hint(_queue int, _t timestamptz, _took interval, _whole boolean, _full boolean, _hint hint, _ids uuid[], _dues
    timestamptz[], _streams bigint[], _tokens_seen boolean) RETURNS void LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION work_claim_hint_reap(_queue int, _t timestamptz) RETURNS void LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION work_count(_door smallint, _ns text, OUT ready bigint, OUT scheduled bigint, OUT in_progress bigint, OUT dead bigint, OUT
    expired_leases bigint, OUT oldest_ready_ms bigint, OUT parked bigint) RETURNS record LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION work_count_found(_done uuid[], _dead uuid[], _low uuid, _high uuid, _t timestamptz) RETURNS text LANGUAGE plpgsql AS 'BEGIN
    END';
CREATE FUNCTION work_count_steps(_done uuid[], _dead uuid[], _t timestamptz) RETURNS text LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION work_discard(_ids uuid[]) RETURNS int LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION work_done(_ids uuid[], _queue int, _t timestamptz, _owner uuid, _keep boolean DEFAULT false) RETURNS boolean LANGUAGE
    plpgsql AS 'BEGIN END';
CREATE FUNCTION work_enqueue(_door smallint, _ns text, _topic text, _payload text, _tenant_id uuid, _dedupe_key text, _correlation_id text,
    _stream text, _level smallint, _due_at timestamptz, _expires_at timestamptz, _headers jsonb, _message_id uuid, _max_attempts smallint,
    _join_id uuid, _source text DEFAULT NULL, _handled boolean DEFAULT false, OUT work_id uuid, OUT message_id uuid, OUT is_new boolean, OUT
    problem text, OUT join_problem smallint, OUT joins text) RETURNS record LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION work_enqueue_many(_door smallint, _ns text[], _topics text[], _payloads text[], _tenant_ids uuid[], _dedupe_keys text[],
    _correlation_ids text[], _streams text[], _levels smallint[], _due_ats timestamptz[], _expires_ats timestamptz[], _headers jsonb[],
    _message_ids uuid[], _max_attempts smallint[], _join_ids uuid[], _sources text[] DEFAULT NULL, _handled boolean[] DEFAULT NULL) RETURNS
    TABLE(ord int, work_id uuid, message_id uuid, is_new boolean, problem text, join_problem smallint, joins text) LANGUAGE plpgsql AS
    'BEGIN END';
CREATE FUNCTION work_fire(_door smallint, _owner uuid, _n int, _t timestamptz, OUT fired int, OUT namespaces text[], OUT next_at
    timestamptz) RETURNS record LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION work_fire_hint(_door smallint, _t timestamptz) RETURNS void LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION work_fire_pick(_queues int[], _bounds timestamptz[], _t timestamptz, _n int, OUT tids tid[], OUT ids uuid[], OUT queues
    int[], OUT topics int[]) RETURNS record LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION work_fire_store(_ids uuid[], _topics int[], _outboxes int[], _t timestamptz) RETURNS void LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION work_followers(_stream bigint, _after bigint, _n int, _topics text[], _t timestamptz) RETURNS TABLE(id uuid, due
    timestamptz, seq bigint) LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION work_forget(_ids uuid[], _status smallint) RETURNS void LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION work_give_up(_id uuid, _verb smallint, _attempts smallint, _lost smallint, _error text, _delay_ms bigint, _t timestamptz,
    _owner uuid) RETURNS smallint LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION work_handled(_ids uuid[], _queue int, _t timestamptz) RETURNS void LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION work_heads_died(_queue int, _ids uuid[], _t timestamptz) RETURNS void LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION work_history(_id uuid) RETURNS TABLE(attempt int, kind int, error text, at timestamptz, owner uuid, next_due timestamptz)
    LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION work_hold(_message_ids uuid[], OUT ids uuid[], OUT states smallint[]) RETURNS record LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION work_instances_forget(_t timestamptz, _most int) RETURNS void LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION work_job_is_open(_job text) RETURNS boolean LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION work_job_pause(_name text, _paused boolean) RETURNS boolean LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION work_job_run(_job job, _instants timestamptz[], _triggered boolean, _t timestamptz, OUT made int, OUT last_at timestamptz,
    OUT last_run uuid) RETURNS record LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION work_job_run_alone(_job job, _instants timestamptz[], _t timestamptz, OUT made int, OUT last_at timestamptz, OUT last_run
    uuid, OUT skipped int) RETURNS record LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION work_job_set(_name text, _topic text, _cron text, _payload text, _timezone text, _misfire smallint, _misfire_limit int,
    _overlap smallint, _ns text) RETURNS boolean LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION work_job_trigger(_name text) RETURNS uuid LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION work_join_add(_joins uuid[], _ids uuid[], _messages uuid[], _states smallint[], _t timestamptz) RETURNS text LANGUAGE
    plpgsql AS 'BEGIN END';
CREATE FUNCTION work_join_attach(_join uuid, _messages uuid[], OUT problem smallint, OUT message uuid, OUT joins text) RETURNS record
    LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION work_join_cancel(_join uuid, OUT problem smallint, OUT cancelled boolean, OUT joins text) RETURNS record LANGUAGE plpgsql AS
    'BEGIN END';
CREATE FUNCTION work_join_check(_joins uuid[], _messages uuid[], _states smallint[], OUT problem smallint, OUT at int) RETURNS record
    LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION work_join_close(_joins uuid[], _status smallint, _t timestamptz) RETURNS text LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION work_join_expire(_t timestamptz, _most int, OUT count int, OUT joins text) RETURNS record LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION work_join_fire(_joins uuid[], _t timestamptz) RETURNS text LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION work_join_forget(_until timestamptz, _most int) RETURNS int LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION work_join_prepare(_joins uuid[], _new uuid[], _final uuid[], _shown uuid[], OUT problem smallint, OUT at int, OUT messages
    uuid[], OUT ids uuid[], OUT states smallint[]) RETURNS record LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION work_join_report(_join uuid, _message uuid, _failed boolean, OUT problem smallint, OUT joins text) RETURNS record LANGUAGE
    plpgsql AS 'BEGIN END';
CREATE FUNCTION work_join_start(_expected int, _key text, _metadata text, _deadline timestamptz, OUT problem smallint, OUT id uuid) RETURNS
    record LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION work_join_tally(_joins uuid[], _attached int[], _completed int[], _failed int[], _t timestamptz, _locked boolean, OUT
    counted int, OUT joins text) RETURNS record LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION work_join_wait(_join uuid, _fail_if_any_step_failed boolean, _on_complete_topic text, _on_complete_payload text,
    _on_fail_topic text, _on_fail_payload text, _ns text, OUT problem smallint, OUT id uuid, OUT joins text) RETURNS record LANGUAGE plpgsql
    AS 'BEGIN END';
CREATE FUNCTION work_joins(_key text, _status int, _oldest_first boolean, _limit int, _after uuid) RETURNS SETOF joins LANGUAGE plpgsql AS
    'BEGIN END';
CREATE FUNCTION work_lease_match(_held uuid[], _settled bit varying, _fence bigint, _ids uuid[], _fences bigint[], _outcomes smallint[], OUT
    at int[], OUT pos int[]) RETURNS record LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION work_lease_shrink(_lease lease, _pos int[], _runs bigint[]) RETURNS void LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION work_leases(_door smallint, _owner uuid, _ids uuid[], _fences bigint[], _t timestamptz) RETURNS bigint[] LANGUAGE plpgsql AS
    'BEGIN END';
CREATE FUNCTION work_leave(_id uuid, OUT has_left boolean, OUT joins text) RETURNS record LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION work_list(_door smallint, _ns text, _topic text, _state int, _oldest_first boolean, _limit int, _after uuid, _with_payload
    boolean) RETURNS TABLE(work_id uuid, message_id uuid, fence bigint, topic text, payload text, tenant_id uuid, dedupe_key text,
    correlation_id text, headers text, attempts int, retry_count int, created_at timestamptz, due_at timestamptz, last_error text, priority
    int, namespace text, status_code int, max_attempts int, due_time_utc timestamptz, expires_at timestamptz, locked_until timestamptz,
    owner uuid, processed_at timestamptz, updated_at timestamptz, next_attempt_at timestamptz, dead_reason text, retried_as uuid, waits_for
    uuid, stream text, seq bigint, source text, payload_length int) LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION work_list_done(_queues int[], _topic text, _oldest_first boolean, _limit int, _after uuid) RETURNS uuid[] LANGUAGE plpgsql
    AS 'BEGIN END';
CREATE FUNCTION work_list_page(_queues int[], _topic text, _state int, _oldest_first boolean, _limit int, _after uuid, _t timestamptz)
    RETURNS uuid[] LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION work_list_rows(_ids uuid[], _with_payload boolean) RETURNS TABLE(work_id uuid, message_id uuid, fence bigint, topic text,
    payload text, tenant_id uuid, dedupe_key text, correlation_id text, headers text, attempts int, retry_count int, created_at timestamptz,
    due_at timestamptz, last_error text, priority int, namespace text, status_code int, max_attempts int, due_time_utc timestamptz,
    expires_at timestamptz, locked_until timestamptz, owner uuid, processed_at timestamptz, updated_at timestamptz, next_attempt_at
    timestamptz, dead_reason text, retried_as uuid, waits_for uuid, stream text, seq bigint, source text, payload_length int) LANGUAGE
    plpgsql AS 'BEGIN END';
CREATE FUNCTION work_next_heads(_queue int, _streams bigint[], _after bigint[], _t timestamptz) RETURNS void LANGUAGE plpgsql AS 'BEGIN
    END';
CREATE FUNCTION work_outcomes_rest(_door smallint, _ids uuid[], _outcomes smallint[]) RETURNS smallint[] LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION work_pick(_queue int, _max smallint, _levels smallint[], _t timestamptz, _n int, _topics int[], _from_due timestamptz[],
    _from_id uuid[], _has_streams boolean, _partitions int, _only bigint[], _grace timestamptz, _seed bigint, _others bigint[], OUT ids
    uuid[], OUT attempts smallint[], OUT dues timestamptz[], OUT lost smallint[], OUT unfit boolean[], OUT expired boolean[], OUT streams
    bigint[], OUT seqs bigint[]) RETURNS record LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION work_places(_from uuid, _n int, OUT upto uuid, OUT messages bigint, OUT wrong bigint, OUT examples text[], OUT total bigint)
    RETURNS record LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION work_queues(_door smallint, _ns text) RETURNS TABLE(namespace text, paused boolean, max_attempts int, backoff int,
    backoff_base_ms bigint, backoff_max_ms bigint, retention_s bigint, dead_retention_s bigint, dedupe_retention_s bigint, max_payload_bytes
    bigint, max_lease_s int, delete_on_ack boolean, ready bigint, scheduled bigint, in_progress bigint, dead bigint, expired_leases bigint,
    oldest_ready_ms bigint, join_wait_topic text, parked bigint, dead_head int, affinity_grace_ms int) LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION work_reap(_door smallint, _t timestamptz, _from timestamptz, _most int, OUT count int, OUT joins text) RETURNS record
    LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION work_reap_expired(_door smallint, OUT count int, OUT joins text) RETURNS record LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION work_reap_lease(_lease lease, _t timestamptz, OUT count int, OUT dead uuid[]) RETURNS record LANGUAGE plpgsql AS 'BEGIN
    END';
CREATE FUNCTION work_reap_owner(_owner uuid, _t timestamptz, OUT count int, OUT joins text) RETURNS record LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION work_receptors(_ids uuid[], _names text[], _failed boolean[], _errors text[], OUT problem smallint, OUT at int) RETURNS
    record LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION work_release_owner(_owner uuid, _t timestamptz, OUT count int, OUT joins text) RETURNS record LANGUAGE plpgsql AS 'BEGIN
    END';
CREATE FUNCTION work_renew(_door smallint, _owner uuid, _ids uuid[], _fences bigint[], _lease_s int) RETURNS smallint[] LANGUAGE plpgsql AS
    'BEGIN END';
CREATE FUNCTION work_runs_extend(_ids uuid[], _attempts smallint[], _dues timestamptz[], _streams bigint[], _seqs bigint[], _cap int, _room
    int, _topics text[], _t timestamptz, OUT ids uuid[], OUT attempts smallint[], OUT dues timestamptz[], OUT streams bigint[], OUT seqs
    bigint[]) RETURNS record LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION work_settle(_door smallint, _owner uuid, _ids uuid[], _fences bigint[], _verbs smallint[], _errors text[], _delays bigint[],
    _keep boolean DEFAULT false, OUT outcomes smallint[], OUT joins text) RETURNS record LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION work_settle_runs(_lease lease, _at int[], _pos int[], _verbs smallint[], OUT at int[], OUT pos int[], OUT other_at int[],
    OUT others smallint[], OUT gone int[], OUT runs bigint[], OUT ended bigint[], OUT after bigint[]) RETURNS record LANGUAGE plpgsql AS
    'BEGIN END';
CREATE FUNCTION work_steps_of(_done uuid[], _dead uuid[], _low uuid, _high uuid, _only uuid[], OUT joins uuid[], OUT completed int[], OUT
    failed int[]) RETURNS record LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION work_stream_read(_door smallint, _ns text, _key text, _after bigint, _n int) RETURNS TABLE(work_id uuid, message_id uuid,
    fence bigint, topic text, payload text, tenant_id uuid, dedupe_key text, correlation_id text, headers text, attempts int, retry_count
    int, created_at timestamptz, due_at timestamptz, last_error text, priority int, namespace text, status_code int, max_attempts int,
    due_time_utc timestamptz, expires_at timestamptz, locked_until timestamptz, owner uuid, processed_at timestamptz, updated_at
    timestamptz, next_attempt_at timestamptz, dead_reason text, retried_as uuid, waits_for uuid, stream text, seq bigint, source text,
    payload_length int) LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION work_streams(_door smallint, _ns text, _key text, _service text, _after_ns text, _after_key text, _idle_too boolean,
    _partitions int, _limit int) RETURNS TABLE(namespace text, stream text, state int, partition int, last_seq bigint, next_seq bigint,
    unsettled bigint, head uuid, head_due_at timestamptz, head_attempts int, locked_by uuid, locked_until timestamptz, affinity_service
    text, affinity_owner uuid, created_at timestamptz) LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION work_streams_drop(_ids bigint[]) RETURNS void LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION work_streams_number(_queues int[], _keys text[], _ids uuid[], _final uuid[], _t timestamptz, OUT streams bigint[], OUT seqs
    bigint[], OUT waits boolean[]) RETURNS record LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION work_streams_take(_queues int[], _keys text[], _counts int[], _t timestamptz, OUT ids bigint[], OUT firsts bigint[], OUT
    were_busy boolean[]) RETURNS record LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION work_take(_ids uuid[], _attempts smallint[], _dues timestamptz[], _streams bigint[], _seqs bigint[], _lost smallint, _cap
    int, _room int, _topics text[], _t timestamptz, _partitions int, _max_partitions int, _held bigint[], OUT ids uuid[], OUT attempts
    smallint[], OUT dues timestamptz[], OUT streams bigint[], OUT seqs bigint[], OUT held bigint[], OUT cap int) RETURNS record LANGUAGE
    plpgsql AS 'BEGIN END';
CREATE FUNCTION work_tick(_owner uuid, _n int, _timers boolean, _job_runs boolean) RETURNS TABLE(now timestamptz, timers bigint, job_runs
    bigint, joins bigint, join_ends text, next_at timestamptz, more boolean, namespaces text[], name text, cron text, timezone text,
    generation bigint, job_next_at timestamptz, anchor_at timestamptz, misfire smallint, misfire_limit int) LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION work_tokens(_queue int, _t timestamptz, _from timestamptz, _close boolean) RETURNS int LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION work_unpick(_id uuid, _attempts smallint, _lost smallint, _due timestamptz) RETURNS void LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION work_wait_fire(_waits uuid[], _joins uuid[], _t timestamptz) RETURNS text LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION work_withdraw(_door smallint, _ids uuid[]) RETURNS uuid[] LANGUAGE plpgsql AS 'BEGIN END';

DELETE FROM queue;
DELETE FROM store;
INSERT INTO attempt_log (n, at, next_due, id, owner, attempt, kind, error) OVERRIDING SYSTEM VALUE VALUES
(1, '2023-11-14 22:13:20Z', NULL, '00000000-0002-8000-8beb-755c7f3da681', '11111111-0000-4000-8000-000000000000', 1, 2, 'broken'),
(2, '2023-11-14 22:13:20Z', NULL, '00000000-0003-8000-8beb-755ce023886e', '11111111-0000-4000-8000-000000000000', 1, 2, 'once'),
(3, '2023-11-14 22:13:20Z', '2023-11-14 22:14:20Z', '00000000-0005-8000-8beb-755c26f0f37e', '11111111-0000-4000-8000-000000000000', 1, 1, 'try again'),
(4, '2023-11-14 22:13:20Z', NULL, '00000000-0016-8000-8beb-755c725ae3c0', '11111111-0000-4000-8000-000000000000', 1, 2, 'bad head'),
(5, '2023-11-14 22:13:20Z', NULL, '00000000-0022-8000-8beb-755cb1dd47dc', '11111111-0000-4000-8000-000000000000', 1, 2, 'no'),
(6, '2023-11-14 22:13:20Z', NULL, '00000000-002e-8000-9beb-755cd219dea9', '22222222-0000-4000-8000-000000000000', 1, 2, 'in error');
INSERT INTO checkpoint (stream, seq, updated_at, error_at, error_seq, consumer, error, ahead) VALUES
(1, 1, '2023-11-14 22:13:20Z', '2023-11-14 22:13:20Z', 2, 'reader', 'stuck', '{[3,4)}');
INSERT INTO dead (id, died_at, owner, retried_as, queue, reason) VALUES
('00000000-0002-8000-8beb-755c7f3da681', '2023-11-14 22:13:20Z', '11111111-0000-4000-8000-000000000000', NULL, 1, 1),
('00000000-0003-8000-8beb-755ce023886e', '2023-11-14 22:13:20Z', '11111111-0000-4000-8000-000000000000', '00000000-0004-8000-8beb-755c1cf4a6be', 1, 1),
('00000000-0016-8000-8beb-755c725ae3c0', '2023-11-14 22:13:20Z', '11111111-0000-4000-8000-000000000000', NULL, 4, 1),
('00000000-0022-8000-8beb-755cb1dd47dc', '2023-11-14 22:13:20Z', '11111111-0000-4000-8000-000000000000', NULL, 1, 1),
('00000000-002e-8000-9beb-755cd219dea9', '2023-11-14 22:13:20Z', '22222222-0000-4000-8000-000000000000', NULL, 7, 1);
INSERT INTO dedupe (created_at, id, queue, topic, gone, key) VALUES
('2023-11-14 22:13:20Z', '00000000-000b-8000-8beb-755c7f86ea65', 1, 'keyed', false, 'k1'),
('2023-11-14 22:13:20Z', '00000000-000c-8000-8beb-755c8a06bd62', 1, 'keyed', false, 'k2'),
('2023-11-14 22:13:20Z', '00000000-000d-8000-8beb-755c5e6b8d08', 2, 'keyed', true, 'k3'),
('2023-11-14 22:13:20Z', '00000000-002d-8000-9beb-755cbb31ba28', 7, 'shop', false, 'id-0'),
('2023-11-14 22:13:20Z', '00000000-002e-8000-9beb-755cd219dea9', 7, 'shop', false, 'id-1'),
('2023-11-14 22:13:20Z', '00000000-002f-8000-9beb-755c59266673', 7, 'shop', false, 'id-2'),
('2023-11-14 22:13:20Z', '00000000-0030-8000-9beb-755cf4a6a267', 7, 'shop', false, 'id-3'),
('2023-11-14 22:13:20Z', '00000000-0031-8000-9beb-755cf54dcd8b', 7, 'shop', false, 's1'),
('2023-11-14 22:13:20Z', '00000000-0032-8000-9beb-755c3ab603fc', 7, 'shop', false, 's2');
INSERT INTO done (span, at, owner, queue, ids) VALUES
('[1,2)', '2023-11-14 22:13:20Z', '11111111-0000-4000-8000-000000000000', 1, '{00000000-0001-8000-8beb-755c486be898}'),
('[11,12)', '2023-11-14 22:13:20Z', '11111111-0000-4000-8000-000000000000', 1, '{00000000-000b-8000-8beb-755c7f86ea65}'),
('[21,22)', '2023-11-14 22:13:20Z', '11111111-0000-4000-8000-000000000000', 1, '{00000000-0015-8000-8beb-755c6cea498c}'),
('[26,27)', '2023-11-14 22:13:20Z', '11111111-0000-4000-8000-000000000000', 1, '{00000000-001a-8000-8beb-755c92293b59}'),
('[30,31)', '2023-11-14 22:13:20Z', '00000000-0000-0000-0000-000000000000', 1, '{00000000-001e-8000-8beb-755ccaeb3309}'),
('[31,32)', '2023-11-14 22:13:20Z', '11111111-0000-4000-8000-000000000000', 1, '{00000000-001f-8000-8beb-755cf0c46fd0}'),
('[35,36)', '2023-11-14 22:13:20Z', '11111111-0000-4000-8000-000000000000', 1, '{00000000-0023-8000-8beb-755c81d048ec}'),
('[43,44)', '2023-11-14 22:13:20Z', '11111111-0000-4000-8000-000000000000', 6, '{00000000-002b-8000-bbeb-755cfbb317b2}'),
('[45,46)', '2023-11-14 22:13:20Z', '22222222-0000-4000-8000-000000000000', 7, '{00000000-002d-8000-9beb-755cbb31ba28}'),
('[7,8)', '2023-11-14 22:13:20Z', '11111111-0000-4000-8000-000000000000', 1, '{00000000-0007-8000-8beb-755ccc0406b2}');
INSERT INTO instance (id, started_at, heartbeat_at, ended_at, process_id, lease_s, stale_s, partitions, state, service, host, metadata)
    VALUES
('33333333-0000-4000-8000-000000000000', '2023-11-14 22:13:20Z', '2023-11-14 22:13:20Z', NULL, 7, 300, 600, 10000, 1, 'billing', 'host', '{"zone": 1}'),
('44444444-0000-4000-8000-000000000000', '2023-11-14 22:13:20Z', '2023-11-14 22:13:20Z', '2023-11-14 22:13:20Z', 7, 300, 600, 10000, 2, 'billing', 'host', '{"zone": 1}');
INSERT INTO job (name, namespace, topic, payload, cron, timezone, misfire, misfire_limit, overlap, paused, created_at, updated_at,
    generation, anchor_at, next_at, last_at, last_run, skipped) VALUES
('nightly', '', 'report', 'go', '0 3 * * *', 'Europe/Berlin', 1, 100, 1, false, '2023-11-14 22:13:20Z', '2023-11-14 22:13:20Z', 3276579562, '2023-11-14 22:13:20Z', '2023-11-15 02:00:00Z', '2023-11-14 22:13:20Z', '00000000-002c-8000-bbeb-755cc456ee6f', 0),
('paused', '', 'report', 'go', '0 3 * * *', 'Europe/Berlin', 1, 100, 1, true, '2023-11-14 22:13:20Z', '2023-11-14 22:13:20Z', 1054229487, '2023-11-14 22:13:20Z', NULL, NULL, NULL, 0);
INSERT INTO job_run (id, scheduled_at, triggered, maybe_open, job) VALUES
('00000000-002b-8000-bbeb-755cfbb317b2', '2023-11-14 22:13:20Z', true, true, 'nightly'),
('00000000-002c-8000-bbeb-755cc456ee6f', '2023-11-14 22:13:20Z', true, true, 'nightly');
INSERT INTO join_head (id, created_at, updated_at, deadline, finished_at, expected, attached, completed, failed, reports, status,
    grouping_key, metadata) VALUES
('00000000-0018-8000-8beb-755c18d32b55', '2023-11-14 22:13:20Z', '2023-11-14 22:13:20Z', NULL, NULL, 4, 3, 2, 0, 1, 0, 'open', 'kept'),
('00000000-001d-8000-8beb-755ce6760c0d', '2023-11-14 22:13:20Z', '2023-11-14 22:13:20Z', NULL, '2023-11-14 22:13:20Z', 1, 1, 1, 0, 0, 1, 'complete', 'kept'),
('00000000-0021-8000-8beb-755c1e4a3caf', '2023-11-14 22:13:20Z', '2023-11-14 22:13:20Z', NULL, '2023-11-14 22:13:20Z', 2, 2, 1, 1, 0, 2, 'failed', 'kept'),
('00000000-0024-8000-8beb-755c62f8ac59', '2023-11-14 22:13:20Z', '2023-11-14 22:13:20Z', NULL, '2023-11-14 22:13:20Z', 2, 1, 0, 0, 0, 3, 'cancelled', 'kept'),
('00000000-0026-8000-8beb-755cb7f22314', '2023-11-14 22:13:20Z', '2023-11-14 22:13:20Z', '2023-11-15 00:13:20Z', NULL, 2, 1, 0, 0, 0, 0, 'deadline', 'kept');
INSERT INTO join_member (created_at, join_id, work_id, message_id, status) VALUES
('2023-11-14 22:13:20Z', '00000000-0018-8000-8beb-755c18d32b55', '00000000-001a-8000-8beb-755c92293b59', '00000000-001a-8000-8beb-755c92293b59', NULL),
('2023-11-14 22:13:20Z', '00000000-0018-8000-8beb-755c18d32b55', '00000000-001b-8000-8beb-755cf5b15e86', '00000000-001b-8000-8beb-755cf5b15e86', NULL),
('2023-11-14 22:13:20Z', '00000000-0018-8000-8beb-755c18d32b55', '00000000-001c-8000-8beb-755c6700b6e2', '00000000-001c-8000-8beb-755c6700b6e2', 1),
('2023-11-14 22:13:20Z', '00000000-001d-8000-8beb-755ce6760c0d', '00000000-001f-8000-8beb-755cf0c46fd0', '00000000-001f-8000-8beb-755cf0c46fd0', NULL),
('2023-11-14 22:13:20Z', '00000000-0021-8000-8beb-755c1e4a3caf', '00000000-0022-8000-8beb-755cb1dd47dc', '00000000-0022-8000-8beb-755cb1dd47dc', NULL),
('2023-11-14 22:13:20Z', '00000000-0021-8000-8beb-755c1e4a3caf', '00000000-0023-8000-8beb-755c81d048ec', '00000000-0023-8000-8beb-755c81d048ec', NULL),
('2023-11-14 22:13:20Z', '00000000-0024-8000-8beb-755c62f8ac59', '00000000-0025-8000-8beb-755c4be61262', '00000000-0025-8000-8beb-755c4be61262', 0),
('2023-11-14 22:13:20Z', '00000000-0026-8000-8beb-755cb7f22314', '00000000-0028-8000-8beb-755cb2abdf4c', '00000000-0028-8000-8beb-755cb2abdf4c', NULL);
INSERT INTO join_wait (id, join_id) VALUES
('00000000-0019-8000-8beb-755c6d3a7d77', '00000000-0018-8000-8beb-755c18d32b55'),
('00000000-0027-8000-8beb-755c652bffa4', '00000000-0026-8000-8beb-755cb7f22314');
INSERT INTO lease (id, owner, claimed_at, until, queue, open, door, lost, ids, settled, runs) VALUES
(18, '22222222-0000-4000-8000-000000000000', '2023-11-14 22:13:20Z', '2023-11-14 22:18:20Z', 7, 1, 1, 0, '{00000000-002f-8000-9beb-755c59266673}', NULL, NULL),
(19, '33333333-0000-4000-8000-000000000000', '2023-11-14 22:13:20Z', '2023-11-14 22:18:20Z', 1, 1, 0, 0, '{00000000-0033-8000-8beb-755c2a869bbc}', NULL, NULL),
(5, '11111111-0000-4000-8000-000000000000', '2023-11-14 22:13:20Z', '2023-11-14 22:18:20Z', 1, 2, 0, 0, '{00000000-0006-8000-8beb-755cd2fa6ee9,00000000-0007-8000-8beb-755ccc0406b2,00000000-0008-8000-8beb-755c524497ea}', '010', NULL),
(8, '11111111-0000-4000-8000-000000000000', '2023-11-14 22:13:20Z', '2023-11-14 22:18:20Z', 1, 2, 0, 0, '{00000000-0012-8000-8beb-755ca60e9db3,00000000-0013-8000-8beb-755c08ecde44}', NULL, '{2,1,2,2}');
INSERT INTO message (id, created_at, due_at, expires_at, message_id, tenant_id, queue, level, max_attempts, topic, dedupe_key,
    correlation_id, stream, headers, payload, stream_id, seq, source) VALUES
('00000000-0001-8000-8beb-755c486be898', '2023-11-14 22:13:20Z', NULL, NULL, NULL, NULL, 1, 1, NULL, 'done', NULL, NULL, NULL, NULL, 'done', NULL, NULL, NULL),
('00000000-0002-8000-8beb-755c7f3da681', '2023-11-14 22:13:20Z', NULL, NULL, NULL, NULL, 1, 1, NULL, 'dead', NULL, NULL, NULL, NULL, 'dead', NULL, NULL, NULL),
('00000000-0003-8000-8beb-755ce023886e', '2023-11-14 22:13:20Z', NULL, NULL, NULL, NULL, 1, 1, NULL, 'again', NULL, NULL, NULL, NULL, 'again', NULL, NULL, NULL),
('00000000-0004-8000-8beb-755c1cf4a6be', '2023-11-14 22:13:20Z', NULL, NULL, '00000000-0003-8000-8beb-755ce023886e', NULL, 1, 1, NULL, 'again', NULL, NULL, NULL, NULL, 'again', NULL, NULL, NULL),
('00000000-0005-8000-8beb-755c26f0f37e', '2023-11-14 22:13:20Z', NULL, NULL, NULL, NULL, 1, 1, NULL, 'retry', NULL, NULL, NULL, NULL, 'retry', NULL, NULL, NULL),
('00000000-0006-8000-8beb-755cd2fa6ee9', '2023-11-14 22:13:20Z', NULL, NULL, NULL, NULL, 1, 1, NULL, 'leased', NULL, NULL, NULL, NULL, 'leased', NULL, NULL, NULL),
('00000000-0007-8000-8beb-755ccc0406b2', '2023-11-14 22:13:20Z', NULL, NULL, NULL, NULL, 1, 1, NULL, 'leased', NULL, NULL, NULL, NULL, 'leased', NULL, NULL, NULL),
('00000000-0008-8000-8beb-755c524497ea', '2023-11-14 22:13:20Z', NULL, NULL, NULL, NULL, 1, 1, NULL, 'leased', NULL, NULL, NULL, NULL, 'leased', NULL, NULL, NULL),
('00000000-0009-8000-8beb-755ccc320d03', '2023-11-14 22:13:20Z', '2023-11-14 23:13:20Z', NULL, NULL, NULL, 1, 1, NULL, 'scheduled', NULL, NULL, NULL, NULL, 'scheduled', NULL, NULL, NULL),
('00000000-000a-8000-8beb-755c36907471', '2023-11-14 22:13:20Z', NULL, '2023-11-15 22:13:20Z', '12345678-1234-4234-8234-123456789012', '87654321-1234-4234-8234-123456789012', 1, 0, 4, 'ready', NULL, 'corr', NULL, '{"a": 1}', 'ready ü', NULL, NULL, NULL),
('00000000-000b-8000-8beb-755c7f86ea65', '2023-11-14 22:13:20Z', NULL, NULL, NULL, NULL, 1, 1, NULL, 'keyed', 'k1', NULL, NULL, NULL, 'keyed', NULL, NULL, NULL),
('00000000-000c-8000-8beb-755c8a06bd62', '2023-11-14 22:13:20Z', NULL, NULL, NULL, NULL, 1, 1, NULL, 'keyed', 'k2', NULL, NULL, NULL, 'keyed', NULL, NULL, NULL),
('00000000-000e-8000-8beb-755c1a5f88f2', '2023-11-14 22:13:20Z', NULL, NULL, NULL, NULL, 3, 1, NULL, 'held', NULL, NULL, NULL, NULL, 'held', NULL, NULL, NULL),
('00000000-000f-8000-8beb-755c0eebd521', '2023-11-14 22:13:20Z', NULL, NULL, NULL, NULL, 1, 1, NULL, 'orders', NULL, NULL, 'waiting', NULL, 'a', 1, 1, NULL),
('00000000-0010-8000-8beb-755c2a48a04c', '2023-11-14 22:13:20Z', NULL, NULL, NULL, NULL, 1, 1, NULL, 'orders', NULL, NULL, 'waiting', NULL, 'b', 1, 2, NULL),
('00000000-0011-8000-8beb-755c97b16963', '2023-11-14 22:13:20Z', NULL, NULL, NULL, NULL, 1, 1, NULL, 'orders', NULL, NULL, 'waiting', NULL, 'c', 1, 3, NULL),
('00000000-0012-8000-8beb-755ca60e9db3', '2023-11-14 22:13:20Z', NULL, NULL, NULL, NULL, 1, 1, NULL, 'shipping', NULL, NULL, 'worked', NULL, 'a', 2, 1, NULL),
('00000000-0013-8000-8beb-755c08ecde44', '2023-11-14 22:13:20Z', NULL, NULL, NULL, NULL, 1, 1, NULL, 'shipping', NULL, NULL, 'worked', NULL, 'b', 2, 2, NULL),
('00000000-0014-8000-8beb-755c6d8254fb', '2023-11-14 22:13:20Z', NULL, NULL, NULL, NULL, 1, 1, NULL, 'shipping', NULL, NULL, 'worked', NULL, 'c', 2, 3, NULL),
('00000000-0015-8000-8beb-755c6cea498c', '2023-11-14 22:13:20Z', NULL, NULL, NULL, NULL, 1, 1, NULL, 'idle', NULL, NULL, 'idle', NULL, 'x', 3, 1, NULL),
('00000000-0016-8000-8beb-755c725ae3c0', '2023-11-14 22:13:20Z', NULL, NULL, NULL, NULL, 4, 1, NULL, 'strict', NULL, NULL, 'blocked', NULL, 'a', 4, 1, NULL),
('00000000-0017-8000-8beb-755cc152b666', '2023-11-14 22:13:20Z', NULL, NULL, NULL, NULL, 4, 1, NULL, 'strict', NULL, NULL, 'blocked', NULL, 'b', 4, 2, NULL),
('00000000-0019-8000-8beb-755c6d3a7d77', '2023-11-14 22:13:20Z', NULL, NULL, NULL, NULL, 1, 1, NULL, 'join.wait', NULL, NULL, NULL, NULL, '{"join_id":"00000000-0018-8000-8beb-755c18d32b55","fail_if_any_step_failed":true,"on_complete_topic":"open.good","on_complete_payload":"open.good","on_fail_topic":"open.bad","on_fail_payload":"open.bad"}', NULL, NULL, NULL),
('00000000-001a-8000-8beb-755c92293b59', '2023-11-14 22:13:20Z', NULL, NULL, NULL, NULL, 1, 1, NULL, 's.done', NULL, NULL, NULL, NULL, 's.done', NULL, NULL, NULL),
('00000000-001b-8000-8beb-755cf5b15e86', '2023-11-14 22:13:20Z', NULL, NULL, NULL, NULL, 1, 1, NULL, 's.open', NULL, NULL, NULL, NULL, 's.open', NULL, NULL, NULL),
('00000000-001c-8000-8beb-755c6700b6e2', '2023-11-14 22:13:20Z', NULL, NULL, NULL, NULL, 1, 1, NULL, 's.reported', NULL, NULL, NULL, NULL, 's.reported', NULL, NULL, NULL),
('00000000-001e-8000-8beb-755ccaeb3309', '2023-11-14 22:13:20Z', NULL, NULL, NULL, NULL, 1, 1, NULL, 'join.wait', NULL, NULL, NULL, NULL, '{"join_id":"00000000-001d-8000-8beb-755ce6760c0d","fail_if_any_step_failed":true,"on_complete_topic":"complete.good","on_complete_payload":"complete.good","on_fail_topic":null,"on_fail_payload":""}', NULL, NULL, NULL),
('00000000-001f-8000-8beb-755cf0c46fd0', '2023-11-14 22:13:20Z', NULL, NULL, NULL, NULL, 1, 1, NULL, 's.done', NULL, NULL, NULL, NULL, 's.done', NULL, NULL, NULL),
('00000000-0020-8000-8beb-755c50c8bef5', '2023-11-14 22:13:20Z', NULL, NULL, NULL, NULL, 1, 1, NULL, 'complete.good', NULL, NULL, NULL, '{"join_id": "00000000-001d-8000-8beb-755ce6760c0d", "join_status": "completed"}', 'complete.good', NULL, NULL, NULL),
('00000000-0022-8000-8beb-755cb1dd47dc', '2023-11-14 22:13:20Z', NULL, NULL, NULL, NULL, 1, 1, NULL, 's.dead', NULL, NULL, NULL, NULL, 's.dead', NULL, NULL, NULL),
('00000000-0023-8000-8beb-755c81d048ec', '2023-11-14 22:13:20Z', NULL, NULL, NULL, NULL, 1, 1, NULL, 's.done', NULL, NULL, NULL, NULL, 's.done', NULL, NULL, NULL),
('00000000-0025-8000-8beb-755c4be61262', '2023-11-14 22:13:20Z', NULL, NULL, NULL, NULL, 1, 1, NULL, 's.cancelled', NULL, NULL, NULL, NULL, 's.cancelled', NULL, NULL, NULL),
('00000000-0027-8000-8beb-755c652bffa4', '2023-11-14 22:13:20Z', NULL, NULL, NULL, NULL, 1, 1, NULL, 'join.wait', NULL, NULL, NULL, NULL, '{"join_id":"00000000-0026-8000-8beb-755cb7f22314","fail_if_any_step_failed":true,"on_complete_topic":"deadline.good","on_complete_payload":"deadline.good","on_fail_topic":"deadline.bad","on_fail_payload":"deadline.bad"}', NULL, NULL, NULL),
('00000000-0028-8000-8beb-755cb2abdf4c', '2023-11-14 22:13:20Z', NULL, NULL, NULL, NULL, 1, 1, NULL, 's.deadline', NULL, NULL, NULL, NULL, 's.deadline', NULL, NULL, NULL),
('00000000-0029-8000-abeb-755c2f8a1e5c', '2023-11-14 22:13:20Z', '2023-11-14 23:13:20Z', NULL, NULL, NULL, 5, 1, NULL, 'timer', NULL, NULL, NULL, NULL, 'later', NULL, NULL, NULL),
('00000000-002a-8000-abeb-755c7905b17f', '2023-11-14 22:13:20Z', '2023-11-14 22:13:20Z', NULL, NULL, NULL, 5, 1, NULL, 'timer', NULL, NULL, NULL, NULL, 'now', NULL, NULL, NULL),
('00000000-002b-8000-bbeb-755cfbb317b2', '2023-11-14 22:13:20Z', '2023-11-14 22:13:20Z', NULL, NULL, NULL, 6, 1, NULL, 'report', NULL, NULL, NULL, '{"job": "nightly", "scheduled_at": "2023-11-14T22:13:20.000000Z"}', 'go', NULL, NULL, NULL),
('00000000-002c-8000-bbeb-755cc456ee6f', '2023-11-14 22:13:20Z', '2023-11-14 22:13:20Z', NULL, NULL, NULL, 6, 1, NULL, 'report', NULL, NULL, NULL, '{"job": "nightly", "scheduled_at": "2023-11-14T22:13:20.000000Z"}', 'go', NULL, NULL, NULL),
('00000000-002d-8000-9beb-755cbb31ba28', '2023-11-14 22:13:20Z', NULL, NULL, NULL, NULL, 7, 1, NULL, 'in.done', 'id-0', NULL, NULL, NULL, 'in.done', NULL, NULL, 'shop'),
('00000000-002e-8000-9beb-755cd219dea9', '2023-11-14 22:13:20Z', NULL, NULL, NULL, NULL, 7, 1, NULL, 'in.dead', 'id-1', NULL, NULL, NULL, 'in.dead', NULL, NULL, 'shop'),
('00000000-002f-8000-9beb-755c59266673', '2023-11-14 22:13:20Z', NULL, NULL, NULL, NULL, 7, 1, NULL, 'in.leased', 'id-2', NULL, NULL, NULL, 'in.leased', NULL, NULL, 'shop'),
('00000000-0030-8000-9beb-755cf4a6a267', '2023-11-14 22:13:20Z', NULL, NULL, NULL, NULL, 7, 1, NULL, 'in.ready', 'id-3', NULL, NULL, NULL, 'in.ready', NULL, NULL, 'shop'),
('00000000-0031-8000-9beb-755cf54dcd8b', '2023-11-14 22:13:20Z', NULL, NULL, NULL, NULL, 7, 1, NULL, 'in.stream', 's1', NULL, 'in', NULL, 'a', 5, 1, 'shop'),
('00000000-0032-8000-9beb-755c3ab603fc', '2023-11-14 22:13:20Z', NULL, NULL, NULL, NULL, 7, 1, NULL, 'in.stream', 's2', NULL, 'in', NULL, 'b', 5, 2, 'shop'),
('00000000-0033-8000-8beb-755c2a869bbc', '2023-11-14 22:13:20Z', NULL, NULL, NULL, NULL, 1, 1, NULL, 'instance', NULL, NULL, NULL, NULL, 'instance', NULL, NULL, NULL);
INSERT INTO migration (version, name, applied_at) VALUES
(1, '0001_outbox', '2023-11-14 22:13:20Z'),
(2, '0002_dispatcher', '2023-11-14 22:13:20Z'),
(3, '0003_joins_schedule', '2023-11-14 22:13:20Z'),
(4, '0004_coordination', '2023-11-14 22:13:20Z');
INSERT INTO pending (due, id, expires_at, lane, topic, attempts, lost, max_attempts, stream, seq) VALUES
('2023-11-14 22:13:20Z', '00000000-0031-8000-9beb-755cf54dcd8b', NULL, 29, 531441451, 0, 0, NULL, 5, 1),
('2023-11-14 22:13:20Z', '00000000-002a-8000-abeb-755c7905b17f', NULL, 21, 1199355141, 0, 0, NULL, NULL, NULL),
('2023-11-14 22:13:20Z', '00000000-002c-8000-bbeb-755cc456ee6f', NULL, 25, -1735858704, 0, 0, NULL, NULL, NULL),
('2023-11-14 22:13:20Z', '00000000-0030-8000-9beb-755cf4a6a267', NULL, 29, -646246939, 0, 0, NULL, NULL, NULL),
('2023-11-14 22:13:20Z', '00000000-0004-8000-8beb-755c1cf4a6be', NULL, 5, -898591917, 0, 0, NULL, NULL, NULL),
('2023-11-14 22:13:20Z', '00000000-000a-8000-8beb-755c36907471', '2023-11-15 22:13:20Z', 4, -648712936, 0, 0, 4, NULL, NULL),
('2023-11-14 22:13:20Z', '00000000-000c-8000-8beb-755c8a06bd62', NULL, 5, 323887262, 0, 0, NULL, NULL, NULL),
('2023-11-14 22:13:20Z', '00000000-000e-8000-8beb-755c1a5f88f2', NULL, 13, 803642862, 0, 0, NULL, NULL, NULL),
('2023-11-14 22:13:20Z', '00000000-000f-8000-8beb-755c0eebd521', NULL, 5, 1108812256, 0, 0, NULL, 1, 1),
('2023-11-14 22:13:20Z', '00000000-001b-8000-8beb-755cf5b15e86', NULL, 5, 1166939575, 0, 0, NULL, NULL, NULL),
('2023-11-14 22:13:20Z', '00000000-001c-8000-8beb-755c6700b6e2', NULL, 5, 1290495003, 0, 0, NULL, NULL, NULL),
('2023-11-14 22:13:20Z', '00000000-0020-8000-8beb-755c50c8bef5', NULL, 5, 1094298414, 0, 0, NULL, NULL, NULL),
('2023-11-14 22:13:20Z', '00000000-0025-8000-8beb-755c4be61262', NULL, 5, -557055315, 0, 0, NULL, NULL, NULL),
('2023-11-14 22:13:20Z', '00000000-0028-8000-8beb-755cb2abdf4c', NULL, 5, 1344349622, 0, 0, NULL, NULL, NULL),
('2023-11-14 22:14:20Z', '00000000-0005-8000-8beb-755c26f0f37e', NULL, 5, -1271135336, 1, 0, NULL, NULL, NULL),
('2023-11-14 23:13:20Z', '00000000-0009-8000-8beb-755ccc320d03', NULL, 5, -643335517, 0, 0, NULL, NULL, NULL),
('2023-11-14 23:13:20Z', '00000000-0029-8000-abeb-755c2f8a1e5c', NULL, 21, 1199355141, 0, 0, NULL, NULL, NULL),
('infinity', '80000000-0016-8000-8beb-755c725ae3c0', NULL, -4, 0, 0, 0, NULL, 4, 1);
INSERT INTO queue (id, door, namespace, paused, max_attempts, backoff, backoff_base_ms, backoff_max_ms, retention_s, dead_retention_s,
    dedupe_retention_s, max_payload_bytes, max_lease_s, delete_on_ack, store_id, clock, join_wait_topic, dead_head, affinity_grace_ms,
    has_streams) OVERRIDING SYSTEM VALUE VALUES
(1, 0, '', false, 10, 1, 1000, 60000, 604800, -1, 604800, 1048576, 86400, false, 199980380, '2023-11-14 22:13:20Z', 'join.wait', 1, 1000, true),
(2, 0, 'gone', false, 10, 1, 1000, 60000, 604800, -1, 604800, 1048576, 86400, true, 199980380, '2023-11-14 22:13:20Z', 'join.wait', 1, 1000, false),
(3, 0, 'paused', true, 10, 1, 1000, 60000, 604800, -1, 604800, 1048576, 86400, false, 199980380, '2023-11-14 22:13:20Z', 'join.wait', 1, 1000, false),
(4, 0, 'strict', false, 10, 1, 1000, 60000, 604800, -1, 604800, 1048576, 86400, false, 199980380, '2023-11-14 22:13:20Z', 'join.wait', 2, 1000, true),
(5, 2, '', false, 10, 1, 1000, 60000, 604800, -1, 604800, 1048576, 86400, false, 199980380, '2023-11-14 22:13:20Z', 'join.wait', 1, 1000, false),
(6, 3, '', false, 10, 1, 1000, 60000, 604800, -1, 604800, 1048576, 86400, false, 199980380, '2023-11-14 22:13:20Z', 'join.wait', 1, 1000, false),
(7, 1, '', false, 10, 1, 1000, 60000, 604800, -1, -1, 1048576, 86400, false, 199980380, '2023-11-14 22:13:20Z', 'join.wait', 1, 1000, true);
INSERT INTO receptor (message_id, first_at, last_at, attempts, completed, name, error) VALUES
('12345678-1234-4234-8234-123456789012', '2023-11-14 22:13:20Z', '2023-11-14 22:13:20Z', 1, true, 'mail', NULL),
('12345678-1234-4234-8234-123456789012', '2023-11-14 22:13:20Z', '2023-11-14 22:13:20Z', 1, false, 'sms', 'no credit');
INSERT INTO store (one, store_id, version, serves_from, functions, clock) VALUES
(true, 199980380, 4, 4, 'e1f8459e07377697', '2023-11-14 22:13:20Z');
INSERT INTO stream (id, last_seq, hash, created_at, queue, busy, key) OVERRIDING SYSTEM VALUE VALUES
(1, 3, 580113598352252388, '2023-11-14 22:13:20Z', 1, true, 'waiting'),
(2, 3, 837943655131092780, '2023-11-14 22:13:20Z', 1, true, 'worked'),
(3, 1, 358988573071426294, '2023-11-14 22:13:20Z', 1, false, 'idle'),
(4, 2, 474916308663639222, '2023-11-14 22:13:20Z', 4, true, 'blocked'),
(5, 2, 397045147303475465, '2023-11-14 22:13:20Z', 7, true, 'in');
SELECT setval('attempt_log_n_seq', 6);
SELECT setval('fence', 19);
SELECT setval('message_number', 51);
SELECT setval('queue_id_seq', 7);
SELECT setval('stream_id_seq', 5);
