-- outbox_claim(owner, lease_seconds, batch_size, …): leases due messages to owner.
CREATE OR REPLACE FUNCTION {p}outbox_claim(
    owner uuid, lease_seconds int, batch_size int, namespace text = '', topics text[] = NULL,
    from_due timestamptz[] = NULL)
    RETURNS TABLE (work_id uuid, message_id uuid, fence bigint, topic text, payload text, tenant_id uuid,
                   dedupe_key text, correlation_id text, stream text, headers jsonb, attempts int,
                   retry_count int, created_at timestamptz, due_at timestamptz, last_error text)
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = {schema}, pg_temp
AS $$
#variable_conflict use_variable
DECLARE
    _problem text := CASE
        WHEN owner IS NULL THEN 'owner is null; give each worker a uuid of its own'
        WHEN owner = '00000000-0000-0000-0000-000000000000'
            THEN 'owner is all zero; give each worker a uuid of its own'
        WHEN lease_seconds IS NULL OR lease_seconds NOT BETWEEN 1 AND 86400
            THEN format('lease_seconds is %s; allowed are 1 to 86400', coalesce(lease_seconds::text, 'null'))
        WHEN batch_size IS NULL OR batch_size NOT BETWEEN 1 AND 10000
            THEN format('batch_size is %s; allowed are 1 to 10000', coalesce(batch_size::text, 'null'))
        WHEN namespace IS NULL THEN 'namespace is null; leave it out for the default'
        WHEN char_length(namespace) > 255
            THEN format('namespace has %s characters; at most 255 are allowed', char_length(namespace))
        WHEN array_ndims(topics) > 1 THEN 'topics has more than one dimension; give a plain list'
        WHEN cardinality(topics) > 1000 THEN format('%s topics; at most 1000 are allowed', cardinality(topics))
        WHEN cardinality(topics) = 0 OR array_position(topics, NULL) IS NOT NULL
            THEN 'topics is empty or holds a null; leave it out for all topics'
        WHEN cardinality(from_due) NOT IN (0, 4) OR array_ndims(from_due) > 1 THEN 'from_due must have one element per priority (4)'
    END;
BEGIN
    IF _problem IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = 'outbox_claim: ' || _problem;
    END IF;
    RETURN QUERY SELECT c.work_id, c.message_id, c.fence, c.topic, c.payload, c.tenant_id, c.dedupe_key,
                        c.correlation_id, c.stream, c.headers, c.attempts, c.retry_count, c.created_at,
                        c.due_at, c.last_error
    FROM {p}work_claim(0::smallint, owner, lease_seconds, batch_size, namespace, topics, nullif(from_due[:], '{}'),
                     NULL) c;
END
$$;
