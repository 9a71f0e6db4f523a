"""Every verb, from SQL."""
import json
import re

from host import OTHER, OWNER, database, error_of

TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z"
UUID = r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"
CLAIM = ["work_id", "message_id", "fence", "topic", "payload", "tenant_id", "dedupe_key",
         "correlation_id", "stream", "headers", "attempts", "retry_count", "created_at", "due_at",
         "last_error"]


def outcomes(d, verb, *arguments):
    marks = ", ".join("?" * len(arguments))
    return [outcome for outcome, in
            d.query(f"SELECT outcome FROM posthorn_outbox_{verb}({marks})", *arguments)]


def test_enqueue_with_every_option():
    with database() as d:
        tenant = "11111111-2222-4333-8444-555555555555"
        options = {"namespace": "mail", "tenant_id": tenant, "dedupe_key": tenant + "/1",
                   "correlation_id": "c-1", "priority": 3, "due_at": "2020-01-01T00:00:00+01:00",
                   "expires_at": "2999-12-31T23:59:59.5Z", "headers": {"trace": "4bf9", "n": 1.10},
                   "message_id": "AAAAAAAA222243338444555555555555", "max_attempts": 4,
                   "stream": None, "join_id": None}
        answer = json.loads(d.one("SELECT posthorn_enqueue('t', 'päyload', ?)", json.dumps(options)))
        assert answer["is_new"] is True
        assert answer["message_id"] == "aaaaaaaa-2222-4333-8444-555555555555"
        names = ("namespace, topic, payload, tenant_id, dedupe_key, correlation_id, priority, "
                 "due_time_utc, expires_at, headers, message_id, max_attempts, status")
        assert d.query(f"SELECT {names} FROM posthorn_outbox WHERE id = ?", answer["work_id"]) == [
            ("mail", "t", "päyload", tenant, tenant + "/1", "c-1", 3, "2019-12-31T23:00:00.000000Z",
             "2999-12-31T23:59:59.500000Z", json.dumps(options["headers"]), answer["message_id"], 4,
             "ready")]


def test_headers_are_kept_byte_for_byte():
    with database() as d:
        for headers in ('{"a":1.10,"b":[1,2,{"c":"]}\\""}]}', '{ "a" : 123456789012345678901234567890 }',
                        "{}"):
            d.query("SELECT posthorn_enqueue('t', 'p', ?)",
                    '{"correlation_id":"headers","headers": ' + headers + ' , "priority":1}')
            d.query("SELECT * FROM posthorn_enqueue_many(?)",
                    '[ {"payload":"[{","topic":"t"} ,{"headers":' + headers
                    + ',"topic":"t","payload":""}]')
            rows = d.query("SELECT headers FROM posthorn_outbox_claim(?, 30, 10)", OWNER)
            assert rows == [(headers,), (None,), (headers,)], rows


def test_a_duplicate_is_an_answer():
    with database() as d:
        first = json.loads(d.one("SELECT posthorn_enqueue('t', '1', '{\"dedupe_key\":\"k\"}')"))
        again = json.loads(d.one("SELECT posthorn_enqueue('t', '2', '{\"dedupe_key\":\"k\"}')"))
        assert again == dict(first, is_new=False)
        assert d.messages() == 1


def test_the_answer_is_json_to_other_functions():
    with database() as d:
        answer = json.loads(d.one("SELECT json_object('m', posthorn_enqueue('t', 'p'))"))
        assert re.fullmatch(UUID, answer["m"]["work_id"])


def test_enqueue_many_keeps_the_order():
    with database() as d:
        messages = [{"topic": "t", "payload": str(i), "dedupe_key": str(i % 4)} for i in range(6)]
        rows = d.query("SELECT work_id, message_id, is_new FROM posthorn_enqueue_many(?)",
                       json.dumps(messages))
        assert [is_new for _, _, is_new in rows] == [1, 1, 1, 1, 0, 0]
        assert rows[4][:2] == rows[0][:2] and rows[5][:2] == rows[1][:2]
        assert d.query("SELECT payload FROM posthorn_outbox ORDER BY id") == [
            ("0",), ("1",), ("2",), ("3",)]
        assert d.query("SELECT * FROM posthorn_enqueue_many('[]')") == []


