"""What docs/sqlite-extension.md prints works as printed."""
import os
import re
import subprocess
import sys

import host
from runner import read, temporary_folder

DOCUMENT = "docs/sqlite-extension.md"


def blocks(language):
    found = re.findall(rf"^```{language}\n(.*?)^```", read(DOCUMENT), flags=re.M | re.S)
    assert found, f"{DOCUMENT} has no ```{language} block"
    return found


def test_the_statements_run_in_the_shell():
    with temporary_folder() as folder:
        os.symlink(host.extension(), os.path.join(folder, "posthorn.so"))
        out, status = host.shell(".bail on\n" + "\n".join(blocks("sql")), path="shop.db",
                                 folder=folder)
        assert status == 0, out
        for expected in ('"is_new":true', "acked", "done", "abandoned", "failed", "equal-jitter",
                         "completed|2|2", "transform|all is here", "2030-04-01T07:30:00.000000Z",
                         "house/1|in_progress|1|2", "1|white\n2|green", "billing|inv-8|done", "outbox|paint|white|house/1|1",
                         "cart.remind|cart 8", "report.make|{}", '"timers":1,"runs":0,"job_runs":1'):
            assert expected in out, f"{expected}\n{out}"
        out, _ = host.shell("SELECT payload FROM posthorn_outbox WHERE topic = 'order.placed';",
                            path="shop.db", folder=folder)
        assert out == '{"order":1}\n{"order":2}\n', out


def test_the_programs_run_in_python():
    with temporary_folder() as folder:
        os.symlink(host.extension(), os.path.join(folder, "posthorn.so"))
        for text in blocks("python"):
            done = subprocess.run([sys.executable, "-c", text], cwd=folder, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True, timeout=60,
                                  env=host.environment(leaks=False))
            assert (done.stdout, done.returncode) == ("", 0), done.stdout
        out, _ = host.shell("SELECT body FROM invoices;", path="shop.db", folder=folder)
        assert out == '{"customer": 7}\n', out


def test_every_function_is_described():
    text = read(DOCUMENT)
    with host.database() as d:
        names = d.query("SELECT name FROM pragma_function_list WHERE name LIKE 'posthorn~_%' ESCAPE '~'"
                        " UNION SELECT name FROM pragma_module_list "
                        "WHERE name LIKE 'posthorn~_%' ESCAPE '~'")
        missing = [name for name, in names if f"`{name}(" not in text]
        assert not missing, missing
        for module, in d.query("SELECT name FROM pragma_module_list "
                               "WHERE name LIKE 'posthorn~_%' ESCAPE '~'"):
            row = re.search(rf"^\| `{module}\((.*?)\)` \| (.*?) \|$", text, flags=re.M)
            arguments = re.sub(r"[\[\] ]", "", row[1]).split(",")
            columns = d.query("SELECT name, hidden FROM pragma_table_xinfo(?)", module)
            assert [name for name, hidden in columns if hidden] == arguments, module
            shown = row[2].split(":")[0].split(", ")
            assert [name for name, hidden in columns if not hidden] == shown, module


def test_the_errors_are_as_printed():
    text = read(DOCUMENT)
    with host.database() as d:
        for sql in ("SELECT posthorn_enqueue('', 'p')",
                    "SELECT * FROM posthorn_outbox_claim(posthorn_owner_new(), 0, 1)"):
            assert f"    {host.error_of(d.db, sql)}\n" in text
