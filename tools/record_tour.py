#!/usr/bin/env python3
"""Records the tour of ./quickstart, in a terminal, as an animated picture.

usage: tools/record_tour.py BUILD [PICTURE]

Runs examples/tour.py with the programs of the build folder in a terminal of its own, and writes
what appears there, when it appears, to PICTURE (docs/tour.svg). The picture is one SVG file with an
animation in CSS and without a script, so a page can show it as an image; a viewer that animates
nothing shows the end. Waits are shortened, and each step stays for a moment, so that a reader can
follow. Exits with 1 if the tour does not turn out as expected.
"""
import fcntl
import os
import pty
import re
import struct
import sys
import tempfile
import termios
import time
from xml.sax.saxutils import escape

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
COLUMNS, ROWS = 100, 26
CHARACTER, LINE, MARGIN, BAR = 8.43, 18, 14, 34  # pixels: DejaVu Sans Mono and its like at 14
PAUSE_MAX_S = 1.0  # of the session: nobody wants to watch it wait
LINE_MIN_S, COMMAND_MIN_S, STEP_MIN_S = 0.06, 0.4, 0.9  # before a line, a command, a heading
TABLE_S, END_S = 5, 6  # the table stays before the commands to try come, and those before it begins again
COLOURS = {"1": "bold", "1;34": "step", "32": "good", "31": "bad"}  # as examples/tour.py paints


class Failed(Exception):
    """The tour did not turn out as expected; holds what it printed."""


def links(build, folder):
    """A folder "build" with the programs of the real one, for the tour to print and to write to."""
    os.mkdir(f"{folder}/build")
    for name in ("src", "examples"):
        os.symlink(os.path.join(os.path.abspath(build), name), f"{folder}/build/{name}")


def session(build):
    """The lines of the tour as a terminal gets them, each with the second of its end."""
    with tempfile.TemporaryDirectory(prefix="tour.") as folder:
        links(build, folder)
        pid, terminal = pty.fork()
        if pid == 0:
            os.chdir(folder)
            os.environ.pop("NO_COLOR", None)
            os.environ.update(TERM="xterm", LC_ALL="C.UTF-8")
            os.execv(f"{ROOT}/examples/tour.py", ["tour.py", "build", "build/tour"])
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        lines, rest, start = [], b"", time.monotonic()
        while chunk := read(terminal):
            *whole, rest = (rest + chunk).split(b"\r\n")
            lines += [(time.monotonic() - start, line.decode()) for line in whole]
        os.close(terminal)
        if os.waitpid(pid, 0)[1] != 0:
            raise Failed("\n".join(text for _, text in lines))
        return lines


def read(terminal):
    try:
        return os.read(terminal, 65536)
    except OSError:  # Linux says so when the last program has closed the other side
        return b""


def pieces(text, colour):
    """A line as [(colour, text)], from the escape sequences in it; and the colour at its end."""
    found = []
    for part in re.split(r"(\x1b\[[\d;]*m)", text):
        if part.startswith("\x1b"):
            colour = COLOURS.get(part[2:-1], "")
        elif part:
            found.append((colour, part))
    return found, colour


def rows(line):
    """The rows that a line takes on the screen; an empty line takes one."""
    found, room = [[]], COLUMNS
    for colour, text in line:
        while text:
            if room == 0:
                found.append([])
                room = COLUMNS
            found[-1].append((colour, text[:room]))
            text, room = text[room:], room - len(text[:room])
    return found


def pause(line, real_s):
    """How long the picture waits before a line."""
    colour = line[0][0] if line else ""
    text = "".join(part for _, part in line)
    if text.startswith("Ten commands"):
        return TABLE_S
    least = LINE_MIN_S
    if colour == "step":
        least = STEP_MIN_S
    elif re.match(r"\s*(\$|--) ", text):
        least = COMMAND_MIN_S
    return min(max(real_s, least), PAUSE_MAX_S)


def screen(lines):
    """Every row of the session: the second at which the picture shows it, its pieces, and whether
    it goes on with a line that was too long for the row above."""
    shown, before, now, colour = [], 0.0, 0.0, ""
    for at, text in lines:
        line, colour = pieces(text, colour)
        now += pause(line, at - before)
        before = at
        shown += [(round(now, 1), row, number > 0) for number, row in enumerate(rows(line))]
    return shown


def steps(shown, duration, offset):
    """Keyframes that move by whole rows: offset says how far, with so many rows shown."""
    frames, last = [], None
    for number, (at, _, _) in enumerate(shown, 1):
        if number < len(shown) and shown[number][0] == at:
            continue
        if offset(number) != last:
            frames.append(f"{100 * at / duration:.2f}% {{ transform: translateY({offset(number)}px) }}")
            last = offset(number)
    return "\n".join([f"0% {{ transform: translateY({offset(0)}px) }}", *frames])


def text_of(row, goes_on, number):
    spans = "".join(f'<tspan class="{colour}">{escape(text)}</tspan>' if colour else escape(text)
                    for colour, text in row)
    more = ' class="more"' if goes_on else ""
    return f'<text{more} y="{number * LINE + 14}">{spans}</text>' if spans else ""


def picture(shown):
    duration = round(shown[-1][0] + END_S, 1)
    width, height = round(COLUMNS * CHARACTER) + 2 * MARGIN, ROWS * LINE
    up = lambda count: -max(0, count - ROWS) * LINE
    down = lambda count: count * LINE
    texts = "\n".join(filter(None, (text_of(row, goes_on, number)
                                    for number, (_, row, goes_on) in enumerate(shown))))
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height + BAR + MARGIN}" \
role="img" aria-labelledby="title">
<title id="title">The tour of ./quickstart in a terminal</title>
<style>
text {{ font: 14px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; fill: #d0d7de; white-space: pre; }}
.bold {{ font-weight: 700; fill: #ffffff; }}
.step {{ font-weight: 700; fill: #79c0ff; }}
.good {{ fill: #56d364; }}
.bad {{ fill: #ff7b72; }}
.screen {{ fill: #0d1117; }}
.scroll {{ transform: translateY({up(len(shown))}px); animation: scroll {duration}s step-end infinite; }}
.cover {{ transform: translateY({down(len(shown))}px); animation: cover {duration}s step-end infinite; }}
@media (prefers-reduced-motion: reduce) {{ .scroll, .cover {{ animation: none }} }}
@keyframes scroll {{
{steps(shown, duration, up)}
}}
@keyframes cover {{
{steps(shown, duration, down)}
}}
</style>
<rect class="screen" width="{width}" height="{height + BAR + MARGIN}" rx="8" stroke="#484f58"/>
<circle cx="20" cy="17" r="6" fill="#ff5f57"/><circle cx="40" cy="17" r="6" fill="#febc2e"/>\
<circle cx="60" cy="17" r="6" fill="#28c840"/>
<text x="{width // 2}" y="22" text-anchor="middle">./quickstart</text>
<svg x="{MARGIN}" y="{BAR}" width="{width - 2 * MARGIN}" height="{height}">
<g class="scroll" xml:space="preserve">
{texts}
<rect class="screen cover" width="{width}" height="{height}"/>
</g>
</svg>
</svg>
"""


def main():
    if len(sys.argv) not in (2, 3):
        raise SystemExit("usage: tools/record_tour.py BUILD [PICTURE]")
    try:
        svg = picture(screen(session(sys.argv[1])))
    except Failed as output:
        raise SystemExit(f"{output}\nThe tour did not turn out as expected.") from output
    with open((sys.argv[2:] or [f"{ROOT}/docs/tour.svg"])[0], "w", encoding="utf-8") as file:
        file.write(svg)


main()
