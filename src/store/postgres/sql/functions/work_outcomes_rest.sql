-- work_outcomes_rest(door, ids, outcomes): fills in what is null: the outcome of an
-- id given before, else 1 (stale) if the message exists behind this door, else 0 (unknown).
CREATE OR REPLACE FUNCTION {p}work_outcomes_rest(_door smallint, _ids uuid[], _outcomes smallint[]) RETURNS smallint[]
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN (
        SELECT array_agg(coalesce(u.outcome, _outcomes[array_position(_ids, u.id)],
                                  CASE WHEN EXISTS (SELECT FROM {p}message m JOIN {p}queue q ON q.id = m.queue
                                                    WHERE m.id = u.id AND q.door = _door) THEN 1 ELSE 0 END) ORDER BY u.i)
        FROM unnest(_ids, _outcomes) WITH ORDINALITY u(id, outcome, i));
END
$$;
