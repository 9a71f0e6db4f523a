"""In the sqlite3 shell."""
import json
import os
import re

import host
from host import OWNER, database, extension, program

LOAD = f".load {extension() if 'PH_TEST_BUILD' in os.environ else ''}\n.bail on\n"
ID = r"[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}"


def shell(d, text):
    out, status = host.shell(LOAD + text, path=d.path)
    assert status == 0, out
    return out


def test_a_message_is_one_line():
    with database() as d:
        out = shell(d, "SELECT posthorn_enqueue('order.placed', '{\"n\":1}');\n")
        assert re.fullmatch(rf'\{{"work_id":"({ID})","message_id":"\1","is_new":true\}}\n', out), out
        assert d.messages() == 1


def test_commit_leaves_one_message_and_rollback_none():
    with database() as d:
        shell(d, """CREATE TABLE orders (id INTEGER);
            BEGIN; INSERT INTO orders VALUES (1); SELECT posthorn_enqueue('t', 'gone'); ROLLBACK;
            BEGIN; INSERT INTO orders VALUES (2); SELECT posthorn_enqueue('t', 'kept'); COMMIT;
            """)
        assert d.query("SELECT payload FROM posthorn_outbox") == [("kept",)]
        assert d.query("SELECT id FROM orders") == [(2,)]


def test_a_worker_in_the_shell():
    with database() as d:
        d.enqueue("t", "one")
        d.enqueue("t", "two")
        out = shell(d, f"""CREATE TEMP TABLE batch AS
                SELECT * FROM posthorn_outbox_claim('{OWNER}', 30, 10);
            SELECT payload, fence FROM batch;
            SELECT outcome FROM batch b, posthorn_outbox_ack('{OWNER}', b.work_id, b.fence);
            """)
        assert out == "one|1\ntwo|1\nacked\nacked\n", out
        assert d.one("SELECT count(*) FROM posthorn_outbox WHERE status = 'done'") == 2


def test_an_error_ends_a_script():
    with database() as d:
        out, status = host.shell(LOAD + "SELECT posthorn_enqueue('', 'p');\nSELECT 'not reached';\n",
                                 path=d.path)
        assert status != 0 and "posthorn_enqueue: topic is empty; it is required" in out, out
        assert "not reached" not in out


def neighbour(d, *arguments):
    return program("tests/extension/neighbour", d.path, *arguments)


def test_the_library_sees_the_same_messages():
    with database() as d:
        shell(d, "SELECT posthorn_enqueue('t', 'from the shell');\n")
        d.enqueue("t", "from Python")
        neighbour(d, "enqueue", "t", "from C")
        assert [payload for _, _, payload in d.claim()] == ["from the shell", "from Python", "from C"]
        d.query("SELECT * FROM posthorn_outbox_release(?, (SELECT json_group_array(id) "
                "FROM posthorn_outbox))", OWNER)
        assert neighbour(d, "drain") == "t from the shell\nt from Python\nt from C\n"
        assert d.one("SELECT count(*) FROM posthorn_outbox WHERE status = 'done'") == 3
        assert d.claim() == []


def test_the_command_sees_the_same_messages():
    with database() as d:
        work_id = d.enqueue("t", "from the extension")
        shown = program("src/cli/posthorn", "--db", f"sqlite:{d.path}", "--json", "show", work_id)
        assert json.loads(shown)["work_id"] == work_id
