-- wait_problem(…) → what is wrong with the arguments of a wait, or null. The same
-- rules as src/core/join.c.
CREATE OR REPLACE FUNCTION {p}wait_problem(
    _fail_if_any_step_failed boolean, _on_complete_topic text, _on_complete_payload text, _on_fail_topic text, _ns text)
    RETURNS text
    LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN CASE
        WHEN _fail_if_any_step_failed IS NULL THEN 'fail_if_any_step_failed is null; give true or false'
        WHEN _on_complete_topic IS NULL THEN 'on_complete_topic is null; it is required'
        WHEN _on_complete_topic = '' THEN 'on_complete_topic is empty; it is required'
        WHEN char_length(_on_complete_topic) > 255
            THEN format('on_complete_topic has %s characters; at most 255 are allowed', char_length(_on_complete_topic))
        WHEN _on_complete_payload IS NULL THEN 'on_complete_payload is null; it is required, but may be empty'
        WHEN _on_fail_topic = '' THEN 'on_fail_topic is empty; leave it out to send nothing'
        WHEN char_length(_on_fail_topic) > 255
            THEN format('on_fail_topic has %s characters; at most 255 are allowed', char_length(_on_fail_topic))
        WHEN _ns IS NULL THEN 'namespace is null; leave it out for the default'
        WHEN char_length(_ns) > 255 THEN format('namespace has %s characters; at most 255 are allowed', char_length(_ns))
    END;
END
$$;
