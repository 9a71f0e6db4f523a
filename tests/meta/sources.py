"""House rules that a machine can check."""
import os
import re
import shutil

from runner import ROOT, Skip, files, no_complaints, read, run, tracked

FILE_LINES_MAX = 700
FUNCTION_LINES_MAX = 80
SQL_FUNCTION_LINES_MAX = 100
TOP_LEVEL = {".ci", ".clang-format", ".editorconfig", ".gitattributes", ".gitignore", "CHANGELOG.md",
             "CONTRIBUTING.md", "LICENSE", "README.md", "SECURITY.md", "bench", "docs", "examples",
             "fuzz", "include", "man", "meson.build", "meson_options.txt", "quickstart", "src",
             "test", "tests", "tools"}
STRAY = re.compile(r"(~|\.(orig|rej|bak|swp|log|db|o|a|so|tmp|out|pyc))$|(^|/)(\.DS_Store|core)$")
CODE = (".c", ".h", ".sql", ".py", ".sh", "meson.build")


def test_files_are_short():
    no_complaints([f"{name}: {read(name).count(chr(10))} lines" for name in files(".c", ".h", ".sql")
                   if read(name).count("\n") > FILE_LINES_MAX and name != "include/posthorn/posthorn.h"])


def test_functions_are_short():
    complaints = []
    for name in files(".c"):
        start, head, before = None, "", ""
        for number, line in enumerate(read(name).splitlines(), 1):
            if line == "{":
                start, head = number, before
            elif line == "}" and start:
                if number - start - 1 > FUNCTION_LINES_MAX:
                    complaints.append(f"{name}:{start}: {number - start - 1} lines: {head}")
                start = None
            before = line
    no_complaints(complaints)


def test_sql_functions_are_short():
    complaints = []
    for name in files(".sql", under=("src/store/postgres/sql/functions/",)):
        text = read(name)
        count = text[text.index("\nCREATE "):].count("\n") - 1  # without the comment above it
        if count > SQL_FUNCTION_LINES_MAX:
            complaints.append(f"{name}: {count} lines")
    no_complaints(complaints)


DISPATCH = ("src/dispatch/",)
DISPATCH_FILE_LINES_MAX = 350
DISPATCH_MEMBERS_MAX = 25
DISPATCH_README_WORDS_MAX = 900


def members(body):
    """How many a struct has; those of structs within it count as one."""
    body = re.sub(r"/\*.*?\*/", "", body, flags=re.S)
    body = re.sub(r"\{[^{}]*\}", "", body)
    return sum(declaration.count(",") + 1 for declaration in body.split(";") if declaration.strip())


def test_the_dispatcher_is_made_of_small_parts():
    complaints = [f"{name}: {read(name).count(chr(10))} lines" for name in files(".c", ".h", under=DISPATCH)
                  if read(name).count("\n") > DISPATCH_FILE_LINES_MAX]
    for name in files(".c", ".h", under=DISPATCH):
        for tag, body in re.findall(r"^struct (\w+) \{\n(.*?)^\}", read(name), flags=re.S | re.M):
            if members(body) > DISPATCH_MEMBERS_MAX:
                complaints.append(f"{name}: struct {tag} has {members(body)} members")
    words = len(read("src/dispatch/README.md").split())
    if words > DISPATCH_README_WORDS_MAX:
        complaints.append(f"src/dispatch/README.md: {words} words")
    no_complaints(complaints)


def test_the_half_that_looks_after_works_knows_nothing_of_the_one_that_polls():
    no_complaints([name for name in files(".c", ".h", under=("src/dispatch/work/",))
                   if "dispatch/poll/" in read(name) or "->dbs" in read(name)])


