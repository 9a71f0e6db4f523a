"""The public headers as one manual page: they are the specification, the page is their print."""
import os
import re
import textwrap

import roff

RULER = re.compile(r"/\* -{10,} *(.*?) *\*/$")
CAPITALS = re.compile(r"[A-Z][A-Z ]+$")
NAME = re.compile(r"\bph_\w+(?:\(\))?|\bPH_\w+|\bposthorn(?:\.h|_\w+)?\b(?=\()")
SKIPPED = ("#ifndef POSTHORN_", "#define POSTHORN_", "#ifdef __cplusplus", "#include")


class Declaration:
    """A comment and what stands under it: functions, or types and macros as they are written."""

    def __init__(self, comment):
        self.comment = comment
        self.functions = []
        self.lines = []


class Header:
    def __init__(self, path):
        self.name = os.path.basename(path)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        top, rest = readable(text).split("*/", 1)
        self.top = comment_lines(top + "*/")
        self.title, self.top = self.top[0].split(" - ", 1)[1], self.top[1:]
        self.groups = [(title, declarations(lines)) for title, lines in sections(rest)]

    def functions(self):
        return [f for _, found in self.groups for d in found for f in d.functions]


# A list of members as a macro, the enumeration made of it, and an initialiser.
MAP = re.compile(r"^#define (\w+_MAP)\(X\)((?:.*\\\n)*.*)\n+", flags=re.M)
MAP_ROW = re.compile(r'X\((\w+), (-?\d+), "(.*?)"\)(?: */\* (.*?) \*/)?')
MAP_USE = re.compile(r"^#define \w+\(name, value, text\) (\w*?)##name = value,\n\s*(\w+_MAP)\(.*\n"
                     r"#undef.*\n.*FORCE_INT.*", flags=re.M)
INITIALISER = re.compile(r"^#define (\w+_INIT)\b *(?:.*\\\n)*.*", flags=re.M)


def readable(text):
    """The header with macros that only a compiler wants to see written out or shortened."""
    maps = {name: MAP_ROW.findall(rows) for name, rows in MAP.findall(text)}
    text = MAP_USE.sub(lambda use: written_out(use[1], maps[use[2]]), MAP.sub("", text))
    return INITIALISER.sub("#define \\1 { \u2026 }", text)


def written_out(prefix, rows):
    """The members of an enumeration that a list of X(name, value, "text") makes."""
    heads = [f"{prefix}{name} = {value}," for name, value, _, _ in rows]
    width = max(len(head) for head in heads)
    return "\n".join(f"    {head:{width}} /* {text}{': ' + remark if remark else ''} */"
                     for head, (_, _, text, remark) in zip(heads, rows))


def comment_lines(comment):
    """The text of a comment without its stars and its licence."""
    body = re.sub(r"^/\*\s?|\s*\*/$", "", comment.strip())
    lines = [re.sub(r"^ ?\* ?", "", line).rstrip() for line in body.splitlines()]
    return [line for line in lines if not line.startswith("SPDX-")]


def sections(text):
    """What stands under each ruler; what stands above the first belongs to "Constants"."""
    result = [("Constants", [])]
    for line in without_guards(text):
        ruler = RULER.match(line)
        if ruler:
            result.append((ruler[1].capitalize(), []))
        else:
            result[-1][1].append(line)
    return [(title, lines) for title, lines in result if any(line.strip() for line in lines)]


def without_guards(text):
    """The lines that declare something."""
    text = re.sub(r"^#ifdef __cplusplus\n(extern \"C\" \{|\})\n#endif\n", "", text, flags=re.M)
    text = re.sub(r"^#ifdef __cplusplus\n#define .*\n#else\n(.*\n)#endif\n", r"\1", text, flags=re.M)
    text = re.sub(r"^#if defined\(__GNUC__\)\n.*?^#endif\n", "", text, flags=re.M | re.S)
    text = re.sub(r"^#endif /\* POSTHORN.*\n", "", text, flags=re.M)
    return [line for line in text.splitlines() if not line.startswith(SKIPPED)]


def declarations(lines):
    """Splits at comments that begin a line, and at blank lines outside of braces."""
    result, at = [], 0
    while at < len(lines):
        if not lines[at].strip():
            at += 1
            continue
        comment, at = leading_comment(lines, at)
        current = Declaration(comment)
        result.append(current)
        while at < len(lines) and lines[at].strip() and not lines[at].startswith("/*"):
            at = one_declaration(lines, at, current)
    return result


