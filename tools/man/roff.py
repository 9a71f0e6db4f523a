"""Writes a manual page in the man(7) language, so that groff and mandoc take it without complaint."""
import re
import textwrap

WIDTH = 78

# What roff would otherwise take for an escape, or turn into something typographic.
TEXT = {"\\": r"\e"}
CODE = {"\\": r"\e", "-": r"\-", "'": r"\(aq", "`": r"\(ga", "^": r"\(ha", "~": r"\(ti"}


def escape(text, table=None):
    table = TEXT if table is None else table
    return "".join(table.get(c, c if ord(c) < 127 else f"\\[u{ord(c):04X}]") for c in text)


def code(text):
    """Text that is to be typed or copied: every character as it is."""
    return escape(text, CODE)


def bold(escaped):
    return f"\\fB{escaped}\\fR" if escaped else ""


def literal(text):
    """A name of the interface, or something to type."""
    return bold(code(text))


def italic(escaped):
    return f"\\fI{escaped}\\fR" if escaped else ""


def safe_start(line):
    """A line that begins like a request is protected."""
    return "\\&" + line if line[:1] in (".", "'") else line


def quoted(escaped):
    """The argument of a macro."""
    return '"' + escaped.replace('"', r"\(dq") + '"'


class Page:
    """Collects lines. Paragraph macros appear only where text follows them, and never doubled."""

    def __init__(self, name, section, brief, version, date):
        self.lines = []
        self.fresh = True  # no paragraph macro is needed: a heading or an item has just begun
        self.depth = 0
        self.lines.append(f".TH {quoted(code(name.upper()))} {section} {date} "
                          f"{quoted('Posthorn ' + version)} {quoted('Posthorn Manual')}")
        self.lines += [".nh", ".ad l"]  # names of functions and files are not to be torn apart
        self.heading("NAME")
        self.text(f"{escape(name)} \\- {escape(brief)}")

    def macro(self, name, *arguments):
        self.lines.append(" ".join([f".{name}", *(quoted(code(a)) for a in arguments)]))

    def heading(self, title):
        self.outdent(0)
        self.macro("SH", title.upper())
        self.fresh = True

    def subheading(self, title):
        self.outdent(0)
        self.macro("SS", title)
        self.fresh = True

    def paragraph(self, escaped):
        self.gap()
        self.text(escaped)

    def gap(self):
        if not self.fresh:
            self.lines.append(".PP")
        self.fresh = False

    def text(self, escaped):
        """Filled text: each sentence begins on a line of its own."""
        for sentence in re.sub(r"([.!?](?:\\f[BIR])?)\s+(?=[^\sa-z])", r"\1\n", escaped.strip()).split("\n"):
            for line in textwrap.wrap(sentence, WIDTH, break_long_words=False,
                                      break_on_hyphens=False):
                self.lines.append(safe_start(line))
        self.fresh = False

    def tagged(self, tag):
        """An item of a list with tags: what follows is its text."""
        self.lines += [".TP 7", safe_start(tag)]
        self.fresh = True

    def item(self, mark, width):
        self.lines.append(f".IP {quoted(mark)} {width}")
        self.fresh = True

    def indent(self, width=4):
        self.lines.append(f".RS {width}")
        self.depth += 1
        self.fresh = True

    def outdent(self, depth):
        while self.depth > depth:
            self.lines.append(".RE")
            self.depth -= 1
            self.fresh = False

    def verbatim(self, lines):
        """Lines as they are; lines is already escaped."""
        self.gap()
        self.indent()
        self.lines += [".EX", *(safe_start(line) for line in lines), ".EE", ".nh"]
        self.outdent(self.depth - 1)

    def unfilled(self, lines):
        self.gap()
        self.lines += [".nf", *(safe_start(line) for line in lines), ".fi"]

    def __str__(self):
        self.outdent(0)
        return "\n".join(self.lines) + "\n"
