-- schema_1.sql - the functions and views of schema version 1, by their signatures: what a
-- migration to a later version finds and must be able to replace. Bodies are left out.

CREATE FUNCTION backoff_ms(_policy smallint, _base_ms bigint, _max_ms bigint, _retry_count bigint, _attempts int)
    RETURNS bigint LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION clock()
    RETURNS timestamptz LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION dead_discard(work_ids uuid[])
    RETURNS int LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION dead_retry(work_ids uuid[])
    RETURNS TABLE(old uuid, new uuid) LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION door_number(_door text)
    RETURNS smallint LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION enqueue(topic text, payload text, namespace text DEFAULT '', tenant_id uuid DEFAULT NULL, dedupe_key
    text DEFAULT NULL, correlation_id text DEFAULT NULL, stream text DEFAULT NULL, priority int DEFAULT 1, due_at
    timestamptz DEFAULT NULL, expires_at timestamptz DEFAULT NULL, headers jsonb DEFAULT NULL, message_id uuid DEFAULT
    NULL, join_id uuid DEFAULT NULL, max_attempts int DEFAULT NULL)
    RETURNS enqueued LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION enqueue_many(messages jsonb)
    RETURNS SETOF enqueued LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION error_cut(_error text)
    RETURNS text LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION for_item(_list anyarray, _i int)
    RETURNS anyelement LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION id_new(door smallint)
    RETURNS uuid LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION id_number(id uuid)
    RETURNS bigint LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION ids_problem(_ids uuid[])
    RETURNS text LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION message_problem(_topic text, _payload text, _ns text, _tenant_id uuid, _dedupe_key text,
    _correlation_id text, _stream text, _priority int, _due_at timestamptz, _expires_at timestamptz, _headers jsonb,
    _max_attempts int, _message_id uuid)
    RETURNS text LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION messages_cast_problem(_messages jsonb)
    RETURNS text LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION messages_problem(_messages jsonb)
    RETURNS text LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION outbox_abandon(owner uuid, work_ids uuid[], error text DEFAULT NULL, delay interval DEFAULT NULL,
    fences bigint[] DEFAULT NULL)
    RETURNS TABLE(work_id uuid, outcome text) LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION outbox_ack(owner uuid, work_ids uuid[], fences bigint[] DEFAULT NULL)
    RETURNS TABLE(work_id uuid, outcome text) LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION outbox_claim(owner uuid, lease_seconds int, batch_size int, namespace text DEFAULT '', topics text[]
    DEFAULT NULL, from_due timestamptz[] DEFAULT NULL)
    RETURNS TABLE(work_id uuid, message_id uuid, fence bigint, topic text, payload text, tenant_id uuid, dedupe_key
        text, correlation_id text, stream text, headers jsonb, attempts int, retry_count int, created_at timestamptz,
        due_at timestamptz, last_error text) LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION outbox_fail(owner uuid, work_ids uuid[], error text DEFAULT NULL, fences bigint[] DEFAULT NULL)
    RETURNS TABLE(work_id uuid, outcome text) LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION outbox_reap_expired()
    RETURNS int LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION outbox_release(owner uuid, work_ids uuid[], fences bigint[] DEFAULT NULL)
    RETURNS TABLE(work_id uuid, outcome text) LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION outbox_renew(owner uuid, work_ids uuid[], lease_seconds int, fences bigint[] DEFAULT NULL)
    RETURNS TABLE(work_id uuid, outcome text) LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION queue_get(_door smallint, _ns text)
    RETURNS queue LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION queue_named(_verb text, _door text, _ns text)
    RETURNS queue LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION queue_pause(door text, namespace text)
    RETURNS void LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION queue_resume(door text, namespace text)
    RETURNS void LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION queue_set(door text, namespace text, settings jsonb)
    RETURNS void LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION raise_problem(_verb text, _index int, _problem text)
    RETURNS boolean LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION retention_run(batch int DEFAULT 1000)
    RETURNS bigint LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION schema_version(OUT version int, OUT serves_from int)
    LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION settings_problem(_settings jsonb)
    RETURNS text LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION settle_named(_name text, _door smallint, _verb smallint, _owner uuid, _ids uuid[], _fences bigint[],
    _error text, _delay interval, _lease_s int)
    RETURNS TABLE(work_id uuid, outcome text) LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION work_bury(_ids uuid[], _reason smallint, _t timestamptz, _owner uuid)
    RETURNS void LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION work_bury_unfit(_ids uuid[], _attempts smallint[], _expired boolean[], _t timestamptz)
    RETURNS void LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION work_claim(_door smallint, _owner uuid, _lease_s int, _n int, _ns text, _topics text[], _from_due
    timestamptz[], _from_id uuid[])
    RETURNS TABLE(work_id uuid, message_id uuid, fence bigint, topic text, payload text, tenant_id uuid, dedupe_key
        text, correlation_id text, stream text, headers jsonb, attempts int, retry_count int, created_at timestamptz,
        due_at timestamptz, last_error text, priority int) LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION work_claim_hint(_queue int, _t timestamptz, _took interval, _whole boolean, _full boolean, _hint hint,
    _ids uuid[], _dues timestamptz[])
    RETURNS void LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION work_claim_hint_reap(_queue int, _t timestamptz)
    RETURNS void LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION work_count(_door smallint, _ns text, OUT ready bigint, OUT scheduled bigint, OUT in_progress bigint,
    OUT dead bigint, OUT expired_leases bigint, OUT oldest_ready_ms bigint)
    LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION work_discard(_ids uuid[])
    RETURNS int LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION work_done(_ids uuid[], _queue int, _t timestamptz, _owner uuid)
    RETURNS void LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION work_enqueue(_door smallint, _ns text, _topic text, _payload text, _tenant_id uuid, _dedupe_key text,
    _correlation_id text, _stream text, _level smallint, _due_at timestamptz, _expires_at timestamptz, _headers jsonb,
    _message_id uuid, _max_attempts smallint, OUT work_id uuid, OUT message_id uuid, OUT is_new boolean, OUT problem
    text)
    LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION work_enqueue_many(_door smallint, _ns text[], _topics text[], _payloads text[], _tenant_ids uuid[],
    _dedupe_keys text[], _correlation_ids text[], _streams text[], _levels smallint[], _due_ats timestamptz[],
    _expires_ats timestamptz[], _headers jsonb[], _message_ids uuid[], _max_attempts smallint[])
    RETURNS TABLE(ord int, work_id uuid, message_id uuid, is_new boolean, problem text) LANGUAGE plpgsql AS 'BEGIN
        END';
