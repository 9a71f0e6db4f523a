-- work_bury_unfit(…): messages that a claim has taken out of pending and may
-- not hand out, because they expired or their attempts are spent. Appends to
-- the history and to dead.
CREATE OR REPLACE FUNCTION {p}work_bury_unfit(_ids uuid[], _attempts smallint[], _expired boolean[], _t timestamptz)
    RETURNS void
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _some uuid[];
BEGIN
    INSERT INTO {p}attempt_log (at, id, attempt, kind)
    SELECT _t, u.id, u.attempts, 5 FROM unnest(_ids, _attempts, _expired) u(id, attempts, expired) WHERE u.expired;
    SELECT array_agg(u.id) INTO _some FROM unnest(_ids, _expired) u(id, expired) WHERE u.expired;
    PERFORM {p}work_bury(_some, 4::smallint, _t, NULL);
    SELECT array_agg(u.id) INTO _some FROM unnest(_ids, _expired) u(id, expired) WHERE NOT u.expired;
    PERFORM {p}work_bury(_some, 2::smallint, _t, NULL);
END
$$;
