"""Calls are a part of the application's own transaction, in Python."""
import json
import sqlite3
import threading

from host import OTHER, OWNER, database, error_of, load


def test_commit_leaves_exactly_one_message_and_rollback_none():
    with database() as d:
        d.query("CREATE TABLE orders (id INTEGER)")
        for end, count in (("ROLLBACK", 0), ("COMMIT", 1)):
            d.query("BEGIN IMMEDIATE")
            d.query("INSERT INTO orders VALUES (1)")
            d.enqueue()
            assert d.db.in_transaction, "the call has ended the transaction"
            d.query(end)
            assert (d.messages(), d.one("SELECT count(*) FROM orders")) == (count, count)


def test_others_see_it_only_after_the_commit():
    with database() as d:
        other = d.connect()
        d.query("BEGIN")
        d.enqueue()
        assert other.execute("SELECT count(*) FROM posthorn_outbox").fetchone() == (0,)
        d.query("COMMIT")
        assert other.execute("SELECT count(*) FROM posthorn_outbox").fetchone() == (1,)
        other.close()


def test_pythons_own_transactions():
    """isolation_level "": Python begins before INSERT."""
    with database() as d:
        db = d.connect(isolation_level="")
        with db:
            db.execute("CREATE TABLE orders (id INTEGER)")
        try:
            with db:
                db.execute("INSERT INTO orders VALUES (1)")
                db.execute("SELECT posthorn_enqueue('t', 'p')")
                raise KeyError
        except KeyError:
            pass
        assert d.messages() == 0
        with db:
            db.execute("INSERT INTO orders VALUES (1)")
            db.execute("SELECT posthorn_enqueue('t', 'p')")
        assert d.messages() == 1
        db.close()


def test_a_savepoint_of_the_application_counts():
    with database() as d:
        d.query("BEGIN")
        d.enqueue("t", "kept")
        d.query("SAVEPOINT mine")
        d.enqueue("t", "gone")
        d.query("ROLLBACK TO mine")
        d.query("COMMIT")
        assert d.query("SELECT payload FROM posthorn_outbox") == [("kept",)]


def test_without_a_transaction_each_call_is_one():
    with database() as d:
        other = d.connect()
        rows = d.db.execute("SELECT posthorn_enqueue('t', value) FROM json_each('[\"a\",\"b\"]')")
        rows.fetchone()
        assert not d.db.in_transaction
        assert other.execute("SELECT count(*) FROM posthorn_outbox").fetchone()[0] >= 1
        rows.fetchall()
        assert d.messages() == 2
        other.close()


def test_an_error_leaves_the_transaction_as_it_was():
    with database() as d:
        d.query("BEGIN IMMEDIATE")
        d.enqueue()
        d.fails("posthorn_enqueue: topic is empty; it is required",
                "SELECT posthorn_enqueue('', 'p')")
        d.fails("posthorn_enqueue_many: message 1: topic is empty; it is required",
                "SELECT * FROM posthorn_enqueue_many('[{\"topic\":\"t\",\"payload\":\"\"},"
                "{\"topic\":\"\",\"payload\":\"\"}]')")
        big = "x" * (1 << 20) + "y"
        text = error_of(d.db, "SELECT * FROM posthorn_enqueue_many(json_array("
                        "json_object('topic', 'a', 'payload', 'small'),"
                        "json_object('topic', 'a', 'payload', ?)))", big)
        assert "message 1: payload has 1048577 bytes" in text and big not in text, text
        assert d.messages() == 1, "a part of the call was stored"
        d.enqueue()
        d.query("COMMIT")
        assert d.messages() == 2


def test_the_last_insert_rowid_is_the_applications():
    with database() as d:
        d.query("CREATE TABLE orders (id INTEGER PRIMARY KEY)")
        d.query("INSERT INTO orders VALUES (77)")
        d.enqueue()
        assert d.one("SELECT last_insert_rowid()") == 77


def test_effect_and_ack_are_one():
    with database() as d:
        d.query("CREATE TABLE effects (work_id TEXT PRIMARY KEY)")
        work_id = d.enqueue()
        d.claim()
        for end, status in (("ROLLBACK", "in_progress"), ("COMMIT", "done")):
            d.query("BEGIN IMMEDIATE")
            d.query("INSERT INTO effects VALUES (?)", work_id)
            assert d.query("SELECT outcome FROM posthorn_outbox_ack(?, ?)", OWNER,
                           work_id) == [("acked",)]
            d.query(end)
            assert d.status(work_id) == status
        assert d.one("SELECT count(*) FROM effects") == 1


def test_a_locked_database_is_busy():
    with database() as d:
        other = d.connect(timeout=0)
        d.query("BEGIN IMMEDIATE")
        d.enqueue()
        try:
            other.execute("SELECT posthorn_enqueue('t', 'p')")
            raise AssertionError("two writers at once")
        except sqlite3.OperationalError as error:
            assert error.sqlite_errorcode == sqlite3.SQLITE_BUSY
            assert "another connection is writing" in str(error), str(error)
            assert "(and PRAGMA busy_timeout)" in str(error), str(error)
        assert not other.in_transaction
        d.query("COMMIT")
        other.execute("SELECT posthorn_enqueue('t', 'p')")
        assert d.messages() == 2
        other.close()


