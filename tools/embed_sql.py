#!/usr/bin/env python3
"""Turns .sql files into a C table of texts.

usage: embed_sql.py [options] OUTPUT.c SYMBOL FILE.sql...

Each file becomes one entry, named by its file name without ".sql", in the
order given. A file that contains lines "-- name: NAME" becomes one entry per
such line instead, each reaching to the next. A text in which {door} stands is
there once for each door, with the door's name and {number} put in, also in the
entry's name (door_ack: outbox_ack, inbox_ack, …); a door that has a file of
that name keeps it.

  --macros FILE.sql  {name} and {name:argument} stand for the entry of that file
                     with {x} replaced by the argument; entries may use others
  --qualified        {p} becomes {schema}.{p}, for texts that run without the
                     schema in their search path
  --enum OUTPUT.h TAG PREFIX
                     also writes an enum of the entries, in the same order:
                     PREFIX and the name; the last one is PREFIX and STATEMENTS.
                     A PREFIX that ends in ^ makes the names upper case

{schema}, {s}, {p} and {prefix} stay in the text: the backend puts the
(allow-listed) schema and table prefix there. Any other {word} is a mistake.
"""
import argparse
import pathlib
import re
import sys

NAME = re.compile(r"^-- name: (\w+)$", re.M)
BARE = re.compile(r"(?<!\{schema\}\.)\{p\}")
PLACEHOLDER = re.compile(r"\{([a-z]\w*)(?::([^{}]*))?\}")
LATER = {"schema", "s", "p", "prefix"}
DOORS = ("outbox", "inbox", "timers", "job_runs")  # ph_door


def entries(path):
    text = path.read_text(encoding="utf-8")
    marks = list(NAME.finditer(text))
    if not marks:
        yield path.stem, text
        return
    for mark, after in zip(marks, marks[1:] + [None]):
        yield mark.group(1), text[mark.end() : after.start() if after else len(text)].strip()


def expand(text, macros):
    def one(match):
        name, argument = match.groups()
        if name in LATER:
            return match.group(0)
        if name not in macros:
            sys.exit("there is no macro for %s" % match.group(0))
        return expand(macros[name].replace("{x}", argument or ""), macros)

    return PLACEHOLDER.sub(one, text)


def texts(files, macros):
    """Every entry of the files, as it is embedded."""
    of_files, seen = {path.stem for path in files}, {}
    for path in files:
        for name, text in entries(path):
            each = [(name, {})]
            if "{door}" in text:
                each = [(name.replace("door", door, 1), {"door": door, "number": str(number)})
                        for number, door in enumerate(DOORS)]
                each = [(own, words) for own, words in each if own not in of_files]
            for own, words in each:
                if own in seen:
                    sys.exit("%s: the name %s is also in %s" % (path, own, seen[own]))
                seen[own] = path
                yield own, expand(text, {**macros, **words})


def c_string(text):
    out = []
    for line in text.splitlines(keepends=True):
        line = line.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        out.append('        "%s"' % line.replace("?", "\\?"))
    return "\n".join(out) or '        ""'


def write_table(path, by, symbol, made):
    with open(path, "w", encoding="utf-8") as out:
        out.write('/* Made by tools/%s. */\n#include "util/embedded.h"\n\n' % by)
        out.write("const struct ph__embedded %s[] = {\n" % symbol)
        for name, text in made:
            out.write('    { "%s",\n%s },\n' % (name, c_string(text)))
        out.write("    { 0, 0 },\n};\n")


def write_enum(path, tag, prefix, made):
    names = [name.upper() if prefix[-1] == "^" else name for name, text in made] + ["STATEMENTS"]
    lines = "".join("    %s%s,\n" % (prefix.rstrip("^"), name) for name in names)
    guard = tag.upper() + "_H"
    with open(path, "w", encoding="utf-8") as out:
        out.write("/* Made by tools/embed_sql.py. */\n#ifndef %s\n#define %s\n\n" % (guard, guard))
        out.write("enum %s {\n%s};\n\n#endif\n" % (tag, lines))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--macros", type=pathlib.Path)
    parser.add_argument("--qualified", action="store_true")
    parser.add_argument("--enum", nargs=3)
    parser.add_argument("output")
    parser.add_argument("symbol")
    parser.add_argument("files", nargs="+", type=pathlib.Path)
    options = parser.parse_args()
    macros = dict(entries(options.macros)) if options.macros else {}
    made = list(texts(options.files, macros))
    if options.qualified:
        made = [(name, BARE.sub("{schema}.{p}", text)) for name, text in made]
    write_table(options.output, "embed_sql.py", options.symbol, made)
    if options.enum:
        write_enum(*options.enum, made)


if __name__ == "__main__":
    main()
