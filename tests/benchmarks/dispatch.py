#!/usr/bin/env python3
"""Starts a coordinator alone, runs `dispatch` against it, and prints its rows.

Usage: dispatch.py [--quick|--smoke]     (--smoke: only to see that it works)

dispatch.cc describes the measurement and its limits.
"""

import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("CAIRN_BIN", ROOT / "bazel-bin"))
# The number of workers, and the batches per second of each; 0: unlimited. The last entry is
# realistic, a little above the target: each worker reports 20 times per second.
CASES = [(4, 0), (1000, 0), (1000, 25)]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def measure(workers, speed, seconds, **how):
    """Returns the finished program, which was run as `how` says (subprocess.run)."""
    address = f"127.0.0.1:{free_port()}"
    config = {"cluster": {"chief": [address], "ps": ["127.0.0.1:1"],
                          "worker": ["127.0.0.1:2"]},
              "task": {"type": "chief", "index": 0}}
    with tempfile.TemporaryDirectory() as state:
        coordinator = subprocess.Popen([BIN / "coordinator/coordinator", "--state", state,
                                        "--log_level", "error"],
                                       env=dict(os.environ, TF_CONFIG=json.dumps(config)))
        try:
            return subprocess.run([BIN / "tests/benchmarks/dispatch", address, str(workers),
                                   str(seconds), str(speed)], check=True, timeout=300, **how)
        finally:
            coordinator.terminate()
            coordinator.wait(timeout=30)


def main():
    if "--smoke" in sys.argv:
        measure(3, 0, 0.2)
        return
    seconds = 3 if "--quick" in sys.argv else 10
    for workers, speed in CASES:
        measure(workers, speed, seconds)


if __name__ == "__main__":
    main()
