#!/usr/bin/env python3
"""Runs `scale` for each case and prints its rows.

Usage: scale.py [--quick|--smoke]     (--smoke: only to see that it works)

scale.cc describes the measurement and its limits.
"""

import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("CAIRN_BIN", ROOT / "bazel-bin"))
# The numbers of workers, ps and variables; the seconds of measurement; the batches per second of
# each worker; and whether the job is synchronous.
CASES = [(100, 10, 100_000, 10, 4, False), (1000, 100, 100_000, 10, 4, False),
         (1000, 100, 100_000, 10, 1, True)]


def measure(workers, ps, variables, seconds, speed, synchronous):
    subprocess.run([BIN / "tests/benchmarks/scale", BIN / "coordinator/coordinator", str(workers),
                    str(ps), str(variables), str(seconds), str(speed),
                    *(["sync"] if synchronous else [])], check=True, timeout=500)


def main():
    if "--smoke" in sys.argv:
        return measure(12, 2, 50, 0.5, 20, False)
    for case in CASES[:1] if "--quick" in sys.argv else CASES:
        measure(*case)


if __name__ == "__main__":
    main()
