"""The verbs of joins, from SQL."""
import json

from host import OWNER, database
from verbs import outcomes

NOBODY = "00000000-0000-4000-8000-00000000dead"
ZERO = "00000000-0000-0000-0000-000000000000"


def start(d, steps, *more):
    marks = ", ?" * len(more)
    return d.one(f"SELECT posthorn_join_start(?{marks})", steps, *more)


def step(d, join, payload="p"):
    """A message that is a step from the start."""
    return d.one("SELECT posthorn_enqueue('t', ?, json_object('join_id', ?)) ->> 'work_id'",
                 payload, join)


def head(d, join):
    return d.query("SELECT status, expected_steps, attached_steps, completed_steps, failed_steps "
                   "FROM posthorn_joins WHERE id = ?", join)


def sent(d, topic):
    return d.query("SELECT payload, headers FROM posthorn_outbox WHERE topic = ? "
                   "AND status = 'ready'", topic)


def test_all_acked_is_completed():
    with database() as d:
        join = start(d, 3, "load/7", '{"any": "thing"}', "2999-01-01T00:00:00Z")
        assert d.query("SELECT grouping_key, metadata, deadline FROM posthorn_joins") == [
            ("load/7", '{"any": "thing"}', "2999-01-01T00:00:00.000000Z")]
        ids = [step(d, join) for _ in range(3)]
        wait = d.one("SELECT posthorn_join_wait(?, TRUE, 'next', 'go', 'alarm', 'no')", join)
        assert d.query("SELECT topic, status, waits_for FROM posthorn_outbox WHERE id = ?", wait) == [
            ("join.wait", "waiting", join)]
        assert [row[0] for row in d.claim()] == ids, "a wait was handed out"
        assert outcomes(d, "ack", OWNER, json.dumps(ids[:2])) == ["acked"] * 2
        assert head(d, join) == [("pending", 3, 3, 2, 0)]
        assert sent(d, "next") == []
        assert outcomes(d, "ack", OWNER, ids[2]) == ["acked"]
        assert head(d, join) == [("completed", 3, 3, 3, 0)]
        (payload, headers), = sent(d, "next")
        assert payload == "go"
        assert json.loads(headers) == {"join_id": join, "join_status": "completed"}
        assert (d.status(wait), sent(d, "alarm")) == ("done", [])


def test_settling_names_the_joins_it_ended():
    with database() as d:
        one, two = start(d, 1), start(d, 2)
        ids = [step(d, one), step(d, two), step(d, two)]
        d.claim()
        assert d.query("SELECT joins FROM posthorn_outbox_ack(?, ?)", OWNER, ids[1]) == [(None,)]
        rows = d.query("SELECT work_id, outcome, joins FROM posthorn_outbox_ack(?, ?)", OWNER,
                       json.dumps([ids[0], ids[2]]))
        assert [row[:2] for row in rows] == [(ids[0], "acked"), (ids[2], "acked")]
        assert all(sorted(json.loads(row[2])) == sorted([one, two]) for row in rows)
        dying = start(d, 1)
        lost = step(d, dying)
        d.claim()
        assert d.query("SELECT outcome, joins FROM posthorn_outbox_fail(?, ?)", OWNER, lost) == [
            ("failed", f'["{dying}"]')]


def test_a_failed_step_takes_the_way_that_the_flag_says():
    for flag, topic in ((True, "alarm"), (False, "next")):
        with database() as d:
            join = start(d, 2)
            ids = [step(d, join) for _ in range(2)]
            d.query("SELECT posthorn_join_wait(?, ?, 'next', 'p', 'alarm', 'p', '')", join, flag)
            d.claim()
            outcomes(d, "ack", OWNER, ids[0])
            outcomes(d, "fail", OWNER, ids[1], "broken")
            assert head(d, join) == [("failed", 2, 2, 1, 1)]
            assert len(sent(d, topic)) == 1 and len(sent(d, "next") + sent(d, "alarm")) == 1


