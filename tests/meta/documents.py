"""What the documents print works as printed, and links lead somewhere."""
import os
import re
import xml.etree.ElementTree

from api import declared
from examples import Workshop, blocks, installation, run_programs, run_sql
from manual import tables
from runner import ROOT, files, no_complaints, read, run, temporary_folder


README_LINES_MAX = 150


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
    first = next(block for block in blocks("docs/getting-started.md", "c") if "int main" in block)
    lines = sum(bool(line.strip()) for line in first.splitlines())
    assert lines <= 40, f"the first program has {lines} lines: too long"


def test_the_readme_is_short():
    """Three screens, and the twelve lines that it promises (tests/tour runs them)."""
    lines = read("README.md").count("\n")
    assert lines <= README_LINES_MAX, f"README.md has {lines} lines"
    assert len(blocks("README.md", "c")) == 1
    assert blocks("README.md", "c")[0].count("\n") == 12 and "## Twelve lines" in read("README.md")


def test_shell_examples_work():
    for document in documents("sh"):
        with temporary_folder() as folder:
            Workshop(folder).shell("\n".join(blocks(document, "sh")), "sqlite:posthorn.db")


def test_the_first_example_prints_line_by_line():
    with temporary_folder() as folder:
        output = Workshop(folder).shell(blocks("README.md", "sh")[0], "sqlite:posthorn.db")
    assert "sending {\"to\":\"ada@example.org\"}" in output.splitlines(), output
    assert any(re.match(r"DOOR +NAMESPACE +READY ", line) for line in output.splitlines()), output


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
                   "doc/posthorn/coordination.md", "doc/posthorn/getting-started.md",
                   "doc/posthorn/verbs.md", "doc/posthorn/README.md"):
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


def test_pictures_are_whole_and_need_nothing_else():
    for name in files(".svg"):
        root = xml.etree.ElementTree.fromstring(read(name))
        assert root.tag == "{http://www.w3.org/2000/svg}svg" and root.get("viewBox"), name
        assert root.find("{http://www.w3.org/2000/svg}title").text, f"{name}: no title"
        foreign = [element.tag for element in root.iter()
                   if re.search(r"\}(script|image|use|foreignObject|a)$", element.tag)]
        assert not foreign and "@import" not in read(name), f"{name}: {foreign}"


def verb_cells(column):
    """What a column of the tables of verbs names: 0 in C, 1 in SQL, 2 in the command."""
    rows = [[cell.strip() for cell in line.split("|")[1:-1]]
            for line in read("docs/verbs.md").splitlines() if line.startswith("| ")]
    return [name for row in rows if len(row) == 4 and row[0] != "C"
            for name in re.findall(r"`([^`]+)`", row[column])]


def test_verbs_exist():
    sql = {name.split("/")[-1].split(".")[0].replace("door_", "outbox_", 1)
           for name in files(".sql", ".sql.in", under=("src/store/postgres/sql/functions/",))}
    complaints = []
    for column, known in ((0, declared()), (1, sql)):
        names = verb_cells(column)
        assert len(names) > 25, names
        complaints += [f"docs/verbs.md: {name}" for name in names if not (
            any(other.startswith(name[:-1]) for other in known) if name.endswith("…") else name in known)]
    no_complaints(complaints)


def test_every_verb_of_the_command_is_in_the_table():
    known = {verb["name"].split()[0] for group in tables()["groups"] for verb in group["verbs"]}
    named = {name for name in verb_cells(2) if not name.startswith("--")}
    assert named == known - {"help"}, named ^ known


def test_limits_are_those_of_the_header():
    rows = re.findall(r"^\| `(PH_\w+)` \| ([\d ]+?)( [MK]iB)? \|", read("docs/verbs.md"), flags=re.M)
    assert len(rows) > 5, rows
    complaints = []
    for name, number, unit in rows:
        value = int(number.replace(" ", "")) * {"": 1, " KiB": 1024, " MiB": 1024 * 1024}[unit]
        defined = re.search(rf"^#define {name} +(\(?[\d *]+\)?)", read("include/posthorn/posthorn.h"), flags=re.M)
        if not defined or eval(defined[1]) != value:  # digits and stars only
            complaints.append(f"docs/verbs.md: {name}")
    no_complaints(complaints)


def test_guarantees_name_tests_that_exist():
    text = read("docs/guarantees.md")
    names = set(re.findall(r"`((?:\w+/)*\w+\.(?:c|spec))`", text))
    assert len(names) > 30
    folders = ("tests", "tests/isolation/specs", "")
    no_complaints([f"docs/guarantees.md: {name}" for name in sorted(names)
                   if not any(os.path.exists(os.path.join(ROOT, folder, name)) for folder in folders)])
