-- {door}_reap_expired() → how many messages were given back or buried.
CREATE OR REPLACE FUNCTION {p}{door}_reap_expired() RETURNS int
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN (SELECT r.count FROM {p}work_reap_expired({number}::smallint) r);
END
$$;
