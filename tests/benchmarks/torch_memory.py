#!/usr/bin/env python3
"""The peer's memory: PyTorch trains a network of dense layers for some steps. Prints its resident
bytes, for memory.py.

Usage: torch_memory.py sgd|momentum|adam BATCH WIDTH...
"""

import sys

import torch
import torch.nn as nn
import torch.nn.functional as F

STEPS = 10


def main():
    optimizer, batch, *widths = sys.argv[1], *map(int, sys.argv[2:])
    torch.set_num_threads(1)
    layers = [nn.Flatten()]
    for inputs, outputs in zip([784] + widths, widths):
        layers += [nn.Linear(inputs, outputs), nn.ReLU()]
    net = nn.Sequential(*layers[:-1])
    rule = (torch.optim.Adam(net.parameters(), lr=1e-3) if optimizer == "adam" else
            torch.optim.SGD(net.parameters(), lr=0.01,
                            momentum=0.9 if optimizer == "momentum" else 0))
    x, y = torch.rand(batch, 28, 28), torch.randint(0, widths[-1], (batch,))
    for _ in range(STEPS):
        rule.zero_grad(set_to_none=True)
        F.cross_entropy(net(x), y).backward()
        rule.step()
    with open("/proc/self/status", encoding="utf-8") as status:
        for line in status:
            if line.startswith("VmRSS:"):
                print(int(line.split()[1]) * 1024)


if __name__ == "__main__":
    main()