def test_a_failure_may_send_nothing_or_an_empty_payload():
    with database() as d:
        for topic, expected in ((None, []), ("alarm", [""])):
            join = start(d, 1)
            d.query("SELECT posthorn_join_wait(?, 1, 'next', '', ?, NULL, NULL)", join, topic)
            assert d.one("SELECT posthorn_join_cancel(?)", join) == 1
            assert d.one("SELECT posthorn_join_cancel(?)", join) == 0
            assert [payload for payload, _ in sent(d, "alarm")] == expected
        assert sent(d, "next") == []


def test_attach_one_and_many():
    with database() as d:
        join = start(d, 4)
        ids = [d.enqueue() for _ in range(4)]
        d.query("SELECT posthorn_join_attach(?, ?)", join, ids[0])
        for _ in range(2):  # twice is as once
            d.query("SELECT posthorn_join_attach_many(?, ?)", join, json.dumps(ids[:3]))
        d.query("SELECT posthorn_join_attach_many(?, ?)", join, ids[3])
        assert head(d, join) == [("pending", 4, 4, 0, 0)]
        assert d.query("SELECT work_id FROM posthorn_join_members WHERE join_id = ?", join) == [
            (work_id,) for work_id in ids]
        text = "posthorn_join_attach: join %s has all the steps it expects; start it with more " \
               "expected_steps" % join
        d.fails(text, "SELECT posthorn_join_attach(?, ?)", join, d.enqueue())


def test_attach_many_is_all_or_none():
    with database() as d:
        join, known = start(d, 3), d.enqueue()
        d.fails(f"posthorn_join_attach_many: there is no outbox message {NOBODY}: it was not "
                "enqueued, or was settled and deleted; enqueue it with the join instead",
                "SELECT posthorn_join_attach_many(?, ?)", join, json.dumps([known, NOBODY]))
        assert head(d, join) == [("pending", 3, 0, 0, 0)]


def test_reports_count_once():
    with database() as d:
        join = start(d, 2)
        ids = [step(d, join) for _ in range(2)]
        for verb in ("completed", "failed", "completed"):
            assert d.one(f"SELECT posthorn_join_report_{verb}(?, ?)", join, ids[0]) is None
        assert head(d, join) == [("pending", 2, 2, 1, 0)]
        d.query("SELECT posthorn_join_report_failed(?, ?)", join, ids[1])
        assert head(d, join) == [("failed", 2, 2, 1, 1)]


def test_enqueue_many_with_a_join():
    with database() as d:
        join = start(d, 3)
        messages = [{"topic": "t", "payload": str(i), "join_id": join} for i in range(3)]
        assert len(d.query("SELECT * FROM posthorn_enqueue_many(?)", json.dumps(messages))) == 3
        assert head(d, join) == [("pending", 3, 3, 0, 0)]
        other = start(d, 1)
        d.fails(f"posthorn_enqueue_many: join {other} has all the steps it expects; start it with "
                "more expected_steps", "SELECT * FROM posthorn_enqueue_many(?)",
                json.dumps([dict(message, join_id=other) for message in messages]))
        assert head(d, other) == [("pending", 1, 0, 0, 0)]


def test_a_deadline_that_passes():
    with database() as d:
        d.clock("2030-01-01 00:00:00")
        join = start(d, 1, None, None, 1893456060)  # one minute later
        d.query("SELECT posthorn_join_wait(?, 0, 'next', '', 'late', '')", join)
        d.fails("posthorn_join_start: deadline is not ahead of the database's clock",
                "SELECT posthorn_join_start(1, NULL, NULL, '2030-01-01')")
        d.clock("2030-01-01 00:01:00")
        assert json.loads(d.one("SELECT posthorn_schedule_run()"))["joins"] == 1
        assert head(d, join) == [("failed", 1, 0, 0, 0)]
        assert len(sent(d, "late")) == 1


def test_the_topic_of_waits_can_be_set():
    with database() as d:
        d.query("SELECT posthorn_queue_set('outbox', 'n', '{\"join_wait_topic\":\"my.wait\"}')")
        wait = d.one("SELECT posthorn_join_wait(?, 0, 'next', '', NULL, NULL, 'n')", start(d, 1))
        assert d.one("SELECT topic FROM posthorn_outbox WHERE id = ?", wait) == "my.wait"


