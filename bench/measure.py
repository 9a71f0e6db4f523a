#!/usr/bin/env python3
"""Runs the cases of the benchmark in turns, for as long as there is time, and reports.

bench/run calls this with databases that it has made; see its --help. A round measures every case
once, each with its peers, one after the other: what changes on the machine changes for all. Rounds
follow until the time is up, or there were enough; medians and spread are those of the rounds.
"""
import argparse
import json
import os
import signal
import subprocess
import sys
import time

import cases
import plots
import publish
import results

HERE = os.path.dirname(os.path.abspath(__file__))
CASE_LIMIT_S = 1800  # of a case, and of a peer at a task


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True, help="folder with the programs")
    parser.add_argument("--db", action="append", required=True, help="BACKEND=URL")
    parser.add_argument("--server", action="append", default=[])
    parser.add_argument("--peer", action="append", default=[], help="NAME=NODE")
    parser.add_argument("--size", choices=cases.SIZES, default="default")
    parser.add_argument("--program", action="append", choices=cases.PROGRAMS)
    parser.add_argument("--only", default="")
    parser.add_argument("--rounds", type=int)
    for name in ("messages", "crowd", "seconds"):
        parser.add_argument(f"--{name}", type=int)
    parser.add_argument("--condition", action="append", default=[])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--plots")
    parser.add_argument("--publish", action="store_true")
    return parser.parse_args()


def end_group(leader):
    """A program's own processes too, if it was stopped before its end."""
    try:
        os.killpg(leader, signal.SIGKILL)
    except ProcessLookupError:
        pass


class Run:
    """What was asked for, how far it is, and what it has measured."""

    def __init__(self, given):
        self.given = given
        self.started = time.monotonic()
        self.limit = cases.LIMIT_S[given.size]
        self.peers = dict(one.split("=", 1) for one in given.peer)
        self.took = {}  # (backend, name) -> seconds of the last time
        self.failed = []
        self.results = results.Results()
        self.todo = [(backend, url, program, name) for backend, url in (one.split("=", 1) for one in given.db)
                     for program in cases.PROGRAMS if not given.program or program in given.program
                     for name in self.names(backend, url, program)]

    def sizes(self, program):
        usual = cases.at(self.given.size, program)
        return [str(given if given is not None else one) for given, one in
                zip((self.given.messages, self.given.crowd, self.given.seconds), usual)]

    def told_sizes(self):
        """Each once, with the programs that it is for."""
        by_size = {}
        for program in dict.fromkeys(program for _, _, program, _ in self.todo):
            by_size.setdefault("{} messages, a crowd of {}, {} s".format(*self.sizes(program)), []).append(program)
        return [f"{', '.join(programs)}: {size}" for size, programs in by_size.items()]

    def command(self, backend, url, program):
        messages, crowd, seconds = self.sizes(program)
        servers = [word for one in self.given.server for word in ("--server", one)] \
            if backend == "postgresql" and program == "many" else []
        return [os.path.join(self.given.build, "bench_" + program), "--db", url, "--messages", messages,
                "--crowd", crowd, "--seconds", seconds, *servers]

    def names(self, backend, url, program):
        listed = subprocess.run([*self.command(backend, url, program), "--list"], check=True,
                                stdout=subprocess.PIPE, text=True).stdout.splitlines()
        whole = self.given.program or self.given.only  # who names it wants it, however small the run
        return [name for name in listed if self.given.only in name and
                (whole or cases.parts(self.given.size, program, name))]

    def left_s(self):
        return CASE_LIMIT_S if self.limit is None else self.limit - (time.monotonic() - self.started)

    def tell(self, number, count, what):
        elapsed = int(time.monotonic() - self.started)
        print(f"[{elapsed // 60:2}:{elapsed % 60:02}] round {number[0]}, {number[1]} of {count}: {what}",
              file=sys.stderr, flush=True)

    def output(self, what, command, environment=None):
        """Lines of JSON that a program has printed; none if it failed, or there was no time."""
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment,
                              start_new_session=True) as process:
            try:
                printed, _ = process.communicate(timeout=max(1, min(self.left_s() + 15, CASE_LIMIT_S)))
            except subprocess.TimeoutExpired:
                print(f"    {what}: stopped, no time is left", file=sys.stderr)
                return []
            finally:
                end_group(process.pid)
        if process.returncode != 0:
            print(f"    {what}: failed", file=sys.stderr)
            self.failed.append(what)
            return []
        return [json.loads(line) for line in printed.splitlines()]

    def measure(self, backend, url, program, name):
        began = time.monotonic()
        command = [*self.command(backend, url, program), "--rounds", "1", "--json", "--case", name]
        for line in self.output(name, command):
            self.results.add(backend, line)
        messages, _, seconds = self.sizes(program)
        for peer, task in cases.beside(backend, name, int(messages)):
            if peer in self.peers and self.left_s() > 0:
                command = [self.peers[peer], os.path.join(HERE, "peers", "measure.mjs"), peer, *task, "--db", url,
                           "--seconds", seconds]
                for line in self.output(f"{peer}, {name}", command, os.environ):
                    self.results.add_peer(backend, name, peer, line)
        self.took[backend, name] = time.monotonic() - began

    def round(self, number):
        """Whether all of it was measured."""
        complete = True
        todo = [one for one in self.todo if cases.due(self.given.size, one[2], number)]
        for place, (backend, url, program, name) in enumerate(todo, 1):
            if self.took.get((backend, name), 0) > self.left_s():
                complete = False
                continue
            self.tell((number, place), len(todo), f"{backend}: {name}")
            self.measure(backend, url, program, name)
        return complete

    def rounds(self):
        for number in range(1, (self.given.rounds or cases.ROUNDS[self.given.size]) + 1):
            if not self.round(number) and self.left_s() < 5:
                break

    def left_out(self):
        return [f"{backend}: {name}" for backend, _, _, name in self.todo
                if not self.results.has(backend, name)]


def main():
    given = arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # and not without ending what runs
    run = Run(given)
    if not run.todo:
        sys.exit("no case matches")
    run.rounds()
    rows = run.results.rows()
    conditions = [*given.condition, f"a {given.size} run", f"medians of {results.rounds(rows)} rounds"]
    details = [*conditions, *run.told_sizes()]
    (results.print_json if given.json else results.print_table)(details, rows)
    for what in run.left_out():
        print(f"left out: {what}", file=sys.stderr)
    if given.plots:
        plots.draw(given.plots, rows, conditions)
    if given.publish:
        publish.publish(os.path.dirname(HERE), rows, conditions, details)
    sys.exit(bool(run.failed))


if __name__ == "__main__":
    main()
