"""The README's programs work as printed, and links lead somewhere."""
import os
import re
import subprocess
import uuid

from runner import ROOT, Skip, build_folder, files, no_complaints, read, run, temporary_folder

SANITIZE = ["-fsanitize=address,undefined"]

DEPLOY = """
#include <posthorn/posthorn.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    ph_store_opts opts = PH_STORE_OPTS_INIT;
    ph_store *store;
    ph_error err;

    opts.deploy_schema = true;
    if (argc != 2 || ph_open(argv[1], &opts, &store, &err) < 0) {
        fprintf(stderr, "%s\\n", err.message);
        return 1;
    }
    ph_close(store);
    return 0;
}
"""


def blocks(language):
    """The fenced blocks of a language in the README, in order."""
    if not os.path.exists(os.path.join(ROOT, "README.md")):
        return []
    return re.findall(rf"^```{language}\n(.*?)^```", read("README.md"), flags=re.M | re.S)


class Installed:
    """The library installed into a folder, and how to compile against it."""

    def __init__(self, folder):
        self.folder = folder
        run(["meson", "install", "-C", build_folder(), "--no-rebuild", "--quiet",
             "--destdir", folder])
        found = run(["find", folder, "-name", "posthorn.pc"]).split()
        assert len(found) == 1, "one posthorn.pc is installed"
        self.pkgconfig = os.path.dirname(found[0])
        self.prefix = re.match(r".*(?=/lib[^/]*/)", found[0]).group()

    def flags(self, *arguments):
        environment = dict(os.environ, PKG_CONFIG_PATH=self.pkgconfig)
        return run(["pkg-config", f"--define-variable=prefix={self.prefix}", *arguments],
                   env=environment).split()

    def compile(self, text, name):
        source, program = (os.path.join(self.folder, name + end) for end in (".c", ""))
        with open(source, "w", encoding="utf-8") as file:
            file.write(text)
        run(["gcc", "-std=c17", "-Wall", "-Wextra", "-Werror", *SANITIZE, source, "-o", program,
             *self.flags("--cflags", "--libs", "posthorn", "sqlite3", "libpq")])
        return program

    def run(self, program, *arguments):
        libraries = os.path.dirname(self.pkgconfig)
        return run([program, *arguments], cwd=self.folder,
                   env=dict(os.environ, LD_LIBRARY_PATH=libraries))


def test_readme_program_works_against_the_installed_library():
    programs = [block for block in blocks("c") if "int main" in block]
    assert programs, "README.md has no ```c block with a main function"
    with temporary_folder() as folder:
        installed = Installed(folder)
        for number, text in enumerate(programs):
            output = installed.run(installed.compile(text, f"readme{number}"))
            assert output.strip(), "the program prints nothing"
            lines = sum(bool(line.strip()) for line in text.splitlines())
            assert number > 0 or lines <= 40, f"the first program has {lines} lines: too long"


def test_installation_is_complete():
    with temporary_folder() as folder:
        installed = Installed(folder)
        assert installed.flags("--modversion", "posthorn") == ["0.1.0"]
        names = run(["find", folder, "-type", "f", "-o", "-type", "l"])
        for wanted in ("libposthorn.so.0.1.0", "libposthorn.so.0", "libposthorn.so", "libposthorn.a",
                       "posthorn/posthorn.h", "posthorn/pg.h", "posthorn/sqlite.h"):
            assert re.search(rf"/{re.escape(wanted)}$", names, flags=re.M), f"{wanted} is missing"


def fresh_database(server):
    """A new database on the private server and its URL."""
    name = "meta_" + uuid.uuid4().hex[:12]
    run(["psql", "-X", "-q", server, "-c", f"CREATE DATABASE {name}"])
    return name, server.replace("/postgres?", f"/{name}?")


def test_readme_sql_works_in_psql():
    statements = blocks("sql")
    assert statements, "README.md has no ```sql block"
    server = os.environ.get("PH_TEST_PG")
    if not server:
        raise Skip("PH_TEST_PG is not set; ./test sets it")
    name, url = fresh_database(server)
    try:
        with temporary_folder() as folder:
            installed = Installed(folder)
            installed.run(installed.compile(DEPLOY, "deploy"), url)
        done = subprocess.run(["psql", "-X", "-v", "ON_ERROR_STOP=1", url],
                              input="\n".join(statements), stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=60)
        assert done.returncode == 0, done.stdout
    finally:
        run(["psql", "-X", "-q", server, "-c", f"DROP DATABASE {name} WITH (FORCE)"])


def test_links_lead_somewhere():
    complaints = []
    for name in files(".md"):
        text = re.sub(r"^```.*?^```", "", read(name), flags=re.M | re.S)
        for target in re.findall(r"\]\(([^)\s]+)\)", text):
            path = target.split("#")[0]
            if not path or "://" in path or path.startswith("mailto:"):
                continue
            if not os.path.exists(os.path.join(ROOT, os.path.dirname(name), path)):
                complaints.append(f"{name}: {target}")
    no_complaints(complaints)
