-- work_join_start(…) → the new join's id, or the problem (enum ph__join_problem).
-- The first join of a store says so in its row, for all to come: until then no claim and no settle
-- looks for joins. Two that come first at once: the second waits for the first, for it may roll back;
-- with a snapshot from before it (REPEATABLE READ) it fails with 40001, once.
-- Other faults of the arguments, which the library does not let through: SQLSTATE 22023.
CREATE OR REPLACE FUNCTION {p}work_join_start(
    _expected int, _key text, _metadata text, _deadline timestamptz, OUT problem smallint, OUT id uuid)
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _t timestamptz := {p}clock();
    _id uuid := {p}id_new(0::smallint);
    _fault text := CASE
        WHEN _expected IS NULL OR _expected NOT BETWEEN 1 AND 1000000
            THEN format('expected_steps is %s; give 1 to 1000000', coalesce(_expected::text, 'null'))
        WHEN char_length(_key) > 255
            THEN format('grouping_key has %s characters; at most 255 are allowed', char_length(_key))
        WHEN octet_length(_metadata) > 1048576
            THEN format('metadata has %s bytes; at most 1048576 are allowed', octet_length(_metadata))
        WHEN _deadline NOT BETWEEN '0001-01-01 00:00:00Z' AND '9999-12-31 23:59:59.999999Z'
            THEN 'deadline lies outside the years 1 to 9999'
    END;
BEGIN
    IF _fault IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = 'join_start: ' || _fault;
    END IF;
    IF _deadline <= _t THEN
        problem := 7;
        RETURN;
    END IF;
    problem := 0;
    IF NOT (SELECT s.has_joins FROM {p}store s WHERE s.one) THEN
        UPDATE {p}store s SET has_joins = true WHERE s.one AND NOT s.has_joins;
    END IF;
    INSERT INTO {p}join_head (id, created_at, updated_at, deadline, expected, grouping_key, metadata)
    VALUES (_id, _t, _t, _deadline, _expected, nullif(_key, ''), _metadata);
    id := _id;
END
$$;
