-- result_problem(code) → what is wrong with the result of a receptor or a consumer, in words:
-- the codes of enum ph__result_problem, and the words of src/core/consumer.c.
CREATE OR REPLACE FUNCTION {p}result_problem(_code smallint) RETURNS text
    LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN CASE _code
        WHEN 1 THEN 'there is no such message in outbox or inbox; it may have been deleted by retention'
        WHEN 2 THEN 'there is no such stream; a stream begins with its first message'
        WHEN 3 THEN 'seq lies above the stream''s last message'
        WHEN 4 THEN 'the checkpoint has more than 1000 gaps; complete what lies below first'
    END;
END
$$;
