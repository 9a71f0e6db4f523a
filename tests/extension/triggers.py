"""Nothing in the schema of a file can call us, unless the application says so."""
from host import OWNER, database, error_of

UNSAFE = "unsafe use of posthorn_enqueue()"


def test_views_and_triggers_are_refused():
    with database() as d:
        d.query("CREATE TABLE orders (id INTEGER)")
        d.query("CREATE VIEW sly AS SELECT posthorn_enqueue('t', 'p') AS answer")
        d.query(f"CREATE VIEW slyer AS SELECT * FROM posthorn_outbox_claim('{OWNER}', 30, 1)")
        d.query("CREATE TRIGGER slyest AFTER INSERT ON orders BEGIN "
                "SELECT posthorn_enqueue('t', 'p'); END")
        d.fails(UNSAFE, "SELECT * FROM sly")
        d.fails('unsafe use of virtual table "posthorn_outbox_claim"', "SELECT * FROM slyer")
        d.fails(UNSAFE, "INSERT INTO orders VALUES (1)")
        assert d.one("SELECT count(*) FROM orders") == 0


def test_every_function_is_refused():
    with database() as d:
        names = [row[0] for row in d.query(
            "SELECT DISTINCT name FROM pragma_function_list WHERE name LIKE 'posthorn~_%' ESCAPE '~'")]
        modules = [row[0] for row in d.query(
            "SELECT name FROM pragma_module_list WHERE name LIKE 'posthorn~_%' ESCAPE '~'")]
        assert len(names) == 38 and len(modules) == 29, (names, modules)
        for name in names:
            d.query(f"CREATE VIEW sly AS SELECT {name}()")
            d.fails(f"unsafe use of {name}()", "SELECT * FROM sly")
            d.query("DROP VIEW sly")
        for name in modules:
            d.query(f"CREATE VIEW sly AS SELECT * FROM {name}('a')")
            d.fails(f'unsafe use of virtual table "{name}"', "SELECT * FROM sly")
            d.query("DROP VIEW sly")


def announced(d):
    return [row[0] for row in d.query("SELECT payload FROM posthorn_outbox ORDER BY id")]


def test_a_trigger_can_enqueue_if_the_application_allows_it():
    with database() as d:
        d.query("CREATE TABLE orders (id INTEGER)")
        d.query("CREATE TRIGGER announce AFTER INSERT ON orders BEGIN "
                "SELECT posthorn_enqueue('order.placed', json_object('id', new.id), "
                "json_object('dedupe_key', 'order/' || new.id)); END")
        d.fails(UNSAFE, "INSERT INTO orders VALUES (1)")
        for _ in range(2):  # again does no harm
            assert d.one("SELECT posthorn_config('triggers', 'allow')") == "allow"
        d.query("INSERT INTO orders VALUES (1), (2), (1)")
        assert announced(d) == ['{"id":1}', '{"id":2}']
        for end in ("ROLLBACK", "COMMIT"):
            d.query("BEGIN")
            d.query("INSERT INTO orders VALUES (3)")
            d.query(end)
        assert announced(d) == ['{"id":1}', '{"id":2}', '{"id":3}']
        assert d.one("SELECT count(*) FROM orders") == 4


def test_only_enqueue_is_allowed_then():
    with database() as d:
        d.query("SELECT posthorn_config('triggers', 'allow')")
        d.query("CREATE VIEW sly AS SELECT posthorn_queue_pause('outbox', '')")
        d.fails("unsafe use of posthorn_queue_pause()", "SELECT * FROM sly")


def test_it_is_allowed_for_one_connection_only():
    with database() as d:
        d.query("CREATE VIEW sly AS SELECT posthorn_enqueue('t', 'p') AS answer")
        d.query("SELECT posthorn_config('triggers', 'allow')")
        d.query("SELECT * FROM sly")
        other = d.connect()
        assert error_of(other, "SELECT * FROM sly") == UNSAFE
        other.close()
        d.query("PRAGMA trusted_schema = OFF")
        d.fails(UNSAFE, "SELECT * FROM sly")


def test_an_error_in_a_trigger_undoes_the_statement():
    with database() as d:
        d.query("CREATE TABLE orders (topic TEXT)")
        d.query("CREATE TRIGGER announce AFTER INSERT ON orders BEGIN "
                "SELECT posthorn_enqueue(new.topic, 'p'); END")
        d.query("SELECT posthorn_config('triggers', 'allow')")
        d.query("BEGIN")
        d.query("INSERT INTO orders VALUES ('a')")
        d.fails("posthorn_enqueue: topic is empty; it is required",
                "INSERT INTO orders VALUES ('b'), ('')")
        d.query("COMMIT")
        assert d.query("SELECT topic FROM orders") == [("a",)]
        assert d.messages() == 1
