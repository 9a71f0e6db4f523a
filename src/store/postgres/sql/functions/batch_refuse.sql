-- batch_refuse(instance, ended_at): the error of process_work_batch for an instance that has left or
-- was evicted.
CREATE OR REPLACE FUNCTION {p}batch_refuse(_instance uuid, _ended_at timestamptz) RETURNS void
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RAISE EXCEPTION USING ERRCODE = '55000', MESSAGE = format(
        'process_work_batch: instance %s %s at %s; register anew under a fresh id', _instance,
        (SELECT CASE WHEN i.state = 2 THEN 'has left' ELSE 'was taken for dead' END FROM {p}instance i WHERE i.id = _instance),
        to_char(_ended_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS"Z"'));
END
$$;
