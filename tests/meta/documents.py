"""What the documents print works as printed, and links lead somewhere."""
import os
import re

from examples import Workshop, blocks, installation, run_programs, run_sql
from runner import ROOT, files, no_complaints, read, run, temporary_folder


def documents(*languages):
    """Those with an example in one of the languages."""
    names = ["README.md", *files(".md", under=("docs/",))]
    return [name for name in names if any(blocks(name, language) for language in languages)]


def test_programs_work_against_the_installed_library():
    assert {"README.md", "docs/handlers.md"} <= set(documents("c"))
    for document in documents("c", "cpp"):
        with temporary_folder() as folder:  # programs make files in it
            for output in run_programs(Workshop(folder), document):
                assert output.strip(), f"{document}: a program prints nothing"


def test_first_program_is_short():
    first = next(block for block in blocks("README.md", "c") if "int main" in block)
    lines = sum(bool(line.strip()) for line in first.splitlines())
    assert lines <= 40, f"the first program has {lines} lines: too long"


def test_shell_examples_work():
    for document in documents("sh"):
        with temporary_folder() as folder:
            Workshop(folder).shell("\n".join(blocks(document, "sh")), "sqlite:posthorn.db")


def test_the_first_example_prints_line_by_line():
    with temporary_folder() as folder:
        output = Workshop(folder).shell(blocks("README.md", "sh")[0], "sqlite:posthorn.db")
    assert "sending {\"to\":\"ada@example.org\"}" in output.splitlines(), output
    assert any(line.startswith("NAMESPACE ") for line in output.splitlines()), output


def test_installation_is_complete():
    with temporary_folder() as folder:
        assert Workshop(folder).flags("--modversion", "posthorn") == ["0.1.0"]
    names = run(["find", installation().name, "-type", "f", "-o", "-type", "l"])
    for wanted in ("bin/posthorn", "libposthorn.so.0.1.0", "libposthorn.so.0", "libposthorn.so",
                   "libposthorn.a", "posthorn/posthorn.h", "posthorn/dispatcher.h",
                   "posthorn/inspect.h", "posthorn/inbox.h", "posthorn/coordination.h",
                   "posthorn/join.h", "posthorn/schedule.h", "posthorn/set.h", "posthorn/pg.h", "posthorn/sqlite.h", "man1/posthorn.1",
                   "man3/libposthorn.3", "man7/posthorn-guarantees.7", "doc/posthorn/handlers.md",
                   "doc/posthorn/sqlite-extension.md", "doc/posthorn/workflows.md",
                   "doc/posthorn/coordination.md"):
        assert re.search(rf"/{re.escape(wanted)}$", names, flags=re.M), f"{wanted} is missing"


def test_sql_works_in_psql():
    for_postgresql = set(documents("sql")) - {"docs/sqlite-extension.md"}  # see tests/extension
    assert {"README.md", "docs/handlers.md"} <= for_postgresql
    with temporary_folder() as folder:
        for document in sorted(for_postgresql):
            run_sql(Workshop(folder), document)


def test_exactly_once_is_once_when_it_comes_again():
    again = [block for block in blocks("docs/coordination.md", "sql") if "handled => true" in block]
    assert len(again) == 1
    count = """SELECT 'bookings ' || count(*) FROM bookings;
        SELECT 'messages ' || count(*) FROM posthorn.outbox WHERE topic = 'order.booked';"""
    with temporary_folder() as folder:
        printed = run_sql(Workshop(folder), "docs/coordination.md", again[0] + count)
    assert "bookings 1\n" in printed and "messages 1\n" in printed, printed


def anchors(name):
    """The headings of a document as links name them."""
    text = re.sub(r"^```.*?^```", "", read(name), flags=re.M | re.S)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
            for title in re.findall(r"^#+ +(.*?)\s*$", text, flags=re.M)}


def test_links_lead_somewhere():
    complaints = []
    for name in files(".md"):
        text = re.sub(r"^```.*?^```", "", read(name), flags=re.M | re.S)
        for target in re.findall(r"\]\(([^)\s]+)\)", text):
            path, _, anchor = target.partition("#")
            if "://" in path or path.startswith("mailto:"):
                continue
            found = os.path.normpath(os.path.join(os.path.dirname(name), path)) if path else name
            if not os.path.exists(os.path.join(ROOT, found)):
                complaints.append(f"{name}: {target}")
            elif anchor and anchor not in anchors(found):
                complaints.append(f"{name}: {target}: no such heading")
    no_complaints(complaints)


def test_guarantees_name_tests_that_exist():
    text = read("docs/guarantees.md")
    names = set(re.findall(r"`((?:\w+/)*\w+\.(?:c|spec))`", text))
    assert len(names) > 30
    folders = ("tests", "tests/isolation/specs", "")
    no_complaints([f"docs/guarantees.md: {name}" for name in sorted(names)
                   if not any(os.path.exists(os.path.join(ROOT, folder, name)) for folder in folders)])
