-- work_ended(id) → how a message has ended: 1 done, also if it was deleted since, 2 dead; null: not yet.
-- Plans: pinned by the settings of its callers.
CREATE OR REPLACE FUNCTION {p}work_ended(_id uuid) RETURNS smallint
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN (SELECT CASE WHEN EXISTS (SELECT FROM {p}dead x WHERE x.id = _id) THEN 2
                        WHEN EXISTS (SELECT FROM {p}done d WHERE d.span @> {p}id_number(_id) AND d.ids @> ARRAY[_id]) THEN 1
                        WHEN NOT EXISTS (SELECT FROM {p}message m WHERE m.id = _id) THEN 1 END);
END
$$;
