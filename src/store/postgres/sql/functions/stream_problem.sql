-- stream_problem(…) → what is wrong with the name of a stream or consumer, or null; least:
-- the lowest seq that makes sense. consumer and seq null: not looked at.
CREATE OR REPLACE FUNCTION {p}stream_problem(
    _door text, _ns text, _stream text, _consumer text, _seq bigint, _least int) RETURNS text
    LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN CASE
        WHEN _door IS NULL OR _door NOT IN ('outbox', 'inbox')
            THEN format('door is "%s"; outbox and inbox have streams', coalesce(_door, 'null'))
        WHEN _ns IS NULL THEN 'namespace is null; leave it out for the default'
        WHEN char_length(_ns) > 255 THEN format('namespace has %s characters; at most 255 are allowed', char_length(_ns))
        WHEN {p}name_problem('stream', _stream) IS NOT NULL THEN {p}name_problem('stream', _stream)
        WHEN {p}name_problem('consumer', _consumer) IS NOT NULL THEN {p}name_problem('consumer', _consumer)
        WHEN _seq IS NULL OR _seq < _least THEN format('seq is %s; give %s or more', coalesce(_seq::text, 'null'), _least)
    END;
END
$$;
