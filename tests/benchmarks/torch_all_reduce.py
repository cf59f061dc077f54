"""One rank of all-reduces over gloo, for all_reduce.py.

Usage: torch_all_reduce.py RANK SIZE PORT. As all_reduce.cc.
"""

import os
import sys
import time

import torch
import torch.distributed as dist


def main():
    rank, size, port = (int(word) for word in sys.argv[1:])
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), GLOO_SOCKET_IFNAME="lo")
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=size)
    for line in sys.stdin:
        count, repeats = (int(word) for word in line.split())
        values = torch.ones(count // 4)

        def reduce():
            dist.all_reduce(values)
            values.div_(size)

        reduce()
        dist.barrier()
        begin = time.perf_counter()
        for _ in range(repeats):
            reduce()
        seconds = (time.perf_counter() - begin) / repeats
        assert bool((values == 1).all())
        if rank == 0:
            print(seconds, flush=True)


main()
