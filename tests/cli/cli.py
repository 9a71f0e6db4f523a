#!/usr/bin/env python3
"""Tests of the command: a case per file in cases/, and what can be checked of the tables."""
import argparse
import concurrent.futures
import glob
import os
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(os.path.dirname(HERE), "meta"))
sys.dont_write_bytecode = True

import case as cases
import completions
import examples
import runner
import scene
import tables


def run_case(posthorn, backend, case):
    values = {}
    with scene.Scene(posthorn, backend, case.schema) as place:
        values.update(db=place.url, folder=place.folder)
        for step in case.steps:
            complaints = run_step(place, step, values)
            if complaints:
                where = f"{case.path}:{step.number}: {cases.with_values(step.line, values)}"
                raise AssertionError("\n".join([where, *complaints]))


def run_step(place, step, values):
    environment = dict(place.environment)
    for setting in step.settings["env"]:
        name, equals, value = setting.partition("=")
        environment.pop(name, None)
        if equals:
            environment[name] = cases.with_values(value, values)
    stdin = cases.with_values("".join(step.stdin), values).encode()
    line = cases.with_values(step.line, values)
    done = place.run(line, stdin, step.settings["terminal"], environment)
    stdout, stderr = cases.pictures(done.stdout), cases.pictures(done.stderr)
    complaints = []
    if step.stdout or not step.places:
        complaints += cases.compare(step.stdout, stdout, values, "stdout")
    complaints += cases.compare(step.stderr, stderr, values, "stderr")
    if done.exit != step.exit:
        complaints.append(f"exit code {done.exit} instead of {step.exit}")
    if not complaints and step.places:
        complaints += cases.check_places(step, done.stdout, values)
    if not complaints:
        complaints += tables.undocumented(place.posthorn, line, done.stdout)
    return complaints


def all_tests(posthorn, backend):
    """Name and function of each test of a backend ("none": what needs no database)."""
    found = []
    for path in sorted(glob.glob(os.path.join(HERE, "cases", "*.case"))):
        case = cases.Case(path)
        if backend == (case.backend or backend) and (backend != "none" or case.backend == "none"):
            found.append((case.name, lambda case=case: run_case(posthorn, backend, case)))
    modules = [tables, completions] if backend == "none" else [examples]
    for module in modules:
        found += module.tests(posthorn, backend)
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--posthorn", required=True, type=os.path.abspath)
    parser.add_argument("--backend", default="none", choices=("none", "sqlite", "postgresql"))
    parser.add_argument("--only", default="")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--list", action="store_true")
    arguments = parser.parse_args()
    found = [test for test in all_tests(arguments.posthorn, arguments.backend) if arguments.only in test[0]]
    if arguments.list:
        print("\n".join(name for name, _ in found))
        return
    if arguments.backend == "postgresql":
        scene.server()
    runner.program = "cli"
    runner.backend = "" if arguments.backend == "none" else arguments.backend
    started = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        results = list(pool.map(lambda test: runner.run_one(*test), found))
    scene.drop_templates()
    print(f"cli{' on ' + runner.backend if runner.backend else ''}: {results.count('passed')} passed, "
          f"{results.count('failed')} failed, {results.count('skipped')} skipped "
          f"in {time.monotonic() - started:.1f} s")
    sys.exit(results.count("failed") > 0)


if __name__ == "__main__":
    main()
