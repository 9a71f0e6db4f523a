"""What there is one list of is stated there and nowhere else."""
import collections
import fnmatch
import re

from runner import files, no_complaints, read, tracked

PRODUCT = ("src/", "include/", "man/", "docs/sqlite-extension.md", "docs/verbs.md")
VERB_FILES_MAX = 20
VERBS = {"job_pause": "a verb for the owner of the schema", "timer_cancel": "one that a role may call",
         "stream_read": "one with a file of its own"}


def listed():
    """The files that CONTRIBUTING.md says a new verb touches."""
    text = read("CONTRIBUTING.md").split("**A verb.**")[1].split("**A migration.**")[0]
    rows = re.findall(r"^ *\| `([^`]+)` \|", text, flags=re.M)
    assert len(rows) > 10, rows
    return rows


def naming(verb):
    """The product's files that a verb of this name is in, in whatever way it is called there."""
    name = re.compile(rf"(?<![A-Za-z])(?:\w+_)?(?:{verb}|{verb.upper()})(?![A-Za-z_])")
    return [file for file in tracked() if file.startswith(PRODUCT) and name.search(read(file))]


def test_contributing_lists_the_files_of_a_verb():
    patterns, used, complaints = listed(), set(), []
    for verb, what in VERBS.items():
        found = naming(verb)
        if len(found) > VERB_FILES_MAX:
            complaints.append(f"{verb}, {what}, touches {len(found)} files: {found}")
        for file in found:
            fitting = [p for p in patterns if fnmatch.fnmatch(file, p) and file.count("/") == p.count("/")]
            used.update(fitting)
            if not fitting:
                complaints.append(f"{file}: {verb} is in it, and CONTRIBUTING.md does not list it")
    complaints += [f"CONTRIBUTING.md lists {p}, and none of the verbs is there" for p in patterns if p not in used]
    no_complaints(complaints)


def seam():
    names = re.findall(r"^PH__VERB\(\w+, (\w+),", read("src/store/verbs.def"), flags=re.M)
    assert {"enqueue", "work_batch"} <= set(names), names
    return names


OTHERWISE = {"connect": "open", "disconnect": "open", "reap": "reap", "examine": "doctor", "unclaimed": "doctor",
             "tick": "scheduler", "advance": "scheduler", "doorbell_ring": "ring", "job_list": "jobs_list"}
# Others make these fail: a set's query, a handler's transaction, the doorbell of a dispatcher.
ELSEWHERE = {"query", "tx_begin", "tx_end", "doorbell_listen", "doorbell_taken", "test_clock"}


def test_every_verb_of_the_seam_is_made_to_fail():
    scenes = {name for file in files("scene.c", under=("tests/fault/",))
              for name in re.findall(r'^    \{ "(\w+)', read(file), flags=re.M)}
    no_complaints([f"tests/fault/scene.h: no scene calls {verb}" for verb in seam()
                   if OTHERWISE.get(verb, verb) not in scenes and verb not in ELSEWHERE])


def test_verbs_of_the_seam_are_declared_from_their_list():
    declared = re.compile(rf"^\w+ ph__(?:sqlite|pg)_(?:{'|'.join(seam())})\(", flags=re.M)
    no_complaints([f"{file}: {line}" for file in files(".h", under=("src/",)) for line in declared.findall(read(file))])


def test_every_statement_is_used():
    code = "".join(read(file) for file in files(".c", under=("src/store/",)))
    used = set(re.findall(r"\b(?:PG|PH__SQL)_(\w+)", code))
    complaints = []
    for folder, upper in (("postgres", True), ("sqlite", False)):
        for file in files(".sql", under=(f"src/store/{folder}/sql/",)):
            if file.count("/") > 4 or file.endswith("macros.sql"):
                continue
            complaints += [f"{file}: nobody runs {name}"
                           for name in re.findall(r"^-- name: (\w+)$", read(file), flags=re.M)
                           if (name.upper() if upper else name) not in used]
    no_complaints(complaints)


def test_planner_settings_of_several_functions_have_a_name():
    """They are in macros.sql; one function may have some of its own."""
    seen = collections.defaultdict(list)
    for file in files(".sql", under=("src/store/postgres/sql/functions/",)):
        head = re.sub(r"--.*", "", read(file)).split("AS $$")[0]
        pinned = re.findall(r"\bSET (?:enable_\w+|jit|plan_cache_mode) = \w+", head)
        for pair in zip(pinned, pinned[1:]):
            seen[" ".join(pair)].append(file)
    no_complaints([f"{pair}: {', '.join(names)}" for pair, names in seen.items() if len(names) > 1])


def test_views_of_sqlite_are_in_files_of_their_own():
    no_complaints([f"{file}: a view" for file in files(".sql", under=("src/store/sqlite/sql/migrations/",))
                   if re.search(r"^(CREATE|DROP) VIEW", read(file), flags=re.M)])
