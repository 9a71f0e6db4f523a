-- error_cut(error) → at most its first 8192 bytes, without half a character.
CREATE OR REPLACE FUNCTION {p}error_cut(_error text) RETURNS text
    LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp
AS $$
    SELECT CASE WHEN octet_length(_error) <= 8192 THEN _error ELSE (
        -- In UTF-8, a byte 10xxxxxx goes on with a character; cut before one that does not.
        SELECT convert_from(substring(b.bytes FROM 1 FOR max(i)), 'UTF8')
        FROM convert_to(left(_error, 8193), 'UTF8') b(bytes), generate_series(8189, 8192) i
        WHERE get_byte(b.bytes, i) & 192 <> 128 GROUP BY b.bytes) END
$$;
