-- items_problem(part, items, types) → what is wrong with a list of JSON objects, or null; the
-- first that is wrong is named by its index, from 0. types: for each key that an item may have
-- its type (uuid, whole, number, boolean, text, any), with a ! if it must be there.
CREATE OR REPLACE FUNCTION {p}items_problem(_part text, _items jsonb, _types jsonb) RETURNS text
    LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _uuid CONSTANT text := '([0-9a-fA-F]{4}-?){7}[0-9a-fA-F]{4}';
    _problem text;
BEGIN
    IF jsonb_typeof(_items) <> 'array' THEN
        RETURN format('%s is not a JSON array', _part);
    END IF;
    IF jsonb_array_length(_items) > 10000 THEN
        RETURN format('%s: %s items; at most 10000 are allowed', _part, jsonb_array_length(_items));
    END IF;
    SELECT format('%s: item %s: %s', _part, e.i - 1, coalesce(x.problem, 'is not a JSON object')) INTO _problem
    FROM jsonb_array_elements(_items) WITH ORDINALITY e(item, i)
    LEFT JOIN LATERAL (
        SELECT CASE
            WHEN t.v IS NULL THEN format('unknown key "%s"', k.k)
            WHEN k.v IS NULL OR jsonb_typeof(k.v) = 'null'
                THEN CASE WHEN right(t.v, 1) = '!' THEN format('%s is missing', k.k) END
            WHEN t.v LIKE 'uuid%'
                THEN CASE WHEN jsonb_typeof(k.v) <> 'string' OR k.v #>> '{}' !~ format('^(%s|\{%1$s\})$', _uuid)
                          THEN format('%s is not a UUID', k.k) END
            WHEN t.v LIKE 'whole%'
                THEN CASE WHEN k.v::text !~ '^-?[0-9]{1,18}$' THEN format('%s is not a whole number', k.k) END
            WHEN t.v = 'any' THEN NULL
            WHEN jsonb_typeof(k.v) <> CASE WHEN t.v LIKE 'text%' THEN 'string' ELSE t.v END
                THEN format('%s is not a JSON %s', k.k, CASE WHEN t.v LIKE 'text%' THEN 'string' ELSE t.v END)
            END AS problem
        FROM (SELECT a.k, a.v FROM jsonb_each(CASE WHEN jsonb_typeof(e.item) = 'object' THEN e.item ELSE '{}' END) a(k, v)
              UNION ALL
              SELECT r.k, NULL FROM jsonb_each_text(_types) r(k, v)
              WHERE right(r.v, 1) = '!' AND jsonb_typeof(e.item) = 'object' AND NOT e.item ? r.k) k
        LEFT JOIN jsonb_each_text(_types) t(k, v) ON t.k = k.k) x ON x.problem IS NOT NULL
    WHERE x.problem IS NOT NULL OR jsonb_typeof(e.item) <> 'object'
    ORDER BY e.i, x.problem COLLATE "C" LIMIT 1;
    RETURN _problem;
END
$$;
