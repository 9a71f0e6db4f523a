-- join_ids_problem(join, messages) → what is wrong with the ids that a caller from
-- SQL passed, or null.
CREATE OR REPLACE FUNCTION {p}join_ids_problem(_join uuid, _messages uuid[]) RETURNS text
    LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _zero CONSTANT uuid := '00000000-0000-0000-0000-000000000000';
BEGIN
    RETURN CASE
        WHEN _join IS NULL THEN 'join_id is null; pass the one that join_start gave'
        WHEN _join = _zero THEN 'join_id is all zero; pass the one that join_start gave'
        WHEN array_ndims(_messages) > 1 THEN 'message_ids has more than one dimension; give a plain list'
        WHEN _messages IS NULL OR array_position(_messages, NULL) IS NOT NULL THEN 'a message id is null'
        WHEN array_position(_messages, _zero) IS NOT NULL THEN 'a message id is all zero'
        WHEN cardinality(_messages) > 10000
            THEN format('%s message_ids; at most 10000 are allowed', cardinality(_messages))
    END;
END
$$;
