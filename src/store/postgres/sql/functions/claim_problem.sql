-- claim_problem(…) → what is wrong with the arguments of a claim, or null.
CREATE OR REPLACE FUNCTION {p}claim_problem(
    _owner uuid, _lease_seconds int, _batch_size int, _ns text, _topics text[], _from_due timestamptz[]) RETURNS text
    LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN CASE
        WHEN _owner IS NULL THEN 'owner is null; give each worker a uuid of its own'
        WHEN _owner = '00000000-0000-0000-0000-000000000000'
            THEN 'owner is all zero; give each worker a uuid of its own'
        WHEN _lease_seconds IS NULL OR _lease_seconds NOT BETWEEN 1 AND 86400
            THEN format('lease_seconds is %s; give 1 to 86400', coalesce(_lease_seconds::text, 'null'))
        WHEN _batch_size IS NULL OR _batch_size NOT BETWEEN 1 AND 10000
            THEN format('batch_size is %s; give 1 to 10000', coalesce(_batch_size::text, 'null'))
        WHEN _ns IS NULL THEN 'namespace is null; leave it out for the default'
        WHEN char_length(_ns) > 255
            THEN format('namespace has %s characters; at most 255 are allowed', char_length(_ns))
        WHEN array_ndims(_topics) > 1 THEN 'topics has more than one dimension; give a plain list'
        WHEN cardinality(_topics) > 1000 THEN format('%s topics; at most 1000 are allowed', cardinality(_topics))
        WHEN cardinality(_topics) = 0 OR array_position(_topics, NULL) IS NOT NULL
            THEN 'topics is empty or holds a null; leave it out for all topics'
        WHEN cardinality(_from_due) NOT IN (0, 4) OR array_ndims(_from_due) > 1 THEN 'from_due must have one element per priority (4)'
    END;
END
$$;