def test_text_is_clean():
    complaints = []
    for name in files(*CODE, ".md", "test", "quickstart", ".tsv"):
        text = read(name)
        if text and not text.endswith("\n"):
            complaints.append(f"{name}: no newline at the end")
        for number, line in enumerate(text.splitlines(), 1):
            if line != line.rstrip():
                complaints.append(f"{name}:{number}: white space at the end")
            if "\t" in line and not name.endswith((".tsv", ".md")):
                complaints.append(f"{name}:{number}: a tab")
            if re.search(r"\b(TO" + r"DO|FIX" + r"ME|XX" + r"X)\b", line):
                complaints.append(f"{name}:{number}: unfinished")
    no_complaints(complaints)


def test_columns():
    """100 columns; a table, a URL or a comment behind code may be a little wider."""
    no_complaints([f"{name}:{number}: {len(line)} columns"
                   for name in files(".c", ".h") for number, line in
                   enumerate(read(name).splitlines(), 1) if len(line) > 110])


def test_form():
    """What tools/format says, where the pinned formatter is at hand."""
    if not (shutil.which("clang-format-14") or shutil.which("clang-format")):
        raise Skip("clang-format 14 is not installed")
    run(["tools/format", "check"], cwd=ROOT)


def test_nothing_stray_is_tracked():
    complaints = []
    for name in tracked():
        if name.split("/")[0] not in TOP_LEVEL:
            complaints.append(f"{name}: unexpected at the top")
        if STRAY.search(name):
            complaints.append(f"{name}: does not belong under version control")
    no_complaints(complaints)


def test_every_source_is_built():
    """A .c or .sql file that no meson.build names is dead."""
    builds = {name: read(name) for name in files("meson.build")}
    complaints = []
    for name in files(".c", ".sql", under=("src/", "tests/", "examples/", "bench/")):
        folder = os.path.dirname(name)
        named = False
        while not named:
            text = builds.get(os.path.join(folder, "meson.build") if folder else "meson.build", "")
            named = os.path.relpath(name, folder or ".") in text
            if not folder:
                break
            folder = os.path.dirname(folder)
        if not named:
            complaints.append(f"{name}: no meson.build names it")
    no_complaints(complaints)


def test_scripts_are_executable_and_parse():
    for name in ["test", "quickstart", ".ci/run", "bench/compare", "bench/run",
                 "bench/peers/install", "bench/peers/sweep", "tools/count_calls"]:
        assert os.access(os.path.join(ROOT, name), os.X_OK), f"{name} is not executable"
        run(["bash", "-n", os.path.join(ROOT, name)])
    for name in files(".sh"):
        run(["bash", "-n", os.path.join(ROOT, name)])


def requirement_rows():
    return [line.split("\t") for line in read("tests/requirements.tsv").splitlines()
            if not line.startswith("#")]


REQUIREMENT = r"(?:OBX|JOIN|TIM|JOB|STR|INB|INS|REC|CKP|BAT)-\d{3}"


def test_requirements_are_well_formed():
    rows = requirement_rows()
    complaints = [f"{row}: four columns" for row in rows if len(row) != 4]
    complaints += [f"{row[0]}: bad" for row in rows if not re.fullmatch(REQUIREMENT, row[0])
                   or row[1] not in "12345" or row[3] not in ("both", "sqlite", "postgresql")]
    ids = [row[0] for row in rows]
    complaints += [f"{i}: twice" for i in set(ids) if ids.count(i) > 1]
    no_complaints(complaints)


def test_requirements_in_tests_exist():
    known = {row[0] for row in requirement_rows()}
    used = set()
    for name in files(".c", ".h", ".spec", under=("tests/",)):
        used |= set(re.findall(rf"\b{REQUIREMENT}\b", read(name)))
    no_complaints([f"{name} is not in tests/requirements.tsv" for name in sorted(used - known)])


def test_public_headers_do_not_include_inner_ones():
    no_complaints([f"{name}: {include}" for name in files(".h", under=("include/",))
                   for include in re.findall(r'#include "(.*)"', read(name))])


def test_core_knows_no_database():
    """Only the backends speak to a driver; core and util know none."""
    no_complaints([f"{name} includes {driver}" for name in files(".c", ".h", under=("src/core/", "src/util/"))
                   for driver in ("sqlite3.h", "libpq-fe.h", "mysql.h") if driver in read(name)])


