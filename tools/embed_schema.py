#!/usr/bin/env python3
"""Turns migrations and views into a C table of what they make, as SQLite keeps it in a file.

usage: embed_schema.py OUTPUT.c SYMBOL MACROS.sql FILE.sql... -- STATEMENTS.sql...

The files run in an empty database in memory. Every table and index becomes an
entry, named without the table prefix, and so does every view that the
statements use. {p} stands for the prefix, as in the files; comments are left
out.
"""
import pathlib
import re
import sqlite3
import sys

sys.dont_write_bytecode = True
from embed_sql import entries, texts, write_table  # noqa: E402

BLANK = re.compile(r"('(?:[^']|'')*')|--[^\n]*|\s+")
NAMES = re.compile(r"\{p\}(\w+)")


def used(statements, views):
    """The views in the statements, and those that they use in turn."""
    names, size = set(NAMES.findall(statements)), -1
    while len(names) != size:
        size = len(names)
        for name in list(names):
            names.update(NAMES.findall(views.get(name, "")))
    return names


def main():
    output, symbol, macros, *files = sys.argv[1:]
    macros = dict(entries(pathlib.Path(macros)))
    split = files.index("--")
    database = sqlite3.connect(":memory:")
    for name, text in texts([pathlib.Path(path) for path in files[:split]], macros):
        database.executescript(NAMES.sub(r'"{p}\1"', text))
    made = {}
    for kind, name, sql in database.execute(
        "SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL AND name LIKE '{p}%'"
    ):
        sql = BLANK.sub(lambda blank: blank.group(1) or " ", sql)
        made[name[3:]] = (kind, re.sub(r'"(\{p\}\w+)"', r"\1", sql))
    statements = "".join(pathlib.Path(p).read_text(encoding="utf-8") for p in files[split + 1 :])
    wanted = used(statements, {name: sql for name, (kind, sql) in made.items() if kind == "view"})
    write_table(output, "embed_schema.py", symbol,
                [(name, sql) for name, (kind, sql) in made.items() if kind != "view" or name in wanted])


main()
