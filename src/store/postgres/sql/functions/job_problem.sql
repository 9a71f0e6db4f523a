-- job_problem(…) → what is wrong with a job, or null. zone_problem says whether there is such a
-- zone.
CREATE OR REPLACE FUNCTION {p}job_problem(
    _name text, _topic text, _cron text, _payload text, _timezone text, _misfire text, _misfire_limit int,
    _overlap text, _ns text) RETURNS text
    LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN CASE
        WHEN _name IS NULL OR _name = '' THEN 'name is null or empty; it is required'
        WHEN char_length(_name) > 255 THEN format('name has %s characters; at most 255 are allowed', char_length(_name))
        WHEN _topic IS NULL OR _topic = '' THEN 'topic is null or empty; it is required'
        WHEN char_length(_topic) > 255 THEN format('topic has %s characters; at most 255 are allowed', char_length(_topic))
        WHEN _cron IS NULL OR _cron = '' THEN 'cron is null or empty; it is required'
        WHEN octet_length(_cron) > 255 THEN format('cron has %s bytes; at most 255 are allowed', octet_length(_cron))
        WHEN {p}cron_problem(_cron) IS NOT NULL THEN {p}cron_problem(_cron)
        WHEN octet_length(_payload) > 67108864
            THEN format('payload has %s bytes; at most 67108864 are allowed', octet_length(_payload))
        WHEN _timezone IS NULL OR _timezone = '' THEN 'timezone is null or empty; leave it out for UTC'
        WHEN char_length(_timezone) > 255
            THEN format('timezone has %s characters; at most 255 are allowed', char_length(_timezone))
        WHEN _misfire IS NULL OR _misfire NOT IN ('once', 'skip', 'all')
            THEN format('misfire is %s; give once, skip or all', coalesce('"' || left(_misfire, 40) || '"', 'null'))
        WHEN _misfire_limit IS NULL OR _misfire_limit NOT BETWEEN 1 AND 10000
            THEN format('misfire_limit is %s; give 1 to 10000', coalesce(_misfire_limit::text, 'null'))
        WHEN _overlap IS NULL OR _overlap NOT IN ('allow', 'skip')
            THEN format('overlap is %s; give allow or skip', coalesce('"' || left(_overlap, 40) || '"', 'null'))
        WHEN _ns IS NULL THEN 'namespace is null; leave it out for the default'
        WHEN char_length(_ns) > 255 THEN format('namespace has %s characters; at most 255 are allowed', char_length(_ns))
    END;
END
$$;
