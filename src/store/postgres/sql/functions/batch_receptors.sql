-- batch_receptors(completions, failures) → results of receptors, from the arguments of
-- process_work_batch: items {work_id, receptor}; those of failures also error. No items: nulls. Bad
-- ones: an error with SQLSTATE 22023.
CREATE OR REPLACE FUNCTION {p}batch_receptors(_completions jsonb, _failures jsonb) RETURNS {p}work_receptor_results
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _r {p}work_receptor_results;
    _problem text;
BEGIN
    IF _completions IS NULL AND _failures IS NULL THEN
        RETURN _r;
    END IF;
    SELECT array_agg((b.item ->> 'work_id')::uuid), array_agg(b.item ->> 'receptor'), array_agg(b.failed),
           array_agg({p}error_cut(b.item ->> 'error')),
           (array_agg(b.place || ': ' || {p}name_problem('receptor', b.item ->> 'receptor'))
            FILTER (WHERE {p}name_problem('receptor', b.item ->> 'receptor') IS NOT NULL))[1]
    INTO _r.ids, _r.names, _r.failed, _r.errors, _problem
    FROM {p}batch_items('receptor', _completions, _failures, '{"work_id": "uuid!", "receptor": "text!"}',
                        '{"error": "text"}') b;
    PERFORM {p}batch_raise(_problem);
    RETURN _r;
END
$$;
