-- {door}_claim(owner, lease_seconds, batch_size, …): leases due messages to owner.
CREATE OR REPLACE FUNCTION {p}{door}_claim(
    owner uuid, lease_seconds int, batch_size int, namespace text = '', topics text[] = NULL,
    from_due timestamptz[] = NULL)
    RETURNS TABLE (work_id uuid, message_id uuid, fence bigint, topic text, payload text, tenant_id uuid,
                   dedupe_key text, correlation_id text, stream text, headers jsonb, attempts int,
                   retry_count int, created_at timestamptz, due_at timestamptz, last_error text)
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_variable
DECLARE
    _problem text := {p}claim_problem(owner, lease_seconds, batch_size, namespace, topics, from_due);
BEGIN
    IF _problem IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = '{door}_claim: ' || _problem;
    END IF;
    RETURN QUERY SELECT c.work_id, c.message_id, c.fence, c.topic, c.payload, c.tenant_id, c.dedupe_key,
                        c.correlation_id, c.stream, c.headers, c.attempts, c.retry_count, c.created_at,
                        c.due_at, c.last_error
    FROM {p}work_claim({number}::smallint, owner, lease_seconds, batch_size, namespace, topics, nullif(from_due[:], '{}'),
                     NULL) c
    WHERE c.work_id IS NOT NULL; -- the last row may tell of joins only
END
$$;
