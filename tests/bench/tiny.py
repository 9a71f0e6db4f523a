"""Every case, once, with as few messages as the programs take."""
import concurrent.futures
import contextlib
import glob
import json
import os
import subprocess
import sys

import cases
from runner import ROOT, Skip, build_folder, run, temporary_folder

backend = ""
SIZE = ["--messages", "1000", "--crowd", "1000", "--seconds", "1", "--rounds", "1"]
AT_ONCE = 4  # they mostly wait
LONGEST_FIRST = ("many", "dispatcher", "coordination", "growth")
started = {}  # program -> a future of the names and the lines of its cases


@contextlib.contextmanager
def database(purpose):
    """The URL of one that is empty, and goes again."""
    if backend == "sqlite":
        with temporary_folder() as folder:
            yield f"sqlite:{folder}/bench.db"
        return
    server, name = os.environ.get("PH_TEST_PG"), f"bench_{purpose}_{os.getpid()}"
    if not server:
        raise Skip("PH_TEST_PG is not set; ./test sets it")
    run(["psql", "-X", "-q", server, "-c", f"CREATE DATABASE {name}"])
    try:
        yield server.replace("/postgres?", f"/{name}?", 1)
    finally:
        run(["psql", "-X", "-q", server, "-c", f"DROP DATABASE {name} WITH (FORCE)"])


def output(command):
    """Only what it prints on stdout, a line of JSON each, or names."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=240)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stderr}"
    return done.stdout.splitlines()


def measure_all(program):
    """Names of the cases, and what was measured."""
    binary = os.path.join(build_folder(), "bench", "bench_" + program)
    with database(program) as url:
        names = output([binary, "--db", url, *SIZE, "--list"])
        return names, [json.loads(line) for line in output([binary, "--db", url, *SIZE, "--json"])]


def start(only):
    """Those whose test will be run, several at once."""
    pool = concurrent.futures.ThreadPoolExecutor(AT_ONCE)
    for program in sorted(cases.PROGRAMS, key=lambda name: name not in LONGEST_FIRST):
        if only in f"tiny.test_{program}":
            started[program] = pool.submit(measure_all, program)


def every_case_of(program):
    names, measured = started[program].result()
    assert names or (program, backend) == ("cost", "sqlite"), "it lists no cases"
    for name in names:
        lines = [line for line in measured if line["case"].startswith(name)]
        assert lines, f"{name}: nothing was measured"
        for line in lines:
            numbers = [value for value in line.values() if isinstance(value, (int, float))]
            assert len(numbers) > 0 and all(number >= 0 for number in numbers), line


def test_engine():
    every_case_of("engine")


def test_cost():
    every_case_of("cost")


def test_beside():
    every_case_of("beside")


def test_workflow():
    every_case_of("workflow")


def test_every_program_is_run():
    tested = {name[len("test_"):] for name in globals() if name.startswith("test_")}
    assert set(cases.PROGRAMS) <= tested, set(cases.PROGRAMS) - tested


def measure(url, *more):
    command = [sys.executable, os.path.join(ROOT, "bench", "measure.py"), "--build",
               os.path.join(build_folder(), "bench"), "--db", f"{backend}={url}", "--size", "quick", *SIZE, *more]
    return [json.loads(line) for line in output([*command, "--json"])]


def test_a_run_in_turns():
    with database("turns") as url, temporary_folder() as plots:
        first, *rows = measure(url, "--only", "exchange loop", "--plots", plots, "--condition", "a test")
        assert os.listdir(plots) == ["speed.svg"], os.listdir(plots)
    assert first["conditions"] == ["a test", "a quick run", "medians of 1 rounds",
                                   "engine: 1000 messages, a crowd of 1000, 1 s"], first
    assert [row["case"] for row in rows] == [f"exchange loop, batch {batch}" for batch in cases.BATCHES], rows
    assert all(row["ours"]["rounds"] == 1 and row["beside"]["base"]["ratio"] > 0 for row in rows), rows


def test_the_peers():
    """Those that bench/run --peers has installed; installing them takes minutes."""
    folder = os.path.join(ROOT, "build-bench", "peers")
    for peer in cases.OF_BACKEND[backend]:
        if not glob.glob(os.path.join(folder, f"have-{'pg' if peer == 'pgq' else peer}@*")):
            raise Skip(f"{peer} is not installed; bench/run --peers does that")
    with database("peers") as url, temporary_folder() as logs:
        nodes = dict(line.split(" ", 1) for line in output(
            [os.path.join(ROOT, "bench", "peers", "install"), folder, os.path.join(logs, "log")]))
        os.environ["BENCH_PEERS"] = folder
        for peer in cases.OF_BACKEND[backend]:
            for task in ("drain", "enqueue", "bulk", *(["latency"] if peer != "pgq" else [])):
                lines = output([nodes[peer], os.path.join(ROOT, "bench", "peers", "measure.mjs"), peer, task, "--db",
                                url, "--messages", "1000", "--seconds", "1"])
                assert len(lines) == 1 and "peer" in json.loads(lines[0]), (peer, task, lines)


def test_dispatcher():
    every_case_of("dispatcher")


def test_growth():
    every_case_of("growth")


def test_coordination():
    every_case_of("coordination")


def test_many():
    every_case_of("many")
