-- join_report_completed(join_id, message_id): counts a step by hand as completed, for
-- exceptions only; ack and fail count by themselves. The first report of a step stands.
-- Errors: SQLSTATE 22023 (bad arguments), P0002 (no such join, or not a step of it).
CREATE OR REPLACE FUNCTION {p}join_report_completed(join_id uuid, message_id uuid) RETURNS void
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM {p}join_report_named('join_report_completed', join_id, message_id, false);
END
$$;
