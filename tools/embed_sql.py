#!/usr/bin/env python3
"""Turns .sql files into a C table of texts.

usage: embed_sql.py [--qualified] OUTPUT.c SYMBOL FILE.sql...

Each file becomes one entry, named by its file name without ".sql", in the
order given. A file that contains lines "-- name: NAME" becomes one entry per
such line instead, each reaching to the next. {schema} and {p} stay in the
text: the backend puts the (allow-listed) schema and table prefix there. With
--qualified a {p} becomes {schema}.{p}, for texts that run without the schema in
their search path.
"""
import pathlib
import re
import sys

NAME = re.compile(r"^-- name: (\w+)$", re.M)
BARE = re.compile(r"(?<!\{schema\}\.)\{p\}")


def entries(path):
    text = path.read_text(encoding="utf-8")
    marks = list(NAME.finditer(text))
    if not marks:
        yield path.stem, text
        return
    for mark, after in zip(marks, marks[1:] + [None]):
        yield mark.group(1), text[mark.end() : after.start() if after else len(text)].strip()


def c_string(text):
    out = []
    for line in text.splitlines(keepends=True):
        line = line.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        out.append('        "%s"' % line.replace("?", "\\?"))
    return "\n".join(out) or '        ""'


def main():
    arguments = sys.argv[1:]
    qualified = arguments[0] == "--qualified"
    output, symbol, *files = arguments[1:] if qualified else arguments
    seen = {}
    with open(output, "w", encoding="utf-8") as out:
        out.write('/* Made by tools/embed_sql.py. */\n#include "util/embedded.h"\n\n')
        out.write("const struct ph__embedded %s[] = {\n" % symbol)
        for path in map(pathlib.Path, files):
            for name, text in entries(path):
                if name in seen:
                    sys.exit("%s: the name %s is also in %s" % (path, name, seen[name]))
                seen[name] = path
                if qualified:
                    text = BARE.sub("{schema}.{p}", text)
                out.write('    { "%s",\n%s },\n' % (name, c_string(text)))
        out.write("    { 0, 0 },\n};\n")


if __name__ == "__main__":
    main()
