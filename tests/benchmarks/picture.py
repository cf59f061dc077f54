"""Draws the results that have a peer as one SVG: the speed of each relative to its peer."""

import html

from results import short

PARTS = {"data": "#4878a8", "alone": "#5a9a68", "cluster": "#5a9a68", "one": "#5a9a68",
         "snapshot": "#b07a48", "checkpoints": "#b07a48"}
WIDTH, LABEL, RIGHT = 920, 350, 190
ROW, BAR, HEADER, TOP, BOTTOM = 20, 13, 30, 62, 30
INK, GREY, LIGHT = "#222222", "#666666", "#dddddd"


def shown(part, rows):
    """The rows with a ratio; of the sizes of the data plane, only those with a target."""
    return [row for row in rows
            if "ratio" in row and (part != "data" or "at_least" in row)]


def text(x, y, words, size=12, color=INK, anchor="start", weight="normal"):
    return (f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{color}" '
            f'text-anchor="{anchor}" font-weight="{weight}">{html.escape(words)}</text>')


def line(x1, y1, x2, y2, color, width=1, dash=""):
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    return (f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{color}" '
            f'stroke-width="{width}"{dashed}/>')


class Chart:
    """Groups of bars below each other, on one axis of ratios that starts at 0."""

    def __init__(self, largest):
        self._largest = largest
        self._shapes = []
        self._y = TOP

    def x(self, ratio):
        return LABEL + (WIDTH - LABEL - RIGHT) * ratio / self._largest

    def add_group(self, title, rows, color):
        self._y += HEADER
        self._shapes.append(text(12, self._y - 8, title, size=13, weight="bold"))
        for row in rows:
            self._add_row(row, color)

    def _add_row(self, row, color):
        top, middle = self._y + (ROW - BAR) / 2, self._y + ROW / 2 + 4
        ratio = row["ratio"]
        end = self.x(min(ratio, self._largest))
        number = f"{ratio:.2f}   {short(row['value'])} {row['unit']}"
        self._shapes += [
            text(LABEL - 8, middle, row["name"], anchor="end"),
            f'<rect x="{LABEL}" y="{top:.1f}" width="{end - LABEL:.1f}" height="{BAR}" '
            f'fill="{color}"/>',
            text(end + 6, middle, number, size=11, color=GREY)]
        if "at_least" in row:
            x = self.x(row["at_least"])
            self._shapes.append(line(x, top - 3, x, top + BAR + 3, INK, 2))
        self._y += ROW

    def svg(self, title, subtitle):
        bottom = self._y + 8
        axis = [line(self.x(1), TOP - 4, self.x(1), bottom, GREY, 1, "4 3"),
                text(self.x(1), bottom + 16, "as fast as the peer", 11, GREY, "middle"),
                line(LABEL, TOP, LABEL, bottom, LIGHT)]
        height = bottom + BOTTOM
        head = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
                f'font-family="Helvetica, Arial, sans-serif">',
                f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
                text(12, 26, title, size=16, weight="bold"),
                text(12, 46, subtitle, size=11, color=GREY)]
        return "\n".join(head + axis + self._shapes + ["</svg>", ""])


def draw(kept, path):
    """Draws the results in a file of results.py and writes the picture to `path`."""
    groups = [(result["title"], shown(part, result["rows"]), PARTS[part])
              for part, result in kept["parts"].items() if part in PARTS]
    groups = [group for group in groups if group[1]]
    largest = max([1.1] + [row["ratio"] for _, rows, _ in groups for row in rows])
    chart = Chart(largest * 1.02)
    for title, rows, color in groups:
        chart.add_group(title, rows, color)
    machine = kept["machine"]
    path.write_text(chart.svg(
        "Times as fast as the peer, measured in the same run",
        f"{machine['cpu']}, {machine['cores']} cores; black marks: what is wanted"))
