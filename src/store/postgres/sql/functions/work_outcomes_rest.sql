-- work_outcomes_rest(door, ids, outcomes, owner, fences, verbs): fills in what is null: the outcome
-- of an id given before, else 2 (acked) if it is acked and this owner has acked it before, under the
-- fence given (null, 0: any), else 1 (stale) if the message exists behind this door, else 0
-- (unknown). owner null: nothing is acked here.
CREATE OR REPLACE FUNCTION {p}work_outcomes_rest(
    _door smallint, _ids uuid[], _outcomes smallint[], _owner uuid = NULL, _fences bigint[] = NULL, _verbs smallint[] = NULL)
    RETURNS smallint[]
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN (
        SELECT array_agg(coalesce(
                   u.outcome, _outcomes[f.i],
                   CASE WHEN NOT EXISTS (SELECT FROM {p}message m JOIN {p}queue q ON q.id = m.queue
                                         WHERE m.id = u.id AND q.door = _door) THEN 0
                        WHEN _owner IS NOT NULL AND {p}for_item(_verbs, f.i) = 1
                             AND EXISTS (SELECT FROM {p}done d
                                         WHERE d.span @> {p}id_number(u.id) AND d.ids @> ARRAY[u.id] AND d.owner = _owner
                                           AND (coalesce(_fences[f.i], 0) = 0 OR d.fence = _fences[f.i])) THEN 2
                        ELSE 1 END) ORDER BY u.i)
        FROM unnest(_ids, _outcomes) WITH ORDINALITY u(id, outcome, i)
        CROSS JOIN LATERAL (SELECT array_position(_ids, u.id) AS i) f);
END
$$;
