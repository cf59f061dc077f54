#!/usr/bin/env python3
"""Cairn predicts with an ONNX file what ONNX Runtime predicts, for files as PyTorch's exporters and
others write them. Files that Cairn wrote are read in onnx_test.py.

Arguments: groups of cases [all], as Models.test_NAME.
"""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

import models
from cluster import Job, cairn
from keras_files_test import compare, run_all

EXAMPLES = 4


class Graph:
    """An ONNX graph under construction. Nodes and initializers are named as PyTorch names them."""

    def __init__(self, opset=17):
        self.opset = opset
        self.random = np.random.default_rng(11)
        self.nodes, self.initializers, self.inputs, self.outputs = [], [], [], []
        self.feeds = {}

    def input(self, *shape, ids=0, batch_axis=0):
        """An input of these sizes without the batch; of whole numbers below `ids`."""
        name = f"x{len(self.inputs)}"
        full = [*shape[:batch_axis], EXAMPLES, *shape[batch_axis:]]
        values = (self.random.integers(0, ids, full) if ids
                  else self.random.normal(0, 1, full).astype("f"))
        self.feeds[name] = values
        dims = [*shape[:batch_axis], "batch", *shape[batch_axis:]]
        kind = TensorProto.INT64 if ids else TensorProto.FLOAT
        self.inputs.append(helper.make_tensor_value_info(name, kind, dims))
        return name

    def weight(self, name, *shape, low=-.5):
        return self.constant(self.random.uniform(low, low + 1, shape).astype("f"), name)

    def constant(self, values, name=None):
        name = name or f"onnx::Const_{len(self.initializers)}"
        self.initializers.append(numpy_helper.from_array(np.asarray(values), name))
        return name

    def add(self, op, *inputs, outputs=1, **attributes):
        names = [f"/{op}_{len(self.nodes)}_output_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(op, inputs, names, name=f"/part{len(self.nodes)}/{op}",
                                           **attributes))
        return names[0] if outputs == 1 else names

    def chain(self, x, *operators):
        for op, *rest in operators:
            attributes = rest.pop() if rest and isinstance(rest[-1], dict) else {}
            x = self.add(op, x, *rest, **attributes)
        return x

    def end(self, name, x, width):
        """An output: a Flatten and a Gemm of 2 units, whose layer has this name."""
        flat = self.add("Flatten", x, axis=1)
        y = self.add("Gemm", flat, self.weight(f"{name}.weight", 2, width),
                     self.weight(f"{name}.bias", 2), transB=1)
        self.output(name, y, [2])

    def output(self, name, value, shape):
        self.nodes.append(helper.make_node("Identity", [value], [f"out_{name}"]))
        self.outputs.append((name, shape))

    def model(self):
        outputs = [helper.make_tensor_value_info(f"out_{name}", TensorProto.FLOAT, ["batch", *shape])
                   for name, shape in self.outputs]
        graph = helper.make_graph(self.nodes, "main_graph", self.inputs, outputs, self.initializers)
        model = helper.make_model(graph, producer_name="pytorch", ir_version=8,
                                  opset_imports=[helper.make_opsetid("", self.opset)])
        onnx.checker.check_model(model, full_check=True)
        return model


