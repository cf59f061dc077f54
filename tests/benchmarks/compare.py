#!/usr/bin/env python3
"""Cairn beside PyTorch, in one run on this machine: prints a table of examples per second.

Usage: compare.py [ROUNDS=5] [SECONDS=4] [WORD...]     (only rows that have all of these words)

Needs Debian's python3-torch, and `bazel build -c opt //cli:cairn //coordinator //ps_server //worker
//tests/benchmarks:local_step`. Rounds are interleaved (Cairn, peer, Cairn, peer ...), so that the
drift of a shared machine hits both alike; the ratio is the median of the rounds' ratios.

  alone    one worker's step without a network against PyTorch on one thread
  cluster  2 workers and 1 ps, asynchronous, against DistributedDataParallel over gloo, 2 processes
  one      1 worker and 1 ps against a parameter server over torch.distributed.rpc with 1 worker
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
PYTHON = os.environ.get("PYTHON", "/usr/bin/python3")
TORCH = [PYTHON, str(ROOT / "tests/benchmarks/torch_step.py")]
TORCH_PS = [PYTHON, str(ROOT / "tests/benchmarks/torch_parameter_server.py")]
ONE_THREAD = dict(os.environ, OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
# TensorPipe and gloo would ask the host's name, which need not be loopback's.
PEER = dict(ONE_THREAD, TP_SOCKET_IFNAME="lo", GLOO_SOCKET_IFNAME="lo")
DATA = "/usr/share/datasets/fashion-mnist/train-{}-ubyte.gz"
MODELS = {"mlp": "mlp_model.json", "cnn": "cnn.json"}


def number(command, environment=ONE_THREAD):
    result = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    if result.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))} failed:\n{result.stderr[-2000:]}")
    return float(result.stdout.split()[-1])


def cairn_alone(model, optimizer, seconds):
    return number([BIN / "tests/benchmarks/local_step",
                   ROOT / "examples/fashion_mnist" / MODELS[model], optimizer, str(seconds)])


def torch_alone(model, optimizer, seconds):
    return number(TORCH + [model, optimizer, str(seconds)])


def torch_pair(first, other):
    """Two processes that meet in a file; the first one's number."""
    with tempfile.TemporaryDirectory() as folder:
        store = folder + "/store"
        partner = subprocess.Popen(other + [store], env=PEER, stdout=subprocess.DEVNULL)
        try:
            return number(first + [store], PEER)
        finally:
            partner.wait(timeout=60)


def torch_ddp(model, optimizer, seconds):
    arguments = TORCH + [model, optimizer, str(seconds)]
    return torch_pair(arguments + ["0", "2"], arguments + ["1", "2"])


def torch_ps(model, optimizer, seconds):
    arguments = TORCH_PS + [model, optimizer, str(seconds)]
    return torch_pair(arguments + ["1"], arguments + ["0"])


def batches_done(state):
    result = subprocess.run([BIN / "cli/cairn", "status", "bench", "--json", "--state", state],
                            capture_output=True, text=True, timeout=60)
    try:
        return json.loads(result.stdout.splitlines()[-1]).get("batches_done", 0)
    except (IndexError, ValueError):
        return 0


def cairn_cluster(model, optimizer, seconds, workers=2):
    job = {"name": "bench", "model": str(ROOT / "examples/fashion_mnist" / MODELS[model]),
           "train": {"idx": {"features": DATA.format("images-idx3"),
                             "labels": DATA.format("labels-idx1")}, "scale": 1 / 255},
           "loss": "sparse_categorical_crossentropy",
           "optimizer": {"name": optimizer, "learning_rate": 0.001}, "batch_size": 128,
           "epochs": 1000}
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "job.json"
        path.write_text(json.dumps(job))
        run = subprocess.Popen([BIN / "cli/cairn", "run", path, "--ps", "1", "--workers",
                                str(workers), "--state", folder + "/state"], stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
        try:
            end = time.monotonic() + 60
            while batches_done(folder + "/state") < 40 and time.monotonic() < end:
                time.sleep(0.1)
            first, start = batches_done(folder + "/state"), time.monotonic()
            time.sleep(seconds)
            last, stop = batches_done(folder + "/state"), time.monotonic()
        finally:
            run.terminate()
            run.wait(timeout=60)
        return (last - first) * 128 / (stop - start)


def cairn_one(model, optimizer, seconds):
    return cairn_cluster(model, optimizer, seconds, workers=1)


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 4
    chosen = sys.argv[3:]
    pairs = {"alone": (cairn_alone, torch_alone), "cluster": (cairn_cluster, torch_ddp),
             "one": (cairn_one, torch_ps)}
    print(f"{'what':22} {'Cairn':>10} {'PyTorch':>10} {'ratio':>7}   examples/s, medians of {rounds}")
    for where, (ours, theirs) in pairs.items():
        for model in MODELS:
            for optimizer in ("sgd", "adam"):
                name = f"{where} {model} {optimizer}"
                if not all(word in name.split() for word in chosen):
                    continue
                results = [(ours(model, optimizer, seconds), theirs(model, optimizer, seconds))
                           for _ in range(rounds)]
                ratio = statistics.median(a / b for a, b in results)
                a, b = (statistics.median(column) for column in zip(*results))
                print(f"{name:22} {a:10.0f} {b:10.0f} {ratio:7.2f}",
                      flush=True)


if __name__ == "__main__":
    main()