CREATE FUNCTION work_forget(_ids uuid[])
    RETURNS void LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION work_give_up(_id uuid, _verb smallint, _attempts smallint, _lost smallint, _error text, _delay_ms
    bigint, _t timestamptz, _owner uuid)
    RETURNS smallint LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION work_history(_id uuid)
    RETURNS TABLE(attempt int, kind int, error text, at timestamptz, owner uuid, next_due timestamptz) LANGUAGE
        plpgsql AS 'BEGIN END';
CREATE FUNCTION work_lease_shrink(_lease lease, _pos int[])
    RETURNS void LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION work_leases(_door smallint, _owner uuid, _ids uuid[], _fences bigint[], _t timestamptz)
    RETURNS bigint[] LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION work_outcomes_rest(_ids uuid[], _outcomes smallint[])
    RETURNS smallint[] LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION work_pick(_queue int, _max smallint, _levels smallint[], _t timestamptz, _n int, _topics int[],
    _from_due timestamptz[], _from_id uuid[], OUT ids uuid[], OUT attempts smallint[], OUT dues timestamptz[], OUT
    lost smallint[], OUT unfit boolean[], OUT expired boolean[])
    LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION work_reap(_door smallint, _t timestamptz, _from timestamptz, _most int)
    RETURNS int LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION work_renew(_door smallint, _owner uuid, _ids uuid[], _fences bigint[], _lease_s int)
    RETURNS smallint[] LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION work_settle(_door smallint, _owner uuid, _ids uuid[], _fences bigint[], _verbs smallint[], _errors
    text[], _delays bigint[])
    RETURNS smallint[] LANGUAGE plpgsql AS 'BEGIN END';
