-- settings_problem(settings) → what is wrong with the settings of a queue, or
-- null: keys, JSON types, ranges. A null leaves a setting as it is.
CREATE OR REPLACE FUNCTION {p}settings_problem(_settings jsonb) RETURNS text
    LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _problem text;
BEGIN
    IF _settings IS NULL OR jsonb_typeof(_settings) <> 'object' THEN
        RETURN 'settings is not a JSON object';
    END IF;
    SELECT CASE
        WHEN s.k NOT IN ('max_attempts', 'backoff', 'backoff_base_ms', 'backoff_max_ms', 'retention_s', 'dead_retention_s',
                         'dedupe_retention_s', 'max_payload_bytes', 'max_lease_s', 'delete_on_ack', 'join_wait_topic',
                         'dead_head', 'affinity_grace_ms')
            THEN format('unknown setting "%s"', s.k)
        WHEN jsonb_typeof(s.v) = 'null' THEN NULL
        WHEN s.k = 'backoff' THEN CASE
            WHEN s.v NOT IN ('"exponential"', '"equal-jitter"') THEN 'backoff: give exponential or equal-jitter' END
        WHEN s.k = 'dead_head' THEN CASE
            WHEN s.v NOT IN ('"skip"', '"block"') THEN 'dead_head: give skip or block' END
        WHEN s.k = 'delete_on_ack' THEN CASE
            WHEN jsonb_typeof(s.v) <> 'boolean' THEN 'delete_on_ack is not true or false' END
        WHEN s.k = 'join_wait_topic' THEN CASE
            WHEN jsonb_typeof(s.v) <> 'string' THEN 'join_wait_topic is not a JSON string'
            WHEN char_length(s.v #>> '{}') NOT BETWEEN 1 AND 255 THEN 'join_wait_topic: give 1 to 255 characters' END
        WHEN s.v::text !~ '^-?[0-9]{1,18}$' THEN format('%s is not a whole number', s.k)
        WHEN s.k = 'max_attempts' AND s.v::bigint NOT BETWEEN 1 AND 30000 THEN 'max_attempts: give 1 to 30000'
        WHEN s.k IN ('backoff_base_ms', 'backoff_max_ms') AND s.v::bigint NOT BETWEEN 1 AND 31622400000
            THEN format('%s: give 1 ms to a year', s.k)
        WHEN s.k LIKE '%retention_s' AND s.v::bigint NOT BETWEEN 1 AND 3162240000 AND s.v <> '-1'
            THEN format('%s: give 1 s to 100 years, or -1 for ever', s.k)
        WHEN s.k = 'max_payload_bytes' AND s.v::bigint NOT BETWEEN 1 AND 67108864
            THEN 'max_payload_bytes: give 1 to 67108864'
        WHEN s.k = 'max_lease_s' AND s.v::bigint NOT BETWEEN 1 AND 86400 THEN 'max_lease_s: give 1 to 86400'
        WHEN s.k = 'affinity_grace_ms' AND s.v::bigint NOT BETWEEN 1 AND 3600000 AND s.v <> '-1'
            THEN 'affinity_grace_ms: give 1 ms to an hour, or -1 for none'
        END AS problem
    INTO _problem FROM jsonb_each(_settings) s(k, v) ORDER BY problem LIMIT 1;
    RETURN _problem;
END
$$;
