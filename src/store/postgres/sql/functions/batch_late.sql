-- batch_late(door, settled, outcomes, renewed, outcomes) → a row for each settlement and renewal
-- that came too late: door, flag 8 and the message's id.
CREATE OR REPLACE FUNCTION {p}batch_late(
    _door text, _settled uuid[], _outcomes smallint[], _renewed uuid[], _renew_outcomes smallint[])
    RETURNS SETOF {p}batch_item
    LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp
AS $$
    SELECT _door, 8, u.id, NULL::text, NULL::bigint, NULL::text, NULL::text, NULL::uuid, NULL::text, NULL::text, NULL::text,
           NULL::jsonb, NULL::int, NULL::int, NULL::timestamptz, NULL::timestamptz, NULL::text, NULL::text
    FROM unnest(_settled || _renewed, _outcomes || _renew_outcomes) u(id, outcome)
    WHERE u.outcome IN (0, 1) -- unknown, stale
$$;
