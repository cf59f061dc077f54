#!/usr/bin/env python3
"""The cost of checkpoints on this machine: rows for results.py.

Usage: checkpoints.py [--quick] write|train

Rounds are interleaved; the ratio is the median of the rounds' ratios.

  write   a ps's snapshot against a plain file of the same bytes (see snapshot_write.cc)
  train   a job that always has a checkpoint in progress against the same job without, in
          examples/s: 2 workers, 2 ps, Adam, with and without second copies. The floor is a ratio
          of 1; workers, ps and the writing share this machine's cores and its one disk.
"""

import statistics
import subprocess
import sys
import tempfile

import results
from local_run import BATCH, BIN, LocalRun, dense_model, fashion_job

NEVER = 1000000
OFTEN = 20  # Batches: the next checkpoint is due before the last one is written.
# About 1.9 million weights: 22 MB per checkpoint with Adam's moments.
WIDTHS = [1024, 1024, 10]


def train(every_steps, copies, seconds):
    """Examples and checkpoints per second, in the middle of an epoch."""
    job = fashion_job("model.json", {"name": "adam", "learning_rate": 0.001},
                      checkpoint={"every_steps": every_steps, "copies": copies})
    with LocalRun(job, ps=2, workers=2, model=dense_model(WIDTHS)) as run:
        run.wait_for_batches(40)
        batches, checkpoints = run.measure(seconds)
        return batches * BATCH, checkpoints


def compare_writes(quick):
    mebibytes, rounds = ("128", "2") if quick else ("512", "5")
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        subprocess.run([BIN / "tests/benchmarks/snapshot_write", folder, mebibytes, rounds],
                       check=True, timeout=300)


def compare_training(rounds, seconds, copies):
    pairs = [(train(NEVER, copies, seconds)[0], *train(OFTEN, copies, seconds))
             for _ in range(rounds)]
    without, during, made = (statistics.median(column) for column in zip(*pairs))
    disks = "1 snapshot each" if copies == 1 else "each also copied to the other ps"
    results.emit(f"with checkpoints, {disks}", during, "examples/s",
                 peer="without checkpoints", peer_value=without,
                 ratio=statistics.median(b / a for a, b, _ in pairs), at_least=0.9,
                 note=f"{made:.1f} checkpoints/s")


def main():
    quick = "--quick" in sys.argv
    if "write" in sys.argv:
        compare_writes(quick)
    if "train" in sys.argv:
        for copies in (1, 2):
            compare_training(2 if quick else 5, 3 if quick else 6, copies)


if __name__ == "__main__":
    main()
