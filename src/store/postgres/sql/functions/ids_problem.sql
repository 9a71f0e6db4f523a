-- ids_problem(work_ids) → what is wrong with a list of work ids, or null.
CREATE OR REPLACE FUNCTION {p}ids_problem(_ids uuid[]) RETURNS text
    LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN CASE
        WHEN array_ndims(_ids) > 1 THEN 'work_ids has more than one dimension; give a plain list'
        WHEN _ids IS NULL OR array_position(_ids, NULL) IS NOT NULL THEN 'work_ids is null or holds a null'
        WHEN cardinality(_ids) > 10000 THEN format('%s work_ids; at most 10000 are allowed', cardinality(_ids))
    END;
END
$$;
