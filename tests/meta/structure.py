"""What src/README.md and the READMEs of the folders say of the code's structure is so."""
import os
import re

from runner import files, no_complaints, read

DRIVERS = {"sqlite3.h", "sqlite3ext.h", "libpq-fe.h", "jansson.h", "mysql.h"}
DOCUMENTS = "src/README.md"


def rows():
    """Folder -> what its row of the table says that it may include."""
    found = {}
    for line in read(DOCUMENTS).splitlines():
        match = re.match(r"\| \[`([\w/]+)/`\]\([\w/.]+\) \|.*\| ([^|]+) \|$", line)
        if match:
            found[match.group(1)] = set(re.findall(r"`([^`]+)`", match.group(2)))
            if "`core/` helpers" in match.group(2):
                found[match.group(1)] = found[match.group(1)] - {"core/"} | helpers()
            if "public headers" in match.group(2):
                found[match.group(1)].add("posthorn/")
    return found


def helpers():
    sentence = re.search(r"^`core/` helpers that a backend may use: (.*)$", read(DOCUMENTS), re.M).group(1)
    return {f"core/{name}" for name in re.findall(r"`(\w+\.h)`", sentence)}


def folder_of(name, known):
    """The longest folder of the table that a file lies in."""
    return max((folder for folder in known if name.startswith(f"src/{folder}/")), key=len)


def test_every_folder_has_a_row():
    folders = {os.path.dirname(name)[len("src/"):] for name in files(".c", ".h", under=("src/",))}
    known = rows()
    no_complaints([f"src/{folder}: no row in {DOCUMENTS}" for folder in sorted(folders)
                   if not any(folder == row or folder.startswith(row + "/") for row in known)])
    no_complaints([f"{DOCUMENTS}: there is no src/{row}" for row in known if row not in folders])


def may(include, folder, allowed):
    """The seam is one folder, and the backends are not in it."""
    if folder == "store" and os.path.dirname(include) == "store":
        return True
    inside = set() if folder == "store" else {folder + "/"}
    return any(include == one or (one.endswith("/") and include.startswith(one)) for one in allowed | inside)


def test_files_include_what_their_folder_may():
    """Every row of the table: other folders, drivers and the public headers."""
    known, complaints = rows(), []
    assert len(known) >= 10, known
    for name in files(".c", ".h", under=("src/",)):
        folder = folder_of(name, known)
        for quote, include in re.findall(r'^#include (["<])(.*)[">]', read(name), re.M):
            if quote == '"' and "/" not in include:
                if not os.path.exists(os.path.join(os.path.dirname(name), include)) and folder != "cli":
                    complaints.append(f"{name}: {include} without its folder")
                continue
            if quote == '"' or include in DRIVERS or include.startswith("posthorn/"):
                if not may(include, folder, known[folder]):
                    complaints.append(f"{name} includes {include}, which src/{folder} may not")
    no_complaints(complaints)


def test_what_a_row_allows_is_used():
    """Otherwise it says too much."""
    known, used = rows(), {}
    for name in files(".c", ".h", under=("src/",)):
        used.setdefault(folder_of(name, known), set()).update(re.findall(r'^#include ["<](.*)[">]', read(name), re.M))
    no_complaints([f"src/{folder} may include {one}, and does not" for folder, allowed in known.items()
                   for one in allowed if one != folder + "/" and not one.startswith("core/") and
                   not any(include == one or include.startswith(one) for include in used[folder])])


MAPS = sorted(name for name in files("README.md", under=("src/",)) if name != DOCUMENTS)
EXTERNAL = {"sqlite3.h", "sqlite3ext.h", "libpq-fe.h", "posthorn.h", "jansson.h"}


PLACEHOLDER = r"NNNN|VERB"


def named(text):
    """Files in code font; `a.c`, `b.h`, `sql/x.sql`."""
    return {one for one in re.findall(r"`([\w./-]+\.(?:c|h|sql|map|py|build))`", text)
            if not re.search(PLACEHOLDER, one)}


