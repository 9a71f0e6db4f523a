"""What the tests of the extension share."""
import contextlib
import functools
import os
import sqlite3
import subprocess

from runner import build_folder, run, temporary_folder

SYSTEM_PYTHON = "/usr/bin/python3"
OWNER = "5e1f1e55-0000-4000-8000-000000000001"
OTHER = "5e1f1e55-0000-4000-8000-000000000002"


def built(path):
    return os.path.join(build_folder(), path)


def extension():
    return built("src/extension/posthorn.so")


@functools.lru_cache(maxsize=None)
def is_sanitized():
    return "PH_TEST_BUILD" in os.environ and "__asan_init" in run(["nm", "-D", extension()])


def environment(leaks):
    """For a host that was not built with sanitizers, if the extension was."""
    if not is_sanitized():
        return dict(os.environ)
    library = run(["gcc", "-print-file-name=libasan.so"]).strip()
    return dict(os.environ, LD_PRELOAD=library, UBSAN_OPTIONS="halt_on_error=1",
                ASAN_OPTIONS=f"detect_leaks={int(leaks)}:abort_on_error=0:exitcode=99")


def program(*command):
    """Runs a program of ours, which brings its sanitizers along; returns what it printed."""
    kept = {name: value for name, value in os.environ.items()
            if name not in ("LD_PRELOAD", "ASAN_OPTIONS")}
    return run([built(command[0]), *command[1:]], env=kept)


class Database:
    """A file in a folder of its own, and connections that have the extension."""

    def __init__(self, folder):
        self.folder = folder
        self.path = os.path.join(folder, "test.db")
        self.db = self.connect()
        self.query("SELECT posthorn_migrate()")

    def connect(self, **options):
        db = sqlite3.connect(self.path, **{"isolation_level": None, "timeout": 60, **options})
        load(db)
        return db

    def query(self, sql, *arguments):
        return self.db.execute(sql, arguments).fetchall()

    def one(self, sql, *arguments):
        rows = self.query(sql, *arguments)
        assert len(rows) == 1 and len(rows[0]) == 1, rows
        return rows[0][0]

    def enqueue(self, topic="t", payload="p"):
        return self.one("SELECT posthorn_enqueue(?, ?) ->> 'work_id'", topic, payload)

    def claim(self, count=10, owner=OWNER):
        return self.query("SELECT work_id, fence, payload FROM posthorn_outbox_claim(?, 30, ?)",
                          owner, count)

    def messages(self):
        return self.one("SELECT count(*) FROM posthorn_outbox")

    def status(self, work_id):
        return self.one("SELECT status FROM posthorn_outbox WHERE id = ?", work_id)

    def clock(self, text):
        """Stops the engine's clock at this time."""
        self.query("UPDATE posthorn_store SET clock_us = unixepoch(?) * 1000000", text)

    def fails(self, error, sql, *arguments):
        """The statement must fail with this text, and change nothing."""
        before = self.messages(), self.db.in_transaction
        text = error_of(self.db, sql, *arguments)
        assert text == error, f"{sql}\n    {text}"
        assert (self.messages(), self.db.in_transaction) == before, f"{sql}: changed something"


def error_of(db, sql, *arguments):
    try:
        rows = db.execute(sql, arguments).fetchall()
    except sqlite3.Error as error:
        return str(error)
    raise AssertionError(f"{sql}: succeeded with {rows}")


def load(db):
    db.enable_load_extension(True)
    db.load_extension(extension())
    db.enable_load_extension(False)


@contextlib.contextmanager
def database():
    with temporary_folder() as folder:
        it = Database(folder)
        yield it
        it.db.close()


def shell(text, path=":memory:", folder=None, leaks=False):
    """Runs the sqlite3 shell over a text; returns what it printed and its exit status."""
    done = subprocess.run(["sqlite3", "-batch", path], input=text, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=120, cwd=folder,
                          env=environment(leaks))
    return done.stdout, done.returncode
