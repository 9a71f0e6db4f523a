-- work_reap_expired(door) → how many messages were given back or buried, and the joins that ended
-- with it (see work_join_fire): takes back every lease that has run out; of the outbox, ends joins
-- past their deadline first.
CREATE OR REPLACE FUNCTION {p}work_reap_expired(_door smallint, OUT count int, OUT joins text)
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _t timestamptz := {p}clock();
    _ended text;
BEGIN
    IF _door = 0 THEN
        SELECT x.joins INTO _ended FROM {p}work_join_expire(_t, NULL) x;
    END IF;
    SELECT r.count, nullif(concat_ws(E'\n', _ended, r.joins), '') INTO count, joins
    FROM {p}work_reap(_door, _t, '-infinity', NULL) r;
END
$$;
