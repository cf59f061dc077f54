#!/usr/bin/env python3
"""Writes well-known networks as Keras architectures (JSON), with the names of keras.applications.

  generate.py mobilenet_v2 [--alpha 1.0] [--size 224] [--classes 1000] [--no-top]
  generate.py mobilenet_v2_transfer [--alpha 1.0] [--size 160] [--classes 5]
  generate.py resnet50 [--size 224] [--classes 1000] [--no-top]
  generate.py cifar10_cnn | wide_and_deep | dcgan_generator | dcgan_discriminator
  generate.py transformer_classifier [--classes 2]
  generate.py all          writes the files beside this one

One model goes to standard output. Arguments that have Keras's default are left unsaid.
"""

import argparse
import json
import pathlib


class Graph:
    """A functional model that grows layer by layer; tensors are the names of their layers."""

    def __init__(self, name):
        self.name, self.layers, self.inputs = name, [], []

    def input(self, name, shape, dtype="float32"):
        self.inputs.append(name)
        return self._append("InputLayer", name, {"batch_shape": [None, *shape], "dtype": dtype}, [])

    def add(self, class_name, name, inputs, call=None, **arguments):
        names = [inputs] if isinstance(inputs, str) else inputs
        connections = [[n, 0, 0, dict(call or {}) if i == 0 else {}] for i, n in enumerate(names)]
        return self._append(class_name, name, arguments, [connections])

    def add_model(self, model, inputs, call=None):
        """A whole model as one layer. Keras counts a functional model's calls from 1."""
        connections = [[inputs, 0, 0, dict(call or {})]]
        self.layers.append({**model, "name": model["config"]["name"],
                            "inbound_nodes": [connections]})
        return model["config"]["name"]

    def json(self, outputs, **arguments):
        outputs = [outputs] if isinstance(outputs, str) else outputs
        models = {l["name"] for l in self.layers if l["class_name"] == "Functional"}
        for layer in self.layers:
            for call in layer["inbound_nodes"]:
                for connection in call:
                    connection[1] = 1 if connection[0] in models else 0
        config = {"name": self.name, **arguments, "layers": self.layers,
                  "input_layers": [[n, 0, 0] for n in self.inputs],
                  "output_layers": [[n, 0, 0] for n in outputs]}
        return {"class_name": "Functional", "config": config}

    def _append(self, class_name, name, arguments, inbound_nodes):
        self.layers.append({"class_name": class_name, "name": name,
                            "config": {"name": name, **arguments},
                            "inbound_nodes": inbound_nodes})
        return name


def sequential(name, shape, layers):
    entries = [{"class_name": "InputLayer",
                "config": {"name": "input", "batch_shape": [None, *shape], "dtype": "float32"}}]
    entries += [{"class_name": c, "config": {"name": n, **arguments}} for c, n, arguments in layers]
    return {"class_name": "Sequential", "config": {"name": name, "layers": entries}}


