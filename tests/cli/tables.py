"""What the tables say is what the command does: help, manual, completions, fields of JSON."""
import functools
import glob
import json
import os
import re
import shlex
import subprocess

from case import PATTERNS
from runner import ROOT, no_complaints


@functools.lru_cache(maxsize=None)
def output(posthorn, *arguments):
    done = subprocess.run([posthorn, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          timeout=60)
    assert done.returncode == 0, f"posthorn {' '.join(arguments)}: {done.stderr}"
    return done.stdout


@functools.lru_cache(maxsize=None)
def read(posthorn):
    return json.loads(output(posthorn, "__tables"))


def verbs(posthorn):
    return [verb for group in read(posthorn)["groups"] for verb in group["verbs"]]


def names(options):
    """Every form in which options can be given."""
    for option in options:
        yield f"--{option['name']}"
        if option["letter"]:
            yield f"-{option['letter']}"


def verb_of(posthorn, words):
    known = {verb["name"]: verb for verb in verbs(posthorn)}
    plain = [word for word in words if not word.startswith("-")]
    for at in range(len(plain)):
        for length in (2, 1):
            verb = known.get(" ".join(plain[at:at + length]))
            if verb:
                return verb
    return None


TYPES = {"string": str, "number": (int, float), "boolean": bool, "time": str, "uuid": str, "array": list,
         "json": object}
TEXTS = {name: re.compile(PATTERNS[name]) for name in ("time", "uuid")}


def is_of_type(value, kind):
    if value is None:
        return True
    if isinstance(value, bool) and kind == "number" or not isinstance(value, TYPES[kind]):
        return False
    return kind not in TEXTS or bool(TEXTS[kind].fullmatch(value))


def keys_beyond(value, fields, path=""):
    """Members of JSON objects that no table documents, or as something else."""
    known = {field["name"]: field for field in fields}
    for item in value if isinstance(value, list) else [value]:
        for key, member in item.items():
            if key not in known:
                yield f"{path}{key}: a field that is not documented"
            elif not is_of_type(member, known[key]["type"]):
                yield f"{path}{key}: {member!r} is no {known[key]['type']}"
            elif known[key]["fields"] and member:
                yield from keys_beyond(member, known[key]["fields"], f"{path}{key}.")


def undocumented(posthorn, line, stdout):
    """Complaints about JSON that a command line printed."""
    line = line.split(" -- ")[0]
    if not re.match(r"posthorn [^|;&]*--jsonl?\b[^|;&]*$", line) or not stdout or "--version" in line:
        return []
    verb = verb_of(posthorn, shlex.split(line)[1:])
    if not verb or not verb["fields"]:
        return []
    if "--jsonl" in line:
        documents = [json.loads(row) for row in stdout.splitlines()]
    else:
        documents = json.loads(stdout)
    return list(keys_beyond(documents, verb["fields"]))


def check_help(posthorn):
    """Every verb and option is explained where users look."""
    overview = output(posthorn, "--help")
    complaints = [f"{name} is not in the overview" for name in names(read(posthorn)["global_options"])
                  if name not in overview]
    complaints += [f"{variable['name']} is not in the overview" for variable in read(posthorn)["environment"]
                   if f"  {variable['name']} " not in overview]
    for verb in verbs(posthorn):
        text = output(posthorn, *verb["name"].split(), "--help")
        assert text == output(posthorn, "help", *verb["name"].split()), verb["name"]
        flat = " ".join(text.split())
        if not re.search(rf"^  {verb['name']}\b", overview, flags=re.M):
            complaints.append(f"{verb['name']} is not in the overview")
        wanted = [*names(verb["options"]), verb["summary"], *(e["line"] for e in verb["examples"]),
                  *(f["name"] for f in verb["fields"]), *verb["description"].split("\n"), verb["columns"] or "",
                  *(note["text"] for note in verb["exits"])]
        complaints += [f"{verb['name']} --help lacks: {word}" for word in wanted
                       if " ".join(word.split()) not in flat]
    no_complaints(complaints)


def check_manual(posthorn):
    """The page of a group has all of its verbs, options, fields and examples."""
    complaints = []
    for group in read(posthorn)["groups"]:
        page = output(posthorn, "__man", group["name"])
        flat = " ".join(page.replace("\\-", "-").replace("\\(aq", "'").replace("\\e", "\\")
                        .replace("\\(ti", "~").replace("\\(ha", "^").replace("\\(ga", "`")
                        .replace("\\fB", "").replace("\\fI", "").replace("\\fR", "").split())
        for verb in group["verbs"]:
            wanted = [f"posthorn {verb['name']}", *names(verb["options"]),
                      *(field["name"] for field in verb["fields"]),
                      *(example["line"] for example in verb["examples"]),
                      *(note["text"] for note in verb["exits"])]
            complaints += [f"posthorn-{group['name']}(1) lacks: {word}" for word in wanted
                           if " ".join(word.split()) not in flat]
    no_complaints(complaints)


def check_completions(posthorn):
    """Each shell's script names every verb and option."""
    forms = {"bash": "--{}", "zsh": "--{}[", "fish": "-l {} "}
    complaints = []
    for shell, form in forms.items():
        script = output(posthorn, "completion", shell)
        wanted = {option["name"] for verb in verbs(posthorn) for option in verb["options"]}
        wanted |= {option["name"] for option in read(posthorn)["global_options"]}
        complaints += [f"{shell}: no --{name}" for name in wanted if form.format(name) not in script]
        complaints += [f"{shell}: no {word}" for verb in verbs(posthorn) for word in verb["name"].split()
                       if not re.search(rf"\b{word}\b", script)]
    no_complaints(complaints)


def check_tables(posthorn):
    """They are in order: a group and examples for each verb, names and letters once."""
    complaints = []
    shared = list(names(read(posthorn)["global_options"]))
    for verb in verbs(posthorn):
        own = list(names(verb["options"]))
        complaints += [f"{verb['name']}: {name} twice" for name in own if (own + shared).count(name) > 1]
        complaints += [f"{verb['name']}: {what} ends with a full stop" for what in
                       [verb["summary"], *(option["help"] for option in verb["options"])] if what.endswith(".")]
        if not verb["examples"] or not verb["description"]:
            complaints.append(f"{verb['name']}: no example, or no description")
        shown = {field["name"] for field in verb["fields"] if field["heading"]}
        complaints += [f"{verb['name']}: {name} is no column" for name in (verb["columns"] or "").split()
                       if name not in shown]
    groups = {group["name"] for group in read(posthorn)["groups"]}
    complaints += [f"group {group['name']}: no verb" for group in read(posthorn)["groups"] if not group["verbs"]]
    with open(os.path.join(ROOT, "src", "cli", "commands.h"), encoding="utf-8") as file:
        complaints += [f"{verb}: there is no group {group}"
                       for group, verb in re.findall(r"\bV\((\w+), (\w+)\)", file.read()) if group not in groups]
    no_complaints(complaints)


def command_lines():
    """The command lines of all cases; those of posthorn work are in C, and count as a whole."""
    for path in glob.glob(os.path.join(ROOT, "tests", "cli", "cases", "*.case")):
        with open(path, encoding="utf-8") as file:
            yield from (line[2:] for line in file if line.startswith("$ "))
    for path in glob.glob(os.path.join(ROOT, "tests", "work", "*.c")):
        with open(path, encoding="utf-8") as file:
            yield "posthorn work " + file.read()


def check_options_are_tried(posthorn):
    """There is a case for every option of every verb."""
    lines = list(command_lines())
    complaints = []
    for verb in [*verbs(posthorn), {"name": "", "options": read(posthorn)["global_options"]}]:
        own = "\n".join(line for line in lines if re.search(rf"\bposthorn\b.*\b{verb['name']}\b", line))
        for option in verb["options"]:
            letter = rf"| -[a-zA-Z]*{option['letter']}" if option["letter"] else ""
            if not re.search(rf"--{option['name']}\b{letter}", own):
                complaints.append(f"{verb['name']} --{option['name']}: no case")
    no_complaints(complaints)


def tests(posthorn, _backend):
    checks = [check_help, check_manual, check_completions, check_tables,
              check_options_are_tried]
    return [(f"tables.{check.__name__}", lambda check=check: check(posthorn)) for check in checks]
