"""Inbox, streams, instances, receptors, checkpoints and the one exchange, from SQL."""
import json

from host import OTHER, OWNER, database, error_of

INBOX = ["work_id", "message_id", "fence", "topic", "payload", "tenant_id", "dedupe_key",
         "correlation_id", "stream", "headers", "attempts", "retry_count", "created_at", "due_at",
         "last_error", "source"]


def receive(d, source="s", message_id="1", payload="p", **options):
    return json.loads(d.one("SELECT posthorn_inbox_receive(?, ?, 't', ?, ?)", source, message_id,
                            payload, json.dumps(options)))


def batch(d, instance=OWNER, **arguments):
    """What posthorn_process_work_batch claims; lists become JSON."""
    given = {"instance_id": instance, "service_name": "shop", "host_name": "here", "process_id": 1,
             **arguments}
    given = {name: json.dumps(value) if isinstance(value, list) else value
             for name, value in given.items()}
    sql = "SELECT * FROM posthorn_process_work_batch WHERE " + " AND ".join(
        f"{name} = :{name}" for name in given)
    cursor = d.db.execute(sql, given)
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, row)) for row in cursor.fetchall()]


def refused(d, sql, *arguments):
    return error_of(d.db, sql, *arguments)


def test_a_message_is_taken_in_once():
    with database() as d:
        first = receive(d, stream="k", correlation_id="c", priority=0, headers={"a": 1.10},
                        tenant_id="11111111-2222-4333-8444-555555555555")
        assert first["is_new"] is True
        assert receive(d, payload="other") == dict(first, is_new=False)
        assert receive(d, source="other")["is_new"] is True
        assert receive(d, namespace="n")["is_new"] is True
        cursor = d.db.execute("SELECT * FROM posthorn_inbox_claim(?, 30, 1)", (OWNER,))
        assert [column[0] for column in cursor.description] == INBOX
        row = dict(zip(INBOX, cursor.fetchone()))
        assert [row[name] for name in ("work_id", "message_id", "source", "stream", "headers")] == [
            first["work_id"], "1", "s", "k", '{"a": 1.1}']
        assert d.query("SELECT outcome FROM posthorn_inbox_ack(?, ?, ?)", OWNER, row["work_id"],
                       row["fence"]) == [("acked",)]
        assert receive(d)["is_new"] is False
        assert d.query("SELECT source, message_id, status FROM posthorn_inbox WHERE namespace = ''") == [
            ("s", "1", "done"), ("other", "1", "ready")]
        assert d.one("SELECT posthorn_inbox_reap_expired()") == 0


def test_handled_needs_a_transaction():
    with database() as d:
        assert "handled needs a transaction of yours" in refused(
            d, "SELECT posthorn_inbox_receive('s', '1', 't', 'p', '{\"handled\":true}')")
        d.query("BEGIN IMMEDIATE")
        assert receive(d, handled=True)["is_new"] is True
        d.query("COMMIT")
        assert d.query("SELECT status FROM posthorn_inbox") == [("done",)]
        assert receive(d)["is_new"] is False


def test_a_stream_is_read_in_order():
    with database() as d:
        for i in range(3):
            d.query("SELECT posthorn_enqueue('t', ?, '{\"stream\":\"s\"}')", str(i))
        assert d.query("SELECT seq, payload FROM posthorn_stream_read('s')") == [
            (1, "0"), (2, "1"), (3, "2")]
        assert d.query("SELECT seq FROM posthorn_stream_read('s', 1, 1)") == [(2,)]
        assert d.query("SELECT seq FROM posthorn_stream_read('s', 0, 50, '', 'inbox')") == []
        assert d.query("SELECT payload FROM posthorn_outbox_claim(?, 30, 1)", OWNER) == [("0",)]
        assert d.query("SELECT payload FROM posthorn_outbox_claim(?, 30, 9)", OTHER) == []
        assert "only outbox and inbox" in refused(
            d, "SELECT * FROM posthorn_stream_read('s', 0, 50, '', 'timers')")


