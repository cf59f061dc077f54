#!/usr/bin/env python3
"""The memory that a parameter takes, in bytes: rows for results.py.

Usage: memory.py [--quick]

A process's own resident memory while it trains a network of 12 million parameters, less the same
process's with a network of 12 thousand, by the difference in parameters. What a ps shares with a
worker on its machine is left out and said: it is at most 64 MiB for each pair, whatever the
network. Floors, of what must be there:

  ps           4 for the value, 4 for each slot of the optimizer (SGD none, momentum 1, Adam 2)
  worker       4 for the value it computes with, 4 for its gradient
  PyTorch      4 for the value, 4 for the gradient, 4 for each slot (one process trains alone)

"with checkpoints" is the largest that the ps's memory was seen to be, in a look every 20 ms, while a
checkpoint was always under way: values and slots that change meanwhile are there twice.
"""

import re
import subprocess
import sys
import time

import peer
import results
from local_run import DATA, ROOT, LocalRun, dense_model, dense_parameters, fashion_job
from peer import ONE_THREAD, PYTHON

LARGE, SMALL = [2560, 2560, 1280, 10], [15, 10]
SLOTS = {"sgd": 0, "momentum": 1, "adam": 2}
OPTIMIZERS = {"sgd": {"name": "sgd", "learning_rate": 0.01},
              "momentum": {"name": "sgd", "learning_rate": 0.01, "momentum": 0.9},
              "adam": {"name": "adam", "learning_rate": 0.001}}
BATCH = 16  # Small, because activations are not parameters.
# A small data set: memory freed after reading would be reused for parameters and not be counted.
FILES = {"features": DATA.replace("train", "t10k").format("images-idx3"),
         "labels": DATA.replace("train", "t10k").format("labels-idx1")}
CHECKPOINT_EVERY = 4
NEVER = 1000000


def memory(pid, kind="RssAnon"):
    """The memory of a process in bytes: private, or with "RssShmem" shared."""
    with open(f"/proc/{pid}/status", encoding="utf-8") as status:
        fields = dict(re.findall(r"^(\w+):\s+(\d+) kB$", status.read(), re.MULTILINE))
    return int(fields[kind]) * 1024


def largest_memory(pid, seconds):
    largest, end = 0, time.monotonic() + seconds
    while time.monotonic() < end:
        largest = max(largest, memory(pid))
        time.sleep(0.02)
    return largest


def cairn(widths, optimizer, every_steps, seconds):
    """Bytes of the ps, of the worker, and shared by both."""
    job = fashion_job("model.json", OPTIMIZERS[optimizer], batch_size=BATCH,
                      train={"idx": FILES, "scale": 1 / 255},
                      checkpoint={"every_steps": every_steps})
    with LocalRun(job, ps=1, workers=1, model=dense_model(widths)) as run:
        run.wait_for_batches(3 * CHECKPOINT_EVERY)
        ps = run.pid("ps-0")
        return (largest_memory(ps, seconds), memory(run.pid("worker-0")),
                memory(ps, "RssShmem"))


def torch(widths, optimizer):
    command = [PYTHON, ROOT / "tests/benchmarks/torch_memory.py", optimizer, str(BATCH),
               *map(str, widths)]
    result = subprocess.run(command, env=ONE_THREAD, capture_output=True, text=True, timeout=120)
    if result.returncode != 0:
        sys.exit(f"torch_memory.py failed:\n{result.stderr[-2000:]}")
    return float(result.stdout)


def per_parameter(large, small):
    return (large - small) / (dense_parameters(LARGE) - dense_parameters(SMALL))


def measure(optimizer, seconds, with_peer):
    name = {"sgd": "SGD", "momentum": "SGD with momentum", "adam": "Adam"}[optimizer]
    slots = 4 * SLOTS[optimizer]
    large, small = (cairn(widths, optimizer, NEVER, seconds) for widths in (LARGE, SMALL))
    ps, worker = (per_parameter(*pair) for pair in zip(large[:2], small[:2]))
    largest = per_parameter(*(cairn(widths, optimizer, CHECKPOINT_EVERY, seconds)[0]
                              for widths in (LARGE, SMALL)))
    results.emit(f"ps, {name}", ps, "bytes/parameter", floor=4 + slots,
                 note=f"{large[2] / 2**20:.0f} MiB shared with its worker")
    results.emit(f"ps with checkpoints, {name}", largest, "bytes/parameter", floor=8 + 2 * slots)
    results.emit(f"worker, {name}", worker, "bytes/parameter", floor=8)
    together = f"ps and worker, {name}"
    if not with_peer:
        results.emit(together, ps + worker, "bytes/parameter", floor=12 + slots,
                     note="PyTorch skipped")
        return
    theirs = per_parameter(torch(LARGE, optimizer), torch(SMALL, optimizer))
    results.emit(together, ps + worker, "bytes/parameter", floor=12 + slots,
                 peer="PyTorch, alone", peer_value=theirs, ratio=(ps + worker) / theirs)


def main():
    quick = "--quick" in sys.argv
    with_peer = peer.is_there()
    for optimizer in ("sgd", "adam") if quick else OPTIMIZERS:
        measure(optimizer, 1 if quick else 3, with_peer)


if __name__ == "__main__":
    main()
