-- message_problem(…) → what is wrong with a message, or null. The same rules
-- and words as src/core/message.c, for callers that come through SQL. Of the inbox (door 1)
-- source and dedupe_key, which is the id there, are required.
CREATE OR REPLACE FUNCTION {p}message_problem(
    _topic text, _payload text, _ns text, _tenant_id uuid, _dedupe_key text, _correlation_id text,
    _stream text, _priority int, _due_at timestamptz, _expires_at timestamptz, _headers jsonb,
    _max_attempts int, _message_id uuid, _door smallint = 0, _source text = NULL, _handled boolean = false) RETURNS text
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN CASE
        WHEN _door = 1 AND _source IS NULL THEN 'source is null; it is required'
        WHEN _door = 1 AND _source = '' THEN 'source is empty; it is required'
        WHEN char_length(_source) > 255 THEN format('source has %s characters; at most 255 are allowed', char_length(_source))
        WHEN _door = 1 AND _dedupe_key IS NULL THEN 'source_id is null; it is required'
        WHEN _door = 1 AND _dedupe_key = '' THEN 'source_id is empty; it is required'
        WHEN _door = 1 AND char_length(_dedupe_key) > 255
            THEN format('source_id has %s characters; at most 255 are allowed', char_length(_dedupe_key))
        WHEN _door <> 1 AND (_source IS NOT NULL OR _handled) THEN 'only messages of the inbox have a source, or are handled already'
        WHEN _topic IS NULL THEN 'topic is null; it is required'
        WHEN _topic = '' THEN 'topic is empty; it is required'
        WHEN char_length(_topic) > 255 THEN format('topic has %s characters; at most 255 are allowed', char_length(_topic))
        WHEN _payload IS NULL THEN 'payload is null; it is required, but may be empty'
        WHEN _ns IS NULL THEN 'namespace is null; leave it out for the default'
        WHEN char_length(_ns) > 255 THEN format('namespace has %s characters; at most 255 are allowed', char_length(_ns))
        WHEN _dedupe_key = '' THEN 'dedupe_key is empty; leave it out, or name one'
        WHEN char_length(_dedupe_key) > 255 THEN format('dedupe_key has %s characters; at most 255 are allowed', char_length(_dedupe_key))
        WHEN char_length(_correlation_id) > 255 THEN format('correlation_id has %s characters; at most 255 are allowed', char_length(_correlation_id))
        WHEN _stream = '' THEN 'stream is empty; leave it out, or name one'
        WHEN char_length(_stream) > 255 THEN format('stream has %s characters; at most 255 are allowed', char_length(_stream))
        WHEN _stream IS NOT NULL AND _door NOT IN (0, 1) THEN 'only messages of the outbox and the inbox have a stream'
        WHEN _stream IS NOT NULL AND _handled
            THEN 'handled and stream exclude each other; a handled message waits for nobody'
        WHEN _headers IS NOT NULL AND jsonb_typeof(_headers) <> 'object' THEN 'headers are not a JSON object'
        WHEN octet_length(_headers::text) > 65536 THEN format('headers have %s bytes; at most 65536 are allowed', octet_length(_headers::text))
        WHEN _tenant_id IS NOT NULL AND _dedupe_key IS NOT NULL AND _door <> 1
             AND left(lower(_dedupe_key), 37) <> _tenant_id::text || '/'
             AND left(lower(_dedupe_key), 33) <> replace(_tenant_id::text, '-', '') || '/'
            THEN format('dedupe_key does not begin with the tenant id; with a tenant it must read "%s/…"', _tenant_id)
        WHEN _message_id = '00000000-0000-0000-0000-000000000000' THEN 'message_id is all zero; leave it out to have one made'
        WHEN _tenant_id = '00000000-0000-0000-0000-000000000000' THEN 'tenant_id is all zero; leave it out for none'
        WHEN _priority IS NULL OR _priority NOT BETWEEN 0 AND 3 THEN format('priority is %s; give 0 (urgent) to 3 (bulk)', coalesce(_priority::text, 'null'))
        WHEN _due_at NOT BETWEEN '0001-01-01 00:00:00Z' AND '9999-12-31 23:59:59.999999Z' THEN 'due_at lies outside the years 1 to 9999'
        WHEN _expires_at NOT BETWEEN '0001-01-01 00:00:00Z' AND '9999-12-31 23:59:59.999999Z' THEN 'expires_at lies outside the years 1 to 9999'
        WHEN _expires_at <= _due_at THEN 'expires_at is not after due_at; the message could never be claimed'
        WHEN _max_attempts NOT BETWEEN 1 AND 30000 THEN format('max_attempts is %s; give 1 to 30000', _max_attempts)
    END;
END
$$;
