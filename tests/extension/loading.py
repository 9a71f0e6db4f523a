"""What the module is: its symbols, how it is loaded, what it leaves behind."""
import json
import re
import sqlite3

from host import database, error_of, extension, is_sanitized, load, program, shell
from runner import Skip, build_folder, read, run


def symbols(*options):
    return {line.split()[-1].split("@")[0] for line in run(["nm", "-D", *options, extension()])
            .splitlines()}


def test_only_the_entry_point_is_exported():
    # Sanitizers bring names of their own.
    assert {name for name in symbols("--defined-only")
            if not name.startswith("__")} == {"sqlite3_posthorn_init"}


def test_the_hosts_sqlite_is_used_and_no_other():
    assert not [name for name in symbols("-u") if name.startswith(("sqlite3_", "PQ"))]
    needed = re.findall(r"NEEDED.*\[(.*?)\.so", run(["readelf", "-d", extension()]))
    assert set(needed) <= {"libc", "libm", "libjansson", "libasan", "libubsan"}, needed


def test_every_symbol_is_found():
    missing = re.findall(r"undefined symbol: (\w+)", run(["ldd", "-r", extension()]))
    assert not [name for name in missing if not name.startswith("__")], missing  # sanitizers' own


def test_it_leaves_its_host_alone():
    forbidden = re.search(r'FORBIDDEN = """(.*?)"""', read("tests/meta/api.py"), flags=re.S)[1]
    assert not symbols("-u") & set(forbidden.split())


def test_it_is_installed_beside_the_library():
    installed = json.loads(run(["meson", "introspect", "--installed", build_folder()]))
    assert installed[extension()].endswith("/posthorn/posthorn.so")


def test_python_loads_it():
    db = sqlite3.connect(":memory:")
    load(db)
    version = re.search(r"version: '(.*?)'", read("meson.build"))[1]
    assert db.execute("SELECT posthorn_version()").fetchone() == (version,)
    db.close()


def test_loading_twice_does_no_harm():
    with database() as d:
        d.enqueue()
        load(d.db)
        d.db.enable_load_extension(True)
        d.query("SELECT load_extension(?)", extension())
        d.enqueue()
        assert d.messages() == 2


def test_two_connections_of_one_process_are_apart():
    with database() as d:
        other = d.connect()
        other.execute("SELECT posthorn_config('table_prefix', 'other_')")
        other.execute("SELECT posthorn_migrate()")
        other.execute("SELECT posthorn_enqueue('t', 'p')")
        assert d.messages() == 0
        other.close()
        d.enqueue()
        assert d.messages() == 1


def test_a_database_in_memory_will_do():
    out, status = shell(f".load {extension()}\nSELECT posthorn_migrate() > 0;\n"
                        "SELECT posthorn_enqueue('t', 'p') ->> 'is_new';\n"
                        "SELECT count(*) FROM posthorn_outbox;\n")
    assert (out, status) == ("1\n1\n1\n", 0)


def test_a_connection_that_is_closed_leaves_nothing():
    """Under the sanitizers the shell fails at its end if anything was not freed."""
    if not is_sanitized():
        raise Skip("not a sanitizers' build; ./test makes one")
    owner = "'5e1f1e55-0000-4000-8000-000000000001'"
    text = f""".load {extension()}
        SELECT posthorn_migrate();
        SELECT posthorn_enqueue('t', 'p', '{{"headers":{{"a":1}},"dedupe_key":"k"}}');
        SELECT * FROM posthorn_enqueue_many('[{{"topic":"t","payload":"q"}}]');
        SELECT posthorn_enqueue('t', 'p', '{{"no":1}}');
        SELECT posthorn_config('triggers', 'allow');
        SELECT posthorn_config('table_prefix', 'posthorn_');
        SELECT * FROM posthorn_outbox_claim({owner}, 30, 10);
        SELECT * FROM posthorn_outbox_claim({owner}, 30, 'ten');
        SELECT * FROM posthorn_outbox_ack({owner}, (SELECT json_group_array(id) FROM posthorn_outbox));
        """
    out, status = shell(text, leaks=True)
    assert "Sanitizer" not in out and status != 99, out
    assert out.count("acked") == 2, out


def test_every_allocation_may_fail():
    """Of every function, in a host written in C that has SQLite linked in."""
    failures = program("tests/extension/memory")
    assert int(failures) > 900, failures


def test_without_the_schema_the_error_names_the_cure():
    db = sqlite3.connect(":memory:")
    load(db)
    for sql in ("SELECT posthorn_enqueue('t', 'p')", "SELECT posthorn_clock()"):
        assert error_of(db, sql).split(": ", 1)[1] == (
            "the database has no tables of Posthorn with this prefix; make them with SELECT "
            "posthorn_migrate(), or name theirs with posthorn_config('table_prefix', ...)")
    db.close()


def test_the_schema_can_be_made_inside_a_transaction():
    db = sqlite3.connect(":memory:", isolation_level=None)
    load(db)
    for end, tables in (("ROLLBACK", 0), ("COMMIT", 1)):
        db.execute("BEGIN")
        assert db.execute("SELECT posthorn_migrate() > 0").fetchone() == (1,)
        db.execute("SELECT posthorn_enqueue('t', 'p')")
        db.execute(end)
        assert db.execute("SELECT count(*) FROM sqlite_schema WHERE name = 'posthorn_outbox'"
                          ).fetchone() == (tables,)
    assert db.execute("SELECT posthorn_migrate()").fetchone() == (0,)
    assert error_of(db, "CREATE TABLE made AS SELECT posthorn_migrate()") == (
        "posthorn_migrate: tables cannot be made inside a statement that writes; call it by a "
        "SELECT of its own")
    db.close()


def test_hosts_that_cannot_be_served_are_refused():
    program("tests/extension/refused")


def test_loading_inside_a_transaction_that_is_rolled_back():
    with database() as d:
        db = sqlite3.connect(d.path, isolation_level=None)
        db.execute("BEGIN")
        load(db)
        db.execute("SELECT posthorn_enqueue('t', 'gone')")
        db.execute("ROLLBACK")
        db.execute("SELECT posthorn_enqueue('t', 'kept')")
        owner = db.execute("SELECT posthorn_owner_new()").fetchone()
        assert db.execute("SELECT payload FROM posthorn_outbox_claim(?, 30, 5)", owner
                          ).fetchall() == [("kept",)]
        db.close()


def test_nothing_of_it_is_in_the_file():
    with database() as d:
        tables = {row[0] for row in d.query("SELECT name FROM main.sqlite_schema")}
        assert not [name for name, in d.query("SELECT name FROM pragma_module_list")
                    if name in tables]
        text = error_of(d.db, "CREATE VIRTUAL TABLE customers USING posthorn_outbox_claim")
        assert text == "posthorn_outbox_claim is a function, and there is by that name only", text