def test_due_times():
    with database() as d:
        d.clock("2030-01-01 00:00:00")
        for due in ('"2030-01-01T00:00:10Z"', '"2030-01-01 00:00:10Z"', '"2030-01-01T01:00:10+01:00"',
                    '"2030-01-01T00:00:10,0-00:00"', "1893456010", "1893456010.0"):
            d.query("SELECT posthorn_enqueue('t', ?, ?)", due, '{"due_at":' + due + "}")
        d.query("SELECT posthorn_enqueue('t', 'early', '{\"due_at\":\"1969-12-31T23:59:59.25Z\"}')")
        assert d.query("SELECT DISTINCT next_attempt_at FROM posthorn_outbox "
                       "WHERE payload <> 'early'") == [("2030-01-01T00:00:10.000000Z",)]
        assert d.query("SELECT due_time_utc FROM posthorn_outbox WHERE payload = 'early'") == [
            ("1969-12-31T23:59:59.250000Z",)]
        assert [payload for _, _, payload in d.claim()] == ["early"]
        d.clock("2030-01-01 00:00:10")
        assert len(d.claim()) == 6
        assert d.one("SELECT posthorn_clock()") == "2030-01-01T00:00:10.000000Z"


def test_a_claim_has_the_columns_of_the_design():
    with database() as d:
        d.query("SELECT posthorn_enqueue('t', 'p', '{\"correlation_id\":\"c\",\"headers\":{\"a\":1}}')")
        cursor = d.db.execute("SELECT * FROM posthorn_outbox_claim(?, 30, 10)", (OWNER,))
        assert [column[0] for column in cursor.description] == CLAIM
        (row,) = [dict(zip(CLAIM, values)) for values in cursor.fetchall()]
        assert re.fullmatch(UUID, row["work_id"]) and row["message_id"] == row["work_id"]
        assert re.fullmatch(TIME, row["created_at"]) and row["due_at"] == row["created_at"]
        assert [row[name] for name in CLAIM[2:12]] == [1, "t", "p", None, None, "c", None, '{"a":1}',
                                                       1, 0]
        assert d.query("SELECT created_at, locked_until > created_at, owner_token "
                       "FROM posthorn_outbox") == [(row["created_at"], 1, OWNER)]


def test_claims_by_namespace_and_topic():
    with database() as d:
        for topic in "abc":
            d.enqueue(topic, topic)
        d.query("SELECT posthorn_enqueue('a', 'elsewhere', '{\"namespace\":\"n\"}')")
        claim = "SELECT payload FROM posthorn_outbox_claim(?, 30, 10, ?, ?)"
        assert d.query(claim, OWNER, "n", None) == [("elsewhere",)]
        assert d.query(claim, OWNER, "", '["a", "c"]') == [("a",), ("c",)]
        assert d.query(claim, OWNER, None, None) == [("b",)]
        assert d.query(claim, OWNER, "nowhere", None) == []


def test_arguments_by_name():
    with database() as d:
        d.enqueue("t", "one")
        rows = d.query("SELECT payload, owner, batch_size FROM posthorn_outbox_claim WHERE "
                       "batch_size = 5 AND owner = ? AND lease_seconds = 30", OWNER)
        assert rows == [("one", OWNER, 5)]


def test_ack_answers_per_id():
    with database() as d:
        first, second = d.enqueue(), d.enqueue()
        d.claim()
        nobody = "00000000-0009-8000-8000-000000000000"
        rows = d.query("SELECT work_id, outcome FROM posthorn_outbox_ack(?, ?)", OWNER,
                       json.dumps([first, nobody, first, second]))
        assert rows == [(first, "acked"), (nobody, "unknown"), (first, "acked"), (second, "acked")]
        assert outcomes(d, "ack", OWNER, first) == ["acked"]  # it was, by the same owner
        assert outcomes(d, "ack", OTHER, first) == ["stale"]
        assert outcomes(d, "ack", OWNER, first, 99) == ["stale"]
        d.query("BEGIN IMMEDIATE")  # what this writes may be an effect for the second time
        assert outcomes(d, "ack", OWNER, first) == ["stale"]
        d.query("ROLLBACK")
        assert outcomes(d, "ack", OTHER, "[]") == []
        assert d.claim() == []


def test_fences_stop_a_worker_that_slept():
    with database() as d:
        d.clock("2030-01-01")
        work_id = d.enqueue()
        (_, old, _), = d.claim()
        d.clock("2030-01-02")
        (_, new, _), = d.claim()
        assert new > old
        assert outcomes(d, "ack", OWNER, work_id, old) == ["stale"]
        assert outcomes(d, "renew", OWNER, work_id, 60, json.dumps([old])) == ["stale"]
        assert outcomes(d, "ack", OWNER, json.dumps([work_id]), json.dumps([new])) == ["acked"]


def test_abandon_backs_off_or_waits_as_told():
    with database() as d:
        d.clock("2030-01-01")
        for delay, due in ((None, "00:00:02.000000"), (90, "00:01:30.000000"),
                           (0.25, "00:00:00.250000"), (0, "00:00:00.000000")):
            work_id = d.enqueue()
            assert [row[0] for row in d.claim()] == [work_id]
            assert outcomes(d, "abandon", OWNER, work_id, f"error {delay}", delay) == ["abandoned"]
            assert d.query("SELECT next_attempt_at, last_error, retry_count, attempts "
                           "FROM posthorn_outbox WHERE id = ?", work_id) == [
                (f"2030-01-01T{due}Z", f"error {delay}", 1, 1)]


