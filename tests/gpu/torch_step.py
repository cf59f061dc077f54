#!/usr/bin/env python3
"""The peer of step.cc: PyTorch's milliseconds per step on the first GPU, in float32 without TF32,
or in mixed precision (autocast).

Usage: torch_step.py MODEL:BATCH_SIZE:STEPS:PRECISION...

MODEL is mlp, cnn, resnet50 or mobilenet_v2; PRECISION is one of a job file's.

Prints two medians for each: forward and backward pass with the values in place, then with all values copied
from the host before the step and all gradients to the host after it, as a worker of a cluster does.
The batch comes from pinned memory in both; the loss goes to the host in both.
"""

import statistics
import sys
import time

import torch
import torch.nn as nn
import torch.nn.functional as F


def mlp():
    return nn.Sequential(nn.Flatten(), nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 256),
                         nn.ReLU(), nn.Linear(256, 10)), (1, 28, 28), 10


def cnn():
    return nn.Sequential(
        nn.Conv2d(1, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(3136, 256), nn.ReLU(), nn.Linear(256, 10)), (1, 28, 28), 10


def of_torchvision(name):
    import torchvision
    return getattr(torchvision.models, name)(weights=None), (3, 224, 224), 1000


def measure(name, batch, steps, precision):
    torch.backends.cuda.matmul.allow_tf32 = precision == "tensorfloat32"
    torch.backends.cudnn.allow_tf32 = precision == "tensorfloat32"
    torch.backends.cudnn.benchmark = True
    torch.manual_seed(0)
    net, shape, classes = {"mlp": mlp, "cnn": cnn}.get(name, lambda: of_torchvision(name))()
    net = net.cuda().train()
    x = torch.rand(batch, *shape).pin_memory()
    y = torch.randint(0, classes, (batch,)).pin_memory()
    values = [p.detach().cpu().pin_memory() for p in net.parameters()]
    gradients = [torch.empty_like(v).pin_memory() for v in values]

    def step(with_copies):
        if with_copies:
            with torch.no_grad():
                for parameter, value in zip(net.parameters(), values):
                    parameter.copy_(value, non_blocking=True)
        net.zero_grad(set_to_none=True)
        with torch.autocast("cuda", torch.bfloat16, enabled=precision == "mixed_bfloat16"):
            loss = F.cross_entropy(net(x.cuda(non_blocking=True)), y.cuda(non_blocking=True))
        loss.backward()
        if with_copies:
            for parameter, gradient in zip(net.parameters(), gradients):
                gradient.copy_(parameter.grad, non_blocking=True)
        loss.item()
        torch.cuda.synchronize()

    def median(with_copies):
        times = []
        for _ in range(steps):
            start = time.perf_counter()
            step(with_copies)
            times.append(1000 * (time.perf_counter() - start))
        return statistics.median(times)

    for _ in range(5):
        step(True)
    print(f"{median(False):.3f} {median(True):.3f}", flush=True)


def main():
    for words in sys.argv[1:]:
        name, batch, steps, precision = words.split(":")
        measure(name, int(batch), int(steps), precision)


if __name__ == "__main__":
    main()
