"""No code reads sentences that are written for people: what programs need is a number, a word or a
report (docs/decisions/0046). A mechanical approximation."""
import re

from runner import files, no_complaints, read

# Functions that look into texts; a comparison counts if it is with more than one word.
SEARCH = re.compile(r"\b(strstr|strcasestr|memmem|regexec)\(")
# These count if they look into a message.
PARSE = re.compile(r"\b(sscanf|strchr|strrchr|strcspn|strspn|strpbrk|memcmp|strtol|strtoll)\(")
COMPARE = re.compile(r"\b(strn?cmp|strn?casecmp)\(")
LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"')
MESSAGE = re.compile(r"(->|\.)(message|advice)\b(?!->|\.)|\b(finding|event)(->|\.)text\b")

# How many such calls a file may have, and why.
ALLOWED = {
    "src/core/error.c": (1, "what it has put before a message itself, to take it away"),
    "src/cli/demo.c": (2, "payloads of its own"),
    "src/cli/list.c": (1, "a list of columns"),
    "src/cli/parse.c": (2, "the form of operands, as a verb's table has it"),
    "src/cli/url.c": (5, "URLs, and names of their parameters"),
    "src/schedule/zone.c": (1, "names of zones"),
    "src/set/complaints.c": (2, "ids that may be URLs"),
    "src/set/set.c": (1, "ph_backends(), a list of words"),
    "src/store/postgres/dial.c": (1, "target_session_attrs"),
    "src/store/postgres/errors.c": (3, "libpq and poolers about a connection that failed: they have no number for it"),
    "src/store/postgres/run.c": (1, "the name of a table in the context of an error"),
    "src/store/sqlite/definition.c": (1, "SQL"),
    "src/store/sqlite/errors.c": (1, "SQLite about a missing table: it has no number for it"),
    "src/store/sqlite/foreign_code.c": (1, "SQL"),
    "src/store/sqlite/query.c": (1, "SQLite about a query, to be hidden if it may show a value"),
}

# Names of C in words that only a program in C can meet.
IN_C = {"src/core/call.c", "src/core/layout.c", "src/core/scheduler.c", "src/core/use.c", "src/core/doctor.c",
        "src/dispatch/dispatcher.c", "src/dispatch/work/stop.c"}
C_NAME = re.compile(r"\bph_\w+\(\)|\bdeploy_schema\b|\bsqlite3_\w+|\(ph_\w+\)")


def arguments(text, at):
    """Of the call whose parenthesis opens there."""
    depth, quoted = 0, False
    for end in range(at, len(text)):
        char = text[end]
        if char == '"' and text[end - 1] != "\\":
            quoted = not quoted
        depth += 0 if quoted else (char == "(") - (char == ")")
        if depth == 0:
            return text[at:end + 1]
    return text[at:]


def without_comments(text):
    return re.sub(r'("(?:[^"\\]|\\.)*")|/\*.*?\*/', lambda found: found.group(1) or "", text, flags=re.S)


def readings(text):
    found = [arguments(text, call.end() - 1) for call in SEARCH.finditer(text)]
    for call in PARSE.finditer(text):
        given = arguments(text, call.end() - 1)
        if MESSAGE.search(given):
            found.append(given)
    for call in COMPARE.finditer(text):
        given = arguments(text, call.end() - 1)
        if any(" " in literal.strip() or "()" in literal for literal in LITERAL.findall(given)) or \
                MESSAGE.search(given):
            found.append(given)
    return found


def test_no_code_reads_sentences():
    complaints, seen = [], {}
    for name in files(".c", ".h", under=("src/",)):
        found = readings(without_comments(read(name)))
        seen[name] = len(found)
        if len(found) > ALLOWED.get(name, (0,))[0]:
            complaints += [f"{name}: looks for something in a text: {given}" for given in found]
    complaints += [f"{name}: allowed are {most}, and there are {seen.get(name, 0)}; lower it"
                   for name, (most, _) in ALLOWED.items() if seen.get(name, 0) < most]
    no_complaints(complaints)


def test_the_check_for_sentences_finds_them():
    for bad in ('strstr(err->message, "x")', 'strncmp(text, "call ph_migrate()", 5)',
                'strcmp(a, "no such table") == 0', 'strcmp(finding->text, other)',
                'memmem(text, f(x), "a", 1)', 'sscanf(err->message, "message %d", &n)'):
        assert len(readings(bad)) == 1, bad
    for good in ('strcmp(word, "migrate")', 'strcmp(finding->check, "schema")',
                 'strncmp(url, "sqlite:", 7)', 'sscanf(text, "%d", &n)'):
        assert not readings(good), good


def cures():
    """Name and text of each."""
    header = read("include/posthorn/posthorn.h")
    table = header[header.index("#define PH_CURE_MAP"):header.index("#define PH_CURE_ENUM")]
    table = table.replace("\\\n", " ")
    rows = re.findall(r'X\((\w+), (\d+), "(\w+)",((?:\s*"[^"]*")+)\)', table)
    assert len(rows) > 30 and [int(row[1]) for row in rows] == list(range(len(rows)))
    return {name: "".join(re.findall(r'"([^"]*)"', text)) for name, _, _, text in rows}


def own_words(path):
    text = read(path)
    return {name: "".join(re.findall(r'"([^"]*)"', words)) for name, words in
            re.findall(r'\[PH_CURE_(\w+)\] =((?:\s*"[^"]*")+)', text)}


def test_cures_that_name_functions_have_other_words_elsewhere():
    of_errors = "".join(without_comments(read(name)) for name in files(".c", under=(
        "src/core/", "src/store/sqlite/")))
    of_errors = set(re.findall(r"PH_CURE_(\w+)", of_errors))
    command, extension = own_words("src/cli/cures.c"), own_words("src/extension/call.c")
    complaints = []
    for name, text in cures().items():
        if not C_NAME.search(text) and "PH_" not in text:
            continue
        if name not in command:
            complaints.append(f"src/cli/cures.c has no words for {name}: {text}")
        if name in of_errors and name not in extension and name not in (
                "WORKERS", "SCHEDULER", "DEAD_LETTERS", "DEAD_HEAD", "HANDLER", "JOINS"):
            complaints.append(f"src/extension/call.c has no words for {name}: {text}")
    for path, words in (("src/cli/cures.c", command), ("src/extension/call.c", extension)):
        complaints += [f"{path}: the words for {name} name something of C: {text}"
                       for name, text in words.items() if C_NAME.search(text)]
    no_complaints(complaints)


def test_only_cures_name_functions():
    complaints = []
    for name in files(".c", ".sql", under=("src/core/", "src/store/", "src/set/", "src/dispatch/",
                                           "src/schedule/", "src/extension/", "src/cli/")):
        if name in IN_C:
            continue
        for number, line in enumerate(without_comments(read(name)).splitlines(), 1):
            complaints += [f"{name}: {literal}" for literal in re.findall(r'"(?:[^"\\]|\\.)*"', line)
                           if re.search(r"\bph_\w+\(\)", literal)]
    no_complaints(complaints)
