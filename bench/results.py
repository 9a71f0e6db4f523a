"""What was measured: medians, spread, ratios, and what the targets say of them."""
import json
import os
import statistics

import cases

# Numbers of a line that are not a pair: what stands behind the case's name, and the unit.
SINGLE = {"p50_ms": (", p50", " ms"), "p99_ms": (", p99", " ms"),
          "call_p50_ms": (", p50 with the call", " ms"), "call_p99_ms": (", p99 with the call", " ms"),
          "cpu_percent": ("", " %"), "processes_ratio": (", a process for each", " of linear")}
LESS_IS_BETTER = (" µs", " ms", " B", " %")
ITSELF, BASE, BEST = "itself", "base", "best peer"


def summary(values):
    return {"median": statistics.median(values), "min": min(values), "max": max(values), "rounds": len(values)}


def targets():
    """(backend, case) -> [(against, at least, aim)]"""
    found = {}
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "targets.tsv"), encoding="utf-8") as lines:
        for line in lines:
            if line.startswith("#"):
                continue
            backend, case, against, least, aim = line.rstrip("\n").split("\t")
            for one in ("sqlite", "postgresql") if backend == "both" else (backend,):
                found.setdefault((one, case), []).append((against, float(least), float(aim)))
    return found


class Row:
    """A case on a backend; values by side: ours, base, or the name of a peer."""

    def __init__(self, backend, case, unit):
        self.backend, self.case, self.unit = backend, case, unit
        self.values = {}
        self.wanted = []

    def median(self, side):
        return statistics.median(self.values[side])

    def ratio(self, side):
        other = self.median(side)
        return self.median("ours") / other if other else 0

    def peers(self):
        return [side for side in self.values if side not in ("ours", BASE)]

    def best_peer(self):
        equal = [peer for peer in self.peers() if peer not in cases.LESSER]
        return (min if self.less_is_better() else max)(equal, key=self.median, default=None)

    def less_is_better(self):
        return self.unit in LESS_IS_BETTER

    def judged(self):
        """[(against, value, at least, aim, met)]; a peer that was not measured is left out."""
        found = []
        for against, least, aim in self.wanted:
            side = self.best_peer() if against == BEST else against
            if against == ITSELF:
                value = self.median("ours")
            elif side in self.values:
                value = self.ratio(side)
            else:
                continue
            met = value <= least if self.less_is_better() else value >= least
            found.append((against if against != BEST else f"{BEST} ({side})", value, least, aim, met))
        return found


class Results:
    def __init__(self):
        self.by_case = {}
        self.targets = targets()
        self.seen = set()

    def row(self, backend, case, unit):
        key = backend, case
        if key not in self.by_case:
            self.by_case[key] = Row(backend, case, unit)
            self.by_case[key].wanted = self.targets.get(key, [])
        return self.by_case[key]

    def has(self, backend, name):
        return any(key[0] == backend and key[1].startswith(name) for key in self.by_case)

    def singles(self, backend, case, side, line):
        for key, (behind, unit) in SINGLE.items():
            if key in line:
                self.row(backend, case + behind, unit).values.setdefault(side, []).append(line[key])

    def add(self, backend, line):
        if "base" in line:
            values = self.row(backend, line["case"], line["unit"]).values
            values.setdefault("ours", []).append(line["ours"])
            values.setdefault(BASE, []).append(line["base"])
        self.singles(backend, line["case"], "ours", line)

    def add_peer(self, backend, case, peer, line):
        if "rate" in line:
            self.row(backend, case, "/s").values.setdefault(peer, []).append(line["rate"])
        self.singles(backend, case, peer, line)

    def rows(self):
        return [row for row in self.by_case.values() if "ours" in row.values]


def rounds(rows):
    """How many there were: "3" or, where the time did not suffice for all, "3 to 4"."""
    counts = [len(row.values["ours"]) for row in rows]
    return f"{min(counts)}" if min(counts) == max(counts) else f"{min(counts)} to {max(counts)}"


def number(value, unit=""):
    digits = 2 if value < 10 else 1 if value < 100 else 0
    return f"{value:,.{digits}f}{unit}".replace(",", " ")


def shown(row, side):
    values = row.values[side]
    return f"{number(row.median(side), row.unit)} ({number(min(values))}–{number(max(values))})"


def print_table(conditions, rows):
    for line in conditions:
        print(line)
    print("Median of the rounds, least–most in brackets; a ratio is ours to the other.\n")
    for backend in dict.fromkeys(row.backend for row in rows):
        print(f"{backend:<46}{'ours':>30}{'beside it':>32}{'ratio':>7}")
        for row in (row for row in rows if row.backend == backend):
            print_row(row)
        print()


def print_row(row):
    base = f"{shown(row, BASE):>32}{row.ratio(BASE):7.2f}" if BASE in row.values else ""
    print(f"{row.case:<46}{shown(row, 'ours'):>30}{base}")
    for peer in row.peers():
        print(f"    {peer + ', ' + cases.NOTES[peer]:<72}{shown(row, peer):>32}{row.ratio(peer):7.2f}")
    for against, value, least, aim, met in row.judged():
        most = "at most" if row.less_is_better() else "at least"
        print(f"    {'met' if met else 'missed'}: {number(value)} against {against}, "
              f"wanted {most} {least:g}, aim {aim:g}")


def as_object(row):
    return {"backend": row.backend, "case": row.case, "unit": row.unit.strip(),
            "ours": summary(row.values["ours"]),
            "beside": {side: {**summary(values), "ratio": round(row.ratio(side), 4),
                              **({"does": cases.NOTES[side]} if side in cases.NOTES else {})}
                       for side, values in row.values.items() if side != "ours"},
            "targets": [{"against": against, "value": round(value, 4), "at_least": least, "aim": aim, "met": met}
                        for against, value, least, aim, met in row.judged()]}


def print_json(conditions, rows):
    print(json.dumps({"conditions": conditions}, ensure_ascii=False))
    for row in rows:
        print(json.dumps(as_object(row), ensure_ascii=False))
