-- messages_bytes_problem(payloads, headers) → null, or that they are more bytes than one call may
-- store. The size of an array, which is more than that of its items, is known without counting.
CREATE OR REPLACE FUNCTION {p}messages_bytes_problem(_payloads text[], _headers jsonb[]) RETURNS text
    LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _bytes bigint;
BEGIN
    IF coalesce(pg_column_size(_payloads), 0)::bigint + coalesce(pg_column_size(_headers), 0) <= {p}enqueue_bytes_max() THEN
        RETURN NULL;
    END IF;
    _bytes := (SELECT coalesce(sum(octet_length(x)), 0) FROM unnest(_payloads) x)
              + (SELECT coalesce(sum(octet_length(x::text)), 0) FROM unnest(_headers) x);
    RETURN CASE WHEN _bytes > {p}enqueue_bytes_max()
        THEN format('the messages have %s bytes of payloads and headers; at most %s are allowed in one call: '
                    'give fewer messages at once', _bytes, {p}enqueue_bytes_max()) END;
END
$$;