def conv(g, name, x, inputs, filters, *size, groups=1, bias=True, **attributes):
    parts = [g.weight(f"{name}.weight", filters, inputs // groups, *size)]
    if bias:
        parts.append(g.weight(f"{name}.bias", filters))
    return g.add("Conv", x, *parts, kernel_shape=list(size), group=groups, **attributes)


def batch_norm(g, name, x, channels):
    """The step of training does not change its statistics."""
    return g.add("BatchNormalization", x, g.weight(f"{name}.weight", channels),
                 g.weight(f"{name}.bias", channels), g.weight(f"{name}.running_mean", channels),
                 g.weight(f"{name}.running_var", channels, low=.5), epsilon=1e-5, momentum=1.)


def activations(g):
    plain = ["Relu", "Sigmoid", "Tanh", "Softplus", "Softsign", "Elu", "Selu", "Exp", "HardSwish",
             "Celu", "LeakyRelu", "ThresholdedRelu", "HardSigmoid", "Shrink", "Neg", "Identity",
             "Erf", "Floor", "Ceil"]
    for op in plain:
        g.end(op, g.add(op, g.input(5)), 5)
    g.end("elu_slope", g.add("Elu", g.input(5), alpha=.5), 5)
    g.end("hard_slope", g.add("HardSigmoid", g.input(5), alpha=.3, beta=.4), 5)
    for i, (low, high) in enumerate([(0, 6), (-1, 1), (-.5, .25), (.1, None), (None, .2), (0, .7)]):
        bounds = ["" if b is None else g.constant(np.float32(b)) for b in (low, high)]
        g.end(f"clip{i}", g.add("Clip", g.input(5), *bounds), 5)
    x = g.input(5)
    erf = g.chain(x, ("Div", g.constant(np.float32(2**.5))), ("Erf",),
                  ("Add", g.constant(np.float32(1))))
    g.end("gelu", g.chain(g.add("Mul", x, erf), ("Mul", g.constant(np.float32(.5)))), 5)
    x = g.input(5)
    g.end("silu", g.add("Mul", x, g.add("Sigmoid", x)), 5)
    g.end("prelu", g.add("PRelu", g.input(3, 4), g.weight("slopes.weight", 3, 1)), 12)
    g.end("prelu_one", g.add("PRelu", g.input(3, 4), g.weight("p1.weight", 1)), 12)
    for axis in (-1, 1):
        g.end(f"softmax{axis}", g.add("Softmax", g.input(3, 4), axis=axis), 12)
        g.end(f"log_softmax{axis}", g.add("LogSoftmax", g.input(3, 4), axis=axis), 12)


def arithmetic(g):
    for op in ["Add", "Sub", "Mul", "Max", "Min", "Mean", "Sum"]:
        g.end(f"two_{op}", g.add(op, g.input(3, 4), g.input(3, 4)), 12)
    for op in ["Add", "Sub", "Mul", "Div"]:
        g.end(f"number_{op}", g.add(op, g.input(5), g.constant(np.float32(.7))), 5)
        g.end(f"row_{op}", g.add(op, g.input(3, 4), g.weight(f"r{op}", 4, low=.2)), 12)
        g.end(f"column_{op}", g.add(op, g.input(3, 4), g.weight(f"c{op}", 3, 1, low=.2)), 12)
        g.end(f"all_{op}", g.add(op, g.input(3, 4), g.weight(f"a{op}", 1, 3, 4, low=.2)), 12)
    g.end("from", g.add("Sub", g.constant(np.float32(1)), g.input(5)), 5)
    g.end("square", g.add("Pow", g.input(5), g.constant(np.float32(2))), 5)
    g.end("broadcast", g.add("Add", g.input(3, 4), g.input(1, 4)), 12)
    # Squeeze and excitation: a factor for each channel of an image.
    x = conv(g, "se", g.input(3, 5, 4), 3, 4, 1, 1)
    s = g.chain(x, ("GlobalAveragePool",))
    s = g.add("Sigmoid", conv(g, "se2", s, 4, 4, 1, 1))
    g.end("squeezed", g.add("Mul", x, s), 80)


def products(g):
    x = g.input(3, 4)
    g.end("matmul", g.chain(x, ("MatMul", g.weight("onnx::MatMul_1", 4, 5)),
                            ("Add", g.weight("fc.bias", 5)), ("Relu",)), 15)
    g.end("one_unit", g.chain(g.input(4), ("MatMul", g.weight("m2", 4, 1)),
                              ("Add", g.weight("b2", 1))), 1)
    g.end("gemm", g.add("Gemm", g.input(4), g.weight("g.weight", 4, 3), g.weight("g.bias", 1, 3),
                        alpha=.5, beta=2.), 3)
    transposed = g.add("Transpose", g.weight("columns", 5, 4), perm=[1, 0])
    g.end("transposed_kernel", g.add("MatMul", g.input(4), transposed), 5)
    g.end("matrices", g.add("MatMul", g.input(3, 4), g.input(4, 5)), 15)
    # The rows of a kernel after a permutation, whose elements are not in the order of memory.
    y = g.chain(g.input(3, 4, 2), ("Transpose", {"perm": [0, 2, 3, 1]}),
                ("Reshape", g.constant(np.array([0, 2, 12], np.int64))))
    g.end("permuted", g.add("MatMul", y, g.weight("pw", 12, 5)), 10)
    # Rows of all examples at once, and back.
    y = g.chain(g.input(3, 4), ("Reshape", g.constant(np.array([-1, 4], np.int64))))
    y = g.add("Gemm", y, g.weight("rows.weight", 5, 4), g.weight("rows.bias", 5), transB=1)
    g.end("rows_of_all", g.add("Reshape", y, g.constant(np.array([-1, 3, 5], np.int64))), 15)
    ids = g.input(6, ids=9)
    g.end("embedding", g.add("Gather", g.weight("table.weight", 9, 4), ids), 24)
    norm = g.add("LayerNormalization", g.input(3, 4), g.weight("ln.weight", 4), g.weight("ln.bias", 4),
                 axis=-1, epsilon=1e-5)
    g.end("layer_norm", norm, 12)
    norm = g.add("LayerNormalization", g.input(3, 4), g.weight("ln2.weight", 3, 4), axis=1)
    g.end("layer_norm2", norm, 12)
    g.end("batch_norm", batch_norm(g, "bn", g.input(5), 5), 5)


def shapes(g):
    g.end("transposed", g.add("Transpose", g.input(3, 4, 2), perm=[0, 3, 1, 2]), 24)
    # x.view(x.size(0), -1)
    x = g.add("Transpose", g.input(3, 4), perm=[0, 2, 1])
    size = g.chain(g.add("Shape", x), ("Gather", g.constant(np.int64(0))),
                   ("Unsqueeze", g.constant(np.array([0], np.int64))))
    target = g.add("Concat", size, g.constant(np.array([-1], np.int64)), axis=0)
    g.end("viewed", g.add("Reshape", x, target), 12)
    x = g.chain(g.input(6, 4), ("Reshape", g.constant(np.array([-1, 2, 3, 4], np.int64))),
                ("Transpose", {"perm": [0, 2, 1, 3]}),
                ("Reshape", g.constant(np.array([0, 8, 3], np.int64))))
    g.end("mixed", x, 24)
    x = g.chain(g.input(3, 4), ("Unsqueeze", g.constant(np.array([1], np.int64))),
                ("Squeeze", g.constant(np.array([1], np.int64))))
    g.end("squeezed", x, 12)
    g.end("joined", g.add("Concat", g.input(3, 4), g.input(2, 4), axis=1), 20)
    g.end("joined_last", g.add("Concat", g.input(3, 4), g.input(3, 1), axis=-1), 15)
    g.end("expanded", g.add("Expand", g.input(1, 4), g.constant(np.array([1, 3, 4], np.int64))), 12)
    g.end("last_step", g.add("Gather", g.input(3, 4), g.constant(np.int64(-1)), axis=1), 4)
    ends = [g.constant(np.array([i], np.int64)) for i in (1, 9, 2)]
    g.end("sliced", g.add("Slice", g.input(5, 4), *ends), 15)
    parts = g.add("Split", g.input(5, 4), g.constant(np.array([2, 3], np.int64)), outputs=2, axis=1)
    g.end("part", parts[1], 12)
    pads = g.constant(np.array([0, 1, 0, 0, 2, 3], np.int64))
    g.end("padded", g.add("Pad", g.input(3, 4), pads), 42)
    g.end("dropped", g.add("Dropout", g.input(3, 4), outputs=1), 12)
    g.end("cast", g.add("Cast", g.input(4, ids=9), to=TensorProto.FLOAT), 4)
    for op in ["ReduceMean", "ReduceMax"]:
        g.end(f"{op}1", g.add(op, g.input(3, 4), axes=[1], keepdims=0), 4)
        g.end(f"{op}2", g.add(op, g.input(3, 4), axes=[-1], keepdims=1), 3)
        g.end(f"{op}3", g.add(op, g.input(3, 4, 2), axes=[2, 3], keepdims=0), 3)
    g.end("summed", g.add("ReduceSum", g.input(3, 4), g.constant(np.array([1], np.int64))), 4)


def images(g):
    def case(name, width, operator, shape=(3, 9, 8)):
        g.end(name, operator(g.input(*shape)), width)

    def padded(x):
        return g.add("Relu", conv(g, f"r{x}", x, 3, 4, 3, 3, pads=[1, 1, 1, 1]))

    case("conv", 4 * 9 * 8, lambda x: conv(g, "c0", x, 3, 4, 3, 3, pads=[1, 1, 1, 1]))
    case("strides", 4 * 5 * 4, lambda x: conv(g, "c1", x, 3, 4, 3, 3, pads=[1, 1, 1, 1],
                                              strides=[2, 2]))
    case("dilated", 4 * 5 * 6, lambda x: conv(g, "c2", x, 3, 4, 3, 2, dilations=[2, 2], bias=False))
    case("auto_pad", 4 * 5 * 4, lambda x: conv(g, "c3", x, 3, 4, 3, 3, auto_pad="SAME_LOWER",
                                               strides=[2, 2]))
    case("groups", 4 * 7 * 7, lambda x: conv(g, "c4", x, 4, 4, 3, 2, groups=2), (4, 9, 8))
    case("depthwise", 6 * 7 * 7, lambda x: conv(g, "c5", x, 3, 6, 3, 2, groups=3))
    case("conv1d", 5 * 7, lambda x: conv(g, "c6", x, 4, 5, 3, pads=[1, 1]), (4, 7))
    case("causal", 5 * 7, lambda x: conv(g, "c7", x, 4, 5, 3, pads=[2, 0]), (4, 7))
    case("conv3d", 4 * 4 * 3 * 3, lambda x: conv(g, "c8", x, 2, 4, 2, 2, 2, pads=[0, 0, 0, 0, 0, 1]),
         (2, 5, 4, 3))
    for i, (shape, attributes) in enumerate([
            ([19, 17], dict(strides=[2, 2])),
            ([17, 15], dict(strides=[2, 2], pads=[1, 1, 1, 1])),
            ([18, 16], dict(strides=[2, 2], pads=[1, 1, 1, 1], output_padding=[1, 1])),
            ([11, 10], {})]):
        case(f"deconv{i}", 2 * shape[0] * shape[1], lambda x, a=attributes, i=i: g.add(
            "ConvTranspose", x, g.weight(f"t{i}.weight", 3, 2, 3, 3), g.weight(f"t{i}.bias", 2),
            kernel_shape=[3, 3], **a))
    case("deconv1d", 2 * 9, lambda x: g.add("ConvTranspose", x, g.weight("t9.weight", 4, 2, 3),
                                            kernel_shape=[3]), (4, 7))
    case("max_pool", 4 * 4 * 4, lambda x: g.add("MaxPool", padded(x), kernel_shape=[2, 2],
                                                strides=[2, 2]))
    # ResNet's
    case("padded_pool", 4 * 5 * 4, lambda x: g.add("MaxPool", padded(x), kernel_shape=[3, 3],
                                                   strides=[2, 2], pads=[1, 1, 1, 1]))
    case("ceil_pool", 4 * 5 * 4, lambda x: g.add("MaxPool", padded(x), kernel_shape=[2, 2],
                                                 strides=[2, 2], ceil_mode=1))
    case("average", 3 * 4 * 4, lambda x: g.add("AveragePool", x, kernel_shape=[2, 2],
                                               strides=[2, 2]))
    case("counted", 3 * 5 * 4, lambda x: g.add("AveragePool", x, kernel_shape=[3, 3],
                                               strides=[2, 2], pads=[1, 1, 1, 1],
                                               count_include_pad=1))
    case("same_average", 3 * 9 * 8, lambda x: g.add("AveragePool", x, kernel_shape=[3, 3],
                                                    pads=[1, 1, 1, 1]))
    case("pool1d", 4 * 3, lambda x: g.add("AveragePool", x, kernel_shape=[2], strides=[2]), (4, 7))
    case("global", 3, lambda x: g.add("GlobalAveragePool", x))
    case("global_max", 3, lambda x: g.add("GlobalMaxPool", x))
    case("batch_norm2d", 3 * 9 * 8, lambda x: batch_norm(g, "bn2", x, 3))
    case("instance_norm", 3 * 9 * 8, lambda x: g.add(
        "InstanceNormalization", x, g.weight("in.weight", 3), g.weight("in.bias", 3)))
    case("nearest", 3 * 18 * 16, lambda x: resized(g, x, [1, 1, 2, 2], mode="nearest",
                                                   nearest_mode="floor",
                                                   coordinate_transformation_mode="asymmetric"))
    case("bilinear", 3 * 18 * 16, lambda x: resized(g, x, [1, 1, 2, 2], mode="linear",
                                                    coordinate_transformation_mode="half_pixel"))
    case("shrunk", 3 * 3 * 4, lambda x: resized(g, x, [1, 1, 1 / 3, .5], mode="linear",
                                                coordinate_transformation_mode="half_pixel"))
    case("shortcut", 3 * 9 * 8, lambda x: g.add("Add", x, batch_norm(
        g, "bn3", conv(g, "c10", x, 3, 3, 3, 3, pads=[1, 1, 1, 1]), 3)))
    case("joined", 5 * 9 * 8, lambda x: g.add("Concat", x, conv(g, "c11", x, 3, 2, 1, 1), axis=1))
    pads = g.constant(np.array([0, 1, 1, 0, 0, 0, 2, 0], np.int64))
    case("channels_padded", 4 * 12 * 8, lambda x: conv(g, "c12", g.add("Pad", x, pads), 4, 4, 1, 1))


def resized(g, x, scales, **attributes):
    return g.add("Resize", x, "", g.constant(np.array(scales, "f")), **attributes)


def recurrent(g):
    def cell(op, name, x, inputs, units, directions=1, bias=True, **attributes):
        gates = {"LSTM": 4, "GRU": 3, "RNN": 1}[op]
        parts = [g.weight(f"{name}.w", directions, gates * units, inputs),
                 g.weight(f"{name}.r", directions, gates * units, units)]
        if bias:
            parts.append(g.weight(f"{name}.b", directions, 2 * gates * units))
        outputs = 3 if op == "LSTM" else 2
        return g.add(op, x, *parts, outputs=outputs, hidden_size=units, **attributes)

    def steps(inputs=3):
        return g.add("Transpose", g.input(5, inputs), perm=[1, 0, 2])

    def sequence(y):
        """(steps, directions, batch, units) as (batch, steps, directions * units)."""
        return g.chain(y, ("Transpose", {"perm": [2, 0, 1, 3]}),
                       ("Reshape", g.constant(np.array([0, 5, -1], np.int64))))

    for op in ["LSTM", "GRU", "RNN"]:
        more = {"linear_before_reset": 1} if op == "GRU" else {}
        g.end(f"{op}_steps", sequence(cell(op, f"{op}1", steps(), 3, 4, **more)[0]), 20)
        last = g.chain(cell(op, f"{op}2", steps(), 3, 4, **more)[1],
                       ("Squeeze", g.constant(np.array([0], np.int64))))
        g.end(f"{op}_last", last, 4)
        both = cell(op, f"{op}3", steps(), 3, 4, directions=2, direction="bidirectional", **more)
        g.end(f"{op}_both", sequence(both[0]), 40)
        back = cell(op, f"{op}4", steps(), 3, 4, direction="reverse", **more)[1]
        g.end(f"{op}_back", g.add("Transpose", back, perm=[1, 0, 2]), 4)
    g.end("reset_before", sequence(cell("GRU", "gru5", steps(), 3, 4)[0]), 20)
    g.end("no_bias", sequence(cell("LSTM", "lstm5", steps(), 3, 4, bias=False)[0]), 20)
    g.end("hard", sequence(cell("LSTM", "lstm6", steps(), 3, 4,
                                activations=["HardSigmoid", "Tanh", "Tanh"])[0]), 20)
    # Of an input with the steps first, with its states zero and its last step taken.
    x = g.input(5, 3, batch_axis=1)
    g.end("steps_first", g.add("Transpose", cell("RNN", "rnn5", x, 3, 4)[0], perm=[2, 0, 1, 3]), 20)
    x = steps()
    batch = g.chain(g.add("Shape", x), ("Gather", g.constant(np.int64(1))),
                    ("Unsqueeze", g.constant(np.array([0], np.int64))))
    one, four = (g.constant(np.array([i], np.int64)) for i in (1, 4))
    zeros = g.add("ConstantOfShape", g.add("Concat", one, batch, four, axis=0))
    y = g.add("GRU", x, g.weight("gru6.w", 1, 12, 3), g.weight("gru6.r", 1, 12, 4),
              g.weight("gru6.b", 1, 24), "", zeros, outputs=2, hidden_size=4,
              linear_before_reset=1)[0]
    y = g.chain(y, ("Squeeze", g.constant(np.array([1], np.int64))),
                ("Transpose", {"perm": [1, 0, 2]}), ("Gather", g.constant(np.int64(-1)), {"axis": 1}))
    g.end("last_of_steps", y, 4)


def networks(g):
    """Small whole networks, in the style of torchvision's."""
    x = g.input(3, 16, 16)
    x = g.add("Relu", batch_norm(g, "bn1", conv(g, "conv1", x, 3, 8, 7, 7, pads=[3, 3, 3, 3],
                                                strides=[2, 2], bias=False), 8))
    x = g.add("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    for i in range(2):
        y = g.add("Relu", conv(g, f"layer{i}.conv1", x, 8, 8, 3, 3, pads=[1, 1, 1, 1]))
        x = g.add("Relu", g.add("Add", conv(g, f"layer{i}.conv2", y, 8, 8, 3, 3,
                                            pads=[1, 1, 1, 1]), x))
    g.end("resnet", g.add("GlobalAveragePool", x), 8)
    x = g.input(1, 12, 12)
    for i, (inputs, filters) in enumerate([(1, 4), (4, 6)]):
        x = g.chain(conv(g, f"features.{i}", x, inputs, filters, 3, 3, pads=[1, 1, 1, 1]),
                    ("Relu",), ("MaxPool", {"kernel_shape": [2, 2], "strides": [2, 2]}))
    x = g.add("Flatten", x)
    x = g.add("Relu", g.add("Gemm", x, g.weight("fc1.weight", 10, 54), g.weight("fc1.bias", 10),
                            transB=1))
    g.end("lenet", x, 10)
    x = g.add("Gather", g.weight("embed.weight", 9, 4), g.input(6, ids=9))
    x = g.chain(x, ("Transpose", {"perm": [0, 2, 1]}))
    x = g.add("Relu", conv(g, "text_conv", x, 4, 5, 3))
    g.end("text", g.add("ReduceMax", x, axes=[2], keepdims=0), 5)
    # A model of channels-last images, as tf2onnx writes it.
    x = g.chain(g.input(8, 8, 3), ("Transpose", {"perm": [0, 3, 1, 2]}))
    x = g.chain(conv(g, "tf_conv", x, 3, 4, 3, 3, pads=[0, 0, 1, 1], strides=[2, 2]), ("Relu",),
                ("Transpose", {"perm": [0, 2, 3, 1]}))
    g.end("channels_last", x, 64)
    # Two calls of one layer are trained as one.
    a, b = g.input(4), g.input(4)
    kernel, bias = g.weight("twice.weight", 3, 4), g.weight("twice.bias", 3)
    y = [g.add("Gemm", one, kernel, bias, transB=1) for one in (a, b)]
    g.end("tied", g.add("Add", *y), 3)


def old(g):
    """Attributes that newer operator sets have as inputs."""
    g.opset = 9
    x = g.chain(g.input(3, 4), ("Unsqueeze", {"axes": [1]}), ("Squeeze", {"axes": [1]}))
    g.end("squeezed", x, 12)
    g.end("clipped", g.add("Clip", g.input(5), min=-.5, max=.5), 5)
    g.end("sliced", g.add("Slice", g.input(5, 4), axes=[1], starts=[1], ends=[4]), 12)
    g.end("padded", g.add("Pad", g.input(3, 4), pads=[0, 1, 0, 0, 2, 0]), 24)
    g.end("softmax", g.add("Softmax", g.input(3, 4)), 12)
    g.end("upsampled", g.add("Upsample", conv(g, "up", g.input(2, 3, 4), 2, 2, 1, 1),
                             g.constant(np.array([1, 1, 2, 3], "f"))), 2 * 6 * 12)
    parts = g.add("Split", g.input(5, 4), outputs=2, axis=1, split=[2, 3])
    g.end("part", parts[0], 8)


def new(g):
    """Inputs that older operator sets have as attributes, and newer operators."""
    g.opset = 21
    axes = g.constant(np.array([1], np.int64))
    g.end("reduced", g.add("ReduceMean", g.input(3, 4), axes, keepdims=0), 4)
    g.end("gelu", g.add("Gelu", g.input(5)), 5)
    g.end("mish", g.add("Mish", g.input(5)), 5)
    g.end("group_norm", g.add("GroupNormalization", g.input(4, 5), g.weight("gn.weight", 4),
                              g.weight("gn.bias", 4), num_groups=2), 20)
    pads = g.constant(np.array([1, 2], np.int64))
    g.end("padded", g.add("Pad", g.input(3, 4), pads, "", axes), 24)
    parts = g.add("Split", g.input(5, 4), outputs=2, axis=1, num_outputs=2)
    g.end("part", parts[0], 12)


GROUPS = {f.__name__: f for f in [activations, arithmetic, products, shapes, images, recurrent,
                                  networks, old, new]}


def run_original(model, feeds):
    session = onnxruntime.InferenceSession(model.SerializeToString(),
                                           providers=["CPUExecutionProvider"])
    return session.run(None, feeds)


def channels_last(model, feeds):
    """What Cairn takes: images with the channels last where the file has them first."""
    wants = {"Conv", "ConvTranspose", "MaxPool", "AveragePool", "GlobalAveragePool",
             "GlobalMaxPool", "BatchNormalization", "InstanceNormalization", "Resize", "Pad",
             "Upsample", "GroupNormalization"}
    first = {node.input[0] for node in model.graph.node
             if node.op_type in wants and node.op_type != "Pad"}
    first |= {node.input[0] for node in model.graph.node
              if node.op_type == "Pad" and node.output[0] in first}
    arrays = []
    for name, values in feeds.items():
        if name in first and values.ndim > 2:
            values = np.moveaxis(values, 1, -1)
        # The steps are first in the file.
        shape = next(i for i in model.graph.input if i.name == name).type.tensor_type.shape
        batch = next(i for i, dim in enumerate(shape.dim) if dim.dim_param)
        arrays.append(np.ascontiguousarray(np.moveaxis(values, batch, 0)))
    return [a.astype("int32") if a.dtype == np.int64 else a for a in arrays]


def check(name, folder):
    g = Graph()
    GROUPS[name](g)
    model = g.model()
    onnx.save(model, f"{folder}/model.onnx")
    expected = run_original(model, g.feeds)
    job = Job(folder, "model.onnx", channels_last(model, g.feeds), g.outputs)
    predicted = job.predict()
    for (case, _), one, other in zip(g.outputs, expected, predicted):
        compare(f"{name}: {case}", [one], [other])


if __name__ == "__main__":
    models.MODELS = GROUPS
    run_all(check)
