"""Takes the examples out of a document, and runs them against an installed Posthorn."""
import concurrent.futures
import functools
import os
import re
import subprocess
import uuid

from runner import ROOT, Skip, build_folder, read, run, temporary_folder

SANITIZE = ["-fsanitize=address,undefined"]
WARNINGS = ["-Wall", "-Wextra", "-Werror", "-Wno-unused-function"]

# Stands before an example that is only a part of a program.
PRELUDE = """
#include <posthorn/pg.h>
#include <posthorn/sqlite.h>
#include <stdio.h>
#include <string.h>
"""

# Stands behind one that has handlers: each of them gets a message, and must settle it.
HANDLE = """
static int handle_one(ph_store *store, ph_handler_fn function)
{
    ph_dispatcher_stats stats = PH_DISPATCHER_STATS_INIT;
    ph_dispatcher *dispatcher = NULL;
    ph_message message = PH_MESSAGE_INIT;
    ph_handler handler = PH_HANDLER_INIT;
    ph_error err = { };

    message.topic = handler.topic = "example";
    message.payload = "{}";
    handler.handle = function;
    if (ph_enqueue(store, PH_OWN_TX, &message, 0, NULL, &err) ||
        ph_dispatcher_new(store, NULL, &dispatcher, &err) ||
        ph_dispatcher_handle(dispatcher, &handler, &err) || ph_dispatcher_start(dispatcher, &err) ||
        ph_dispatcher_drain(dispatcher, 60000, &err) ||
        ph_dispatcher_stats_get(dispatcher, &stats, &err))
        fprintf(stderr, "%s\\n", err.message);
    ph_dispatcher_free(dispatcher);
    return stats.done + stats.retried + stats.failed + stats.deferred == 1 ? 0 : 1;
}

int main(void)
{
    ph_store_opts opts = PH_STORE_OPTS_INIT;
    ph_store *store = NULL;
    ph_error err = { };
    int failed = 0;

    opts.deploy_schema = true;
    if (ph_open("sqlite:@NAME@.db", &opts, &store, &err)) {
        fprintf(stderr, "%s\\n", err.message);
        return 1;
    }
    @CALLS@
    ph_close(store);
    return failed;
}
"""
HANDLER = re.compile(r"^static ph_verdict (\w+)\(void \*(?:context)?, ph_work \*work\)", flags=re.M)

def blocks(document, language):
    """The fenced blocks of a language in a document, in order."""
    if not os.path.exists(os.path.join(ROOT, document)):
        return []
    return re.findall(rf"^```{language}\n(.*?)^```", read(document), flags=re.M | re.S)


@functools.cache
def installation():
    """Posthorn installed into a folder that lasts as long as this process."""
    folder = temporary_folder()
    run(["meson", "install", "-C", build_folder(), "--no-rebuild", "--quiet",
         "--destdir", folder.name])
    return folder


class Workshop:
    """A folder to compile and run examples in, against the installed Posthorn."""

    def __init__(self, folder):
        self.folder = folder
        found = run(["find", installation().name, "-name", "posthorn.pc"]).split()
        assert len(found) == 1, "one posthorn.pc is installed"
        self.pkgconfig = os.path.dirname(found[0])
        self.prefix = re.match(r".*(?=/lib[^/]*/)", found[0]).group()

    def flags(self, *arguments):
        environment = dict(os.environ, PKG_CONFIG_PATH=self.pkgconfig)
        return run(["pkg-config", f"--define-variable=prefix={self.prefix}", *arguments],
                   env=environment).split()

    def compile(self, text, name, language="c"):
        compiler = {"c": ["gcc", "-std=c17"], "cpp": ["g++", "-std=c++17"]}[language]
        source, program = (os.path.join(self.folder, name + end) for end in (f".{language}", ""))
        with open(source, "w", encoding="utf-8") as file:
            file.write(text)
        run([*compiler, *WARNINGS, *SANITIZE, "-pthread", source, "-o", program,
             *self.flags("--cflags", "--libs", "posthorn"),
             *run(["pkg-config", "--cflags", "--libs", "sqlite3", "libpq"]).split()])
        return program

    def environment(self, **more):
        return dict(os.environ, LD_LIBRARY_PATH=os.path.dirname(self.pkgconfig),
                    PATH=f"{self.prefix}/bin:{os.environ['PATH']}", **more)

    def run(self, program, *arguments):
        return run([program, *arguments], cwd=self.folder, env=self.environment())

    def compile_block(self, text, name, language):
        """A whole program as it is; a part of one with what makes it whole: its handlers are to
        settle a message each, in a file of its own: one that retries would find the next program."""
        handlers = HANDLER.findall(text)
        if "int main(" not in text:
            calls = "".join(f"failed |= handle_one(store, {handler});\n" for handler in handlers)
            rest = HANDLE.replace("@CALLS@", calls).replace("@NAME@", name) if handlers else "int main(void) { return 0; }\n"
            text = PRELUDE + text + rest
        return self.compile(text, name, language)

    def shell(self, text, url):
        """A shell script whose every command must succeed."""
        if not os.path.exists(f"{self.prefix}/bin/posthorn"):
            raise Skip("the command posthorn is not built")
        return run(["bash", "-euo", "pipefail", "-c", text], cwd=self.folder,
                   env=self.environment(POSTHORN_DB=url))


def server():
    url = os.environ.get("PH_TEST_PG")
    if not url:
        raise Skip("PH_TEST_PG is not set; ./test sets it")
    return url


class FreshDatabase:
    """A new database on the private server: its URL, for as long as the block runs."""

    def __init__(self, name=None):
        self.name = name or "meta_" + uuid.uuid4().hex[:12]

    def __enter__(self):
        run(["psql", "-X", "-q", server(), "-c", f"CREATE DATABASE {self.name}"])
        return server().replace("/postgres?", f"/{self.name}?")

    def __exit__(self, *_):
        run(["psql", "-X", "-q", server(), "-c", f"DROP DATABASE {self.name} WITH (FORCE)"])


def run_programs(workshop, document):
    """Compiles and runs every C and C++ block; returns what the whole programs printed."""
    found = [(text, f"example_{language}_{number}", language) for language in ("c", "cpp")
             for number, text in enumerate(blocks(document, language))]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        programs = list(pool.map(lambda block: workshop.compile_block(*block), found))
    outputs = []
    for (text, _, _), program in zip(found, programs):
        if "int main(" not in text:
            workshop.run(program)
        elif "posthorn/pg.h" in text:
            with FreshDatabase() as url:
                outputs.append(workshop.run(program, url))
        else:
            outputs.append(workshop.run(program))
    return outputs


def run_sql(workshop, document, more=""):
    """All SQL blocks of a document, and then more, in one session of psql, in a database with our
    schema. Returns what it printed."""
    with FreshDatabase() as url:
        workshop.shell("posthorn migrate up", url)
        done = subprocess.run(["psql", "-X", "-v", "ON_ERROR_STOP=1", url],
                              input="\n".join([*blocks(document, "sql"), more]), stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=60)
        assert done.returncode == 0, done.stdout
        return done.stdout
