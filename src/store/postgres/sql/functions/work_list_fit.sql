-- work_list_fit(ids) → the first of these messages, as many as are claim_bytes_max() together in
-- payloads and headers, and one at least.
CREATE OR REPLACE FUNCTION {p}work_list_fit(_ids uuid[]) RETURNS uuid[]
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN ARRAY(
        SELECT m.id FROM (
            SELECT m.id, m.i, m.bytes, sum(m.bytes) OVER (ORDER BY m.i) AS total
            FROM (SELECT u.id, u.i, octet_length(m.payload) + coalesce(pg_column_size(m.headers), 0) AS bytes
                  FROM unnest(_ids) WITH ORDINALITY u(id, i) JOIN {p}message m ON m.id = u.id) m) m
        WHERE m.total <= {p}claim_bytes_max() OR m.total = m.bytes
        ORDER BY m.i);
END
$$;
