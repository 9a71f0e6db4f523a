-- cron_value(text, words, least) → the number that a part of a cron expression means: digits,
-- or one of the words, of which the first stands for least; null: neither.
CREATE OR REPLACE FUNCTION {p}cron_value(_text text, _words text[], _least int) RETURNS int
    LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN CASE WHEN _text ~ '^[0-9]+$' THEN _text::int ELSE array_position(_words, _text) - 1 + _least END;
END
$$;