def divisible(channels, divisor=8):
    """The nearest multiple of 8 that does not lose more than a tenth."""
    rounded = max(divisor, int(channels + divisor / 2) // divisor * divisor)
    return rounded + divisor if rounded < 0.9 * channels else rounded


def head(graph, x, classes, pool):
    x = graph.add("GlobalAveragePooling2D", pool, x)
    return graph.add("Dense", "predictions", x, units=classes, activation="softmax")


# Sandler et al. 2018, https://arxiv.org/abs/1801.04381: (filters, stride of the first, times),
# of which the first does not expand.
MOBILENET_V2 = [(16, 1, 1), (24, 2, 2), (32, 2, 3), (64, 2, 4), (96, 1, 3), (160, 2, 3), (320, 1, 1)]


def mobilenet_v2(alpha=1.0, size=224, classes=1000, top=True, name=None, **arguments):
    g = Graph(name or f"mobilenetv2_{alpha:.2f}_{size}")

    def normalized(x, prefix, suffix, activation):
        x = g.add("BatchNormalization", prefix + suffix, x, momentum=0.999)
        return g.add("ReLU", activation, x, max_value=6.0) if activation else x

    def block(x, index, channels, filters, stride, pixels):
        prefix = f"block_{index}_" if index else "expanded_conv_"
        source, expanded = x, channels
        if index:
            expanded = 6 * channels
            x = g.add("Conv2D", prefix + "expand", x, filters=expanded, kernel_size=1,
                      padding="same", use_bias=False)
            x = normalized(x, prefix, "expand_BN", prefix + "expand_relu")
        if stride == 2:
            before = pixels % 2
            x = g.add("ZeroPadding2D", prefix + "pad", x, padding=[[before, 1], [before, 1]])
        x = g.add("DepthwiseConv2D", prefix + "depthwise", x, kernel_size=3, strides=stride,
                  padding="valid" if stride == 2 else "same", use_bias=False)
        x = normalized(x, prefix, "depthwise_BN", prefix + "depthwise_relu")
        x = g.add("Conv2D", prefix + "project", x, filters=filters, kernel_size=1, padding="same",
                  use_bias=False)
        x = normalized(x, prefix, "project_BN", None)
        if channels == filters and stride == 1:
            x = g.add("Add", prefix + "add", [source, x])
        return x

    x = g.input("input_1", (size, size, 3))
    channels, pixels, index = divisible(32 * alpha), (size + 1) // 2, 0
    x = g.add("Conv2D", "Conv1", x, filters=channels, kernel_size=3, strides=2, padding="same",
              use_bias=False)
    x = normalized(x, "", "bn_Conv1", "Conv1_relu")
    for base, first_stride, times in MOBILENET_V2:
        filters = divisible(int(base * alpha))
        for i in range(times):
            stride = first_stride if i == 0 else 1
            x = block(x, index, channels, filters, stride, pixels)
            channels, pixels, index = filters, (pixels + stride - 1) // stride, index + 1
    last = divisible(1280 * alpha) if alpha > 1 else 1280
    x = g.add("Conv2D", "Conv_1", x, filters=last, kernel_size=1, use_bias=False)
    x = normalized(x, "", "Conv_1_bn", "out_relu")
    if top:
        x = head(g, x, classes, "global_average_pooling2d")
    return g.json(x, **arguments)


def mobilenet_v2_transfer(alpha=1.0, size=160, classes=5):
    """A frozen base as one layer, and a new head: transfer learning as the textbooks do it."""
    base = mobilenet_v2(alpha, size, top=False, name="base", trainable=False)
    g = Graph("mobilenet_v2_transfer")
    x = g.input("images", (size, size, 3))
    x = g.add("Rescaling", "rescaling", x, scale=2.0, offset=-1.0)
    x = g.add_model(base, x, call={"training": False})
    x = g.add("GlobalAveragePooling2D", "pool", x)
    x = g.add("Dropout", "dropout", x, rate=0.2)
    return g.json(g.add("Dense", "head", x, units=classes, activation="softmax"))


def resnet50(size=224, classes=1000, top=True):
    """He et al. 2015, https://arxiv.org/abs/1512.03385, as keras.applications has it."""
    g = Graph("resnet50")

    def convolution(x, name, activates, **arguments):
        x = g.add("Conv2D", name + "_conv", x, **arguments)
        x = g.add("BatchNormalization", name + "_bn", x, epsilon=1.001e-5)
        return g.add("Activation", name + "_relu", x, activation="relu") if activates else x

    def block(x, name, filters, stride, projects):
        shortcut = x
        if projects:
            shortcut = convolution(x, name + "_0", False, filters=4 * filters, kernel_size=1,
                                   strides=stride)
        x = convolution(x, name + "_1", True, filters=filters, kernel_size=1, strides=stride)
        x = convolution(x, name + "_2", True, filters=filters, kernel_size=3, padding="same")
        x = convolution(x, name + "_3", False, filters=4 * filters, kernel_size=1)
        x = g.add("Add", name + "_add", [shortcut, x])
        return g.add("Activation", name + "_out", x, activation="relu")

    x = g.input("input_1", (size, size, 3))
    x = g.add("ZeroPadding2D", "conv1_pad", x, padding=3)
    x = convolution(x, "conv1", True, filters=64, kernel_size=7, strides=2)
    x = g.add("ZeroPadding2D", "pool1_pad", x)
    x = g.add("MaxPooling2D", "pool1_pool", x, pool_size=3, strides=2)
    for stack, (filters, times) in enumerate([(64, 3), (128, 4), (256, 6), (512, 3)], start=2):
        for i in range(times):
            stride = 2 if i == 0 and stack > 2 else 1
            x = block(x, f"conv{stack}_block{i + 1}", filters, stride, projects=i == 0)
    if top:
        x = head(g, x, classes, "avg_pool")
    return g.json(x)


def cifar10_cnn():
    same = {"kernel_size": 3, "padding": "same", "activation": "relu"}
    return sequential("cifar10_cnn", (32, 32, 3), [
        ("Conv2D", "conv1", {"filters": 32, **same}), ("MaxPooling2D", "pool1", {}),
        ("Conv2D", "conv2", {"filters": 64, **same}), ("MaxPooling2D", "pool2", {}),
        ("Flatten", "flatten", {}), ("Dense", "dense", {"units": 256, "activation": "relu"}),
        ("Dense", "predictions", {"units": 10, "activation": "softmax"})])


def wide_and_deep():
    """Cheng et al. 2016, https://arxiv.org/abs/1606.07792, with a branch that reads text."""
    g = Graph("wide_and_deep")
    wide = g.input("wide", (16,))
    ids = g.input("categories", (4,), "int32")
    text = g.input("text", (32,), "int32")
    x = g.add("Embedding", "category_table", ids, input_dim=1000, output_dim=8)
    categories = g.add("Flatten", "category_vector", x)
    x = g.add("Embedding", "word_table", text, input_dim=10000, output_dim=16, mask_zero=True)
    words = g.add("GlobalAveragePooling1D", "text_vector", x)
    x = g.add("Concatenate", "deep_input", [categories, words])
    x = g.add("Dense", "deep1", x, units=64, activation="relu")
    x = g.add("Dense", "deep2", x, units=32, activation="relu")
    x = g.add("Concatenate", "both", [wide, x])
    return g.json(g.add("Dense", "probability", x, units=1, activation="sigmoid"))


def dcgan_generator():
    """Radford et al. 2015, https://arxiv.org/abs/1511.06434, for images of 28 x 28."""
    def up(index, filters, stride, **arguments):
        return ("Conv2DTranspose", f"up{index}",
                {"filters": filters, "kernel_size": 5, "strides": stride, "padding": "same",
                 "use_bias": False, **arguments})

    def after(index):
        return [("BatchNormalization", f"norm{index}", {}), ("LeakyReLU", f"relu{index}", {})]

    return sequential("dcgan_generator", (100,), [
        ("Dense", "project", {"units": 7 * 7 * 256, "use_bias": False}), *after(0),
        ("Reshape", "image", {"target_shape": [7, 7, 256]}),
        up(1, 128, 1), *after(1), up(2, 64, 2), *after(2), up(3, 1, 2, activation="tanh")])


def dcgan_discriminator():
    def down(index, filters):
        return [("Conv2D", f"down{index}",
                 {"filters": filters, "kernel_size": 5, "strides": 2, "padding": "same"}),
                ("LeakyReLU", f"relu{index}", {}), ("Dropout", f"drop{index}", {"rate": 0.3})]

    return sequential("dcgan_discriminator", (28, 28, 1), [
        *down(1, 64), *down(2, 128), ("Flatten", "flatten", {}), ("Dense", "logit", {"units": 1})])


def transformer_classifier(classes=2):
    """One block of an encoder over word ids; a convolution tells it how words follow each other."""
    g = Graph("transformer_classifier")
    ids = g.input("words", (200,), "int32")
    x = g.add("Embedding", "table", ids, input_dim=20000, output_dim=32)
    x = g.add("Conv1D", "order", x, filters=32, kernel_size=3, padding="same", activation="relu")
    y = g.add("MultiHeadAttention", "attention", x, call={"value": [x, 0, 0]}, num_heads=2,
              key_dim=32, dropout=0.1)
    y = g.add("Dropout", "drop1", y, rate=0.1)
    x = g.add("LayerNormalization", "norm1", g.add("Add", "add1", [x, y]), epsilon=1e-6)
    y = g.add("Dense", "wide", x, units=32, activation="relu")
    y = g.add("Dense", "narrow", y, units=32)
    y = g.add("Dropout", "drop2", y, rate=0.1)
    x = g.add("LayerNormalization", "norm2", g.add("Add", "add2", [x, y]), epsilon=1e-6)
    x = g.add("GlobalAveragePooling1D", "pool", x)
    x = g.add("Dense", "hidden", x, units=20, activation="relu")
    return g.json(g.add("Dense", "predictions", x, units=classes, activation="softmax"))


MODELS = {f.__name__: f for f in (
    mobilenet_v2, mobilenet_v2_transfer, resnet50, cifar10_cnn, wide_and_deep, dcgan_generator,
    dcgan_discriminator, transformer_classifier)}


def written_models():
    """The files beside this one, by name."""
    models = {name: make() for name, make in MODELS.items()}
    models["mobilenet_v2_no_top"] = mobilenet_v2(top=False)
    models["mobilenet_v2_035_96"] = mobilenet_v2(alpha=0.35, size=96, classes=10)
    models["mobilenet_v2_035_32"] = mobilenet_v2(alpha=0.35, size=32, classes=10)
    models["resnet50_32"] = resnet50(size=32, classes=10)
    return models


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("model", choices=[*MODELS, "all"])
    parser.add_argument("--alpha", type=float)
    parser.add_argument("--size", type=int)
    parser.add_argument("--classes", type=int)
    parser.add_argument("--no-top", dest="top", action="store_false", default=None)
    arguments = vars(parser.parse_args())
    name = arguments.pop("model")
    given = {k: v for k, v in arguments.items() if v is not None}
    if name != "all":
        try:
            print(json.dumps(MODELS[name](**given)))
        except TypeError:
            parser.error(f"{name} does not take all of: {', '.join(given)}")
        return
    for file_name, model in written_models().items():
        path = pathlib.Path(__file__).with_name(file_name + ".json")
        path.write_text(json.dumps(model) + "\n")


if __name__ == "__main__":
    main()