def test_checkpoints():
    with database() as d:
        for i in range(3):
            d.query("SELECT posthorn_enqueue('t', ?, '{\"stream\":\"s\"}')", str(i))
        complete = "SELECT posthorn_checkpoint_complete('s', 'c', ?)"
        assert d.one(complete, 2) == 0
        assert d.one("SELECT posthorn_checkpoint_fail('s', 'c', 1, 'broken')") is None
        assert d.query("SELECT seq, ahead, lag, error, error_seq FROM posthorn_checkpoints") == [
            (0, 1, 3, "broken", 1)]
        assert d.one(complete, 1) == 2
        assert d.query("SELECT seq, error FROM posthorn_checkpoints") == [(2, None)]
        assert d.one("SELECT posthorn_checkpoint_rewind('s', 'c', 0)") == 2
        assert d.one(complete, 1) == 1
        assert "above the stream's last" in refused(d, complete, 4)
        assert "no such stream" in refused(d, "SELECT posthorn_checkpoint_fail('x', 'c', 1)")


def test_receptors():
    with database() as d:
        message = d.enqueue()
        assert d.one("SELECT posthorn_receptor_fail(?, 'mail', 'down')", message) is None
        assert d.one("SELECT posthorn_receptor_complete(?, 'mail')", message) is None
        d.query("SELECT posthorn_receptor_fail(?, 'mail', 'too late')", message)
        assert d.query("SELECT receptor, state, attempts, error FROM posthorn_receptors") == [
            ("mail", "completed", 2, None)]
        assert "no such message" in refused(d, "SELECT posthorn_receptor_complete(?, 'mail')", OTHER)


def test_one_exchange():
    with database() as d:
        rows = batch(d, new_outbox_messages=[{"topic": "t", "payload": "a", "stream": "s"},
                                             {"topic": "t", "payload": "b", "stream": "s"}],
                     new_inbox_messages=[{"source": "s", "message_id": "1", "topic": "t",
                                          "payload": "c"}] * 2)
        assert [(r["door"], r["payload"], r["flags"], r["source"]) for r in rows] == [
            ("outbox", "a", 1, None), ("outbox", "b", 1, None), ("inbox", "c", 1, "s")]
        assert batch(d, OTHER) == []
        rows = batch(d, outbox_completions=[{"work_id": rows[0]["work_id"], "fence": rows[0]["fence"]}],
                     outbox_failures=[{"work_id": rows[1]["work_id"], "error": "no", "delay": 0}],
                     inbox_failures=[{"work_id": rows[2]["work_id"], "permanent": True, "error": "never"}],
                     receptor_completions=[{"work_id": rows[0]["work_id"], "receptor": "r"}],
                     receptor_failures=[{"work_id": rows[1]["work_id"], "receptor": "r", "error": "e"}],
                     checkpoint_completions=[{"stream": "s", "consumer": "c", "seq": 1}],
                     checkpoint_failures=[{"stream": "s", "consumer": "c", "seq": 2, "error": "e"}])
        assert [(r["payload"], r["flags"], r["attempts"], r["last_error"]) for r in rows] == [
            ("b", 4, 2, "no")]
        assert d.query("SELECT status FROM posthorn_inbox") == [("failed",)]
        assert d.query("SELECT state FROM posthorn_receptors ORDER BY state") == [
            ("completed",), ("failed",)]
        assert d.query("SELECT seq, error_seq FROM posthorn_checkpoints") == [(1, 2)]
        assert batch(d, renew_outbox_ids=[rows[0]["work_id"]], lease_seconds=600, call_flags=6) == []
        assert d.query("SELECT service, host, state, in_progress FROM posthorn_instances") == [
            ("shop", "here", "live", 1), ("shop", "here", "live", 0)]
        assert d.one("SELECT posthorn_instance_leave(?)", OWNER) == 1
        assert d.one("SELECT posthorn_instance_leave(?)", OWNER) == 0
        assert "taken for dead, or has left" in refused(
            d, "SELECT * FROM posthorn_process_work_batch(?, 'shop', 'here', 1)", OWNER)
        assert [r["payload"] for r in batch(d, OTHER)] == ["b"]


