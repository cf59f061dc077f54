#!/usr/bin/env python3
"""How fast PyTorch multiplies matrices, and what it has mapped to do so: one JSON object, for peer.py
and originals.py.

Usage: torch_product.py [product THREADS]
"""

import ctypes
import json
import re
import sys
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


def openblas_kernels(maps):
    """Whose kernels OpenBLAS has chosen, as "SkylakeX"; "" if there is no OpenBLAS."""
    library = re.search(r"/\S*/libopenblas[^/\s]*\.so\S*", maps)
    if not library:
        return ""
    name = ctypes.CDLL(library.group()).openblas_get_corename
    name.restype = ctypes.c_char_p
    return name().decode()


def main():
    torch.set_num_threads(int(sys.argv[2]) if len(sys.argv) > 2 else 1)
    gflops = 2 * SIDE ** 3 / best_seconds() / 1e9
    with open("/proc/self/maps", encoding="utf-8") as file:
        maps = file.read()
    print(json.dumps({"gflops": gflops, "maps": maps, "kernels": openblas_kernels(maps),
                      "onednn": torch.backends.mkldnn.is_available(), "version": torch.__version__}))


if __name__ == "__main__":
    main()
