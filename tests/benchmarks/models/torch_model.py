#!/usr/bin/env python3
"""The peer of model_step: PyTorch trains the network of a Keras architecture on random images.

Usage: torch_model.py MODEL.json sgd|adam[:RATE] BATCH THREADS contiguous|channels_last [FOLDER [PROCESSES]]

FOLDER: trains on its x.npy and y.npy instead, as ../race_data.py writes them. PROCESSES: that many of
DistributedDataParallel over gloo; the first starts the others and says the sum of all.
Answers "run SECONDS" on standard input with one JSON object a line, as model_step does. Layers are
written as people write them for PyTorch (torchvision's models): padding belongs to the convolution
that follows, activations work in place, and the last softmax belongs to the loss.
"""

import json
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F

BATCHES = 8


def pair(value):
    return [value, value] if isinstance(value, int) else list(value)


class KerasNet(nn.Module):
    """A Sequential or functional model of the layers that the benchmarks use."""

    def __init__(self, model, sparse=False):
        super().__init__()
        self.sparse = sparse
        config = model["config"]
        self.steps, self.parts, self.shapes, self.padding = [], nn.ModuleDict(), {}, {}
        previous = None
        for layer in config["layers"]:
            name = layer["config"]["name"]
            calls = layer.get("inbound_nodes")
            inputs = ([c[0] for c in calls[0]] if calls else [] if calls is not None
                      else [previous] if previous else [])
            self.add(layer["class_name"], name, layer["config"], inputs)
            previous = name
        self.last = previous

    def add(self, kind, name, c, inputs):
        if kind == "InputLayer":
            self.shapes[name] = c.get("batch_shape", c.get("batch_input_shape"))[1:]
            self.input = name
            return
        shape, pad = self.shapes[inputs[0]], self.padding.get(inputs[0], 0)
        part, self.shapes[name] = getattr(self, "make_" + kind.lower())(c, list(shape), pad)
        if kind == "ZeroPadding2D":
            self.padding[name] = part
            part = None
        if part is not None:
            self.parts[name] = part
        self.steps.append((name, kind, inputs))

    def is_sparse(self):
        return any(getattr(part, "sparse", False) for part in self.parts.values())

    def window(self, c, size, shape, pad):
        strides = pair(c.get("strides", 1 if "kernel_size" in c else size))
        if c.get("padding") == "same":
            pad = (size[0] - 1) // 2
            out = [-(-shape[i] // strides[i]) for i in (0, 1)]
        else:
            out = [(shape[i] + 2 * pad - size[i]) // strides[i] + 1 for i in (0, 1)]
        return strides, pad, out

    def activated(self, part, c):
        kind = c.get("activation", "linear")
        return nn.Sequential(part, nn.ReLU(inplace=True)) if kind == "relu" else part

    def make_conv2d(self, c, shape, pad, groups=1):
        size = pair(c["kernel_size"])
        strides, pad, out = self.window(c, size, shape, pad)
        filters = c.get("filters", shape[2])
        part = nn.Conv2d(shape[2], filters, size, strides, pad, groups=groups,
                         bias=c.get("use_bias", True))
        return self.activated(part, c), out + [filters]

    def make_depthwiseconv2d(self, c, shape, pad):
        return self.make_conv2d(c, shape, pad, groups=shape[2])

    def make_maxpooling2d(self, c, shape, pad):
        size = pair(c.get("pool_size", 2))
        strides, pad, out = self.window(c, size, shape, pad)
        return nn.MaxPool2d(size, strides, pad), out + [shape[2]]

    def make_zeropadding2d(self, c, shape, pad):
        sides = c.get("padding", 1)
        # One-sided padding with stride 2: PyTorch pads both sides and has the same number of windows.
        return (sides if isinstance(sides, int) else max(sides[0])), shape

    def make_batchnormalization(self, c, shape, pad):
        return nn.BatchNorm2d(shape[-1], eps=c.get("epsilon", 1e-3)), shape

    def make_relu(self, c, shape, pad):
        return (nn.ReLU6 if c.get("max_value") else nn.ReLU)(inplace=True), shape

    def make_activation(self, c, shape, pad):
        return nn.ReLU(inplace=True), shape

    def make_add(self, c, shape, pad):
        return None, shape

    def make_dropout(self, c, shape, pad):
        return nn.Dropout(c["rate"]), shape

    def make_embedding(self, c, shape, pad):
        # Sparse gradients: of the rows that a batch has, not of the table. Adam has none.
        return (nn.Embedding(c["input_dim"], c["output_dim"], sparse=self.sparse),
                shape + [c["output_dim"]])

    def make_globalaveragepooling1d(self, c, shape, pad):
        return None, shape[1:]

    def make_globalaveragepooling2d(self, c, shape, pad):
        return None, [shape[2]]

    def make_flatten(self, c, shape, pad):
        count = 1
        for size in shape:
            count *= size
        return None, [count]

    def make_dense(self, c, shape, pad):
        return self.activated(nn.Linear(shape[-1], c["units"]), c), [c["units"]]

    def forward(self, x):
        values = {self.input: x}
        for name, kind, inputs in self.steps:
            if name in self.parts:
                values[name] = self.parts[name](values[inputs[0]])
            elif kind == "Add":
                values[name] = values[inputs[0]] + values[inputs[1]]
            elif kind == "Flatten":
                values[name] = torch.flatten(values[inputs[0]], 1)
            elif kind == "GlobalAveragePooling1D":
                values[name] = values[inputs[0]].mean(1)
            elif kind == "GlobalAveragePooling2D":
                values[name] = values[inputs[0]].mean((2, 3))
            else:
                values[name] = values[inputs[0]]
        return values[self.last]


def parameters_of(net):
    """As Keras counts them: batch normalization's statistics too."""
    return sum(value.numel() for value in net.state_dict().values() if value.is_floating_point())


def rule_of(optimizer, parameters, rate, fused):
    rule = torch.optim.SGD if optimizer == "sgd" else torch.optim.Adam
    return rule(parameters, lr=rate, **({"fused": True} if fused else {}))


def random_data(net, batch):
    rows, columns, channels = net.shapes[net.input]
    x = torch.rand(BATCHES * batch, channels, rows, columns)
    return x, torch.randint(0, net.shapes[net.last][0], (len(x),))


def data_of(folder):
    import numpy
    x, y = (torch.from_numpy(numpy.load(os.path.join(folder, file))) for file in ("x.npy", "y.npy"))
    return (x.permute(0, 3, 1, 2).contiguous() if x.dim() == 4 else x), y.long()


def join_others(processes, children):
    """Starts the other processes, unless this is one of them. Returns this one's rank."""
    rank = int(os.environ.get("RANK", 0))
    if processes == 1:
        return 0
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"  # The host's name may not be the loopback address.
    if rank == 0:
        os.environ["STORE"] = os.path.join(tempfile.mkdtemp(), "store")
        for other in range(1, processes):
            children.append(subprocess.Popen([sys.executable, *sys.argv], stdout=subprocess.DEVNULL,
                                             env=dict(os.environ, RANK=str(other)),
                                             stdin=subprocess.DEVNULL))
    dist.init_process_group("gloo", init_method="file://" + os.environ["STORE"], rank=rank,
                            world_size=processes)
    return rank


def peak_mebibytes(children):
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    for child in children:
        with open(f"/proc/{child.pid}/status", encoding="utf-8") as status:
            peak += int(re.search(r"^VmHWM:\s+(\d+) kB$", status.read(), re.MULTILINE).group(1)) / 1024
    return peak


def main():
    file, optimizer, batch, threads, layout = sys.argv[1:6]
    folder, processes = sys.argv[6] if len(sys.argv) > 6 else "", int((sys.argv[7:] or ["1"])[0])
    optimizer, _, rate = optimizer.partition(":")
    batch = int(batch)
    torch.set_num_threads(int(threads))
    torch.set_num_interop_threads(1)
    torch.manual_seed(0)
    with open(file, encoding="utf-8") as text:
        net = KerasNet(json.load(text), sparse=optimizer == "sgd")
    x, y = data_of(folder) if folder else random_data(net, batch)
    if layout == "channels_last":
        x = x.contiguous(memory_format=torch.channels_last)
        net = net.to(memory_format=torch.channels_last)
    count, parameters, children = parameters_of(net), list(net.parameters()), []
    # One pass over all parameters, where PyTorch has that on CPUs.
    fused = not net.is_sparse() and tuple(map(int, torch.__version__.split(".")[:2])) >= (2, 4)
    rank = join_others(processes, children)
    if processes > 1:
        net = nn.parallel.DistributedDataParallel(net, gradient_as_bucket_view=not net.is_sparse())
    rule = rule_of(optimizer, parameters, float(rate or 0.001), fused)
    batches = len(x) // batch

    def step(k):
        i = (k * processes + rank) % batches * batch
        rule.zero_grad(set_to_none=True)
        loss = F.cross_entropy(net(x[i:i + batch]), y[i:i + batch])
        loss.backward()
        rule.step()
        return loss.detach()

    def steps(wanted):
        """The number of steps is agreed upon first: each needs all."""
        if processes > 1:
            agreed = torch.tensor([wanted])
            dist.broadcast(agreed, 0)
            wanted = int(agreed)
        times, loss = [], None
        for k in range(wanted):
            begin = time.perf_counter()
            loss = step(k)
            times.append(time.perf_counter() - begin)
        return times, loss

    def run(seconds, each):
        times, loss = steps(max(3, int(seconds / each)))
        return {"examples_per_second": processes * len(times) * batch / sum(times),
                "milliseconds_median": statistics.median(times) * 1e3, "loss": float(loss),
                "peak_mebibytes": peak_mebibytes(children)}, sum(times) / len(times)

    first_loss = float(steps(1)[1])
    each = sum(steps(3)[0]) / 3
    if rank > 0:
        while True:
            steps(0)
    print(json.dumps({"parameters": count, "first_loss": first_loss}), flush=True)
    for line in sys.stdin:
        answer, each = run(float(line.split()[1]), each)
        print(json.dumps(answer), flush=True)
    for child in children:
        child.kill()
        child.wait()


if __name__ == "__main__":
    main()