def test_flags_say_what_not_to_claim():
    with database() as d:
        d.enqueue()
        receive(d)
        assert batch(d, call_flags=6) == []
        assert [r["door"] for r in batch(d, call_flags=2)] == ["inbox"]
        assert [r["door"] for r in batch(d, call_flags=4)] == ["outbox"]


def test_flags_are_given_by_the_name_that_they_have_on_postgresql():
    with database() as d:
        d.enqueue()
        receive(d)
        assert batch(d, flags=6) == []
        assert d.one("SELECT count(*) FROM posthorn_lease") == 0
        (row,) = batch(d, flags=2)
        assert (row["door"], row["flags"]) == ("inbox", 0)
        (row,) = d.query("SELECT door, flags FROM posthorn_process_work_batch(?, 'shop', 'here', 1) "
                         "WHERE flags = 4", OWNER)
        assert row == ("outbox", 0)
        every = {name: None for name in (
            "metadata", "outbox_completions", "outbox_failures", "inbox_completions",
            "inbox_failures", "receptor_completions", "receptor_failures", "checkpoint_completions",
            "checkpoint_failures", "new_outbox_messages", "new_inbox_messages", "renew_outbox_ids")}
        d.enqueue()
        try:
            batch(d, **every, flags=2)
        except Exception as error:
            assert "flags is given by name after sixteen other arguments" in str(error), error
        else:
            assert False, "flags was compared with what is answered"
        assert [r["door"] for r in batch(d, **every, call_flags=4)] == ["outbox"]


def test_what_was_too_late_is_reported_if_asked_for():
    with database() as d:
        mine, other, gone = d.enqueue(), d.enqueue(), "99999999-9999-4999-8999-999999999999"
        message = receive(d)["work_id"]
        d.query("SELECT work_id FROM posthorn_outbox_claim(?, 30, 1)", OWNER)
        d.query("SELECT work_id FROM posthorn_outbox_claim(?, 30, 1)", OTHER)
        settled = dict(outbox_completions=[{"work_id": mine}, {"work_id": other}],
                       inbox_failures=[{"work_id": message, "delay": 0}], renew_outbox_ids=[gone],
                       renew_inbox_ids=[message])
        rows = batch(d, flags=8 + 6, **settled)
        assert [(r.pop("door"), r.pop("flags"), r.pop("work_id")) for r in rows] == [
            ("outbox", 8, other), ("outbox", 8, gone), ("inbox", 8, message), ("inbox", 8, message)]
        assert all(value is None for r in rows for value in r.values())
        assert batch(d, flags=6, **settled) == []
        rows = batch(d, flags=8, outbox_completions=[{"work_id": other}])
        assert [(r["door"], r["flags"], r["payload"]) for r in rows] == [
            ("inbox", 0, "p"), ("outbox", 8, None)]


def advance(d, seconds):
    d.query("UPDATE posthorn_store SET clock_us = clock_us + ?", seconds * 1000000)


def work_until_rest(d):
    """A slow machine may need more than one exchange, of which one a second does something."""
    for _ in range(100):
        advance(d, 1)
        assert batch(d) == []
        if d.one("SELECT retention_at - clock_us FROM posthorn_store") == 60000000:
            return
    raise AssertionError("it has not come to rest")


def done(d, count=1, namespace=""):
    """Settles so many messages at once."""
    messages = [{"topic": "t", "payload": "x", "namespace": namespace}] * count
    d.query("SELECT work_id FROM posthorn_enqueue_many(?)", json.dumps(messages))
    rows = d.query("SELECT work_id FROM posthorn_outbox_claim(?, 30, ?, ?)", OTHER, count, namespace)
    d.query("SELECT outcome FROM posthorn_outbox_ack(?, ?)", OTHER, json.dumps([r[0] for r in rows]))


