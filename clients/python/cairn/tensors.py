"""Tensors and layers in the JSON of the model that a job trains.

In a job every tensor has an axis of examples, and an example has at least one axis. What Keras has
besides stands in the job for a tensor of such a shape:
- one number for each example has an axis of length 1;
- a weight, and what is computed of weights alone, is the same for each example (WEIGHTS);
- a mean over all examples of a batch is the mean of each example, whose mean over the batch it is
  (MEAN), and so is a sum (SUM);
- of tensors that are stacked in front of the axis of the examples, the first axis of an example is that
  of the stack (STACKED).
"""

import dataclasses
import itertools

import keras
import numpy as np

from cairn.errors import NotSupported

EXAMPLES, WEIGHTS, MEAN, SUM = "examples", "weights", "mean", "sum"
STACKED = "stacked"
# The input of a job's model with a zero for each example, for the layers that make WEIGHTS.
WEIGHTS_INPUT = "own_weights"


@dataclasses.dataclass(frozen=True)
class Tensor:
    """A tensor of the job's model."""

    source: tuple  # The layer, and the numbers of its call and of its output.
    shape: tuple  # Of an example.
    rank: int  # The number of axes of Keras's tensor, without that of the examples.
    kind: str = EXAMPLES
    dtype: str = "float32"
    weight: str = ""  # Its name in Weights, if it is a weight as it is.
    is_whole: bool = False  # A tensor of floats in the job, of whole numbers, whatever Keras's is.

    def json(self):
        return {"class_name": "__keras_tensor__", "config": {
            "shape": [None, *self.shape], "dtype": self.dtype, "keras_history": list(self.source)}}


def tensors_of(arguments):
    """The Tensors among the arguments of an operation, also those in lists."""
    return [each for value in arguments
            for each in (value if isinstance(value, list) else [value]) if isinstance(each, Tensor)]


def is_tensor(value):
    return isinstance(value, dict) and value.get("class_name") == "__keras_tensor__"


def tensors_in(value):
    """The tensors in the JSON of a call's arguments."""
    if is_tensor(value):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return list(itertools.chain.from_iterable(map(tensors_in, value)))
    return []


def node_of(class_name, name, config, inputs):
    """A layer and its first call."""
    node = {"module": "keras.layers", "class_name": class_name, "name": name,
            "registered_name": None, "config": {**config, "name": name}, "inbound_nodes": []}
    if inputs:
        call(node, inputs)
    return node


def call(node, inputs):
    """Calls a layer; returns the number of the call."""
    inputs = [each.json() for each in inputs]
    node["inbound_nodes"].append({"args": inputs if len(inputs) == 1 else [inputs], "kwargs": {}})
    return len(node["inbound_nodes"]) - 1


class Weights:
    """Weights that a model's operations take, and their layers in the job's model.

    A weight whose uses are all as the kernel of one layer (Dense, EinsumDense, Embedding, a
    convolution) is that kernel. Any other is the table of an Embedding of the id 0.

    variables: Keras's variables, by the InputLayers that stand for them in the model.
    uses: [(InputLayer, how an operation uses it, or None)].
    """

    def __init__(self, variables, uses=(), taken=()):
        self.variables = dict(variables)
        self.layers = []  # Nodes of the job's model.
        self.named = {}  # {the job's variable: (Keras's variable or an array, the shape there)}
        self._uses, self._taken = {}, set(taken)
        self._kernels, self._values = {}, {}
        for name, use in uses:
            self._uses.setdefault(name, set()).add(use)

    def tensor(self, name):
        """The weight as an argument of an operation."""
        shape = tuple(self.variables[name].shape)
        return Tensor((name, 0, 0), shape or (1,), len(shape), WEIGHTS, weight=name)

    def is_kernel(self, tensor):
        return bool(tensor.weight) and len(self._uses.get(tensor.weight, ())) == 1 and \
            None not in self._uses[tensor.weight]

    def call_kernel(self, tensor, class_name, variable, config, x):
        """(source, node) of the output of the layer whose kernel the weight is, for the input x."""
        if tensor.weight not in self._kernels:
            config = {**config, **self._config(tensor.weight, variable)}
            node = node_of(class_name, self._layer_name(tensor.weight), config, [])
            self.layers.append(node)
            self._kernels[tensor.weight] = node
            weight = self.variables[tensor.weight]
            self.named[f"{node['name']}/{variable}"] = weight, tuple(weight.shape)
        node = self._kernels[tensor.weight]
        return (node["name"], call(node, [x]), 0)

    def values(self, tensor):
        """The weight as a tensor of the job's model, the same for each example."""
        name = tensor.weight
        if name not in self._values:
            size = int(np.prod(tensor.shape))
            table = self._layer_name(name)
            config = {"input_dim": 1, "output_dim": size,
                      **self._config(name, "embeddings", tensor.rank)}
            zero = Tensor((WEIGHTS_INPUT, 0, 0), (1,), 1, dtype="int32")
            row = Tensor((table, 0, 0), (1, size), 2)
            self.layers += [
                node_of("Embedding", table, config, [zero]),
                node_of("Reshape", table + "_values", {"target_shape": list(tensor.shape)}, [row])]
            self.named[f"{table}/embeddings"] = self.variables[name], (1, size)
            self._values[name] = dataclasses.replace(
                tensor, source=(table + "_values", 0, 0), weight="")
        return self._values[name]

    def constant(self, numbers):
        """A tensor of numbers that nothing trains."""
        name = f"constant{len(self._values)}"
        self.variables[name] = np.asarray(numbers, np.float32)
        return self.tensor(name)

    def input_layer(self):
        """The input of the layers, or None if there is none that takes it."""
        if not self._values:
            return None
        return node_of("InputLayer", WEIGHTS_INPUT,
                       {"batch_shape": [None, 1], "dtype": "int32"}, [])

    def _layer_name(self, name):
        path = getattr(self.variables[name], "path", name).replace("/", "_")
        unique = next(each for each in itertools.chain([path], (
            f"{path}_{i}" for i in itertools.count(1))) if each not in self._taken)
        self._taken.add(unique)
        return unique

    def _config(self, name, variable, rank=None):
        """trainable, regularizer and constraint. rank: of a weight that is there as one row."""
        weight = self.variables[name]
        if isinstance(weight, np.ndarray):
            return {"trainable": False}
        config = {"trainable": bool(weight.trainable)}
        for what in ("regularizer", "constraint"):
            value = getattr(weight, what)
            if value is None:
                continue
            kind = type(value)
            elementwise = kind.__name__ in ("L1", "L2", "L1L2", "NonNeg")
            if kind.__module__.split(".")[0] != "keras":
                if what == "regularizer":  # A function, whose value is a loss of its own.
                    continue
                raise NotSupported(f"weight {weight.path}: its constraint is a Python function, and "
                                   f"a job's are those of Keras")
            if rank is not None and not elementwise:
                raise NotSupported(f"weight {weight.path}: its {what} {kind.__name__} is not "
                                   f"supported for a weight that is no kernel of a product")
            serialize = keras.regularizers.serialize if what == "regularizer" else \
                keras.constraints.serialize
            config[f"{variable}_{what}"] = serialize(value)
        return config
