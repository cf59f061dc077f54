#!/usr/bin/env python3
"""Draws the validation accuracy of training runs, epoch by epoch, as an SVG picture.

  cairn history JOB --state DIR --json > mlp.jsonl
  python3 plot_history.py MLP=mlp.jsonl [LABEL=FILE ...] > accuracy.svg

Each FILE is what `cairn history --json` printed. Needs nothing but Python.
"""

import json
import sys
from xml.sax.saxutils import escape

WIDTH, HEIGHT = 720, 400
LEFT, RIGHT, TOP, BOTTOM = 60, 20, 20, 50
COLOURS = ["#4269d0", "#e8871e", "#3ca951", "#ff725c", "#6cc5b0", "#9c6b4e"]


def validation_accuracies(file_name):
    """Of the epochs, in their order; a later result of an epoch replaces an earlier one."""
    by_epoch = {}
    with open(file_name, encoding="utf-8") as file:
        for line in file:
            record = json.loads(line)
            if record.get("evaluation") and "accuracy" in record:
                by_epoch[record["epoch"]] = record["accuracy"]
    if not by_epoch:
        sys.exit(f"{file_name} has no evaluations with an accuracy")
    return [by_epoch[epoch] for epoch in sorted(by_epoch)]


class Scale:
    """From epochs and accuracies to the picture's coordinates."""

    def __init__(self, curves):
        self.epochs = max(2, max(len(c) for c in curves))
        lowest = min(min(c) for c in curves)
        highest = max(max(c) for c in curves)
        self.low, self.high = int(lowest * 50) / 50, (int(highest * 50) + 1) / 50

    def x(self, epoch):
        return LEFT + (epoch - 1) * (WIDTH - LEFT - RIGHT) / (self.epochs - 1)

    def y(self, accuracy):
        return TOP + (self.high - accuracy) * (HEIGHT - TOP - BOTTOM) / (self.high - self.low)


def axes(scale):
    lines = []
    ticks = round((scale.high - scale.low) / 0.02)
    for i in range(ticks + 1):
        accuracy = scale.low + 0.02 * i
        y = scale.y(accuracy)
        lines.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>')
        lines.append(f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{accuracy:.2f}</text>')
    step = max(1, scale.epochs // 10)
    for epoch in [1, *range(step, scale.epochs + 1, step)]:
        lines.append(f'<text x="{scale.x(epoch):.1f}" y="{HEIGHT - BOTTOM + 18}" '
                     f'text-anchor="middle">{epoch}</text>')
    lines.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 10}" '
                 'text-anchor="middle">epoch</text>')
    return lines


def curve(scale, index, label, accuracies):
    colour = COLOURS[index % len(COLOURS)]
    points = " ".join(f"{scale.x(i):.1f},{scale.y(a):.1f}" for i, a in enumerate(accuracies, 1))
    y = HEIGHT - BOTTOM - 16 - 18 * index
    return [f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>',
            f'<text x="{WIDTH - RIGHT - 8}" y="{y}" text-anchor="end" fill="{colour}">'
            f'{escape(label)}: {accuracies[-1]:.4f}</text>']


def main():
    if len(sys.argv) < 2 or not all("=" in word for word in sys.argv[1:]):
        sys.exit(__doc__)
    named = [word.split("=", 1) for word in sys.argv[1:]]
    curves = [(label, validation_accuracies(file)) for label, file in named]
    scale = Scale([accuracies for _, accuracies in curves])
    body = axes(scale)
    for index, (label, accuracies) in enumerate(curves):
        body += curve(scale, index, label, accuracies)
    print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
          'font-family="sans-serif" font-size="13">\n'
          f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>')
    print("\n".join(body))
    print("</svg>")


if __name__ == "__main__":
    main()
