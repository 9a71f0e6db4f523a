-- instance_problem(…) → what is wrong with an instance as it registers, or null.
CREATE OR REPLACE FUNCTION {p}instance_problem(
    _id uuid, _service text, _host text, _process_id int, _metadata jsonb, _lease_s int, _stale_s int) RETURNS text
    LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN CASE
        WHEN _id IS NULL THEN 'instance_id is null; make a fresh uuid at every start of the program'
        WHEN _id = '00000000-0000-0000-0000-000000000000'
            THEN 'instance_id is all zero; make a fresh uuid at every start of the program'
        WHEN {p}name_problem('service_name', _service) IS NOT NULL THEN {p}name_problem('service_name', _service)
        WHEN {p}name_problem('host_name', _host) IS NOT NULL THEN {p}name_problem('host_name', _host)
        WHEN _process_id IS NULL OR _process_id < 0
            THEN format('process_id is %s; give 0 or more', coalesce(_process_id::text, 'null'))
        WHEN _metadata IS NOT NULL AND jsonb_typeof(_metadata) <> 'object' THEN 'metadata is not a JSON object'
        WHEN octet_length(_metadata::text) > 65536
            THEN format('metadata has %s bytes; at most 65536 are allowed', octet_length(_metadata::text))
        WHEN _lease_s IS NULL OR _lease_s NOT BETWEEN 1 AND 86400
            THEN format('lease_seconds is %s; give 1 to 86400', coalesce(_lease_s::text, 'null'))
        WHEN _stale_s IS NULL OR _stale_s NOT BETWEEN 1 AND 604800
            THEN format('stale_threshold_seconds is %s; give 1 to 604800', coalesce(_stale_s::text, 'null'))
    END;
END
$$;