def test_maps_name_files_that_exist():
    complaints, every = [], set(files(""))
    for name in [DOCUMENTS, *MAPS, "CONTRIBUTING.md"]:
        base = os.path.dirname(name)
        for one in sorted(named(read(name)) - EXTERNAL):
            places = {os.path.normpath(os.path.join(folder, one)) for folder in
                      (base, "", "src", "src/core", "src/store/postgres", "src/store/sqlite", "include",
                       "tests/isolation")}
            if not places & every and not any(path.startswith(base + "/") and path.endswith("/" + one)
                                              for path in every):
                complaints.append(f"{name}: there is no {one}")
    no_complaints(complaints)


def test_maps_name_every_source():
    """Each .c file of a folder stands in the README next to it, or in that of the folder above."""
    complaints = []
    for name in files(".c", under=("src/",)):
        folder, text = os.path.dirname(name), ""
        while folder != "src":
            path = os.path.join(folder, "README.md")
            text += read(path) if path in MAPS else ""
            folder = os.path.dirname(folder)
        if not re.search(rf"(?<![\w]){re.escape(os.path.basename(name))}", text):
            complaints.append(f"{name}: no README names it")
    no_complaints(complaints)


def test_comments_name_files_that_exist():
    """A file of ours in a comment: core/x.c, sql/functions/y.sql."""
    complaints, every = [], files("")
    for name in files(".c", ".h", ".sql", under=("src/", "include/")):
        comments = " ".join(re.findall(r"/\*.*?\*/|--[^\n]*", read(name), re.S))
        for one in set(re.findall(r"(?<![\w./{}-])((?:[\w-]+/)+[\w-]+\.(?:c|h|sql|md|py|tsv))\b", comments)):
            if not re.search(PLACEHOLDER, one) and not any(path == one or path.endswith("/" + one) for path in every):
                complaints.append(f"{name}: there is no {one}")
    no_complaints(complaints)


def test_no_number_of_verbs_stands_in_prose():
    """They grow: the code has the number."""
    text = "|".join(("twenty", "thirty", "forty", "fifty", r"\d\d"))
    no_complaints([f"{name}: {match.group(0)}" for name in [DOCUMENTS, *MAPS]
                   for match in re.finditer(rf"\b(?:{text})(?: coarse)? verbs\b", read(name))])


def test_decision_20_has_the_headers():
    headers = {os.path.basename(name) for name in files(".h", under=("include/",))}
    said = set(re.findall(r"`(\w+\.h)`", read("docs/decisions/0020-several-headers.md")))
    assert headers == said, headers ^ said


def test_rights_are_given_where_the_documents_say():
    """In grants.sql: roles.sql makes the roles."""
    assert "GRANT EXECUTE" in read("src/store/postgres/sql/grants.sql")
    assert "GRANT EXECUTE" not in read("src/store/postgres/sql/roles.sql")
    for name in ("CONTRIBUTING.md", "docs/decisions/0008-security-definer.md"):
        assert "grants.sql" in read(name) and "roles.sql" not in read(name), name


def test_arguments_are_checked_first_by_every_verb():
    """tests/unit/check_first.c has every function that takes a store."""
    verbs = set()
    for name in files(".h", under=("include/",)):
        text = re.sub(r"/\*.*?\*/", "", read(name), flags=re.S)
        verbs |= set(re.findall(r"\b(ph_\w+)\(ph_store \*", text))
    assert len(verbs) > 90, verbs
    tested = read("tests/unit/check_first.c")
    doors = {f"ph_{door}_{verb}" for door in ("outbox", "inbox", "timers", "job_runs")
             for verb in re.findall(r"ph_##door##_(\w+)", tested)}
    no_complaints([f"tests/unit/check_first.c: {verb} is missing" for verb in sorted(verbs - doors - {"ph_close"})
                   if not re.search(rf"\b{verb}\b", tested)])


def test_no_verb_checks_after_it_has_connected():
    """What is checked later would be said only with a server that answers."""
    complaints = []
    for name in files(".c", under=("src/core/",)):
        for body in re.findall(r"^\{\n(.*?)^\}", read(name), re.S | re.M):
            after = re.split(r"ph__call_connect(?:_bare)?\(", body)
            if len(after) > 1 and re.search(r"PH_EINVAL|_check\(|ph__call_wants\(", after[-1].split(";", 1)[-1]):
                complaints.append(f"{name}: {body.strip().splitlines()[0]} …")
    no_complaints(complaints)
