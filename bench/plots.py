"""Draws what was measured as SVG, for a README on a light or a dark page."""
import math
import os
import re
from xml.sax.saxutils import escape


WIDTH, HEIGHT = 880, 400
TITLES = {"postgresql": "PostgreSQL", "sqlite": "SQLite"}
SIDES = {"ours": ("Posthorn", "ours"), "base": ("bare rows", "floor"), "graphile-worker": ("graphile-worker", "a"),
         "pg-boss": ("pg-boss", "b"), "pgq": ("PgQ", "c"), "plainjob": ("plainjob", "a")}
STYLE = """
    text { font: 13px system-ui, -apple-system, "Segoe UI", Helvetica, Arial, sans-serif; fill: #57606a; }
    .title { font-size: 16px; font-weight: 600; }
    .small { font-size: 11px; }
    .middle { text-anchor: middle; }
    .end { text-anchor: end; }
    .grid { stroke: #7a828e; stroke-opacity: 0.3; stroke-width: 1; }
    .line { fill: none; stroke-width: 2.5; }
    .ours { stroke: #2f81f7; fill: #2f81f7; } .floor { stroke: #8b949e; fill: #8b949e; }
    .a { stroke: #d97706; fill: #d97706; } .b { stroke: #16a34a; fill: #16a34a; } .c { stroke: #a855f7; fill: #a855f7; }
    .line.ours, .line.floor, .line.a, .line.b, .line.c { fill: none; }
    .faint { fill-opacity: 0.4; stroke: none; }
    @media (prefers-color-scheme: dark) { text { fill: #c9d1d9; } }
"""


def text(x, y, words, style=""):
    return f'  <text x="{x:.1f}" y="{y:.1f}" class="{style}">{escape(words)}</text>'


def short(value):
    if value < 1000:
        return f"{value:g}"
    return f"{value / 1000:g}k" if value < 1000000 else f"{value / 1000000:g}M"


def picture(title, body, conditions, height=HEIGHT):
    lines, row = [], ""
    for word in conditions:
        if len(row) + len(word) > 125:
            lines.append(row)
            row = ""
        row = f"{row} · {word}" if row else word
    lines.append(row)
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height + 15 * len(lines)}" role="img" aria-labelledby="title">',
        f'  <title id="title">{escape(title)}</title>', f"  <style>{STYLE}  </style>",
        text(10, 24, title, "title"), *body,
        *(text(10, height + 4 + 15 * i, line, "small") for i, line in enumerate(lines)), "</svg>", ""])


def legend(sides, y=48):
    drawn, x = [], 10
    for side in sides:
        name, colour = SIDES[side]
        drawn += [f'  <circle cx="{x + 5}" cy="{y - 4}" r="5" class="{colour}"/>', text(x + 16, y, name)]
        x += 16 + 8 * len(name) + 24
    return drawn


class Panel:
    """A frame in the picture, with a logarithmic scale of rates."""

    def __init__(self, left, width, values):
        self.left, self.top, self.width, self.height = left, 92, width, 252
        self.low = math.floor(math.log10(min(values)))
        self.high = max(self.low + 1, math.ceil(math.log10(max(values))))

    def y(self, value):
        return self.top + self.height * (self.high - math.log10(value)) / (self.high - self.low)

    def x(self, place, count):
        return self.left + self.width * (place + 0.5) / count

    def frame(self, title, labels, what):
        drawn = [text(self.left, self.top - 14, title)]
        for power in range(self.low, self.high + 1):
            y = self.y(10 ** power)
            drawn += [f'  <line x1="{self.left}" y1="{y:.1f}" x2="{self.left + self.width}" y2="{y:.1f}" class="grid"/>',
                      text(self.left - 6, y + 4, short(10 ** power), "small end")]
        for place, label in enumerate(labels):
            drawn.append(text(self.x(place, len(labels)), self.top + self.height + 18, label, "middle"))
        drawn.append(text(self.left + self.width / 2, self.top + self.height + 36, what, "small middle"))
        return drawn

    def line(self, side, points, count):
        """points: place -> value"""
        colour = SIDES[side][1]
        path = " ".join(f"{'L' if i else 'M'} {self.x(place, count):.1f} {self.y(value):.1f}"
                        for i, (place, value) in enumerate(sorted(points.items())))
        return [f'  <path d="{path}" class="line {colour}"/>',
                *(f'  <circle cx="{self.x(place, count):.1f}" cy="{self.y(value):.1f}" r="4" class="{colour}"/>'
                  for place, value in points.items())]


