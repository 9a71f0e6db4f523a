-- work_reap(door, t, from, most) → how many messages were given back or buried, and
-- what ended with it (see work_join_fire): takes back leases that ran out in
-- [from, t), at most `most` of them (null: all).
--
-- Locks: lease rows, SKIP LOCKED: a lease that is being settled or renewed is
-- left to that. What is done to a lease's messages uses only the locked row. Then,
-- if steps of joins have died, the heads of those, in order of id.
CREATE OR REPLACE FUNCTION {p}work_reap(_door smallint, _t timestamptz, _from timestamptz, _most int, OUT count int, OUT joins text)
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = {schema}, pg_temp
    SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off SET enable_hashjoin = off
    SET enable_mergejoin = off SET enable_memoize = off SET jit = off SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    _lease {p}lease;
    _ids uuid[];
    _attempts smallint[];
    _spent uuid[];
    _dead uuid[];
    _max smallint;
    _leases int := 0;
BEGIN
    count := 0;
    WHILE _most IS NULL OR _leases < _most LOOP
        SELECT * INTO _lease FROM {p}lease l
        WHERE l.door = _door AND l.until >= _from AND l.until < _t
        ORDER BY l.door, l.until LIMIT 1 FOR UPDATE SKIP LOCKED;
        EXIT WHEN NOT FOUND;
        _leases := _leases + 1;
        DELETE FROM {p}lease l WHERE l.id = _lease.id;
        SELECT array_agg(u.id ORDER BY u.i), array_agg(coalesce(_lease.attempts[u.i], 1) ORDER BY u.i)
        INTO _ids, _attempts FROM unnest(_lease.ids) WITH ORDINALITY u(id, i)
        WHERE _lease.settled IS NULL OR get_bit(_lease.settled, u.i::int - 1) = 0;
        SELECT q.max_attempts INTO _max FROM {p}queue q WHERE q.id = _lease.queue;

        SELECT array_agg(m.id) INTO _spent FROM unnest(_ids, _attempts) u(id, attempts), {p}message m
        WHERE m.id = u.id AND u.attempts >= coalesce(m.max_attempts, _max);
        INSERT INTO {p}attempt_log (at, next_due, id, owner, attempt, kind)
        SELECT _t, CASE WHEN u.id = ANY (_spent) THEN NULL ELSE _t END, u.id, _lease.owner, u.attempts, 4
        FROM unnest(_ids, _attempts) u(id, attempts);
        IF _spent IS NOT NULL THEN
            PERFORM {p}work_bury(_spent, 3::smallint, _t, _lease.owner);
            _dead := _dead || _spent;
        END IF;
        INSERT INTO {p}pending (due, id, expires_at, lane, topic, attempts, lost, max_attempts)
        SELECT _t, m.id, m.expires_at, m.queue * 4 + m.level, hashtext(m.topic), u.attempts,
               least(_lease.lost + 1, 30000), m.max_attempts
        FROM unnest(_ids, _attempts) u(id, attempts), {p}message m
        WHERE m.id = u.id AND (_spent IS NULL OR u.id <> ALL (_spent));
        count := count + cardinality(_ids);
    END LOOP;
    IF _dead IS NOT NULL AND _door = 0 THEN
        joins := {p}work_count_steps(NULL, ARRAY(SELECT x FROM unnest(_dead) x ORDER BY x), _t);
    END IF;
END
$$;
