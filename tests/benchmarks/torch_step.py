#!/usr/bin/env python3
"""The peer: PyTorch trains the same networks on the same batches. Prints examples per second.

Usage: torch_step.py mlp|cnn sgd|adam SECONDS [RANK SIZE STORE]

With RANK SIZE STORE it is one process of DistributedDataParallel over gloo and prints the sum of all.
Batches of 128 are slices of a tensor in memory, which is the fastest simple way; the convolutional
network uses the better of PyTorch's layouts (channels last).
"""

import os
import sys
import time

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F

BATCH = 128


def mlp():
    return nn.Sequential(nn.Flatten(), nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 256),
                         nn.ReLU(), nn.Linear(256, 10))


def cnn():
    return nn.Sequential(
        nn.Conv2d(1, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(3136, 256), nn.ReLU(), nn.Linear(256, 10))


def main():
    model, optimizer, seconds = sys.argv[1], sys.argv[2], float(sys.argv[3])
    torch.set_num_threads(1)
    torch.manual_seed(0)
    x = torch.rand(60 * BATCH, 1, 28, 28)
    y = torch.randint(0, 10, (len(x),))
    net = mlp() if model == "mlp" else cnn()
    if model == "cnn":
        x = x.contiguous(memory_format=torch.channels_last)
        net = net.to(memory_format=torch.channels_last)
    rank, size = 0, 1
    if len(sys.argv) > 4:
        rank, size = int(sys.argv[4]), int(sys.argv[5])
        dist.init_process_group("gloo", init_method="file://" + os.path.abspath(sys.argv[6]),
                                rank=rank, world_size=size)
        net = nn.parallel.DistributedDataParallel(net)
    rule = (torch.optim.SGD(net.parameters(), lr=0.01) if optimizer == "sgd"
            else torch.optim.Adam(net.parameters(), lr=1e-3))

    def step(k):
        i = (k * size + rank) % 60 * BATCH
        rule.zero_grad(set_to_none=True)
        F.cross_entropy(net(x[i:i + BATCH]), y[i:i + BATCH]).backward()
        rule.step()

    for k in range(10):
        step(k)
    # All processes make the same number of steps, because each step needs all of them.
    start = time.perf_counter()
    step(0)
    steps = max(5, int(seconds / (time.perf_counter() - start)))
    if size > 1:
        agreed = torch.tensor([steps])
        dist.all_reduce(agreed, op=dist.ReduceOp.MIN)
        steps = int(agreed)
    start = time.perf_counter()
    for k in range(steps):
        step(k)
    rate = size * steps * BATCH / (time.perf_counter() - start)
    if rank == 0:
        print(f"{rate:.1f}")


if __name__ == "__main__":
    main()