def test_command_knows_only_the_public_interface():
    """The command is a user of the library like any other."""
    own = {os.path.basename(name) for name in files(".h", under=("src/cli/",))} | {
        "util/shown.h", "util/time_text.h"}
    no_complaints([f"{name} includes {include}" for name in files(".c", ".h", under=("src/cli/",))
                   for quoted, include in re.findall(r'#include (["<])(.*)[">]', read(name))
                   if (quoted == '"' and include not in own)
                   or include in ("sqlite3.h", "libpq-fe.h", "posthorn/sqlite.h", "posthorn/pg.h")])


def literals(name):
    """The strings of a C file, those that stand behind each other as one."""
    return re.findall(r'"((?:[^"\\\n]|\\.)*)"', re.sub(r'"\s*\n\s*"', "", read(name)))


def test_the_library_names_no_commands():
    """Who uses it may not have the command. The other way round: prose.py."""
    verbs = {text.split()[0] for name in files(".c", under=("src/cli/",))
             for text in re.findall(r'\.name = "([^"]+)",\n    \.summary', read(name))}
    assert {"migrate", "queue", "doctor"} <= verbs, verbs
    command = re.compile(rf"\bposthorn ({'|'.join(sorted(verbs))})\b")
    library = files(".c", ".h", under=tuple(f"src/{part}/" for part in
                                            ("core", "dispatch", "schedule", "set", "store", "util")))
    no_complaints([f"{name}: {text}" for name in library for text in literals(name) if command.search(text)])


def test_sql_names_its_tables_by_placeholder():
    """Every table of ours in a statement carries the placeholder of the prefix."""
    statements = files(".sql", under=("src/",))
    if not statements:
        raise Skip("no .sql files")
    tables = {table for name in statements
              for table in re.findall(r"CREATE (?:TABLE|VIEW) \{p\}(\w+)", read(name))}
    assert {"message", "pending", "lease", "done", "dead"} <= tables
    bare = re.compile(rf"\b(?:FROM|JOIN|INSERT INTO|UPDATE|TABLE|VIEW)\s+({'|'.join(sorted(tables))})\b")
    complaints = []
    for name in statements:
        for number, line in enumerate(read(name).splitlines(), 1):
            for table in bare.findall(line.split("--")[0]):
                complaints.append(f"{name}:{number}: {table} without {{p}}")
    no_complaints(complaints)


PG_SYNTAX = {"and", "any", "array", "as", "by", "coalesce", "cross", "extract", "filter", "from", "function", "greatest",
             "if", "in", "is", "join", "lateral", "least", "materialized", "not", "nullif", "on", "operator", "or", "over",
             "select", "table", "then", "values", "when", "where", "with", "add", "primary", "exists"}


def test_statements_of_the_library_call_functions_by_their_schema():
    """They run with whatever search path a session has: a name without a schema could be somebody's function that fits
    the arguments better than PostgreSQL's. Functions of ours have a search path of their own (tests/postgres)."""
    folder = "src/store/postgres/sql/"
    complaints = []
    for name in [folder + "calls.sql", folder + "roles.sql", folder + "grants.sql", folder + "test_clock.sql"]:
        text = re.sub(r"'(?:[^']|'')*'", "''", re.sub(r"--.*", "", read(name)))
        for match in re.finditer(r"(?<![\w.}\"])(\w+)\s*\(", text):
            word = match.group(1)
            if word.lower() not in PG_SYNTAX and not word.isdigit():
                complaints.append(f"{name}: {word}() without its schema")
    for name in files(".c", under=("src/store/postgres/",)):
        for line in read(name).splitlines():
            for word in re.findall(r'"SELECT (?:[^"]*[ (])?(\w+)\(', line):
                if word.lower() not in PG_SYNTAX:
                    complaints.append(f"{name}: {word}() without its schema")
    no_complaints(complaints)