def test_what_is_not_there():
    with database() as d:
        no_join = f"there is no join {NOBODY}; start one, or see whether retention has deleted it"
        message = d.enqueue()
        for call in ("attach(?, ?)", "attach_many(?, ?)", "report_completed(?, ?)",
                     "report_failed(?, ?)"):
            verb = "posthorn_join_" + call
            d.fails(f"{verb.split('(')[0]}: {no_join}", f"SELECT {verb}", NOBODY, message)
        d.fails(f"posthorn_join_cancel: {no_join}", "SELECT posthorn_join_cancel(?)", NOBODY)
        d.fails(f"posthorn_join_wait: {no_join}", "SELECT posthorn_join_wait(?, 1, 't', 'p')", NOBODY)
        d.fails(f"posthorn_enqueue: {no_join}",
                "SELECT posthorn_enqueue('t', 'p', json_object('join_id', ?))", NOBODY)
        d.fails("posthorn_join_cancel: join id is empty; pass the one from posthorn_join_start()",
                "SELECT posthorn_join_cancel(?)", ZERO)
        join = start(d, 1)
        d.fails("posthorn_join_attach: message id is empty; pass the one from posthorn_enqueue()",
                "SELECT posthorn_join_attach(?, ?)", join, ZERO)
        d.fails(f"posthorn_join_report_failed: message {message} is not a step of join {join}; "
                "attach it first", "SELECT posthorn_join_report_failed(?, ?)", join, message)


def test_a_join_belongs_to_the_transaction():
    with database() as d:
        for end, count in (("ROLLBACK", 0), ("COMMIT", 1)):
            d.query("BEGIN IMMEDIATE")
            join = start(d, 1)
            work_id = step(d, join)
            d.query("SELECT posthorn_join_wait(?, 0, 'next', '')", join)
            d.query(end)
            assert len(head(d, join)) == count
            assert d.messages() == 2 * count
        for end, status in (("ROLLBACK", "pending"), ("COMMIT", "completed")):
            d.query("BEGIN IMMEDIATE")
            d.query("SELECT posthorn_join_report_completed(?, ?)", join, work_id)
            d.query(end)
            assert head(d, join)[0][0] == status
            assert len(sent(d, "next")) == (status == "completed")


def test_an_error_leaves_the_transaction_as_it_was():
    with database() as d:
        join = start(d, 1)
        d.query("BEGIN IMMEDIATE")
        step(d, join)
        d.fails(f"posthorn_enqueue: join {join} has all the steps it expects; start it with more "
                "expected_steps",
                "SELECT posthorn_enqueue('t', 'p', json_object('join_id', ?))", join)
        d.query("COMMIT")
        assert head(d, join) == [("pending", 1, 1, 0, 0)]
        assert d.messages() == 1


def test_inside_a_statement_that_writes():
    with database() as d:
        d.query("CREATE TABLE loads (id TEXT, join_id TEXT)")
        d.query("INSERT INTO loads SELECT value, posthorn_join_start(1, value) "
                "FROM json_each('[\"a\",\"b\"]')")
        assert d.query("SELECT l.id = j.grouping_key FROM loads l JOIN posthorn_joins j "
                       "ON j.id = l.join_id") == [(1,), (1,)]
        d.query("UPDATE loads SET id = posthorn_join_cancel(join_id)")
        assert d.query("SELECT DISTINCT status FROM posthorn_joins") == [("cancelled",)]


def test_a_trigger_can_enqueue_a_step():
    with database() as d:
        d.query("SELECT posthorn_config('triggers', 'allow')")
        d.query("CREATE TABLE parts (join_id TEXT, name TEXT)")
        d.query("CREATE TRIGGER announce AFTER INSERT ON parts BEGIN SELECT posthorn_enqueue("
                "'part', new.name, json_object('join_id', new.join_id)); END")
        join = start(d, 2)
        d.query("INSERT INTO parts VALUES (?, 'a'), (?, 'b')", join, join)
        assert head(d, join) == [("pending", 2, 2, 0, 0)]
        d.query("CREATE VIEW sly AS SELECT posthorn_join_cancel(id) FROM posthorn_joins")
        d.fails("unsafe use of posthorn_join_cancel()", "SELECT * FROM sly")
