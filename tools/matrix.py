"""Prints which requirement was put to the test on which backend (to stderr),
and one result line per requirement of a finished issue that was not (to stdout).

usage: matrix.py REQUIREMENTS FINISHED EXECUTED [BACKEND [ONLY]]
With ONLY set just a part of the tests ran, so that nothing is missing.
"""
import sys

BACKENDS = {"sqlite": "s", "postgresql": "p"}
PER_LINE = 12


def lines(path):
    with open(path, encoding="utf-8") as file:
        return [line.rstrip("\n") for line in file if line.strip() and not line.startswith("#")]


def marks(row, executed, finished, wanted):
    """'sp' if both ran; '-' where it does not apply, '.' not yet, '!' missing."""
    text, missing = "", []
    for backend, letter in BACKENDS.items():
        if row["backends"] not in ("both", backend):
            text += "-"
        elif (row["id"], backend) in executed:
            text += letter
        elif row["issue"] in finished and backend in wanted:
            text += "!"
            missing.append(backend)
        else:
            text += "."
    return text, missing


def show(cells, later):
    print("requirements OBX-…: s SQLite, p PostgreSQL, - not applicable, . not run, ! missing",
          file=sys.stderr)
    for at in range(0, len(cells), PER_LINE):
        print("  " + "  ".join(cells[at:at + PER_LINE]), file=sys.stderr)
    print(f"  and {later} of issues that are not finished", file=sys.stderr)


def main():
    requirements, finished, executed = sys.argv[1:4]
    backend, only = (sys.argv[4:6] + ["", ""])[:2]
    wanted = [] if only else [backend] if backend else list(BACKENDS)
    rows = [dict(zip(("id", "issue", "meaning", "backends"), line.split("\t")))
            for line in lines(requirements)]
    finished = set(lines(finished))
    executed = {tuple(line.split("\t")) for line in lines(executed)}
    unknown = {i for i, _ in executed} - {row["id"] for row in rows}

    cells, gaps, later = [], [], 0
    for row in rows:
        text, missing = marks(row, executed, finished, wanted)
        if row["issue"] not in finished and not text.strip(".-"):
            later += 1
            continue
        cells.append(f"{row['id'].replace('OBX-', ''):>3} {text}")
        gaps += [(row["id"], name, row["meaning"]) for name in missing]
    gaps += [(name, "", "no such requirement") for name in sorted(unknown)]

    if not only:
        show(cells, later)
    for name, where, meaning in gaps:
        print(f"failed\trequirement\t{where}\t{name}: {meaning}\t0")


main()
