-- backoff_ms(…) → how long an abandoned message waits. retry_count is that
-- after this abandon. The exponent is capped, so that nothing overflows.
CREATE OR REPLACE FUNCTION {p}backoff_ms(
    _policy smallint, _base_ms bigint, _max_ms bigint, _retry_count bigint, _attempts int) RETURNS bigint
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN CASE _policy
        WHEN 2 THEN (SELECT ceil(d / 2 + random() * (d / 2))::bigint
                     FROM (SELECT least(_base_ms * power(2::float8, least(greatest(_attempts - 1, 0), 62)), _max_ms)) x(d))
        ELSE least(_base_ms * power(2::float8, least(_retry_count, 62)), _max_ms)::bigint
    END;
END
$$;
