-- work_beat(…): an instance says that it lives. Registers it if it is not known, writes its
-- heartbeat if the stored one is old, or something else of it has changed, and evicts others whose hearts have stopped: their
-- leases are taken back; evicted_one is one of them. ended_at: not null: it has left or was evicted, and nothing was
-- done. joins: those that ended with it (see work_join_fire).
--
-- With a young heartbeat and no stale instance it writes nothing, takes no lock and no
-- transaction id.
-- Locks: its own row, if it writes; then rows of stale instances, SKIP LOCKED, and their
-- leases. Evicted while it beats: one of the two has the row first. If that is the beat, the
-- other passes it over; if not, the beat finds no live row to update, and looks again.
-- Two that register one id: the second waits at the insert, and finds it registered.
CREATE OR REPLACE FUNCTION {p}work_beat(
    _id uuid, _service text, _host text, _process_id int, _metadata jsonb, _lease_s int, _stale_s int,
    _partitions int, _t timestamptz,
    OUT registered boolean, OUT evicted int, OUT evicted_one uuid, OUT ended_at timestamptz, OUT joins text)
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
    {pinned}
AS $$
#variable_conflict use_column
DECLARE
    _me record;
    _stale uuid;
    _more text;
BEGIN
    registered := false;
    evicted := 0;
    LOOP
        SELECT i.state, i.heartbeat_at, i.ended_at, i.stale_s,
               (i.service, i.host, i.process_id, i.lease_s, i.stale_s, i.partitions, i.metadata)
               IS NOT DISTINCT FROM (_service, _host, _process_id, _lease_s, _stale_s, _partitions, _metadata) AS same
        INTO _me FROM {p}instance i WHERE i.id = _id;
        IF NOT FOUND THEN
            INSERT INTO {p}instance (id, started_at, heartbeat_at, process_id, lease_s, stale_s, partitions, state, service, host,
                                        metadata)
            VALUES (_id, _t, _t, _process_id, _lease_s, _stale_s, _partitions, 1, _service, _host, _metadata)
            ON CONFLICT DO NOTHING;
            registered := FOUND;
            EXIT WHEN FOUND;
        ELSIF _me.state <> 1 THEN
            ended_at := _me.ended_at;
            RETURN;
        ELSE
            EXIT WHEN _me.same AND _t - _me.heartbeat_at <= greatest(_me.stale_s * interval '100 ms',
                                                                     least(_me.stale_s * interval '500 ms', interval '1 s'));
            UPDATE {p}instance i
            SET heartbeat_at = _t, service = _service, host = _host, process_id = _process_id, metadata = _metadata,
                lease_s = _lease_s, stale_s = _stale_s, partitions = _partitions
            WHERE i.id = _id AND i.state = 1;
            EXIT WHEN FOUND;
        END IF;
    END LOOP;
    IF EXISTS (SELECT FROM {p}instance i
               WHERE i.state = 1 AND i.heartbeat_at + i.stale_s * interval '1 s' < _t AND i.id <> _id) THEN
        FOR _stale IN SELECT i.id FROM {p}instance i
                      WHERE i.state = 1 AND i.heartbeat_at + i.stale_s * interval '1 s' < _t AND i.id <> _id
                      FOR UPDATE SKIP LOCKED LOOP
            UPDATE {p}instance i SET state = 3, ended_at = _t WHERE i.id = _stale;
            SELECT concat_ws(E'\n', 'R ' || nullif(r.count, 0), r.joins) INTO _more FROM {p}work_reap_owner(_stale, _t) r;
            joins := nullif(concat_ws(E'\n', joins, nullif(_more, '')), '');
            evicted := evicted + 1;
            evicted_one := _stale;
        END LOOP;
    END IF;
END
$$;
