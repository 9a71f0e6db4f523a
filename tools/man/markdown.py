"""The part of Markdown that our documents use, as a manual page."""
import re

import roff

BLOCK_START = re.compile(r"#{1,6} |```|\||\s*([-*]|\d+\.) ")
ITEM = re.compile(r"(\s*)([-*]|\d+\.) +(.*)")
INLINE = re.compile(r"(?P<code>`+)(?P<code_text>.+?)(?P=code)"
                    r"|\*\*(?P<bold>.+?)\*\*"
                    r"|(?<![\w*])\*(?P<italic>[^\s*](?:.*?[^\s*])?)\*(?!\w)"
                    r"|\[(?P<label>[^\]]+)\]\((?P<target>[^)\s]+)\)"
                    r"|<(?P<url>https?://[^>]+)>"
                    r"|\\(?P<escaped>[^\w\s])")


def inline(text):
    """Escaped roff of a line of Markdown."""
    result, end = "", 0
    for match in INLINE.finditer(text):
        result += roff.escape(text[end:match.start()]) + piece(match)
        end = match.end()
    return result + roff.escape(text[end:])


def piece(match):
    if match["code"]:
        return roff.literal(match["code_text"].strip())
    if match["bold"]:
        return roff.bold(inline(match["bold"]))
    if match["italic"]:
        return roff.italic(inline(match["italic"]))
    if match["label"]:
        return link(match["label"], match["target"])
    if match["url"]:
        return roff.code(match["url"])
    return roff.escape(match["escaped"])


def link(label, target):
    """A label, and where it leads unless the label says so already or stays on this page."""
    shown = inline(label)
    name = target.split("#")[0]
    if not name or name.split("/")[-1] in label or label in name:
        return shown
    return f"{shown} ({roff.code(re.sub(r'^([.]{1,2}/)+', '', target))})"


def cells(row):
    """The cells of a row; a bar may be escaped or stand in code."""
    parts, current, in_code, escaped = [], "", False, False
    for c in row.strip().strip("|") if not row.strip().endswith("\\|") else row.strip()[1:]:
        if c == "|" and not in_code and not escaped:
            parts.append(current.strip())
            current = ""
            continue
        in_code ^= c == "`"
        escaped = c == "\\"
        current += c
    return parts + [current.strip()]


class Converter:
    def __init__(self, page, inserts):
        self.page = page
        self.inserts = inserts
        self.lines = []
        self.at = 0

    def convert(self, text):
        self.lines = text.splitlines()
        self.skip_title()
        if self.at < len(self.lines) and not self.lines[self.at].startswith("#"):
            self.page.heading("DESCRIPTION")
        while self.at < len(self.lines):
            self.block()

    def skip_title(self):
        while self.at < len(self.lines) and (not self.lines[self.at].strip()
                                             or self.lines[self.at].startswith("# ")):
            self.at += 1

    def block(self):
        line = self.lines[self.at]
        if not line.strip():
            self.at += 1
        elif line.startswith("#"):
            self.heading(line)
        elif line.startswith("```"):
            self.fence()
        elif line.startswith("    "):
            self.page.verbatim([roff.code(row) for row in self.indented()])
        elif line.startswith("|"):
            self.table()
        elif ITEM.match(line):
            self.list(0)
        elif line.startswith("<!-- "):
            self.insert(line)
        else:
            self.page.paragraph(inline(self.paragraph()))

    def heading(self, line):
        level, title = re.match(r"(#+) +(.*)", line).groups()
        title = re.sub(r"[`*]", "", title)
        if len(level) <= 2:
            self.page.heading(title)
        elif len(level) == 3:
            self.page.subheading(title)
        else:
            self.page.paragraph(roff.bold(inline(title)))
        self.at += 1

    def fence(self):
        language = self.lines[self.at][3:].strip()
        end = self.lines.index("```", self.at + 1)
        if language != "mermaid":  # a drawing has no form on a page of text
            self.page.verbatim([roff.code(row) for row in self.lines[self.at + 1:end]])
        self.at = end + 1

    def indented(self):
        rows = []
        while self.at < len(self.lines) and (self.lines[self.at].startswith("    ")
                                             or not self.lines[self.at].strip()):
            rows.append(self.lines[self.at][4:])
            self.at += 1
        while not rows[-1]:
            rows.pop()
        return rows

    def paragraph(self):
        rows = [self.lines[self.at]]
        self.at += 1
        while self.at < len(self.lines) and self.lines[self.at].strip() \
                and not BLOCK_START.match(self.lines[self.at]):
            rows.append(self.lines[self.at])
            self.at += 1
        return " ".join(row.strip() for row in rows)

    def list(self, indent):
        """Items of one depth; deeper ones are lists within."""
        while self.at < len(self.lines):
            match = ITEM.match(self.lines[self.at])
            if not match:
                if self.lines[self.at].strip() or not self.list_goes_on(indent):
                    return
                self.at += 1
                continue
            depth, mark, first = len(match[1]), match[2], match[3]
            if depth < indent:
                return
            if depth > indent:
                self.page.indent()
                self.list(depth)
                self.page.outdent(self.page.depth - 1)
                continue
            self.lines[self.at] = first
            numbered = mark not in "-*"
            self.page.item(mark if numbered else r"\(bu", 4 if numbered else 2)
            self.page.paragraph(inline(self.paragraph()))

    def list_goes_on(self, indent):
        following = next((row for row in self.lines[self.at:] if row.strip()), "")
        match = ITEM.match(following)
        return bool(match) and len(match[1]) >= indent

    def table(self):
        """The first cell is a tag; the others follow it, the third and later with their headings."""
        rows = []
        while self.at < len(self.lines) and self.lines[self.at].startswith("|"):
            rows.append(cells(self.lines[self.at]))
            self.at += 1
        titles, body = rows[0], rows[2:]
        for row in body:
            self.page.tagged(inline(row[0]) if row[0] else r"\(bu")
            for number, cell in enumerate(row[1:], 1):
                if cell:
                    title = f"{inline(titles[number])}: " if number > 1 and titles[number] else ""
                    self.page.text(title + inline(cell))
                    if number + 1 < len(row) and row[number + 1]:
                        self.page.lines.append(".br")

    def insert(self, line):
        """<!-- name --> is replaced by a part of the page that is made elsewhere."""
        self.inserts[line.strip()[5:-4]](self.page)
        self.at += 1


def convert(page, text, inserts=None):
    Converter(page, inserts or {}).convert(text)
