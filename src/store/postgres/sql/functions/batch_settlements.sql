-- batch_settlements(door, completions, failures) → settlements, from the arguments of
-- process_work_batch: items {work_id, fence}; those of failures also error, permanent
-- and delay, in seconds. No items: nulls. Bad ones: an error with SQLSTATE 22023.
CREATE OR REPLACE FUNCTION {p}batch_settlements(
    _door text, _completions jsonb, _failures jsonb) RETURNS {p}work_settlements
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _s {p}work_settlements;
    _problem text;
BEGIN
    IF _completions IS NULL AND _failures IS NULL THEN
        RETURN _s;
    END IF;
    SELECT array_agg((b.item ->> 'work_id')::uuid), array_agg(coalesce((b.item ->> 'fence')::bigint, 0)),
           array_agg(CASE WHEN NOT b.failed THEN 1 WHEN (b.item ->> 'permanent')::boolean THEN 3 ELSE 2 END),
           array_agg({p}error_cut(b.item ->> 'error')),
           array_agg(coalesce(least((b.item ->> 'delay')::numeric * 1000, 31622400000), -1)),
           coalesce((array_agg(b.place || ': fence is negative; give 0 for any') FILTER (WHERE (b.item ->> 'fence')::numeric < 0))[1],
                    (array_agg(b.place || ': delay is negative; give zero or more') FILTER (WHERE (b.item ->> 'delay')::numeric < 0))[1])
    INTO _s.ids, _s.fences, _s.verbs, _s.errors, _s.delays, _problem
    FROM {p}batch_items(_door, _completions, _failures, '{"work_id": "uuid!", "fence": "whole"}',
                        '{"error": "text", "permanent": "boolean", "delay": "number"}') b;
    PERFORM {p}batch_raise(_problem);
    IF 1 = ALL (_s.verbs) THEN -- one element for all
        _s.verbs := '{1}';
        _s.errors := '{NULL}';
        _s.delays := '{-1}';
    END IF;
    RETURN _s;
END
$$;
