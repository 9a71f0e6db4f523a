-- outbox_reap_expired() → how many messages were given back or buried.
CREATE OR REPLACE FUNCTION {p}outbox_reap_expired() RETURNS int
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = {schema}, pg_temp
AS $$
BEGIN
    RETURN {p}work_reap(0::smallint, {p}clock(), '-infinity', NULL);
END
$$;
