-- join_problem(code, join, message) → what is wrong, in words: the same codes as
-- enum ph__join_problem in src/core/join.h, and the same words as src/core/join.c.
CREATE OR REPLACE FUNCTION {p}join_problem(_code smallint, _join uuid, _message uuid) RETURNS text
    LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN CASE _code
        WHEN 1 THEN format('there is no join %s; start one, or see whether retention has deleted it', _join)
        WHEN 2 THEN format('there is no outbox message %s: it was not enqueued, or was settled and deleted; enqueue it with '
                           'the join instead', _message)
        WHEN 3 THEN format('join %s is closed: it was cancelled, or its deadline has passed; start another', _join)
        WHEN 4 THEN format('join %s has all the steps it expects; start it with more expected_steps', _join)
        WHEN 5 THEN format('message %s is not a step of join %s; attach it first', _message, _join)
        WHEN 6 THEN format('message %s is a wait, which cannot be a step', _message)
        WHEN 7 THEN 'deadline is not ahead of the database''s clock'
        WHEN 8 THEN 'the payload of a continuation is longer than its queue allows; raise max_payload_bytes, or '
                    'store it elsewhere and send a reference'
    END;
END
$$;