def test_a_reader_that_was_overtaken_is_told_to_roll_back():
    with database() as d:
        other = d.connect()
        other.execute("BEGIN")
        other.execute("SELECT count(*) FROM posthorn_outbox").fetchall()
        d.enqueue()
        text = error_of(other, "SELECT posthorn_enqueue('t', 'p')")
        assert text.endswith("roll back, and use BEGIN IMMEDIATE (the transaction is dead: roll it "
                             "back)"), text
        other.execute("ROLLBACK")
        other.execute("SELECT posthorn_enqueue('t', 'p')")
        assert d.messages() == 2
        other.close()


def test_a_file_that_cannot_be_written():
    with database() as d:
        d.enqueue()
        db = sqlite3.connect(f"file:{d.path}?mode=ro", uri=True, isolation_level=None)
        load(db)
        try:
            db.execute("SELECT posthorn_enqueue('t', 'p')")
            raise AssertionError("written to a read-only connection")
        except sqlite3.OperationalError as error:
            assert error.sqlite_errorcode & 0xff == sqlite3.SQLITE_READONLY
            assert "read-only" in str(error), str(error)
        assert db.execute("SELECT count(*) FROM posthorn_outbox").fetchone() == (1,)
        db.close()


def test_inside_a_statement_that_writes():
    """SQLite allows no savepoint there."""
    with database() as d:
        d.query("CREATE TABLE orders (id INTEGER PRIMARY KEY, message TEXT)")
        d.query("INSERT INTO orders(id) VALUES (1), (2), (3)")
        d.query("UPDATE orders SET message = posthorn_enqueue('t', CAST(id AS TEXT)) ->> 'work_id'")
        assert d.query("SELECT o.payload FROM orders JOIN posthorn_outbox o ON o.id = message "
                       "ORDER BY orders.id") == [("1",), ("2",), ("3",)]
        for end, count in (("ROLLBACK", 3), ("COMMIT", 4)):
            d.query("BEGIN")
            d.query("INSERT INTO orders(message) SELECT posthorn_enqueue('t', 'x')")
            d.query(end)
            assert d.messages() == count
        d.query("CREATE TABLE batch AS SELECT * FROM posthorn_outbox_claim(?, 30, 2)", OWNER)
        assert d.one("SELECT count(*) FROM batch") == 2
        assert d.one("SELECT count(*) FROM posthorn_outbox WHERE status = 'in_progress'") == 2


def test_a_failure_inside_a_statement_that_writes_undoes_the_statement():
    with database() as d:
        d.query("CREATE TABLE orders (topic TEXT)")
        d.query("INSERT INTO orders VALUES ('good'), (''), ('good')")
        for begin in ("", "BEGIN"):
            if begin:
                d.query(begin)
                d.enqueue("t", "before")
            d.fails("posthorn_enqueue: topic is empty; it is required",
                    "UPDATE orders SET topic = posthorn_enqueue(topic, 'p')")
            assert d.query("SELECT DISTINCT topic FROM orders") == [("good",), ("",)]
        d.query("COMMIT")
        assert d.query("SELECT payload FROM posthorn_outbox") == [("before",)]


def test_a_failure_in_the_middle_of_such_a_call_undoes_the_transaction():
    """The queue of a new namespace is made before the payload turns out to be too large."""
    with database() as d:
        d.query("CREATE TABLE orders (message TEXT)")
        d.query("BEGIN")
        d.enqueue()
        text = error_of(d.db, "INSERT INTO orders VALUES (posthorn_enqueue('t', ?, "
                        "'{\"namespace\":\"new\"}'))", "x" * ((1 << 20) + 1))
        assert text.endswith("(the transaction was rolled back)"), text
        assert not d.db.in_transaction
        assert d.messages() == 0
        assert d.query("SELECT namespace FROM posthorn_queues") == [("",)]
        d.enqueue()
        assert d.messages() == 1


def test_workers_at_once_never_overlap():
    with database() as d:
        count, failures, seen = 300, [], []
        d.query("BEGIN")
        for number in range(count):
            d.enqueue("t", str(number))
        d.query("COMMIT")

        def work(owner):
            try:
                db = d.connect()
                while True:
                    batch = db.execute("SELECT work_id, payload FROM posthorn_outbox_claim(?, 30, 7)",
                                       (owner,)).fetchall()
                    if not batch:
                        break
                    seen.extend(payload for _, payload in batch)
                    ids = [work_id for work_id, _ in batch]
                    outcomes = db.execute("SELECT outcome FROM posthorn_outbox_ack(?, ?)",
                                          (owner, json.dumps(ids))).fetchall()
                    assert outcomes == [("acked",)] * len(ids), outcomes
                db.close()
            except Exception as error:  # shown by the test's own thread
                failures.append(error)

        threads = [threading.Thread(target=work, args=(f"{i:08x}-0000-4000-8000-00000000000a",))
                   for i in range(1, 5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failures, failures
        assert sorted(seen, key=int) == [str(number) for number in range(count)]
        assert d.one("SELECT count(*) FROM posthorn_outbox WHERE status <> 'done'") == 0


def test_a_claim_in_an_open_transaction_leases_when_it_commits():
    with database() as d:
        work_id = d.enqueue()
        d.query("BEGIN")
        assert len(d.claim()) == 1
        d.query("ROLLBACK")
        assert d.status(work_id) == "ready"
        assert [row[0] for row in d.claim(owner=OTHER)] == [work_id]