def leading_comment(lines, at):
    if not lines[at].startswith("/*"):
        return [], at
    end = at
    while "*/" not in lines[end]:
        end += 1
    return comment_lines("\n".join(lines[at:end + 1])), end + 1


def one_declaration(lines, at, current):
    """Reads to the end of a function, a type or a macro; returns where the next line is."""
    end = at
    if lines[at].startswith("PH_API"):
        while not lines[end].endswith(");"):
            end += 1
        current.functions.append(prototype(" ".join(line.strip() for line in lines[at:end + 1])))
    else:
        depth = braces(lines[end])
        while depth > 0 or lines[end].endswith("\\"):
            end += 1
            depth += braces(lines[end])
        current.lines += lines[at:end + 1]
    return end + 1


def braces(line):
    bare = re.sub(r"/\*.*?(\*/|$)", "", line)
    return 0 if bare.startswith("#define") else bare.count("{") - bare.count("}")


def prototype(text):
    return re.sub(r"\b(PH_API|PH_MUST_CHECK) ", "", text)


def function_name(text):
    return re.match(r".*?\b(ph_\w+)\(", text)[1]


def shown_prototype(text):
    """Lines broken behind commas, with the function's name in bold."""
    lines = [""]
    for part in re.split(r"(?<=,) ", text):
        if len(lines[-1]) + len(part) >= 70:
            lines.append("       ")
        lines[-1] += f" {part}" if lines[-1] else part
    name = function_name(text)
    return [roff.code(line).replace(f"{name}(", f"{roff.bold(name)}(", 1) for line in lines]


def prose(text):
    """A line of a comment, with the names of the interface in bold."""
    result, end = "", 0
    for match in NAME.finditer(text):
        result += roff.escape(text[end:match.start()]) + roff.literal(match[0])
        end = match.end()
    return result + roff.escape(text[end:])


def write_comment(page, lines):
    """Paragraphs; what is indented stays as it is; a line in capitals is a heading."""
    base, filled, kept = 0, [], []

    def flush():
        if filled:
            page.paragraph(prose(" ".join(filled)))
        if kept:
            while not kept[-1]:
                kept.pop()
            page.verbatim([roff.code(line) for line in textwrap.dedent("\n".join(kept)).split("\n")])
        filled.clear()
        kept.clear()

    for line in lines:
        indent = len(line) - len(line.lstrip())
        if not line.strip():
            if filled:
                flush()
            elif kept:
                kept.append("")
        elif line.startswith("Errors:"):
            flush()
            filled.append(line)
        elif CAPITALS.match(line):
            flush()
            page.subheading(line.capitalize())
            base = 2
        elif indent > base:
            if filled:
                flush()
            kept.append(line)
        else:
            if kept:
                flush()
            filled.append(line.strip())
    flush()


def write_declaration(page, declaration):
    if not declaration.functions:
        write_comment(page, declaration.comment)
    if declaration.lines:
        page.verbatim([roff.code(line) for line in declaration.lines])
    if not declaration.functions:
        return
    page.unfilled([line for f in declaration.functions for line in shown_prototype(f)])
    if declaration.comment:
        page.indent()
        write_comment(page, declaration.comment)
        page.outdent(page.depth - 1)


def write_synopsis(page, headers):
    page.heading("SYNOPSIS")
    page.verbatim([roff.bold(roff.code(f"#include <posthorn/{h.name}>")) for h in headers[:1]])
    page.paragraph(roff.italic(roff.code("cc prog.c $(pkg-config --cflags --libs posthorn)")))
    for header in headers:
        if header.name in ("pg.h", "sqlite.h"):
            page.paragraph(roff.bold(roff.code(f"#include <posthorn/{header.name}>")))
        for title, found in header.groups:
            functions = [f for d in found for f in d.functions]
            if not functions:
                continue
            if len(header.groups) > 1:
                page.subheading(title)
            page.unfilled([line for f in functions for line in shown_prototype(f)])


def write_header(page, header, first):
    page.heading("DESCRIPTION" if first else f"{header.name}: {header.title.split(':')[0].rstrip('.')}")
    write_comment(page, header.top)
    for title, found in header.groups:
        if len(header.groups) > 1:
            page.subheading(title)
        for declaration in found:
            write_declaration(page, declaration)


def write(page, paths):
    headers = [Header(path) for path in paths]
    write_synopsis(page, headers)
    for header in headers:
        write_header(page, header, header is headers[0])
    page.heading("SEE ALSO")
    page.paragraph(", ".join(f"{roff.bold(roff.code(name))}({section})" for name, section in
                             (("posthorn", 1), ("posthorn-guarantees", 7), ("pkg-config", 1))))