def test_the_exchange_does_retention_once_a_minute():
    with database() as d:
        d.clock("2040-01-01 00:00:00")
        d.query("SELECT posthorn_queue_set('outbox', '', '{\"retention_s\": 1}')")
        done(d)
        work_until_rest(d)
        assert d.messages() == 0
        done(d)
        advance(d, 59)
        assert batch(d) == [] and d.messages() == 1
        advance(d, 1)
        assert batch(d) == [] and d.messages() == 0


def test_a_backlog_of_retention_goes_away_in_bites():
    with database() as d:
        d.clock("2040-01-01 00:00:00")
        for namespace in ("", "n"):
            d.query("SELECT posthorn_queue_set('outbox', ?, '{\"retention_s\": 1}')", namespace)
        done(d, 1200)
        done(d, 1, "n")
        left = d.messages()
        assert left == 1201
        for i in range(1201):
            advance(d, 1)
            assert batch(d) == []
            before, left = left, d.messages()
            assert before - left <= 500
            if i == 9:  # one queue that has a lot does not keep it from the other
                assert d.one("SELECT count(*) FROM posthorn_outbox WHERE namespace = 'n'") == 0
            if left == 0:
                break
        assert left == 0
        work_until_rest(d)


def test_what_is_wrong_fails_the_whole():
    wrong = [
        ("outbox_completions", '{"work_id": 1}', "outbox_completions is not a JSON array"),
        ("outbox_completions", "[1]", "outbox_completions: element 0: it is not a JSON object"),
        ("outbox_completions", "[{}]", "outbox_completions: element 0: work_id is missing"),
        ("outbox_completions", '[{"work_id":"x"}]', "element 0: work_id is not a UUID"),
        ("outbox_completions", '[{"error":"x"}]', 'element 0: there is no key "error"'),
        ("inbox_failures", f'[{{"work_id":"{OWNER}","fence":-1}}]', "fence is not a whole number"),
        ("inbox_failures", f'[{{"work_id":"{OWNER}","delay":-1}}]', "delay is not a number of seconds"),
        ("inbox_failures", f'[{{"work_id":"{OWNER}","permanent":1}}]', "permanent is not true or false"),
        ("receptor_failures", f'[{{"work_id":"{OWNER}"}}]', "receptor is missing"),
        ("receptor_completions", f'[{{"work_id":"{OWNER}","receptor":"r"}}]', "no such message"),
        ("checkpoint_completions", '[{"stream":"s","consumer":"c"}]', "seq is missing"),
        ("checkpoint_completions", '[{"stream":"s","consumer":"c","seq":1,"door":"timers"}]',
         'door: give "outbox" or "inbox"'),
        ("checkpoint_completions", '[{"stream":"s","consumer":"c","seq":1}]', "no such stream"),
        ("new_outbox_messages", '[{"topic":"t"}]', "payload is NULL"),
        ("new_inbox_messages", '[{"topic":"t","source":"s","payload":"","message_id":"1","due_at":1}]',
         'message 0: there is no option "due_at"'),
        ("renew_outbox_ids", "x", "renew_outbox_ids is neither a UUID nor"),
        ("metadata", "[]", "metadata"),
        ("call_flags", 16, "call_flags is 16; give 0 to 15"),
        ("flags", 16, "call_flags is 16; give 0 to 15"),
        ("lease_seconds", 0, "lease_seconds is 0"),
        ("stale_threshold_seconds", 0, "stale_threshold_seconds is 0"),
        ("max_partitions_per_instance", 0, "max_partitions_per_instance is 0"),
    ]
    with database() as d:
        for name, value, expected in wrong:
            given = {"metadata": "{}", "new_outbox_messages": '[{"topic":"t","payload":"p"}]', name: value}
            said = refused(d, "SELECT * FROM posthorn_process_work_batch(?, 'shop', 'here', 1) WHERE "
                           + " AND ".join(f"{key} = ?" for key in given), OWNER, *given.values())
            assert expected in said, (name, value, said)
        assert d.messages() == 0
        assert d.query("SELECT * FROM posthorn_instances") == []
