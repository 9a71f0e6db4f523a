-- settle_named(…) → the outcomes of a call from SQL as words, in order, and the joins that it has
-- ended, or null: checks the arguments, and settles. verb 0 renews. first: the call was the first of
-- its transaction; then messages that this owner has acked before are acked, if the call is alone
-- (query_is_single); they are stale otherwise.
CREATE OR REPLACE FUNCTION {p}settle_named(
    _name text, _door smallint, _verb smallint, _owner uuid, _ids uuid[], _fences bigint[], _error text,
    _delay interval, _lease_s int, _first boolean = false, OUT outcomes text[], OUT joins uuid[])
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _words CONSTANT text[] := '{unknown,stale,acked,abandoned,failed,dead,released,renewed,renewed}';
    _settled record;
    _problem text;
BEGIN
    IF (_owner <> '00000000-0000-0000-0000-000000000000' AND array_ndims(_ids) = 1 AND cardinality(_ids) <= 10000
        AND array_position(_ids, NULL) IS NULL AND _delay IS NULL AND _verb > 0
        AND (_fences IS NULL OR (array_ndims(_fences) = 1 AND cardinality(_fences) = cardinality(_ids) AND 0 <= ALL (_fences)))) IS NOT TRUE THEN -- look closer
        _problem := {p}settle_problem(_verb, _owner, _ids, _fences, _delay, _lease_s);
        IF _problem IS NOT NULL THEN
            RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = _name || ': ' || _problem;
        END IF;
        IF cardinality(_ids) = 0 THEN
            outcomes := '{}';
            RETURN;
        END IF;
    END IF;
    _ids := _ids[:]; -- a slice counts from 1, even if the caller's array does not
    _fences := array_replace(_fences[:], NULL, 0::bigint);
    IF _verb = 0 THEN
        SELECT {p}work_renew(_door, _owner, _ids, _fences, _lease_s) AS outcomes, NULL::text AS joins INTO _settled;
    ELSE
        _settled := {p}work_settle(
            _door, _owner, _ids, _fences, ARRAY[_verb], ARRAY[CASE WHEN _error IS NOT NULL THEN {p}error_cut(_error) END],
            ARRAY[CASE WHEN _delay IS NULL THEN -1 ELSE least(extract(epoch FROM _delay) * 1000, 31622400000) END::bigint]);
        IF _first AND _verb = 1 AND 1 = ANY (_settled.outcomes) AND {p}query_is_single(_name) THEN
            _settled.outcomes := {p}work_outcomes_rest(_door, _ids, array_replace(_settled.outcomes, 1::smallint, NULL),
                                                       _owner, _fences, '{1}');
        END IF;
    END IF;
    IF _settled.outcomes[1] = ALL (_settled.outcomes) THEN
        outcomes := array_fill(_words[_settled.outcomes[1] + 1], ARRAY[cardinality(_ids)]);
    ELSE
        outcomes := ARRAY(SELECT _words[o + 1] FROM unnest(_settled.outcomes) o);
    END IF;
    IF _settled.joins IS NOT NULL THEN
        SELECT array_agg(split_part(l, ' ', 2)::uuid) INTO joins FROM string_to_table(_settled.joins, E'\n') l WHERE l LIKE 'J %';
    END IF;
END
$$;
