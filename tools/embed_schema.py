#!/usr/bin/env python3
"""Turns migrations and views into a C table of what they make, as SQLite keeps it in a file.

usage: embed_schema.py OUTPUT.c SYMBOL MACROS.sql FILE.sql... -- STATEMENTS.sql...

The files run in an empty database in memory. Every table and index becomes an
entry, named without the table prefix, and so does every view that the
statements use. {p} stands for the prefix, as in the files; comments are left
out. Where a migration has made a table anew, the definition that it had until
then follows under the same name: that is how older files have it.
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


def definitions(database):
    """What there is, in the form in which it is embedded."""
    made = {}
    for kind, name, sql in database.execute(
        "SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL AND name LIKE '{p}%'"
    ):
        sql = BLANK.sub(lambda blank: blank.group(1) or " ", sql)
        made[name[3:]] = (kind, re.sub(r'"(\{p\}\w+)"', r"\1", sql))
    return made


def replaced(before, made):
    """Tables whose definition is not that of before with more columns at the end."""
    for name, (kind, sql) in before.items():
        columns = sql[: sql.rindex(")")].rstrip() if kind == "table" else ""
        if kind == "table" and not made[name][1].startswith(columns):
            yield name, sql


def main():
    output, symbol, macros, *files = sys.argv[1:]
    macros = dict(entries(pathlib.Path(macros)))
    split = files.index("--")
    database = sqlite3.connect(":memory:")
    made, former = {}, []
    for name, text in texts([pathlib.Path(path) for path in files[:split]], macros):
        database.executescript(NAMES.sub(r'"{p}\1"', text))
        before, made = made, definitions(database)
        former += replaced(before, made)
    statements = "".join(pathlib.Path(p).read_text(encoding="utf-8") for p in files[split + 1 :])
    wanted = used(statements, {name: sql for name, (kind, sql) in made.items() if kind == "view"})
    entries_made = []
    for name, (kind, sql) in made.items():
        if kind != "view" or name in wanted:
            entries_made.append((name, sql))
            entries_made += [entry for entry in former if entry[0] == name]
    write_table(output, "embed_schema.py", symbol, entries_made)


main()
