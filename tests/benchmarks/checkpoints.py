#!/usr/bin/env python3
"""What checkpoints cost on this machine: prints two tables.

Usage: checkpoints.py [ROUNDS=5] [SECONDS=6]

Needs `bazel build -c opt //cli:cairn //coordinator //ps_server //worker
//tests/benchmarks:snapshot_write`. Rounds are interleaved, the ratio is the median of the rounds'.

  write   a snapshot (checksums, sync and read-back included) against a plain file with a sync
  train   a job that always has a checkpoint under way against the same job with none, in
          examples/s: 2 workers, 2 ps, Adam, with and without second copies
"""

import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("CAIRN_BIN", ROOT / "bazel-bin"))
DATA = "/usr/share/datasets/fashion-mnist/train-{}-ubyte.gz"
BATCH = 128
NEVER = 1000000
OFTEN = 20  # Batches: one is due again before the last is written.


def dense(name, units, activation, inputs=None):
    config = {"name": name, "units": units, "activation": activation}
    if inputs:
        config["batch_input_shape"] = [None, inputs]
    return {"class_name": "Dense", "config": config}


def model():
    """About 1.9 million weights: 22 MB a checkpoint, with Adam's moments."""
    flatten = {"class_name": "Flatten", "config": {"name": "flat",
                                                   "batch_input_shape": [None, 28, 28]}}
    layers = [flatten, dense("a", 1024, "relu"), dense("b", 1024, "relu"),
              dense("c", 10, "softmax")]
    return {"class_name": "Sequential", "config": {"name": "wide", "layers": layers}}


def status(state):
    result = subprocess.run([BIN / "cli/cairn", "status", "bench", "--json", "--state", state],
                            capture_output=True, text=True, timeout=60)
    try:
        return json.loads(result.stdout.splitlines()[-1])
    except (IndexError, ValueError):
        return {}


def train(folder, every_steps, copies, seconds):
    """Examples per second between two looks within the first epochs' middle, and checkpoints/s."""
    job = {"name": "bench", "model": "model.json",
           "train": {"idx": {"features": DATA.format("images-idx3"),
                             "labels": DATA.format("labels-idx1")}, "scale": 1 / 255},
           "loss": "sparse_categorical_crossentropy",
           "optimizer": {"name": "adam", "learning_rate": 0.001}, "batch_size": BATCH,
           "epochs": 1000, "checkpoint": {"every_steps": every_steps, "copies": copies}}
    folder = pathlib.Path(folder)
    (folder / "model.json").write_text(json.dumps(model()))
    (folder / "job.json").write_text(json.dumps(job))
    state = str(folder / "state")
    run = subprocess.Popen([BIN / "cli/cairn", "run", folder / "job.json", "--ps", "2",
                            "--workers", "2", "--state", state],
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        end = time.monotonic() + 60
        while status(state).get("batches_done", 0) < 40 and time.monotonic() < end:
            time.sleep(0.1)
        first, start = status(state), time.monotonic()
        time.sleep(seconds)
        last, stop = status(state), time.monotonic()
    finally:
        run.terminate()
        run.wait(timeout=60)
    rate = (last["batches_done"] - first["batches_done"]) * BATCH / (stop - start)
    return rate, (last["last_checkpoint"] - first["last_checkpoint"]) / (stop - start)


def compare_writes(rounds):
    with tempfile.TemporaryDirectory() as folder:
        result = subprocess.run([BIN / "tests/benchmarks/snapshot_write", folder, "512",
                                 str(rounds)], capture_output=True, text=True, timeout=600)
    if result.returncode != 0:
        sys.exit(f"snapshot_write failed:\n{result.stderr[-2000:]}")
    words = result.stdout.split()
    print(f"{'write, MiB/s':22} {words[1]:>10} {words[3]:>10} {words[5]:>7}", flush=True)


def compare_training(rounds, seconds, copies):
    results = []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            without, _ = train(folder, NEVER, copies, seconds)
        with tempfile.TemporaryDirectory() as folder:
            during, made = train(folder, OFTEN, copies, seconds)
        results.append((without, during, made))
    ratio = statistics.median(b / a for a, b, _ in results)
    without, during, made = (statistics.median(column) for column in zip(*results))
    print(f"{f'train, {copies} on disk':22} {without:10.0f} {during:10.0f} {ratio:7.2f}"
          f"   {made:.1f} checkpoints/s", flush=True)


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 6
    print(f"{'what':22} {'without':>10} {'with':>10} {'ratio':>7}   medians of {rounds}")
    compare_writes(rounds)
    for copies in (1, 2):
        compare_training(rounds, seconds, copies)


if __name__ == "__main__":
    main()
