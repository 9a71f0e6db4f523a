"""The recorded tour in the README shows what the tour prints."""
import collections
import os
import re
import xml.etree.ElementTree

import runner

PICTURE = "docs/tour.svg"
BYTES_MAX = 100_000
TRIES = 2  # on a busy machine "posthorn explain" can come too late for the message it asks about
DIFFERENT = [  # in each run
    (r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "ID"),
    (r"kill -(\w+) \d+", r"kill -\1 PID"),
    (r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?Z?", "TIME"),
    (r"\b\d+(\.\d+)? (ms|s|min|h)\b", "TIME"),
    (r" +", " "),  # and so does the width of columns
]


def shown(svg):
    """The lines of text in a picture, without what differs in each run."""
    lines = []
    for text in xml.etree.ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text"):
        row = "".join(text.itertext())
        if text.get("class") == "more":
            lines[-1] += row
        else:
            lines.append(row)
    for pattern, same in DIFFERENT:
        lines = [re.sub(pattern, same, line) for line in lines]
    return [line.strip() for line in lines]


def told(lines):
    """What the tour says by itself, in order; between it workers speak when they get to it."""
    return [line for line in lines if re.match(r"\$ |-- |\d\. |.* [✓✗]$|posthorn ", line)]


def record():
    with runner.temporary_folder() as folder:
        path = os.path.join(folder, "tour.svg")
        runner.run(["tools/record_tour.py", runner.build_folder(), path], cwd=runner.ROOT)
        with open(path, encoding="utf-8") as file:
            return file.read()


def differences(before, now):
    before, now = collections.Counter(before), collections.Counter(now)
    return [f"- {line}" for line in (before - now).elements()] + [
        f"+ {line}" for line in (now - before).elements()]


def test_the_picture_shows_what_the_tour_prints():
    before = shown(runner.read(PICTURE))
    for _ in range(TRIES):
        svg = record()
        now = shown(svg)
        found = differences(before, now)
        if not found:
            break
    assert not found, "record it anew: tools/record_tour.py BUILD\n" + "\n".join(found)
    assert told(before) == told(now), told(now)
    assert len(now) > 60 and "All as expected." in now, now
    assert len(svg.encode()) <= BYTES_MAX, f"{len(svg.encode())} bytes"