CREATE FUNCTION work_unpick(_id uuid, _attempts smallint, _lost smallint, _due timestamptz)
    RETURNS void LANGUAGE plpgsql AS 'BEGIN END';

CREATE VIEW outbox AS
SELECT NULL::uuid AS id, NULL::uuid AS message_id, NULL::text COLLATE "C" AS namespace, NULL::text COLLATE "C" AS topic,
       NULL::text AS payload, NULL::uuid AS tenant_id, NULL::text COLLATE "C" AS dedupe_key, NULL::text AS correlation_id,
       NULL::text COLLATE "C" AS stream, NULL::smallint AS priority, NULL::jsonb AS headers, NULL::timestamptz AS created_at,
       NULL::timestamptz AS due_time_utc, NULL::timestamptz AS expires_at, NULL::text AS status, NULL::int AS status_code,
       NULL::int AS attempts, NULL::int AS max_attempts, NULL::int AS retry_count, NULL::text AS last_error,
       NULL::timestamptz AS next_attempt_at, NULL::timestamptz AS locked_until, NULL::uuid AS owner_token,
       NULL::uuid AS locked_by, NULL::bigint AS fence, NULL::boolean AS is_processed, NULL::timestamptz AS processed_at,
       NULL::text AS processed_by, NULL::timestamptz AS updated_at;
CREATE VIEW dead_letters AS
SELECT NULL::uuid AS id, NULL::uuid AS message_id, NULL::text COLLATE "C" AS namespace, NULL::text COLLATE "C" AS topic,
       NULL::text AS payload, NULL::uuid AS tenant_id, NULL::text COLLATE "C" AS dedupe_key, NULL::text AS correlation_id,
       NULL::smallint AS priority, NULL::jsonb AS headers, NULL::timestamptz AS created_at, NULL::text AS reason,
       NULL::text AS error, NULL::int AS attempts, NULL::int AS retry_count, NULL::timestamptz AS died_at,
       NULL::uuid AS owner_token, NULL::uuid AS retried_as, NULL::jsonb AS history;
CREATE VIEW queues AS
SELECT NULL::text AS door, NULL::text COLLATE "C" AS namespace, NULL::boolean AS paused, NULL::int AS max_attempts,
       NULL::text AS backoff, NULL::bigint AS backoff_base_ms, NULL::bigint AS backoff_max_ms, NULL::bigint AS retention_s,
       NULL::bigint AS dead_retention_s, NULL::bigint AS dedupe_retention_s, NULL::int AS max_payload_bytes,
       NULL::int AS max_lease_s, NULL::boolean AS delete_on_ack;

-- One message in each place: 1 pending, 2 leased by 7…, 3 done, 4 dead.
INSERT INTO message (id, created_at, queue, level, topic, payload)
SELECT format('00000000-000%s-8000-8000-000000000000', n)::uuid, '2023-11-14 22:13:20Z', 1, 1, 'old', 'payload ' || n
FROM generate_series(1, 4) n;
INSERT INTO pending (due, id, lane, topic, attempts, lost)
VALUES ('2023-11-14 22:13:20Z', '00000000-0001-8000-8000-000000000000', 5, hashtext('old'), 0, 0);
INSERT INTO lease (id, owner, claimed_at, until, queue, open, door, lost, ids)
VALUES (9, '77777777-7777-4777-8777-777777777777', now(), now() + interval '1 day', 1, 1, 0, 0,
        '{00000000-0002-8000-8000-000000000000}');
INSERT INTO done (span, at, owner, queue, ids)
VALUES ('[3,3]', now(), '77777777-7777-4777-8777-777777777777', 1, '{00000000-0003-8000-8000-000000000000}');
INSERT INTO dead (id, died_at, owner, queue, reason)
VALUES ('00000000-0004-8000-8000-000000000000', now(), '77777777-7777-4777-8777-777777777777', 1, 1);
INSERT INTO attempt_log (at, id, owner, attempt, kind, error)
VALUES (now(), '00000000-0004-8000-8000-000000000000', '77777777-7777-4777-8777-777777777777', 1, 2, 'why');
SELECT setval('message_number', 4), setval('fence', 9);
INSERT INTO migration (version, name) VALUES (1, '0001_outbox');
UPDATE store SET version = 1, serves_from = 1, functions = 'those of version 1';
