#!/usr/bin/env python3
"""The medians of what bench/compare has measured, and their ratio.

usage: medians.py [--json] BACKEND RESULTS LEFT_OUT

RESULTS has a line for each case of each run: backend, round, side (older or this), JSON of
bench_dispatcher. LEFT_OUT has a line for each case that one side does not know: backend, tab, case.
"""
import json
import statistics
import sys

NUMBERS = [  # of which cases; what is printed behind the name of the case; form
    ("ours", "", "{:.0f}/s"),
    ("base", "  the bare loop beside it", "{:.0f}/s"),
    ("p50_ms", ", p50", "{:.2f} ms"),
    ("p99_ms", ", p99", "{:.2f} ms"),
    ("cpu_percent", "", "{:.3f} %"),
]


def measured(path, backend):
    """{case: {number: {side: [values]}}}, in the order of the file."""
    cases = {}
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            of_backend, _, side, result = line.split(" ", 3)
            if of_backend != backend:
                continue
            result = json.loads(result)
            result["ours"] = result.get("ours", result.get("rate"))  # its older name
            numbers = cases.setdefault(result["case"], {})
            for key, _, _ in NUMBERS:
                if result.get(key) is not None:
                    numbers.setdefault(key, {}).setdefault(side, []).append(result[key])
    return cases


def left_out(path, backend):
    with open(path, encoding="utf-8") as lines:
        pairs = [line.rstrip("\n").split("\t") for line in lines]
    return {case for of_backend, case in pairs if of_backend == backend}


def report(as_json, backend, case, number, sides):
    key, behind, form = number
    older, this = (statistics.median(sides[side]) for side in ("older", "this"))
    ratio = this / older if older else None
    if as_json:
        print(json.dumps({"backend": backend, "case": case, "number": key, "older": older,
                          "this": this, "ratio": ratio and round(ratio, 3)}, ensure_ascii=False))
        return
    name = behind if behind.startswith("  ") else case + behind
    shown = f"{ratio:10.2f}" if older else f"{'-':>10}"
    print(f"{name:<48}{form.format(older):>12} {form.format(this):>12} {shown}")


def main(arguments):
    as_json = arguments[:1] == ["--json"]
    backend, results, missing = arguments[as_json:]
    missing = left_out(missing, backend)
    if not as_json:
        print(f"{backend:<48}{'older':>12} {'this':>12} {'this/older':>10}")
    for case, numbers in measured(results, backend).items():
        if case in missing:
            continue
        for number in NUMBERS:
            sides = numbers.get(number[0], {})
            if len(sides) == 2:
                report(as_json, backend, case, number, sides)
    for case in sorted(missing):
        if as_json:
            print(json.dumps({"backend": backend, "case": case, "left_out": True}, ensure_ascii=False))
        else:
            print(f"{case:<48}left out: not in both")


main(sys.argv[1:])
