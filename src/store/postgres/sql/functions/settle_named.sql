-- settle_named(…): checks the arguments of a call from SQL, settles, and answers (work_id, outcome,
-- joins): the outcome as a word, and in every row the joins that the call has ended, or null. verb
-- 0 renews. again: see work_settle.
CREATE OR REPLACE FUNCTION {p}settle_named(
    _name text, _door smallint, _verb smallint, _owner uuid, _ids uuid[], _fences bigint[], _error text,
    _delay interval, _lease_s int, _again boolean = false) RETURNS TABLE (work_id uuid, outcome text, joins uuid[])
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _words CONSTANT text[] := '{unknown,stale,acked,abandoned,failed,dead,released,renewed,renewed}';
    _outcomes smallint[];
    _ends text;      -- see work_join_fire
    _joins uuid[];
    _delay_ms float8 := extract(epoch FROM _delay) * 1000;
    _problem text := CASE
        WHEN _owner IS NULL THEN 'owner is null; pass the one that claimed'
        WHEN _owner = '00000000-0000-0000-0000-000000000000' THEN 'owner is all zero; pass the one that claimed'
        WHEN {p}ids_problem(_ids) IS NOT NULL THEN {p}ids_problem(_ids)
        WHEN array_ndims(_fences) > 1 THEN 'fences has more than one dimension; give a plain list'
        WHEN cardinality(_fences) <> cardinality(_ids)
            THEN format('%s fences for %s work_ids; give one each, or none', cardinality(_fences), cardinality(_ids))
        WHEN 0 > ANY (_fences) THEN 'a fence is negative; give 0 for any'
        WHEN _delay_ms < 0 THEN 'delay is negative; give zero or more'
        WHEN _verb = 0 AND (_lease_s IS NULL OR _lease_s NOT BETWEEN 1 AND 86400)
            THEN format('lease_seconds is %s; give 1 to 86400', coalesce(_lease_s::text, 'null'))
    END;
BEGIN
    IF _problem IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = _name || ': ' || _problem;
    END IF;
    IF cardinality(_ids) = 0 THEN
        RETURN;
    END IF;
    _ids := _ids[:]; -- a slice counts from 1, even if the caller's array does not
    _fences := array_replace(_fences[:], NULL, 0::bigint);
    IF _verb = 0 THEN
        _outcomes := {p}work_renew(_door, _owner, _ids, _fences, _lease_s);
    ELSE
        SELECT s.outcomes, s.joins INTO _outcomes, _ends FROM {p}work_settle(
            _door, _owner, _ids, _fences, ARRAY[_verb], ARRAY[{p}error_cut(_error)],
            ARRAY[CASE WHEN _delay_ms IS NULL THEN -1 ELSE least(_delay_ms, 31622400000) END::bigint], false, _again) s;
    END IF;
    IF _ends IS NOT NULL THEN
        SELECT array_agg(split_part(l, ' ', 2)::uuid) INTO _joins FROM string_to_table(_ends, E'\n') l WHERE l LIKE 'J %';
    END IF;
    RETURN QUERY SELECT u.id, _words[u.o + 1], _joins FROM unnest(_ids, _outcomes) u(id, o);
END
$$;
