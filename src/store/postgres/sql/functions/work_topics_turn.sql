-- work_topics_turn(queue): one step on the way of a queue to the index on topics (queue.by_topic),
-- taken by a claim that names topics, one at a time, until it is there:
-- 0 The flag is set: from then on new rows are in the index. A transaction that began before may not
--   know of it yet.
-- 1 The transactions that run are noted, once the flag can be seen by all that begin.
-- 2 Those have ended, and no session reads with a snapshot that old: one may have got it from another
--   (SET TRANSACTION SNAPSHOT), which is seen only with the right to see that session's state. They
--   may have been prepared, and then still have a number below upto.
-- 3 No transaction below upto runs: no more rows come without the index. All rows of the queue are
--   read, 100 in a step, and those without are put into it. They stay locked until the caller's
--   transaction ends, so they are few. If some had to be left, since others held them, all are read
--   again from the start; if not, the queue is there.
-- Meanwhile claims that name topics walk past messages of other topics.
--
-- Only a caller that reads what others commit can take a step. It waits for none: one that finds
-- another at it leaves it to that.
CREATE OR REPLACE FUNCTION {p}work_topics_turn(_queue int) RETURNS void
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
    {pinned}
AS $$
DECLARE
    _turn {p}topic_turn;
    _rows record;
    _done int;
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed'
       OR NOT pg_try_advisory_xact_lock(hashtextextended('{schema}.{p}topic_turn', _queue)) THEN
        RETURN;
    END IF;
    SELECT * INTO _turn FROM {p}topic_turn t WHERE t.queue = _queue;
    IF _turn.next_at > clock_timestamp() THEN
        RETURN;
    ELSIF _turn.queue IS NULL THEN
        UPDATE {p}queue q SET by_topic = 1
        WHERE q.by_topic = 0 AND q.id IN (SELECT x.id FROM {p}queue x WHERE x.id = _queue FOR NO KEY UPDATE SKIP LOCKED);
        IF FOUND THEN
            INSERT INTO {p}topic_turn (queue, flagged, lane) VALUES (_queue, pg_current_xact_id(), {p}lane(_queue, 0));
        END IF;
    ELSIF _turn.before IS NULL THEN
        IF _turn.flagged IS DISTINCT FROM pg_current_xact_id_if_assigned() THEN -- not by this transaction
            PERFORM pg_stat_clear_snapshot(); -- the view may be as old as the transaction
            UPDATE {p}topic_turn SET before = ARRAY(
                SELECT l.virtualtransaction FROM pg_locks l LEFT JOIN pg_stat_activity a ON a.pid = l.pid
                WHERE l.locktype = 'virtualxid' AND l.granted
                  AND (a.pid IS NULL OR (a.datname = current_database() AND a.backend_type IS DISTINCT FROM 'autovacuum worker')))
            WHERE queue = _queue;
        END IF;
    ELSIF _turn.upto IS NULL THEN
        PERFORM pg_stat_clear_snapshot();
        IF EXISTS (SELECT FROM pg_locks l WHERE l.locktype = 'virtualxid' AND l.virtualtransaction = ANY (_turn.before))
           OR EXISTS (SELECT FROM pg_stat_activity a
                      WHERE a.datname = current_database() AND a.pid <> pg_backend_pid() AND age(a.backend_xmin) >= age(_turn.flagged::xid)
                        AND a.backend_type IS DISTINCT FROM 'autovacuum worker') THEN
            UPDATE {p}topic_turn SET next_at = clock_timestamp() + interval '50 ms' WHERE queue = _queue;
        ELSE
            UPDATE {p}topic_turn SET upto = pg_snapshot_xmax(pg_current_snapshot()) WHERE queue = _queue;
        END IF;
    -- A number that has not been given yet comes from a dump of another server.
    ELSIF pg_snapshot_xmin(pg_current_snapshot()) >= _turn.upto OR _turn.upto > pg_snapshot_xmax(pg_current_snapshot()) THEN
        SELECT array_agg(p.tid) FILTER (WHERE p.topic < 0) AS tids, count(*) AS n, count(*) FILTER (WHERE p.topic < 0) AS without,
               max(p.lane) AS lane, (array_agg(p.due ORDER BY p.i DESC))[1] AS due, (array_agg(p.id ORDER BY p.i DESC))[1] AS id
        INTO _rows FROM (
            SELECT p.ctid AS tid, p.topic, p.lane, p.due, p.id, row_number() OVER () AS i FROM {p}pending p
            WHERE (p.lane, p.due, p.id) > (_turn.lane, _turn.due, _turn.id) AND p.lane < {p}lane(_queue, 4)
            ORDER BY p.lane, p.due, p.id LIMIT 100) p;
        UPDATE {p}pending p SET topic = ~p.topic
        WHERE p.ctid = ANY (ARRAY(SELECT x.ctid FROM {p}pending x WHERE x.ctid = ANY (_rows.tids) AND x.topic < 0 FOR UPDATE SKIP LOCKED));
        GET DIAGNOSTICS _done = ROW_COUNT;
        _turn.clean := _turn.clean AND _done = _rows.without;
        IF _rows.n = 100 THEN
            UPDATE {p}topic_turn SET clean = _turn.clean, lane = _rows.lane, due = _rows.due, id = _rows.id WHERE queue = _queue;
        ELSIF NOT _turn.clean THEN
            UPDATE {p}topic_turn SET clean = true, lane = {p}lane(_queue, 0), due = '-infinity', next_at = clock_timestamp() + interval '50 ms'
            WHERE queue = _queue;
        ELSE
            UPDATE {p}queue q SET by_topic = 2
            WHERE q.id IN (SELECT x.id FROM {p}queue x WHERE x.id = _queue FOR NO KEY UPDATE SKIP LOCKED);
            DELETE FROM {p}topic_turn WHERE queue = _queue AND FOUND;
        END IF;
    END IF;
END
$$;
