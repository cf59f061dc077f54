#!/usr/bin/env python3
"""The startup time of `cairn run`: rows for results.py.

Usage: startup.py [--quick]

The quickstart's job (a convolutional network, 60,000 images in gzip files, 2 ps and 2 workers) in a
new state directory, from the start of the process. The cluster is up when its coordinator reports
that all tasks have joined; the first step is done when it reports a finished batch. Both are
polled, so the numbers are up to 60 ms too large (the time of a query). The floor of the first step
is decompressing and reading the data, about 0.4 s on one thread.
"""

import json
import statistics
import sys
import time

import results
from local_run import ROOT, LocalRun

JOB = ROOT / "examples/fashion_mnist/quickstart.json"
PS, WORKERS = 2, 2


def joined(run):
    tasks = [member for member in run.ask("cluster") if member["role"] in ("ps", "worker")]
    return sum(member["live"] for member in tasks) == PS + WORKERS


def measure():
    job = json.loads(JOB.read_text())
    job["model"] = str(JOB.parent / job["model"])
    with LocalRun(job, ps=PS, workers=WORKERS) as run:
        while not joined(run):
            if time.monotonic() - run.started_at > 60:
                raise RuntimeError("the cluster does not come up")
        up = time.monotonic() - run.started_at
        run.wait_for_batches(1, interval=0.01)
        return up, time.monotonic() - run.started_at


def main():
    rounds = [measure() for _ in range(2 if "--quick" in sys.argv else 5)]
    up, step = (statistics.median(column) for column in zip(*rounds))
    results.emit("all daemons joined", up, "s")
    results.emit("first training step", step, "s", at_most=3,
                 note=f"worst of {len(rounds)}: {max(b for _, b in rounds):.2f}")


if __name__ == "__main__":
    main()
