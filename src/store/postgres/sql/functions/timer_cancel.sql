-- timer_cancel(timer_id) → true if the timer was still pending; it is gone
-- then. False if it was claimed or turned into a message before, or there is no
-- such timer. Waits for a claim of it that has not ended (see work_withdraw):
-- exactly one of the two gets it.
CREATE OR REPLACE FUNCTION {p}timer_cancel(timer_id uuid) RETURNS boolean
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF timer_id IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = 'timer_cancel: timer_id is null';
    END IF;
    RETURN {p}work_withdraw(2::smallint, ARRAY[timer_id]) <> '{}';
END
$$;
