#!/usr/bin/env python3
"""The peer of model_step: PyTorch trains the network of a Keras architecture on random images.

Usage: torch_model.py MODEL.json sgd|adam BATCH THREADS contiguous|channels_last

Answers "run SECONDS" on standard input with one JSON object a line, as model_step does. Layers are
written as people write them for PyTorch (torchvision's models): padding belongs to the convolution
that follows, activations work in place, and the last softmax belongs to the loss.
"""

import json
import resource
import statistics
import sys
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

BATCHES = 8


def pair(value):
    return [value, value] if isinstance(value, int) else list(value)


class KerasNet(nn.Module):
    """A Sequential or functional model of the layers that the benchmarks use."""

    def __init__(self, model):
        super().__init__()
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
            elif kind == "GlobalAveragePooling2D":
                values[name] = values[inputs[0]].mean((2, 3))
            else:
                values[name] = values[inputs[0]]
        return values[self.last]


def main():
    file, optimizer, batch, threads, layout = sys.argv[1:6]
    batch = int(batch)
    torch.set_num_threads(int(threads))
    torch.set_num_interop_threads(1)
    torch.manual_seed(0)
    with open(file, encoding="utf-8") as text:
        net = KerasNet(json.load(text))
    rows, columns, channels = net.shapes[net.input]
    x = torch.rand(BATCHES * batch, channels, rows, columns)
    y = torch.randint(0, net.shapes[net.last][0], (len(x),))
    if layout == "channels_last":
        x = x.contiguous(memory_format=torch.channels_last)
        net = net.to(memory_format=torch.channels_last)
    rule = (torch.optim.SGD(net.parameters(), lr=0.001) if optimizer == "sgd"
            else torch.optim.Adam(net.parameters(), lr=0.001))

    def step(k):
        i = k % BATCHES * batch
        rule.zero_grad(set_to_none=True)
        F.cross_entropy(net(x[i:i + batch]), y[i:i + batch]).backward()
        rule.step()

    def run(seconds):
        times, start = [], time.perf_counter()
        end = start
        while end - start < seconds or len(times) < 3:
            begin = end
            step(len(times))
            end = time.perf_counter()
            times.append(end - begin)
        return {"examples_per_second": len(times) * batch / (end - start),
                "milliseconds_median": statistics.median(times) * 1e3,
                "peak_mebibytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}

    for k in range(3):
        step(k)
    print(json.dumps({"parameters": sum(p.numel() for p in net.parameters())}), flush=True)
    for line in sys.stdin:
        print(json.dumps(run(float(line.split()[1]))), flush=True)


if __name__ == "__main__":
    main()
