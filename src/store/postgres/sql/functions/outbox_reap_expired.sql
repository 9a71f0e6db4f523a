-- outbox_reap_expired() → how many messages were given back or buried.
CREATE OR REPLACE FUNCTION {p}outbox_reap_expired() RETURNS int
    LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = {schema}, pg_temp
AS $$ SELECT {p}work_reap(0::smallint, {p}clock(), '-infinity', NULL) $$;
