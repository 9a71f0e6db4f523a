"""Tables, targets, plots and documents from numbers that are known."""
import os
import re
import shutil
import subprocess
import xml.etree.ElementTree

import cases
import plots
import publish
import results
from runner import ROOT, read, run, temporary_folder


def known():
    """Two rounds of a few cases, with peers."""
    found = results.Results()
    for batch in cases.BATCHES:
        for ours in (100.0 * batch, 120.0 * batch):
            found.add("postgresql", {"case": f"exchange loop, batch {batch}", "unit": "/s", "ours": ours,
                                     "base": 200.0 * batch})
    found.add("postgresql", {"case": "drain, bodies kept", "unit": "/s", "ours": 400, "base": 500})
    for peer, rate in (("graphile-worker", 100), ("pg-boss", 50), ("pgq", 1000)):
        found.add_peer("postgresql", "drain, bodies kept", peer, {"rate": rate})
    for step in (10000, 100000):
        found.add("sqlite", {"case": f"backlog of {step}", "unit": "/s", "ours": 5000, "base": 9000})
    case = "commit to handler, 100/s, doorbell"
    line = {"p50_ms": 1.0, "p99_ms": 2.0, "call_p50_ms": 1.5, "call_p99_ms": 3.0}
    found.add("postgresql", {"case": case, **line})
    found.add_peer("postgresql", case, "graphile-worker", {key: 10 * value for key, value in line.items()})
    return found.rows()


def row_of(case):
    return next(row for row in known() if row.case == case)


def test_the_best_peer_is_one_that_settles_each_message():
    judged = row_of("drain, bodies kept").judged()
    assert ("best peer (graphile-worker)", 4.0, 3.5, 5.0, True) in judged, judged


def test_less_time_is_better():
    judged = row_of("commit to handler, 100/s, doorbell, p99 with the call").judged()
    assert ("graphile-worker", 0.1, 0.45, 0.3, True) in judged, judged


def test_medians_and_spread():
    row = row_of("exchange loop, batch 10")
    assert results.summary(row.values["ours"]) == {"median": 1100, "min": 1000, "max": 1200, "rounds": 2}
    assert row.judged() == [("base", 0.55, 0.6, 0.8, False)], row.judged()


def test_plots_are_whole():
    for name, svg in plots.all_of(known(), ["a machine", "a day"]).items():
        root = xml.etree.ElementTree.fromstring(svg)
        assert root.tag.endswith("svg") and "a machine" in svg, name


def test_results_go_into_the_documents():
    with temporary_folder() as folder:
        os.mkdir(os.path.join(folder, "docs"))
        for name in ("README.md", "docs/performance.md"):
            shutil.copy(os.path.join(ROOT, name), os.path.join(folder, name))
        for _ in range(2):  # the second run replaces what the first one wrote
            publish.publish(folder, known(), ["a machine"], ["a machine", "few messages"])
        with open(os.path.join(folder, "README.md"), encoding="utf-8") as file:
            assert file.read().count("](docs/speed.svg)") == 1
        with open(os.path.join(folder, "docs", "performance.md"), encoding="utf-8") as file:
            text = file.read()
    assert text.count("](growth.svg)") == 1 and text.count("### The targets") == 1, text
    assert re.search(r"^\| drain, bodies kept, PostgreSQL \| 4\.00 \| best peer \(graphile-worker\) ", text, re.M), text


def test_help_names_every_option():
    for program in ("bench/run", "bench/compare", "bench/peers/sweep"):
        told = run([os.path.join(ROOT, program), "--help"])
        for option in set(re.findall(r"^    (?:.*\| )?(--[a-z]+)", read(program), re.M)) - {"--help"}:
            assert option in told, f"{program}: {option}"
    assert "--case" in run([os.path.join(os.environ["PH_TEST_BUILD"], "bench", "bench_engine"), "--help"])


def test_targets_name_cases_that_exist():
    texts = "".join(read(f"bench/{name}.c") for name in cases.PROGRAMS)
    for backend, case in results.targets():
        word = re.split(r"\d|, p99", case)[0]
        assert word in texts, f"bench/targets.tsv: {case} on {backend}"


def test_what_cannot_be_installed_is_skipped_aloud():
    with temporary_folder() as folder:
        tools = os.path.join(folder, "bin")
        os.mkdir(tools)
        for tool in ("bash", "dirname", "mkdir", "cat", "env"):  # and no npm
            os.symlink(shutil.which(tool), os.path.join(tools, tool))
        done = subprocess.run([os.path.join(ROOT, "bench/peers/install"), os.path.join(folder, "peers"),
                               os.path.join(folder, "log")], env={"PATH": tools, "HOME": folder}, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
    assert done.stdout == "" and "skipped: " in done.stderr, done
