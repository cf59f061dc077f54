#!/usr/bin/env python3
"""How fast PyTorch multiplies matrices, and what it has mapped to do so: one JSON object, for peer.py.

Usage: torch_product.py
"""

import json
import time

import torch

SIDE = 512
SECONDS = 0.5


def best_seconds():
    a, b = torch.rand(SIDE, SIDE), torch.rand(SIDE, SIDE)
    best, end = float("inf"), time.perf_counter() + SECONDS
    while time.perf_counter() < end:
        start = time.perf_counter()
        torch.mm(a, b)
        best = min(best, time.perf_counter() - start)
    return best


def main():
    torch.set_num_threads(1)
    gflops = 2 * SIDE ** 3 / best_seconds() / 1e9
    with open("/proc/self/maps", encoding="utf-8") as maps:
        print(json.dumps({"version": torch.__version__, "gflops": gflops, "maps": maps.read()}))


if __name__ == "__main__":
    main()
