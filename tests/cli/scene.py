"""Where a case plays: a folder and a database of its own, and how commands are run there."""
import fcntl
import os
import pty
import re
import selectors
import shutil
import signal
import struct
import subprocess
import tempfile
import termios
import threading

TIME_LIMIT_S = 60
TEMPLATE = "t_cli_template"
lock = threading.Lock()
numbers = iter(range(1, 1 << 30))


class Scene:
    """A folder and a database; removed at the end."""

    def __init__(self, posthorn, backend, schema=True):
        self.posthorn, self.backend = posthorn, backend
        self.folder = tempfile.mkdtemp(prefix="cli.")
        self.database = None
        self.environment = {
            "PATH": f"{os.path.dirname(posthorn)}:/usr/local/bin:/usr/bin:/bin", "HOME": self.folder,
            "LC_ALL": "C.UTF-8", "TMPDIR": self.folder,
            **{name: value for name, value in os.environ.items() if name.endswith("SAN_OPTIONS")}}
        if backend == "sqlite":
            self.url = "sqlite:t.db"
            if schema:
                self.copy_file()
        elif backend == "postgresql":
            if not os.environ.get("PH_TEST_SOAK"):
                # Looking for leaks takes as long as a command itself, and finds those of the
                # command on SQLite; those of the library in the other programs.
                self.environment.setdefault("ASAN_OPTIONS", "detect_leaks=0")
            self.make_database(schema)
        else:
            self.url = ""
        if self.url:
            self.environment["POSTHORN_DB"] = self.url

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.database:
            psql(f"DROP DATABASE IF EXISTS {self.database} WITH (FORCE)")
        shutil.rmtree(self.folder, ignore_errors=True)

    def migrate(self, url):
        done = self.run(["posthorn", "--quiet", "--db", url, "migrate", "up"])
        assert done.exit == 0, f"the schema cannot be made: {done.stderr}"

    def copy_file(self):
        with lock:  # the first makes a file that the others copy
            if not files:
                self.migrate(self.url)
                files.append(tempfile.NamedTemporaryFile(prefix="cli.", suffix=".db"))
                shutil.copyfile(os.path.join(self.folder, "t.db"), files[0].name)
                return
        shutil.copyfile(files[0].name, os.path.join(self.folder, "t.db"))

    def make_database(self, schema):
        self.database = f"t_cli_{os.getpid()}_{next(numbers)}"
        self.url = database_url(self.database)
        if not schema:
            psql(f"CREATE DATABASE {self.database} TEMPLATE template0 ENCODING 'UTF8'")
            return
        with lock:  # the first makes a database that the others copy
            template = f"{TEMPLATE}_{os.getpid()}"
            if template not in made:
                psql(f"CREATE DATABASE {template} TEMPLATE template0 ENCODING 'UTF8'")
                made.append(template)
                self.migrate(database_url(template))
        psql(f"CREATE DATABASE {self.database} TEMPLATE {template}")

    def run(self, command, stdin=b"", terminal=None, environment=None):
        """Runs a command (a list, or a line for bash) and returns what came of it."""
        if isinstance(command, str):
            command = ["bash", "-c", command]
        environment = dict(environment or self.environment)
        if terminal:
            environment.setdefault("TERM", "xterm")
            return run_on_terminal(command, stdin, terminal, self.folder, environment)
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, cwd=self.folder, env=environment,
                                   start_new_session=True)
        try:
            stdout, stderr = process.communicate(stdin, timeout=TIME_LIMIT_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            raise AssertionError(f"not done after {TIME_LIMIT_S} s: {command}") from None
        return Done(process.returncode, stdout, stderr)


class Done:
    def __init__(self, code, stdout, stderr):
        self.exit = code
        self.stdout, self.stderr = (text.decode("utf-8", "surrogateescape") for text in (stdout, stderr))


files, made = [], []


def drop_templates():
    for template in made:
        psql(f"DROP DATABASE IF EXISTS {template} WITH (FORCE)")


def server():
    url = os.environ.get("PH_TEST_PG")
    assert url, "PH_TEST_PG is not set; ./test starts a server and sets it"
    return url


def database_url(database):
    return re.sub(r"^(postgres(?:ql)?://[^/]*/)[^?]*", rf"\g<1>{database}", server())


def psql(sql):
    done = subprocess.run(["psql", "-XqAt", "-v", "ON_ERROR_STOP=1", "-d", server(), "-c", sql],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=TIME_LIMIT_S)
    assert done.returncode == 0, f"{sql}: {done.stdout}"
    return done.stdout


def new_terminal(columns):
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    modes = termios.tcgetattr(slave)
    modes[1] &= ~termios.OPOST  # a line ends as the program ends it
    modes[3] &= ~termios.ECHO
    termios.tcsetattr(slave, termios.TCSANOW, modes)
    return master, slave


def run_on_terminal(command, stdin, columns, folder, environment):
    """stdin, stdout and stderr are three terminals, so that they can be told apart."""
    terminals = [new_terminal(columns) for _ in range(3)]
    process = subprocess.Popen(command, stdin=terminals[0][1], stdout=terminals[1][1],
                               stderr=terminals[2][1], cwd=folder, env=environment,
                               start_new_session=True)
    for _, slave in terminals:
        os.close(slave)
    os.write(terminals[0][0], stdin + b"\x04")
    output = {terminals[1][0]: b"", terminals[2][0]: b""}
    with selectors.DefaultSelector() as selector:
        for master in output:
            selector.register(master, selectors.EVENT_READ)
        while selector.get_map():
            ready = selector.select(TIME_LIMIT_S)
            if not ready:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                raise AssertionError(f"not done after {TIME_LIMIT_S} s: {command}")
            for key, _ in ready:
                try:
                    data = os.read(key.fd, 65536)
                except OSError:  # the other side is closed
                    data = b""
                output[key.fd] += data
                if not data:
                    selector.unregister(key.fd)
    code = process.wait()
    for master, _ in terminals:
        os.close(master)
    return Done(code, *output.values())
