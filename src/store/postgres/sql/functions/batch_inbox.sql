-- batch_inbox(messages) → new messages of the inbox, from the argument of process_work_batch:
-- objects whose keys are inbox_receive's arguments. No messages: nulls. Bad ones: an error with
-- SQLSTATE 22023.
CREATE OR REPLACE FUNCTION {p}batch_inbox(_messages jsonb) RETURNS {p}work_messages
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _m {p}work_messages;
    _problem text := {p}items_problem('new_inbox_messages', _messages,
        '{"source": "text!", "message_id": "text!", "topic": "text!", "payload": "text!", "namespace": "text",
          "tenant_id": "uuid", "correlation_id": "text", "stream": "text", "priority": "whole", "headers": "any",
          "handled": "boolean"}');
BEGIN
    IF _messages IS NULL OR _messages = '[]' THEN
        RETURN _m;
    END IF;
    PERFORM {p}batch_raise(_problem);
    SELECT array_agg(coalesce(e.m ->> 'namespace', '') ORDER BY e.i), array_agg(e.m ->> 'topic' ORDER BY e.i),
           array_agg(e.m ->> 'payload' ORDER BY e.i), array_agg((e.m ->> 'tenant_id')::uuid ORDER BY e.i),
           array_agg(e.m ->> 'message_id' ORDER BY e.i), array_agg(nullif(e.m ->> 'correlation_id', '') ORDER BY e.i),
           array_agg(e.m ->> 'stream' ORDER BY e.i),
           array_agg(least(greatest(coalesce((e.m ->> 'priority')::bigint, 1), 0), 3) ORDER BY e.i), -- if outside: see below
           array_agg(nullif(e.m -> 'headers', 'null') ORDER BY e.i), array_agg(e.m ->> 'source' ORDER BY e.i),
           array_agg(coalesce((e.m ->> 'handled')::boolean, false) ORDER BY e.i),
           (array_agg(format('new_inbox_messages: item %s: %s', e.i - 1, c.problem) ORDER BY e.i)
            FILTER (WHERE c.problem IS NOT NULL))[1]
    INTO _m.ns, _m.topics, _m.payloads, _m.tenant_ids, _m.keys, _m.correlation_ids, _m.streams, _m.levels, _m.headers,
         _m.sources, _m.handled, _problem
    FROM jsonb_array_elements(_messages) WITH ORDINALITY e(m, i)
    CROSS JOIN LATERAL (SELECT coalesce(
        {p}inbox_problem(e.m ->> 'source', e.m ->> 'message_id', coalesce((e.m ->> 'handled')::boolean, false)),
        CASE WHEN (e.m ->> 'priority')::bigint NOT BETWEEN 0 AND 3
             THEN format('priority is %s; give 0 (urgent) to 3 (bulk)', e.m ->> 'priority') END) AS problem OFFSET 0) c;
    PERFORM {p}batch_raise(coalesce(_problem, 'new_inbox_messages: ' || {p}messages_bytes_problem(_m.payloads, _m.headers)));
    RETURN _m;
END
$$;