def ordered(sides):
    return [side for side in SIDES if side in sides]


def lines(title, rows, pattern, what, conditions):
    """Panels side by side, one for each backend; None if nothing fits the pattern."""
    found = {}  # backend -> {x: row}
    for row in rows:
        match = re.fullmatch(pattern, row.case)
        if match:
            found.setdefault(row.backend, {})[int(match.group(1))] = row
    if not found:
        return None
    backends = [backend for backend in TITLES if backend in found]
    width = (WIDTH - 60 * len(backends)) / len(backends)
    drawn, used = [], set()
    for i, backend in enumerate(backends):
        steps = sorted(found[backend])
        values = {side: {place: found[backend][step].median(side) for place, step in enumerate(steps)
                         if side in found[backend][step].values}
                  for side in {side for row in found[backend].values() for side in row.values}}
        used |= set(values)
        panel = Panel(50 + i * (width + 60), width, [value for side in values.values() for value in side.values()])
        drawn += panel.frame(TITLES[backend], [short(step) for step in steps], what)
        for side in reversed(ordered(values)):  # ours on top
            drawn += panel.line(side, values[side], len(steps))
    return picture(title, [*legend(ordered(used)), *drawn], conditions)


def latency(rows, conditions):
    """Bars of the median, and fainter ones of the 99th of a hundred."""
    by_key = {(row.backend, row.case): row for row in rows}
    case = "commit to handler, 100/s, doorbell, {} with the call"
    bars = []
    for backend in TITLES:
        p50, p99 = (by_key.get((backend, case.format(which))) for which in ("p50", "p99"))
        if p50 and p99:
            bars += [(backend, side, p50.median(side), p99.median(side)) for side in ordered(p50.values)
                     if side in p99.values]
    if not bars:
        return None
    longest = max(bar[3] for bar in bars) or 1
    drawn = [text(10, 48, "Strong: the median. Faint: 99 of 100 are quicker.")]
    step = min(44, 310 / len(bars))
    for i, (backend, side, middle, high) in enumerate(bars):
        y, colour = 68 + i * step, SIDES[side][1]
        drawn += [text(220, y + 20, f"{SIDES[side][0]}, {TITLES[backend]}", "end"),
                  f'  <rect x="230" y="{y:.1f}" width="{520 * high / longest:.1f}" height="{step - 12:.1f}" '
                  f'class="{colour} faint"/>',
                  f'  <rect x="230" y="{y:.1f}" width="{520 * middle / longest:.1f}" height="{step - 12:.1f}" '
                  f'class="{colour}"/>',
                  text(238 + 520 * high / longest, y + 20, f"{middle:.1f} / {high:.1f} ms")]
    return picture("From the call that stores a message to its handler, 100 per second", drawn, conditions,
                   round(80 + step * len(bars)))


def all_of(rows, conditions):
    return {
        "speed.svg": lines("Messages settled per second by batch size, one process", rows,
                           r"exchange loop, batch (\d+)", "messages per call", conditions),
        "latency.svg": latency(rows, conditions),
        "growth.svg": lines("Messages settled per second while so many are ready", rows, r"backlog of (\d+)",
                            "messages that are ready", conditions),
    }


def draw(folder, rows, conditions):
    """Returns the names of what was drawn."""
    os.makedirs(folder, exist_ok=True)
    drawn = {name: svg for name, svg in all_of(rows, conditions).items() if svg}
    for name, svg in drawn.items():
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(svg)
    return list(drawn)