def test_the_last_attempt_is_dead():
    with database() as d:
        work_id = json.loads(d.one("SELECT posthorn_enqueue('t', 'p', '{\"max_attempts\":2}')"))["work_id"]
        for outcome in ("abandoned", "dead"):
            assert len(d.claim()) == 1
            assert outcomes(d, "abandon", OWNER, work_id, "no", 0) == [outcome]
        assert d.query("SELECT id, reason, error, attempts FROM posthorn_dead_letters") == [
            (work_id, "attempts", "no", 2)]


def test_fail_retry_and_discard():
    with database() as d:
        first, second = d.enqueue("t", "one"), d.enqueue("t", "two")
        d.claim()
        both = json.dumps([first, second])
        assert outcomes(d, "fail", OWNER, both, "broken") == ["failed", "failed"]
        assert d.claim() == []
        (retried,) = d.query("SELECT old, new FROM posthorn_dead_retry(?)", first)
        assert retried[0] == first and retried[1] != first
        assert d.query("SELECT old FROM posthorn_dead_retry(?)", first) == []
        assert [row[2] for row in d.claim()] == ["one"]
        assert d.one("SELECT posthorn_dead_discard(?)", both) == 2
        assert d.query("SELECT * FROM posthorn_dead_letters") == []


def test_release_refunds_the_attempt():
    with database() as d:
        work_id = d.enqueue()
        for _ in range(3):
            assert d.query("SELECT attempts FROM posthorn_outbox_claim(?, 30, 1)", OWNER) == [(1,)]
            assert outcomes(d, "release", OWNER, work_id) == ["released"]


def test_renew_and_reap():
    with database() as d:
        d.clock("2030-01-01 00:00:00")
        work_id = d.enqueue()
        d.claim()
        assert outcomes(d, "renew", OWNER, work_id, 3600) == ["renewed"]
        assert d.one("SELECT locked_until FROM posthorn_outbox") == "2030-01-01T01:00:00.000000Z"
        d.clock("2030-01-01 00:59:59")
        assert d.one("SELECT posthorn_outbox_reap_expired()") == 0
        d.clock("2030-01-01 01:00:01")
        assert d.one("SELECT posthorn_outbox_reap_expired()") == 1
        assert d.status(work_id) == "ready"
        assert outcomes(d, "renew", OWNER, work_id, 30) == ["stale"]


def test_queue_settings():
    with database() as d:
        settings = {"max_attempts": 7, "backoff": "equal-jitter", "backoff_base_ms": 50,
                    "backoff_max_ms": 900, "retention_s": 60, "dead_retention_s": -1,
                    "dedupe_retention_s": 120, "max_payload_bytes": 10, "max_lease_s": 600,
                    "delete_on_ack": True, "join_wait_topic": "w"}
        assert d.one("SELECT posthorn_queue_set('outbox', 'n', ?)", json.dumps(settings)) is None
        assert d.query(f"SELECT {', '.join(settings)} FROM posthorn_queues WHERE namespace = 'n'") == [
            (7, "equal-jitter", 50, 900, 60, -1, 120, 10, 600, 1, "w")]
        d.query("SELECT posthorn_queue_set('outbox', 'n', '{\"max_attempts\":8,\"retention_s\":null,"
                "\"delete_on_ack\":false}')")
        assert d.query("SELECT max_attempts, retention_s, delete_on_ack FROM posthorn_queues "
                       "WHERE namespace = 'n'") == [(8, 60, 0)]
        assert "takes at most 10" in error_of(
            d.db, "SELECT posthorn_enqueue('t', '12345678901', '{\"namespace\":\"n\"}')")


def test_a_paused_queue_hands_out_nothing():
    with database() as d:
        d.enqueue()
        assert d.one("SELECT posthorn_queue_pause('outbox', '')") is None
        assert d.claim() == []
        d.query("SELECT posthorn_queue_resume('outbox', '')")
        assert len(d.claim()) == 1


def test_a_queue_is_deleted_if_nothing_is_in_it():
    with database() as d:
        d.query("SELECT posthorn_queue_pause('inbox', 'typo')")
        assert d.one("SELECT posthorn_queue_delete('inbox', 'typo')") == 1
        assert d.one("SELECT posthorn_queue_delete('inbox', 'typo')") == 0
        assert d.one("SELECT count(*) FROM posthorn_queues WHERE namespace = 'typo'") == 0
        d.enqueue()
        d.fails("posthorn_queue_delete: the queue has 1 message; settle or discard its messages, then "
                "call posthorn_retention_run(), which deletes what its settings do not keep",
                "SELECT posthorn_queue_delete('outbox', '')")


