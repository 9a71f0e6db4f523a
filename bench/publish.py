"""Writes the results of a run into the documents: plots, tables, and the chart of the README."""
import os
import re

import cases
import plots
import results

RESULTS = re.compile(r"(<!-- results: [^\n]*-->\n).*?(<!-- end of the results -->\n)", re.S)
CHART = re.compile(r"<!-- [^\n]*docs/speed\.svg[^\n]* -->\n(?:!\[[^\n]*\n)?")
PICTURES = {"speed.svg": "Messages settled per second by batch size: Posthorn, bare rows in the same database, and "
                         "its peers.",
            "latency.svg": "The time from the call that stores a message to its handler.",
            "growth.svg": "Messages settled per second while more and more are ready."}
AGAINST = {results.BASE: "what stands beside it", results.ITSELF: "–"}


def cell(row, side):
    return results.shown(row, side) if side in row.values else "–"


def targets_table(rows):
    lines = ["| | measured | against | at least (at most for times and bytes) | aim | |", "|---|---|---|---|---|---|"]
    for row in rows:
        for against, value, least, aim, met in row.judged():
            lines.append(f"| {row.case}, {plots.TITLES[row.backend]} | {results.number(value)} | "
                         f"{AGAINST.get(against, against)} | {least:g} | {aim:g} | {'met' if met else 'missed'} |")
    return lines if len(lines) > 2 else []


def peers_table(rows):
    lines = ["| | Posthorn | beside it | what the peer does | ratio |", "|---|---|---|---|---|"]
    for row in rows:
        for peer in row.peers():
            lines.append(f"| {row.case} | {cell(row, 'ours')} | {peer}: {cell(row, peer)} | {cases.NOTES[peer]} | "
                         f"{row.ratio(peer):.2f} |")
    return lines if len(lines) > 2 else []


def cases_table(rows, backend):
    lines = ["| | ours | beside it | ratio |", "|---|---|---|---|"]
    for row in rows:
        if row.backend == backend:
            ratio = f"{row.ratio(results.BASE):.2f}" if results.BASE in row.values else "–"
            lines.append(f"| {row.case} | {cell(row, 'ours')} | {cell(row, results.BASE)} | {ratio} |")
    return lines if len(lines) > 2 else []


def section(rows, details, drawn):
    parts = ["Each number is the median of its rounds, with the least and the most in brackets; a ratio is that of "
             "the medians, ours to the other. " + "; ".join(details) + "."]
    parts += [f"![{PICTURES[name]}]({name})" for name in drawn]
    tables = [("The targets", targets_table(rows)), ("Beside the peers", peers_table(rows))]
    tables += [(f"Every case, {title}", cases_table(rows, backend)) for backend, title in plots.TITLES.items()]
    for title, table in tables:
        if table:
            parts += [f"### {title}", "\n".join(table)]
    return "\n" + "\n\n".join(parts) + "\n\n"


def replace(path, pattern, new):
    with open(path, encoding="utf-8") as file:
        old = file.read()
    text, count = pattern.subn(new, old)
    assert count == 1, f"{path}: the place for the results is missing"
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def publish(root, rows, conditions, details):
    drawn = plots.draw(os.path.join(root, "docs"), rows, conditions)
    replace(os.path.join(root, "docs", "performance.md"), RESULTS,
            lambda match: match.group(1) + section(rows, details, drawn) + match.group(2))
    if "speed.svg" in drawn:
        replace(os.path.join(root, "README.md"), CHART, lambda match: match.group(0).split("\n")[0] +
                f"\n![{PICTURES['speed.svg']}](docs/speed.svg)\n")
