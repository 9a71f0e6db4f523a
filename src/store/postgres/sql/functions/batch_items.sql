-- batch_items(part, completions, failures, types, more) → the items of two lists that
-- process_work_batch was given, completions first, and a name for each in an error. types as in
-- items_problem; failures may have more. Bad items: an error with SQLSTATE 22023.
CREATE OR REPLACE FUNCTION {p}batch_items(_part text, _completions jsonb, _failures jsonb, _types jsonb, _more jsonb)
    RETURNS TABLE (item jsonb, failed boolean, place text)
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _problem text := coalesce({p}items_problem(_part || '_completions', _completions, _types),
                              {p}items_problem(_part || '_failures', _failures, _types || _more));
BEGIN
    PERFORM {p}batch_raise(_problem);
    RETURN QUERY SELECT e.item, false, format('%s_completions: item %s', _part, e.i - 1)
                 FROM jsonb_array_elements(_completions) WITH ORDINALITY e(item, i);
    RETURN QUERY SELECT e.item, true, format('%s_failures: item %s', _part, e.i - 1)
                 FROM jsonb_array_elements(_failures) WITH ORDINALITY e(item, i);
END
$$;
