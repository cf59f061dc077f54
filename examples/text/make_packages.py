#!/usr/bin/env python3
"""Writes the descriptions of Debian's packages, by section, as lines of text.

    python3 examples/text/make_packages.py FOLDER

A line of FOLDER/train.tsv and FOLDER/test.tsv is a section, a tab and the description of a package.
Takes what `apt-cache dumpavail` prints; without lists of packages, run `apt-get update` first.
"""

import pathlib
import random
import subprocess
import sys

SECTIONS = ["admin", "fonts", "games", "graphics", "net", "science", "sound", "text"]


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    listed = subprocess.run(["apt-cache", "dumpavail"], capture_output=True, text=True, check=True)
    # Several packages may have the same description: it must not be in both files.
    sections = {}
    for package in listed.stdout.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in package.splitlines()
                      if ": " in line and not line.startswith(" "))
        if fields.get("Section") in SECTIONS and fields.get("Description"):
            sections[fields["Description"]] = fields["Section"]
    lines = [f"{section}\t{text}\n" for text, section in sorted(sections.items())]
    if not lines:
        sys.exit("make_packages.py: apt-cache knows no packages; run apt-get update")
    random.Random(1).shuffle(lines)
    tenth = len(lines) // 10
    (folder / "test.tsv").write_text("".join(lines[:tenth]))
    (folder / "train.tsv").write_text("".join(lines[tenth:]))


main()