def test_retention():
    with database() as d:
        d.clock("2030-01-01")
        ids = [d.enqueue() for _ in range(3)]
        d.claim()
        outcomes(d, "ack", OWNER, json.dumps(ids))
        assert d.one("SELECT posthorn_retention_run()") == 0
        d.clock("2030-02-01")
        assert d.one("SELECT posthorn_retention_run(2)") == 2
        assert d.one("SELECT posthorn_retention_run(100)") == 1
        assert d.messages() == 0


def test_owners_are_fresh():
    with database() as d:
        owners = {row[0] for row in d.query("SELECT posthorn_owner_new() FROM json_each('[1,2,3]')")}
        assert len(owners) == 3 and all(re.fullmatch(UUID, owner) for owner in owners)


def test_a_join_claims_once():
    """However the planner orders the tables."""
    joins = ["FROM words JOIN posthorn_outbox_claim(?, 30, 1) c",
             "FROM words CROSS JOIN posthorn_outbox_claim(?, 30, 1) c",
             "FROM posthorn_outbox_claim(?, 30, 1) c LEFT JOIN words ON c.topic = word",
             "FROM words WHERE word IN (SELECT topic FROM posthorn_outbox_claim(?, 30, 1))",
             "FROM words WHERE EXISTS (SELECT 1 FROM posthorn_outbox_claim(?, 30, 1))"]
    with database() as d:
        d.query("CREATE TABLE words (word TEXT)")
        d.query("INSERT INTO words VALUES ('a'), ('b'), ('c')")
        for number, join in enumerate(joins):
            d.enqueue("a")
            d.enqueue("b")
            d.query(f"SELECT count(*) {join}", OWNER)
            assert d.one("SELECT max(fence) FROM posthorn_lease") == number + 1, join
        assert d.one("SELECT count(*) FROM words CROSS JOIN posthorn_outbox_claim(?, 30, 1)",
                     OWNER) == 3


def test_nothing_is_leased_that_a_condition_filters_away():
    """As far as SQLite shows conditions to the function."""
    conditions = ["WHERE topic = 'a'", "WHERE c.fence > 3", "WHERE topic IN ('a', 'b')",
                  "WHERE stream IS NULL", "WHERE dedupe_key IS NOT NULL", "WHERE topic <> 'a'",
                  "WHERE topic LIKE 'a%'", "WHERE attempts BETWEEN 1 AND 2", "WHERE c.rowid = 1",
                  "WHERE topic = 'a' OR topic = 'b'", "JOIN words ON c.topic = word",
                  "WHERE topic = (SELECT max(word) FROM words)",
                  "WHERE batch_size > 5"]
    with database() as d:
        d.query("CREATE TABLE words (word TEXT)")
        d.query("INSERT INTO words VALUES ('a'), ('b')")
        d.enqueue("a")
        for claim in ("posthorn_outbox_claim(?, 30, 9)",
                      "posthorn_process_work_batch(?, 's', 'h', 1)"):
            for condition in conditions:
                text = error_of(d.db, f"SELECT * FROM {claim} c {condition}", OWNER)
                assert "a condition on what it answers" in text, (condition, text)
            text = error_of(d.db, "SELECT * FROM words LEFT JOIN posthorn_outbox_claim(?, 30, 9) c "
                            "ON c.topic = word", OWNER)
            assert "a condition on what it answers" in text, text
        assert d.one("SELECT count(*) FROM posthorn_lease") == 0
        assert d.query("SELECT topic FROM posthorn_outbox_claim(?, 30, 9) ORDER BY topic LIMIT 3",
                       OWNER) == [("a",)]


def test_arguments_from_another_table():
    with database() as d:
        for number in range(5):
            d.enqueue("t", str(number))
        d.claim()
        rows = d.query("SELECT o.payload, a.outcome FROM posthorn_outbox o, "
                       "posthorn_outbox_ack(?, o.id, o.fence) a ORDER BY o.payload", OWNER)
        assert rows == [(str(number), "acked") for number in range(5)]


def test_a_join_never_stores_twice():
    with database() as d:
        one = json.dumps([{"topic": "t", "payload": "p"}])
        text = error_of(d.db, "SELECT * FROM json_each('[1,2]') CROSS JOIN posthorn_enqueue_many(?)",
                        one)
        assert "one statement asks for the same again" in text, text
        rows = d.query("SELECT m.is_new FROM json_each('[1,2]') j, posthorn_enqueue_many("
                       "json_array(json_object('topic', 't', 'payload', CAST(j.value AS TEXT)))) m")
        assert rows == [(1,), (1,)]
