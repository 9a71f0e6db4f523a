-- work_batch(…): the plain parts of the one exchange, before the claims: heartbeat, then
-- settlements of outbox and inbox, then renewals. Parts that are null cost nothing. ended_at: not
-- null: the instance has left or was evicted, and nothing was done. Outcomes and the parameters of
-- settlements as in work_settle; joins: those that ended (see work_join_fire). The library puts
-- work_claim behind it, in the same statement.
--
-- Locks: those of work_beat, work_settle and work_renew, one after the other: instances, then
-- leases, then joins. Renewals come before anything is stored, so that no transaction waits for a
-- lease while it holds a dedupe key or a stream. With nothing to do it writes nothing, and takes no
-- transaction id.
CREATE OR REPLACE FUNCTION {p}work_batch(
    _me {p}work_instance, _keep boolean, _again boolean, _outbox {p}work_settlements, _inbox {p}work_settlements,
    _renew_outbox {p}work_renewals, _renew_inbox {p}work_renewals,
    OUT registered boolean, OUT evicted int, OUT evicted_one uuid, OUT ended_at timestamptz,
    OUT outbox_outcomes smallint[], OUT inbox_outcomes smallint[], OUT outbox_renewed smallint[], OUT inbox_renewed smallint[],
    OUT joins text)
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
    SET enable_seqscan = off {one_plan}
AS $$
#variable_conflict use_column
DECLARE
    _t timestamptz;
    _well boolean;
    _more text;
BEGIN
    -- The usual case, in one look: it is stored as it says, its heartbeat is young, and no other's
    -- has stopped.
    SELECT c.t, l.well INTO _t, _well
    FROM (SELECT coalesce(s.clock, clock_timestamp()) AS t FROM {p}store s WHERE s.one OFFSET 0) c -- clock(), without the call
    CROSS JOIN LATERAL (
        SELECT bool_and(CASE WHEN i.id = _me.id -- see work_beat
                             THEN c.t - i.heartbeat_at <= greatest(i.stale_s * interval '100 ms',
                                                                   least(i.stale_s * interval '500 ms', interval '1 s'))
                                  AND (i.service, i.host, i.process_id, i.lease_s, i.stale_s, i.partitions, i.metadata)
                                      IS NOT DISTINCT FROM
                                      (_me.service, _me.host, _me.process_id, _me.lease_s, _me.stale_s, _me.partitions,
                                       _me.metadata)
                             ELSE i.heartbeat_at + i.stale_s * interval '1 s' >= c.t END) AND bool_or(i.id = _me.id) AS well
        FROM {p}instance i WHERE i.state = 1) l;
    registered := false;
    evicted := 0;
    IF _well IS NOT TRUE THEN
        SELECT b.registered, b.evicted, b.evicted_one, b.ended_at, b.joins INTO registered, evicted, evicted_one, ended_at, joins
        FROM {p}work_beat(_me.id, _me.service, _me.host, _me.process_id, _me.metadata, _me.lease_s, _me.stale_s, _me.partitions,
                         _t) b;
        IF ended_at IS NOT NULL THEN
            RETURN;
        END IF;
    END IF;
    IF _outbox.ids IS NOT NULL THEN
        SELECT s.outcomes, s.joins INTO outbox_outcomes, _more FROM {p}work_settle(
            0::smallint, _me.id, _outbox.ids, _outbox.fences, _outbox.verbs, _outbox.errors, _outbox.delays, _keep, _again) s;
        joins := CASE WHEN _more IS NULL THEN joins ELSE concat_ws(E'\n', joins, _more) END;
    END IF;
    IF _inbox.ids IS NOT NULL THEN
        SELECT s.outcomes INTO inbox_outcomes FROM {p}work_settle(
            1::smallint, _me.id, _inbox.ids, _inbox.fences, _inbox.verbs, _inbox.errors, _inbox.delays, _keep, _again) s;
    END IF;
    IF _renew_outbox.ids IS NOT NULL THEN
        outbox_renewed := {p}work_renew(0::smallint, _me.id, _renew_outbox.ids, _renew_outbox.fences, _me.lease_s);
    END IF;
    IF _renew_inbox.ids IS NOT NULL THEN
        inbox_renewed := {p}work_renew(1::smallint, _me.id, _renew_inbox.ids, _renew_inbox.fences, _me.lease_s);
    END IF;
END
$$;
