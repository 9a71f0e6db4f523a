-- work_claim_last(joins, left, alone): the last row of a claim, which has no message: see work_claim.
CREATE OR REPLACE FUNCTION {p}work_claim_last(_joins text, _left int, _alone boolean)
    RETURNS TABLE ({claimed})
    LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN QUERY
    SELECT NULL::uuid, NULL::uuid, NULL::bigint, NULL::text, NULL::text, NULL::uuid, NULL::text, NULL::text, NULL::text, NULL::jsonb,
           NULL::int, NULL::int, NULL::timestamptz, NULL::timestamptz, NULL::text, NULL::int, nullif(_joins, ''),
           nullif(_left, 0)::bigint, NULL::text, _alone;
END
$$;
