"""The manual pages: without complaints from their readers, complete, and true."""
import glob
import json
import os
import re
import shutil
import subprocess

from api import declared, headers
from examples import Workshop, blocks
from runner import ROOT, Skip, build_folder, no_complaints, read, run, temporary_folder

CONVERTER = os.path.join(ROOT, "tools", "man", "man.py")
TRICKY = r"""# Title

A first line, `a\b` and `--json`.
.not a request, 'not one either'; 3−1 = 2 … *slanted*, **bold**, snake_case_name, 2 * 3 * 4.

- one
  goes on
  - one within
- two

1. first

| what | then | also |
|---|---|---|
| `a|b` | c \| d | e |

    .verbatim -x 'y' \n ^ ~ `

## A section with `code`

[shown](https://example.org) and [guarantees.md](guarantees.md)
"""
SHOWN = r"""
       A first line, a\b and --json.  .not a request, 'not one either'; 3−1 =
       2 … slanted, bold, snake_case_name, 2 * 3 * 4.

       • one goes on

           • one within

       • two

       1.  first

       a|b    c | d
              also: e

           .verbatim -x 'y' \n ^ ~ `

A SECTION WITH CODE
       shown (https://example.org) and guarantees.md
"""


def mandoc(*arguments):
    if not shutil.which("mandoc"):
        raise Skip("mandoc is not installed")
    return run(["mandoc", *arguments])


def shown(path):
    """A page as plain text."""
    return re.sub(r".\x08", "", mandoc("-T", "utf8", "-O", "width=78", path))


def words(text):
    return " ".join(text.split())


def pages():
    """The pages that say something; those that lead to another one are aliases."""
    found = sorted(glob.glob(os.path.join(build_folder(), "man", "*.[1-8]")))
    if not found:
        raise Skip("no manual pages were built")
    return [path for path in found if not open(path, encoding="ascii").read().startswith(".so ")]


def page(name):
    path = os.path.join(build_folder(), "man", name)
    assert path in pages(), f"{name} was not built"
    return path


def test_pages_please_mandoc():
    no_complaints([f"{os.path.basename(path)}: {complaint}" for path in pages()
                   for complaint in [lint(path)] if complaint])


def lint(path):
    if not shutil.which("mandoc"):
        raise Skip("mandoc is not installed")
    return subprocess.run(["mandoc", "-T", "lint", path], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=60).stdout


def test_pages_please_groff():
    if not shutil.which("groff"):
        raise Skip("groff is not installed")
    for path in pages():
        done = subprocess.run(["groff", "-man", "-Tutf8", "-ww", path], stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True, timeout=60)
        assert done.returncode == 0 and not done.stderr, f"{path}: {done.stderr}"


def test_every_function_is_in_the_manual():
    text = shown(page("libposthorn.3"))
    synopsis = text[text.index("SYNOPSIS"):text.index("DESCRIPTION")]
    complaints = []
    for name in sorted(declared()):
        if not re.search(rf"\b{name}\(", synopsis):
            complaints.append(f"{name} is not in the SYNOPSIS of libposthorn(3)")
        alias = os.path.join(build_folder(), "man", f"{name}.3")
        if not os.path.exists(alias):
            complaints.append(f"there is no page {name}(3)")
        elif open(alias, encoding="ascii").read() != ".so man3/libposthorn.3\n":
            complaints.append(f"{name}(3) leads elsewhere")
    no_complaints(complaints)


def test_manual_prints_every_comment_of_the_headers():
    text = words(shown(page("libposthorn.3"))).lower()
    complaints = []
    for header in headers():
        title = f"{os.path.basename(header)} - "
        for comment in re.findall(r"^/\* (?!-)(.*?)\*/", read(header), flags=re.M | re.S):
            for line in comment.splitlines():
                line = words(line.strip(" *")).lower()
                if line not in text and not line.startswith((title, "spdx-")):
                    complaints.append(f"{header}: not printed: {line}")
    no_complaints(complaints)


def tables():
    """What the command says about itself."""
    return json.loads(run([os.path.join(build_folder(), "src", "cli", "posthorn"), "__tables"]))


def test_every_verb_is_in_the_manual():
    overview = words(shown(page("posthorn.1")))
    complaints = []
    for group in tables()["groups"]:
        text = shown(page(f"posthorn-{group['name']}.1"))
        if group["summary"] not in words(text) or f"posthorn-{group['name']}(1)" not in overview:
            complaints.append(f"posthorn(1) or the page itself does not introduce {group['name']}")
        if not group["verbs"]:
            complaints.append(f"{group['name']}: a group without a verb")
        for verb in group["verbs"]:
            if not re.search(rf"^POSTHORN {re.escape(verb['name'].upper())}$", text, re.M | re.I):
                complaints.append(f"posthorn-{group['name']}(1) does not describe {verb['name']}")
            if verb["summary"] not in overview:
                complaints.append(f"posthorn(1) does not name {verb['name']}")
            for option in verb["options"]:
                if f"--{option['name']}" not in text:
                    complaints.append(f"{verb['name']}: --{option['name']} is not described")
    pages_of_verbs = {os.path.basename(path)[len("posthorn-"):-2] for path in pages()
                      if re.search(r"/posthorn-\w+\.1$", path)}
    strange = pages_of_verbs - {group["name"] for group in tables()["groups"]}
    no_complaints(complaints + [f"posthorn-{name}(1) belongs to no group" for name in strange])


def test_pages_that_are_named_exist():
    ours = {os.path.basename(path) for path in pages()}
    complaints = []
    for path in pages():
        for name, section in re.findall(r"\b((?:lib)?posthorn[\w-]*)\(([1-8])\)", shown(path)):
            if f"{name}.{section}" not in ours:
                complaints.append(f"{os.path.basename(path)} names {name}({section})")
    no_complaints(complaints)


def test_examples_of_the_overview_work():
    examples = blocks("man/posthorn.1.md", "sh")
    assert len(examples) >= 5
    with temporary_folder() as folder:
        Workshop(folder).shell("\n".join(examples), "sqlite:posthorn.db")


def test_guarantees_are_printed_whole():
    text = shown(page("posthorn-guarantees.7"))
    document = read("docs/guarantees.md")
    for level, title in re.findall(r"^(##+) (.*)", document, flags=re.M):
        title = title.upper() if level == "##" else title
        assert re.search(rf"^ *{re.escape(title)}$", text, flags=re.M), f"{title} is missing"
    for tag in re.findall(r"^\| ([a-z][^|`]*?) \|", document, flags=re.M):
        assert tag in ("flag", "what") or words(tag) in words(text), f"{tag} is missing"


def test_markdown_becomes_a_page():
    with temporary_folder() as folder:
        source, result = (os.path.join(folder, name) for name in ("tricky.md", "tricky.7"))
        with open(source, "w", encoding="utf-8") as file:
            file.write(TRICKY)
        run([CONVERTER, "--name=tricky", "--section=7", "--brief=a test", "--version=1",
             "--date=2026-11-16", "page", source, result])
        assert not lint(result), lint(result)
        text = shown(result)
        assert "tricky - a test" in text
        body = text[text.index("DESCRIPTION\n") + len("DESCRIPTION"):text.rindex("\n\n")]
        assert body.rstrip("\n") == SHOWN.rstrip("\n"), body
