-- for_item(list, i): element i of a list that has one element per item, or one for all.
CREATE OR REPLACE FUNCTION {p}for_item(_list anyarray, _i int) RETURNS anyelement
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN CASE WHEN cardinality(_list) = 1 THEN _list[1] ELSE _list[_i] END;
END
$$;
