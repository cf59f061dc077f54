#!/usr/bin/env python3
"""The peer with a parameter server: torch.distributed.rpc (TensorPipe), one server, one worker. The
worker pulls all parameters, computes the gradients of a batch and pushes them; the server applies
plain SGD or Adam. Prints the worker's examples per second.

Usage: torch_parameter_server.py mlp|cnn sgd|adam SECONDS THREADS RANK STORE     (rank 0 serves)
"""

import os
import sys
import time

import torch
import torch.distributed.rpc as rpc
import torch.nn.functional as F

from torch_step import BATCH, cnn, mlp

MODEL, OPTIMIZER, SECONDS, THREADS, RANK, STORE = sys.argv[1:7]
torch.set_num_threads(int(THREADS))
torch.manual_seed(0)
net = mlp() if MODEL == "mlp" else cnn()
parameters = list(net.parameters())
rule = (torch.optim.SGD(parameters, lr=0.01) if OPTIMIZER == "sgd"
        else torch.optim.Adam(parameters, lr=1e-3))


def pull():
    return [parameter.detach() for parameter in parameters]


def push(gradients):
    for parameter, gradient in zip(parameters, gradients):
        parameter.grad = gradient
    rule.step()


def train():
    x = torch.rand(60 * BATCH, 1, 28, 28)
    y = torch.randint(0, 10, (len(x),))
    if MODEL == "cnn":
        x = x.contiguous(memory_format=torch.channels_last)
        net.to(memory_format=torch.channels_last)

    def step(k):
        i = k % 60 * BATCH
        with torch.no_grad():
            for mine, theirs in zip(parameters, rpc.rpc_sync("ps", pull)):
                mine.copy_(theirs)
        net.zero_grad(set_to_none=True)
        F.cross_entropy(net(x[i:i + BATCH]), y[i:i + BATCH]).backward()
        rpc.rpc_sync("ps", push, ([parameter.grad for parameter in parameters],))

    for k in range(10):
        step(k)
    start, k = time.perf_counter(), 0
    while time.perf_counter() - start < float(SECONDS):
        step(k)
        k += 1
    print(f"{k * BATCH / (time.perf_counter() - start):.1f}")


rpc.init_rpc("ps" if RANK == "0" else "worker", rank=int(RANK), world_size=2,
             rpc_backend_options=rpc.TensorPipeRpcBackendOptions(
                 num_worker_threads=4, init_method="file://" + os.path.abspath(STORE)))
if RANK == "1":
    train()
rpc.shutdown()
