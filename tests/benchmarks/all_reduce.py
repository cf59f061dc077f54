#!/usr/bin/env python3
"""All-reduce of float32 by several processes on this machine, over loopback TCP and through shared
memory, beside gloo's ring over TCP (torch.distributed). Rounds are interleaved; the ratio is the
median of the rounds'.

Usage: all_reduce.py [--quick]
"""

import json
import os
import socket
import statistics
import subprocess
import sys

import peer
import results
from peer import BIN, ROOT

HERE = ROOT / "tests/benchmarks"
MIB = 1 << 20
BARS = {"direct": 1.3, "ring": 1.3, "shared": 3}


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


class Ranks:
    """The processes of one side."""

    def __init__(self, commands, environments):
        self._ranks = [subprocess.Popen([str(word) for word in command], env=environment, text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
                       for command, environment in zip(commands, environments)]

    def seconds(self, count, repeats):
        for rank in self._ranks:
            rank.stdin.write(f"{count} {repeats}\n")
            rank.stdin.flush()
        return float(self._ranks[0].stdout.readline())

    def close(self):
        for rank in self._ranks:
            rank.stdin.close()
        for rank in self._ranks:
            rank.wait(timeout=60)


def cairn(algorithm, size):
    addresses = [f"127.0.0.1:{port}" for port in free_ports(size)]
    environments = [dict(os.environ, TF_CONFIG=json.dumps(
        {"cluster": {"worker": addresses}, "task": {"type": "worker", "index": rank}}))
        for rank in range(size)]
    program = BIN / "tests/benchmarks/all_reduce"
    return Ranks([[program, algorithm]] * size, environments)


def gloo(size):
    port = free_ports(1)[0]
    environment = dict(os.environ, OMP_NUM_THREADS="1")
    program = HERE / "torch_all_reduce.py"
    return Ranks([[peer.PYTHON, program, rank, size, port] for rank in range(size)],
                 [environment] * size)


def measure(algorithm, size, sizes, rounds):
    ours = cairn(algorithm, size)
    theirs = gloo(size) if not peer.find_out().why_not else None
    for mebibytes in sizes:
        count, repeats = mebibytes * MIB, max(3, 64 // mebibytes)
        how = "shared memory" if algorithm == "shared" else algorithm
        name = f"all-reduce of {mebibytes} MiB by {size} processes, {how}"
        pairs = [(ours.seconds(count, repeats),
                  theirs.seconds(count, repeats) if theirs else None) for _ in range(rounds)]
        row = {}
        if theirs:
            row = {"peer": "gloo",
                   "peer_value": mebibytes / statistics.median(pair[1] for pair in pairs),
                   "ratio": statistics.median(pair[1] / pair[0] for pair in pairs),
                   "at_least": BARS[algorithm]}
        results.emit(name, mebibytes / statistics.median(pair[0] for pair in pairs), "MiB/s", **row)
    for side in filter(None, (ours, theirs)):
        side.close()


def main():
    quick = "--quick" in sys.argv[1:]
    for size in (2, 4):
        for algorithm in BARS:
            measure(algorithm, size, (1, 16) if quick else (1, 4, 16, 64), 1 if quick else 5)


if __name__ == "__main__":
    main()
