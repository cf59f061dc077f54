#!/usr/bin/env python3
"""Cairn's training steps beside PyTorch's, in one run on this machine: rows of examples per second.

Usage: steps.py [ROUNDS=3] [SECONDS=4] [WORD...]     (only rows that have all of these words)

Rounds are interleaved (Cairn, peer, Cairn, peer ...), so that the drift of a shared machine hits
both alike; the ratio is the median of the rounds' ratios. Both read Fashion-MNIST-sized batches of
128: Cairn from the data files, PyTorch from a tensor in memory, which costs it nothing.

  alone    one worker's step without a network against PyTorch on one thread
  cluster  2 workers and 1 ps, asynchronous, against DistributedDataParallel over gloo, 2 processes
  one      1 worker and 1 ps against a parameter server over torch.distributed.rpc with 1 worker

The floor: one thread's matrix products. The MLP (784-512-256-10) costs 2.41 MFLOP an example, the
convolutional network 27.4; this machine's one thread does about 100 GFLOP/s at these shapes.
"""

import os
import statistics
import subprocess
import sys
import tempfile

import peer
import results
from local_run import BATCH, BIN, ROOT, LocalRun, fashion_job
from peer import ONE_THREAD, PYTHON

TORCH = [PYTHON, str(ROOT / "tests/benchmarks/torch_step.py")]
TORCH_PS = [PYTHON, str(ROOT / "tests/benchmarks/torch_parameter_server.py")]
# TensorPipe and gloo would resolve the host's name, which may not be the loopback address.
LOOPBACK = {"TP_SOCKET_IFNAME": "lo", "GLOO_SOCKET_IFNAME": "lo"}
MODELS = {"mlp": "mlp_model.json", "cnn": "cnn.json"}


def model_file(model):
    return ROOT / "examples/fashion_mnist" / MODELS[model]


def number(command, environment=ONE_THREAD):
    result = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    if result.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))} failed:\n{result.stderr[-2000:]}")
    return float(result.stdout.split()[-1])


def cairn_alone(model, optimizer, seconds):
    return number([BIN / "tests/benchmarks/local_step", model_file(model), optimizer,
                   str(seconds)])


def torch_alone(model, optimizer, seconds):
    return number(TORCH + [model, optimizer, str(seconds)])


def torch_pair(first, other):
    """Runs two processes that rendezvous in a file, and returns the result of the first."""
    environment = ONE_THREAD | LOOPBACK
    with tempfile.TemporaryDirectory() as folder:
        store = folder + "/store"
        partner = subprocess.Popen(other + [store], env=environment, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        try:
            return number(first + [store], environment)
        finally:
            partner.wait(timeout=60)


def torch_ddp(model, optimizer, seconds):
    arguments = TORCH + [model, optimizer, str(seconds)]
    return torch_pair(arguments + ["0", "2"], arguments + ["1", "2"])


def torch_ps(model, optimizer, seconds):
    """With one thread or with all cores, as Cairn's only worker has, whichever is faster."""
    def with_threads(threads):
        arguments = TORCH_PS + [model, optimizer, str(seconds), str(threads)]
        return torch_pair(arguments + ["1"], arguments + ["0"])
    return max(with_threads(threads) for threads in sorted({1, os.cpu_count()}))


def cairn_run(model, optimizer, seconds, workers):
    job = fashion_job(model_file(model), {"name": optimizer, "learning_rate": 0.001})
    with LocalRun(job, ps=1, workers=workers) as run:
        run.wait_for_batches(40)
        return run.measure(seconds)[0] * BATCH


def cairn_cluster(model, optimizer, seconds):
    return cairn_run(model, optimizer, seconds, workers=2)


def cairn_one(model, optimizer, seconds):
    return cairn_run(model, optimizer, seconds, workers=1)


# Setting -> Cairn, its peer, the peer's name, and the target ratio.
PAIRS = {"alone": (cairn_alone, torch_alone, "PyTorch, 1 thread", None),
         "cluster": (cairn_cluster, torch_ddp, "PyTorch DDP, gloo", 1.2),
         "one": (cairn_one, torch_ps, "torch.distributed.rpc, its better number of threads", 1.5)}


def measure(where, model, optimizer, rounds, seconds, with_peer):
    ours, theirs, beside, wanted = PAIRS[where]
    name = f"{model.upper()}, {optimizer.capitalize() if optimizer == 'adam' else 'SGD'}"
    if not with_peer:
        alone = [ours(model, optimizer, seconds) for _ in range(rounds)]
        results.emit(name, statistics.median(alone), "examples/s", note=f"{beside} skipped")
        return
    pairs = [(ours(model, optimizer, seconds), theirs(model, optimizer, seconds))
             for _ in range(rounds)]
    a, b = (statistics.median(column) for column in zip(*pairs))
    bar = {"at_least": wanted} if wanted else {}
    results.emit(name, a, "examples/s", peer=beside, peer_value=b,
                 ratio=statistics.median(x / y for x, y in pairs), **bar)


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 4
    chosen = sys.argv[3:]
    with_peer = peer.is_there()
    for where in PAIRS:
        for model in MODELS:
            for optimizer in ("sgd", "adam"):
                if all(word in (where, model, optimizer) for word in chosen):
                    measure(where, model, optimizer, rounds, seconds, with_peer)


if __name__ == "__main__":
    main()
