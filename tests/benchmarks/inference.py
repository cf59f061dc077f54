#!/usr/bin/env python3
"""A trained model on a cluster beside one process: rows for results.py.

Usage: inference.py [--quick] [WORD...]     (only rows that have all of these words)

Whole commands, as a user waits for them: `cairn predict` and `cairn evaluate` of 60,000 images with
--on cluster, by 1 and by 2 workers of one thread each, beside the same command on this machine with
as many threads. Rounds are interleaved; the ratio is the median of the rounds' ratios. The floor is
a ratio of 1: both read the same file, and workers, coordinator and command share the cores.

Where other programs use the cores as well, the ratio by processor time (in the note) is more
precise: that of one process by that of the command and all daemons. It shows what is wasted.
"""

import gzip
import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time

import results
from local_run import BIN, DATA, PATIENCE, ROOT, cpu_seconds, fashion_job, pin

EXAMPLES = 60000
MODELS = {"MLP": "mlp_model.json", "CNN": "cnn.json"}


def write_npy(path, shape, data):
    """An array of bytes."""
    header = f"{{'descr': '|u1', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() +
                     data)


class Cluster:
    """A background cluster with a trained job. Its workers have one thread each."""

    def __init__(self, folder, model, workers):
        self.state = str(folder / f"{model}-{workers}")
        self.cores = set(range(workers))
        job = fashion_job(ROOT / "examples/fashion_mnist" / MODELS[model], "adam",
                          metrics=["accuracy"])
        job = {key: value for key, value in job.items() if key != "epochs"} | {"steps": 100}
        file = folder / "job.json"
        file.write_text(json.dumps(job))
        # A worker has as many threads as its share of the cores of its start.
        self.run("up", "--ps", "1", "--workers", str(workers))
        cluster = json.loads(pathlib.Path(self.state, "cluster.json").read_text())
        self.pids = cluster["pids"].values()
        for pid in self.pids:
            pin(pid, self.cores)
        self.run("submit", str(file), "--follow")

    def run(self, *command):
        """The seconds that a command takes, and its processor time."""
        start, used = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
        result = subprocess.run([BIN / "cli/cairn", *command, "--state", self.state], text=True,
                                capture_output=True, timeout=PATIENCE,
                                preexec_fn=lambda: os.sched_setaffinity(0, self.cores))
        if result.returncode != 0:
            sys.exit(f"cairn {' '.join(command)} failed:\n{result.stderr[-2000:]}")
        now = resource.getrusage(resource.RUSAGE_CHILDREN)
        return (time.monotonic() - start,
                now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime)

    def run_on_cluster(self, *command):
        daemons = sum(map(cpu_seconds, self.pids))
        seconds, used = self.run(*command, "--on", "cluster")
        return seconds, used + sum(map(cpu_seconds, self.pids)) - daemons


def measure(cluster, name, command, workers, rounds):
    pairs = []
    for i in range(rounds):  # In turns: the machine may grow slower or faster.
        pair = [cluster.run, cluster.run_on_cluster][::-1 if i % 2 else 1]
        pairs.append([run(*command) for run in pair][::-1 if i % 2 else 1])
    here, there = (statistics.median(each[0] for each in column) for column in zip(*pairs))
    of_cpu = statistics.median(a[1] / b[1] for a, b in pairs)
    results.emit(name, EXAMPLES / there, "examples/s",
                 peer=f"one process, {workers} thread{'s' * (workers > 1)}",
                 peer_value=EXAMPLES / here,
                 ratio=statistics.median(a[0] / b[0] for a, b in pairs),
                 note=f"{there:.2f} s beside {here:.2f} s; by processor time {of_cpu:.2f}")


def main():
    words = [word for word in sys.argv[1:] if word != "--quick"]
    rounds = 2 if "--quick" in sys.argv else 5
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        with gzip.open(DATA.format("images-idx3")) as images:
            write_npy(folder / "x.npy", (EXAMPLES, 28, 28, 1), images.read()[16:])
        commands = {"predict": ("predict", "bench", "--input", str(folder / "x.npy"), "--output",
                                str(folder / "y.npy")),
                    "evaluate": ("evaluate", "bench", "--data", "train")}
        for model in MODELS:
            for workers in (1, 2):
                rows = {f"{command}, {model}, {workers} worker{'s' * (workers > 1)}": words_of
                        for command, words_of in commands.items()}
                rows = {row: command for row, command in rows.items()
                        if all(word in row for word in words)}
                if not rows:
                    continue
                cluster = Cluster(folder, model, workers)
                try:
                    for row, command in rows.items():
                        measure(cluster, row, command, workers, rounds)
                finally:
                    cluster.run("down")


if __name__ == "__main__":
    main()
