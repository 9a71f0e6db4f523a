"""One case: a file with command lines, and what is expected of each.

    # What the case shows.
    @ backend sqlite        only there (sqlite, postgresql); none: without a database
    @ schema no             the database is left without our schema
    @ env NAME=VALUE        for the commands that follow; NAME alone unsets it
    @ terminal 80           stdin, stdout and stderr are terminals so wide, from here on; off: not
    $ posthorn enqueue a b  a command line for bash
    < text                  a line of stdin; "<% text" is one without its end
    > text                  a line of stdout; ">% text" is one without its end
    ! text                  a line of stderr; "!% text" is one without its end
    ~ [0].topic = "a"       the value at this place of stdout, which is JSON (or lines of it)
    = 4                     the exit code, if it is not 0

A line "> ..." or "! ..." stands for any number of lines. In texts <uuid>, <time>, <n>, <any> and
<hex> stand for such a thing, and <uuid:name> also keeps it: {name} in later lines is its value.
{db} is the URL of the database, {folder} the case's own folder. Without a "!" line stderr must be
empty; stdout is not looked at if there are only "~" lines. Control characters are compared as
their pictures, so that ␛ is an escape."""
import json
import os
import re

PATTERNS = {
    "uuid": r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}",
    "time": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{6})?Z",
    "n": r"-?\d+(?:\.\d+)?",
    "hex": r"[0-9a-f]+",
    "any": r".*",
}
PLACEHOLDER = re.compile(r"<(" + "|".join(PATTERNS) + r")(?::(\w+))?>")
MISSING = object()


class Step:
    """A command line, and what is expected of it."""

    def __init__(self, line, number, settings):
        self.line, self.number, self.settings = line, number, dict(settings)
        self.stdin, self.stdout, self.stderr, self.places = [], [], [], []
        self.exit = 0


class Case:
    def __init__(self, path):
        self.name = os.path.splitext(os.path.basename(path))[0]
        self.path, self.backend, self.schema, self.title, self.steps = path, None, True, "", []
        settings = {"env": (), "terminal": None}
        with open(path, encoding="utf-8") as file:
            for number, line in enumerate(file.read().split("\n"), 1):
                try:
                    self.read(line, number, settings)
                except (ValueError, IndexError) as error:
                    raise SystemExit(f"{path}:{number}: {error}: {line}") from error
        if not self.title or not self.steps:
            raise SystemExit(f"{path}: a title and a command line are needed")

    def read(self, line, number, settings):
        kind, text = line[:1], line[2:] if line[1:2] == " " else line[1:]
        if kind == "#":
            self.title = self.title or text
        elif kind == "@":
            self.directive(*text.split(" ", 1), settings)
        elif kind == "$":
            self.steps.append(Step(text, number, settings))
        elif kind in "<>!" and kind:
            step, ended = self.steps[-1], line[1:2] != "%"
            target = {"<": step.stdin, ">": step.stdout, "!": step.stderr}[kind]
            target.append(text + "\n" if ended else line[3:])
        elif kind == "~":
            place, value = text.split(" = ", 1)
            self.steps[-1].places.append((place, value))
        elif kind == "=":
            self.steps[-1].exit = int(text)
        elif line:
            raise ValueError("not understood")

    def directive(self, name, value, settings):
        if name == "backend":
            self.backend = value
        elif name == "schema":
            self.schema = value != "no"
        elif name == "env":
            settings["env"] += (value,)
        elif name == "terminal":
            settings["terminal"] = None if value == "off" else int(value)
        else:
            raise ValueError("no such directive")


def pictures(text):
    """Control characters as the characters that picture them."""
    return "".join(chr(0x2400 + ord(c)) if ord(c) < 32 and c != "\n" else "\u2421" if c == "\x7f" else c
                   for c in text)


def with_values(text, values):
    return re.sub(r"\{(\w+)\}", lambda m: values.get(m[1], m[0]), text)


def pattern_of(text, values, names):
    """A regular expression for a text with placeholders; names collects what is to be kept."""
    result, at = "", 0
    text = with_values(text, values)
    for match in PLACEHOLDER.finditer(text):
        result += re.escape(text[at:match.start()])
        body = PATTERNS[match[1]]
        if match[2] and match[2] in names:
            result += f"(?P={match[2]})"
        elif match[2]:
            names.append(match[2])
            result += f"(?P<{match[2]}>{body})"
        else:
            result += f"(?:{body})"
        at = match.end()
    return result + re.escape(text[at:])


def compare(expected, actual, values, what):
    """Complains if the lines do not fit; otherwise keeps what was captured in values."""
    names, pattern = [], ""
    for line in expected:
        pattern += r"(?:[^\n]*\n)*?" if line.rstrip("\n") == "..." else pattern_of(line, values, names)
    found = re.fullmatch(pattern, actual)
    if not found:
        return [f"{what}, expected:", *indented(with_values("".join(expected), values)), "but it was:",
                *indented(actual)]
    values.update({name: found[name] for name in names})
    return []


def indented(text):
    return ["    " + line for line in text.split("\n")]


def at_place(document, place):
    """The value at a place such as [0].history[1].kind; "." is the whole, # a number of items."""
    for name, index, count in re.findall(r"\.?(\w+)|\[(\d+)\]|(#)", place):
        if count:
            document = len(document)
        elif index:
            document = document[int(index)] if int(index) < len(document) else MISSING
        else:
            document = document.get(name, MISSING) if isinstance(document, dict) else MISSING
        if document is MISSING:
            return MISSING
    return document


def check_places(step, output, values):
    """Complaints about the JSON on stdout."""
    try:
        if "--jsonl" in step.line:
            document = [json.loads(line) for line in output.splitlines()]
        else:
            document = json.loads(output)
    except ValueError:
        return ["stdout is not JSON:", *indented(output)]
    complaints = []
    for place, expected in step.places:
        value = at_place(document, place)
        shown = "missing" if value is MISSING else json.dumps(value, ensure_ascii=False)
        if isinstance(value, str) and PLACEHOLDER.fullmatch(expected):
            shown = value
        names = []
        found = re.fullmatch(pattern_of(expected, values, names), shown, flags=re.S)
        if found:
            values.update({name: found[name] for name in names})
        else:
            complaints.append(f"at {place}: expected {with_values(expected, values)}, but it was {shown}")
    return complaints + (["the whole:", *indented(output)] if complaints else [])
