#!/usr/bin/env python3
"""Makes the manual pages: from Markdown, from the public headers, and links between pages."""
import argparse
import json
import os
import sys

sys.dont_write_bytecode = True  # the sources may be read-only

import headers
import markdown
import roff

def new_page(arguments):
    return roff.Page(arguments.name, arguments.section, arguments.brief, arguments.version,
                     arguments.date)


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def write(path, text):
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


def verbs(page, tables):
    """Every verb with its summary, under the title of its group."""
    for group in tables["groups"]:
        if not group["verbs"]:
            continue
        page.subheading(f"{group['title']} [posthorn-{group['name']}(1)]")
        for verb in group["verbs"]:
            page.tagged(f"{roff.literal(verb['name'])} {roff.code(verb['operands'])}".strip())
            page.text(roff.escape(verb["summary"]))


def options(page, tables):
    for option in tables["global_options"]:
        tag = roff.literal(f"--{option['name']}")
        if option["letter"]:
            tag = f"{roff.literal('-' + option['letter'])}, {tag}"
        if option["argument"]:
            tag += f" {roff.italic(roff.code(option['argument']))}"
        page.tagged(tag)
        default = f" (default: {option['default']})" if option["default"] else ""
        page.text(roff.escape(option["help"] + default))


def exit_codes(page, tables):
    for exit_code in tables["exit_codes"]:
        page.tagged(roff.bold(str(exit_code["code"])))
        page.text(roff.escape(exit_code["text"]))


# What <!-- name --> in a Markdown file is replaced by, made from the command's own tables.
INSERTS = {"verbs": verbs, "options": options, "exit codes": exit_codes}


def do_page(arguments):
    page = new_page(arguments)
    tables = json.loads(read(arguments.tables)) if arguments.tables else None
    inserts = {name: lambda page, make=make: make(page, tables) for name, make in INSERTS.items()}
    markdown.convert(page, read(arguments.input), inserts)
    write(arguments.output, str(page))


def do_library(arguments):
    page = new_page(arguments)
    headers.write(page, arguments.headers)
    write(arguments.output, str(page))


def do_aliases(arguments):
    for name in arguments.names:
        write(os.path.join(arguments.folder, f"{name}.{arguments.section}"),
              f".so man{arguments.section}/{arguments.name}.{arguments.section}\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--name", required=True)
    parser.add_argument("--section", required=True)
    parser.add_argument("--brief", default="")
    parser.add_argument("--version", default="")
    parser.add_argument("--date", default="")
    kinds = parser.add_subparsers(required=True)

    page = kinds.add_parser("page", help="a page from a Markdown file")
    page.add_argument("--tables", help="what posthorn __tables prints")
    page.add_argument("input")
    page.add_argument("output")
    page.set_defaults(make=do_page)

    library = kinds.add_parser("library", help="a page from headers")
    library.add_argument("output")
    library.add_argument("headers", nargs="+")
    library.set_defaults(make=do_library)

    aliases = kinds.add_parser("aliases", help="pages that lead to another one")
    aliases.add_argument("folder")
    aliases.add_argument("names", nargs="+")
    aliases.set_defaults(make=do_aliases)

    arguments = parser.parse_args()
    arguments.make(arguments)


if __name__ == "__main__":
    main()
