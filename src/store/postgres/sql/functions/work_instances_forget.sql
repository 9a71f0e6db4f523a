-- work_instances_forget(t, most): deletes instances that ended more than a day before t, and their
-- claims (claimer). Rows that another run is deleting are passed over.
CREATE OR REPLACE FUNCTION {p}work_instances_forget(_t timestamptz, _most int) RETURNS void
    LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
    WITH gone AS (
        DELETE FROM {p}instance x WHERE x.id = ANY (ARRAY(
            SELECT i.id FROM {p}instance i WHERE i.state <> 1 AND i.ended_at < _t - interval '1 day'
            ORDER BY i.ended_at LIMIT _most FOR UPDATE SKIP LOCKED))
        RETURNING x.id)
    DELETE FROM {p}claimer c WHERE c.instance IN (SELECT g.id FROM gone g)
$$;
