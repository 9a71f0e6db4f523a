-- work_joins(…) → joins as in the view, in the order of ids. key: null for all; status:
-- -1 for all; after: the last id of the page before, all zero: from the beginning; step: null for
-- all, otherwise those of which the message with that id is a step.
-- Reads only.
CREATE OR REPLACE FUNCTION {p}work_joins(_key text, _status int, _oldest_first boolean, _limit int, _after uuid, _step uuid)
    RETURNS SETOF {p}joins
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
    SET jit = off
AS $$
DECLARE
    _at uuid := CASE WHEN _after <> '00000000-0000-0000-0000-000000000000' OR _oldest_first THEN _after
                     ELSE 'ffffffff-ffff-ffff-ffff-ffffffffffff' END;
    _joins uuid[];
BEGIN
    IF _step IS NOT NULL THEN -- each part by its index
        _joins := ARRAY(SELECT m.join_id FROM {p}join_member m WHERE m.work_id = _step AND m.message_id = _step
                        UNION ALL
                        SELECT m.join_id FROM {p}join_member m WHERE m.message_id = _step AND m.message_id <> m.work_id);
    END IF;
    RETURN QUERY EXECUTE format('SELECT * FROM {p}joins j WHERE j.id %s $1 %s %s ORDER BY j.id %s LIMIT $4',
        CASE WHEN _oldest_first THEN '>' ELSE '<' END,
        CASE WHEN _key IS NOT NULL THEN 'AND j.grouping_key = $2' ELSE '' END,
        CASE WHEN _status >= 0 THEN 'AND j.status_code = $3' ELSE '' END
        || CASE WHEN _step IS NOT NULL THEN ' AND j.id = ANY ($5)' ELSE '' END,
        CASE WHEN _oldest_first THEN 'ASC' ELSE 'DESC' END)
    USING _at, _key, _status, _limit, _joins;
END
$$;
