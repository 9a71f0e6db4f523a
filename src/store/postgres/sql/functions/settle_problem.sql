-- settle_problem(…) → what is wrong with the arguments of a call that settles (verb 0: renews), or
-- null.
CREATE OR REPLACE FUNCTION {p}settle_problem(
    _verb smallint, _owner uuid, _ids uuid[], _fences bigint[], _delay interval, _lease_s int) RETURNS text
    LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN CASE
        WHEN _owner IS NULL THEN 'owner is null; pass the one that claimed'
        WHEN _owner = '00000000-0000-0000-0000-000000000000' THEN 'owner is all zero; pass the one that claimed'
        WHEN {p}ids_problem(_ids) IS NOT NULL THEN {p}ids_problem(_ids)
        WHEN array_ndims(_fences) > 1 THEN 'fences has more than one dimension; give a plain list'
        WHEN cardinality(_fences) <> cardinality(_ids)
            THEN format('%s fences for %s work_ids; give one each, or none', cardinality(_fences), cardinality(_ids))
        WHEN 0 > ANY (_fences) THEN 'a fence is negative; give 0 for any'
        WHEN extract(epoch FROM _delay) < 0 THEN 'delay is negative; give zero or more'
        WHEN _verb = 0 AND (_lease_s IS NULL OR _lease_s NOT BETWEEN 1 AND 86400)
            THEN format('lease_seconds is %s; give 1 to 86400', coalesce(_lease_s::text, 'null'))
    END;
END
$$;
