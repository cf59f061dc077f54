"""Keras's operations on tensors as layers that a job's model has.

`x / 127.5 - 1`, `ops.mean(x, axis=1)` and the like are nodes of a functional model, but no layers. Here
each becomes one or a few layers that compute the same.
"""

import dataclasses
import math

from cairn import operation_families as families
from cairn.errors import NotSupported
from cairn.tensors import (EXAMPLES, MEAN, STACKED, SUM, WEIGHTS, Tensor, Weights, is_tensor, node_of,
                           tensors_in)

_OF_BATCHES = (MEAN, SUM)
_MOST_WHOLE_FLOATS = 1 << 24  # All whole numbers up to it are float32.


def numbers_of(value):
    """A number or an array of numbers as a nested list; None if `value` is neither."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return value
    if isinstance(value, dict) and value.get("class_name") in ("__numpy__", "__tensor__"):
        return value["config"]["value"]
    return None


def _each(function, numbers):
    return [_each(function, each) for each in numbers] if isinstance(numbers, list) \
        else function(numbers)


class Operation:
    """One node of the model, and the layers that replace it.

    Its arguments are Tensors, numbers, lists of numbers, and JSON of other values.
    """

    def __init__(self, node, tensors, weights, without_masks):
        self.kind = node["class_name"]
        self.name = node["config"]["name"]
        self.config = node["config"]
        self.weights = weights
        self.layers = []
        self._tensors = tensors
        self._without_masks = {} if without_masks else None
        call = node["inbound_nodes"][0]
        # Arguments by position; a name that only one operation has stays in `named`.
        self.arguments = [self._argument(each) for each in call.get("args", [])]
        self.named = {key: self._argument(value) for key, value in call.get("kwargs", {}).items()
                      if value is not None}
        for key in ("x", "x1", "x2"):
            if key in self.named:
                self.arguments.append(self.named.pop(key))

    def _argument(self, value):
        if isinstance(value, list):
            return [self._argument(each) for each in value]
        if is_tensor(value):
            return self._tensors(value)
        numbers = numbers_of(value)
        return value if numbers is None else numbers

    def fails(self, reason=""):
        raise NotSupported(f"the model computes {self.kind} ({self.name}), which is no layer of a "
                           f"job{': ' + reason if reason else ''}; use layers of Keras, or compute "
                           f"it before fit")

    # ----------------------------------------------------------------------------------- one layer

    def input(self, tensor):
        """The tensor as the input of a layer.

        An operation of Keras returns a tensor without a mask; most layers of a job pass it, and a
        Reshape to the same shape, which is a view, does not.
        """
        if tensor.weight:
            return self.weights.values(tensor)
        masks = self._without_masks
        is_own = any(tensor.source[0] == layer["name"] for layer in self.layers)
        if masks is None or is_own or tensor.kind != EXAMPLES:
            return tensor
        if tensor.source not in masks:
            self._without_masks = None
            masks[tensor.source] = dataclasses.replace(
                self.reshape(tensor, tensor.shape), dtype=tensor.dtype)
            self._without_masks = masks
        return masks[tensor.source]

    def add(self, class_name, config, inputs, shape, rank=None, kind=None):
        """Adds a layer; returns its output.

        rank, kind [those of the first input]: of the output.
        """
        inputs = inputs if isinstance(inputs, list) else [inputs]
        name = f"{self.name}_part{len(self.layers)}"
        sources = [self.input(each) for each in inputs]
        name = f"{self.name}_part{len(self.layers)}"
        self.layers.append(node_of(class_name, name, config, sources))
        return Tensor((name, 0, 0), tuple(shape), inputs[0].rank if rank is None else rank,
                      inputs[0].kind if kind is None else kind,
                      is_whole=inputs[0].is_whole and class_name in (
                          "Identity", "Reshape", "Permute", "Cropping2D"))

    def finish(self, result):
        """Gives the layer of the result the operation's name; returns the result."""
        last = self.layers[-1] if self.layers else None
        if last is None or result.source != (last["name"], 0, 0):
            result = self.add("Identity", {}, result, result.shape)
            last = self.layers[-1]
        last["name"] = last["config"]["name"] = self.name
        return dataclasses.replace(result, source=(self.name, 0, 0))

    def rescale(self, tensor, scale, offset=0.0):
        if offset != 0.0 and tensor.kind == SUM:
            self.fails("of a sum over the examples of a batch and a number")
        return self.add("Rescaling", {"scale": scale, "offset": offset}, tensor, tensor.shape)

    def reshape(self, tensor, shape, rank=None):
        return self.add("Reshape", {"target_shape": list(shape) or [1]}, tensor, shape or (1,),
                        rank=len(shape) if rank is None else rank)

    def permute(self, tensor, axes):
        """axes: of an example, in their new order."""
        return self.add("Permute", {"dims": [axis + 1 for axis in axes]}, tensor,
                        [tensor.shape[axis] for axis in axes])

    def apply(self, function, tensor):
        """A function of each number: an activation or, with a capital, an operation's layer."""
        self.must_be_of_examples(tensor)
        if function[0].isupper():
            return self.add(function, {}, tensor, tensor.shape)
        return self.add("Activation", {"activation": function}, tensor, tensor.shape)

    # --------------------------------------------------------------------------------- arithmetic

    def must_be_of_examples(self, *tensors):
        if any(each.kind in _OF_BATCHES for each in tensors):
            self.fails("of a mean or sum over all examples of a batch, which can only be added and "
                       "multiplied by a number; give the mean an axis, such as axis=-1")

    def aligned(self, tensors):
        """The tensors with as many axes each, for a layer that broadcasts; and the axes in Keras."""
        def is_same_for_all(tensor):
            return tensor.kind == WEIGHTS or tensor.kind in _OF_BATCHES and tensor.rank == 0

        ranks = {each.rank for each in tensors if not is_same_for_all(each)}
        if len(ranks) > 1:
            shapes = " and ".join(str((None, *each.shape[:each.rank])) for each in tensors)
            self.fails(f"of tensors of shapes {shapes}, which pairs each example with all others; give "
                       f"one number for each example an axis of length 1, such as y.reshape(-1, 1)")
        rank = ranks.pop() if ranks else max(each.rank for each in tensors)
        length = max(rank, 1)

        def with_axes(tensor):
            shape = tensor.shape[:tensor.rank]
            # A first axis of length 1 is that of the examples.
            if tensor.kind == WEIGHTS and len(shape) == rank + 1 and shape[0] == 1:
                shape = shape[1:]
            if len(shape) > rank:
                self.fails(f"of a weight of shape {tensor.shape} and a tensor of shape "
                           f"{(None, *max(tensors, key=lambda each: each.kind != WEIGHTS).shape)}")
            shape = (1,) * (length - len(shape)) + tuple(shape)
            return tensor if tensor.shape == shape else self.reshape(tensor, shape, tensor.rank)

        return [with_axes(each) for each in tensors], rank

    def merge(self, class_name, tensors):
        """A layer that takes several tensors of the same shape, or with axes of length 1."""
        kinds = {each.kind for each in tensors}
        kind = WEIGHTS if kinds == {WEIGHTS} else EXAMPLES
        if kinds & set(_OF_BATCHES):
            kind = self.kind_of_batch(class_name, tensors)
        inputs, rank = self.aligned(tensors)
        shape = inputs[0].shape
        for each in inputs[1:]:
            shape = tuple(a if b == 1 else b for a, b in zip(shape, each.shape))
        return self.add(class_name, {}, inputs, shape, rank, kind)

    def kind_of_batch(self, class_name, tensors):
        """MEAN or SUM, if the mean or sum of the results is the result for the batch."""
        kinds = [each.kind for each in tensors if each.kind != WEIGHTS]
        if class_name in ("Add", "Subtract"):
            if SUM not in kinds:
                return MEAN
            if kinds == [SUM] * len(tensors):
                return SUM
        if class_name == "Multiply" and len(kinds) == 1:
            return kinds[0]
        return self.must_be_of_examples(*tensors)

    def fitting(self, numbers, tensor):
        """The numbers as a number or one for each channel of the tensor; None if they are neither."""
        while isinstance(numbers, list) and len(numbers) == 1:
            numbers = numbers[0]
        if isinstance(numbers, list) and (tensor.rank == 0 or len(numbers) != tensor.shape[-1] or
                                          any(isinstance(each, list) for each in numbers)):
            return None
        return numbers

    def must_be_finite(self, number):
        if not math.isfinite(number):
            self.fails(f"of the number {number}; a job's numbers are finite")

    def of_pair(self, left, right):
        """(tensor, number or channels, False) or (left, right, None) of two arguments.

        The last one says whether the tensor is the right one.
        """
        is_right = not isinstance(left, Tensor)
        tensor, other = (right, left) if is_right else (left, right)
        if not isinstance(tensor, Tensor) or isinstance(other, dict) or other is None:
            self.fails("its arguments are neither tensors of the model nor numbers")
        if isinstance(other, Tensor):
            return left, right, None
        if isinstance(other, bool) or not isinstance(other, (int, float, list)):
            self.fails("its arguments are neither tensors of the model nor numbers")
        _each(self.must_be_finite, other)
        fitting = self.fitting(other, tensor)
        if fitting is not None:
            return tensor, fitting, is_right
        constant = self.weights.constant(other)
        return (constant, tensor, None) if is_right else (tensor, constant, None)

    def plus(self, left, right):
        tensor, other, is_right = self.of_pair(left, right)
        if is_right is None:
            return self.merge("Add", [tensor, other])
        return self.rescale(tensor, 1.0, other)

    def minus(self, left, right):
        tensor, other, is_right = self.of_pair(left, right)
        if is_right is None:
            return self.merge("Subtract", [tensor, other])
        return self.rescale(tensor, -1.0, other) if is_right else \
            self.rescale(tensor, 1.0, _each(lambda each: -each, other))

    def times(self, left, right):
        tensor, other, is_right = self.of_pair(left, right)
        if is_right is None:
            return self.merge("Multiply", [tensor, other])
        return self.rescale(tensor, other)

    def over(self, left, right):
        tensor, other, is_right = self.of_pair(left, right)
        if is_right is None:
            return self.merge("Multiply", [tensor, self.apply("Reciprocal", other)])
        if is_right:
            return self.rescale(self.apply("Reciprocal", tensor), other)
        return self.rescale(tensor, _each(self._reciprocal, other))

    def _reciprocal(self, number):
        if number == 0:
            self.fails("by 0")
        return 1 / number

    def constant_like(self, tensor, numbers):
        """Numbers for each example, or the same for all if the tensor is.

        Those of the tensor may be infinite, and Sign makes them finite.
        """
        return self.rescale(self.apply("Sign", tensor), 0.0, numbers)

    def choose(self, class_name, left, right):
        """The maximum or minimum, whose gradient is that of `left` where both are equal."""
        tensor, other, is_right = self.of_pair(left, right)
        if is_right is None:
            return self.merge(class_name, [tensor, other])
        both = [tensor, self.constant_like(tensor, other)]
        return self.merge(class_name, both[::-1] if is_right else both)

    def larger(self, left, right):
        """The maximum."""
        return self.choose("Maximum", left, right)

    def smaller(self, left, right):
        """The minimum."""
        return self.choose("Minimum", left, right)

    def square(self, tensor):
        return self.merge("Multiply", [tensor, tensor])

    def positive(self, tensor):
        """1 where the number is positive, else 0."""
        return self.apply("relu", self.apply("Sign", tensor))

    def nonzero(self, tensor):
        """1 where the number is not 0, else 0."""
        return self.square(self.apply("Sign", tensor))

    def truth(self, tensor):
        """1 for true, else 0. Truths that are the same for all examples are a list, and become a tensor."""
        if isinstance(tensor, list):
            return self.weights.constant(_each(float, _each(bool, tensor)))
        if not isinstance(tensor, Tensor):
            self.fails("of something else than truth values of the model")
        return tensor if tensor.dtype == "bool" else self.nonzero(tensor)

    def inverse(self, tensor):
        """1 - x: the other truth value."""
        return self.rescale(tensor, -1.0, 1.0)

    # ------------------------------------------------------------------------------------- axes

    def known(self, tensor):
        """The shape without an axis that only the job adds."""
        if None in tensor.shape:
            self.fails(f"of a tensor of unknown shape {tensor.shape}")
        return tensor.shape[:tensor.rank]

    def axes(self, value, tensor):
        """Axes of an example's shape, from those of Keras's tensor."""
        first = 0 if tensor.kind == WEIGHTS else 1
        axes = [value] if isinstance(value, int) else list(value or [])
        axes = sorted(axis + tensor.rank + first if axis < 0 else axis for axis in axes)
        if not axes or axes[0] < first or axes[-1] >= tensor.rank + first:
            self.fails("over the axis of the examples")
        return [axis - first for axis in axes]

    def reduce(self, how, tensor, axes, keeps=False):
        """Mean, Sum, Max or Min over axes: a pooling of those, which are one axis between others."""
        if how != "Mean":
            self.must_be_of_examples(tensor)
        shape = self.known(tensor)
        if axes != list(range(axes[0], axes[-1] + 1)):
            self.fails("over axes that are not adjacent")
        if how == "Min":
            return self.rescale(self.reduce("Max", self.rescale(tensor, -1.0), axes, keeps), -1.0)
        outer = math.prod(shape[:axes[0]])
        count = math.prod(shape[axes[0]:axes[-1] + 1])
        inner = math.prod(shape[axes[-1] + 1:])
        pooled = tensor
        if outer > 1:
            pooled = self.reshape(pooled, [outer, count, inner])
            pooled = self.add("Permute", {"dims": [2, 1, 3]}, pooled, [count, outer, inner])
        pooled = self.reshape(pooled, [count, outer * inner])
        pooling = "GlobalMaxPooling1D" if how == "Max" else "GlobalAveragePooling1D"
        pooled = self.add(pooling, {}, pooled, [outer * inner])
        if how == "Sum":
            pooled = self.rescale(pooled, float(count))
        return self.reshape(pooled, [1 if i in axes else size for i, size in enumerate(shape)
                                     if keeps or i not in axes])

    def every(self, tensor):
        return list(range(tensor.rank))

    def as_whole(self, tensor, is_whole):
        return dataclasses.replace(tensor, is_whole=is_whole)

    def as_kind(self, tensor, kind):
        return dataclasses.replace(tensor, kind=kind, rank=tensor.rank if kind == EXAMPLES else 0)


def _makes_masks(node):
    """True if a layer of the model's JSON, or of a model in it, makes a mask."""
    config = node.get("config")
    if not isinstance(config, dict):
        return False
    return node.get("class_name") == "Masking" or bool(config.get("mask_zero")) or \
        any(map(_makes_masks, config.get("layers", [])))


_AS_MASK = "_as_mask"  # Of a mask whose operation is also translated: a translated tensor is no mask.
_OF_MASKS = ("NotEqual", "Any", "ConvertToTensor", "LogicalOr", "ExpandDims", "OnesLike", "ZerosLike",
             "Concatenate")


def _is_operation(node):
    return str(node.get("module", "")).startswith("keras.src.ops")


def _masks_in(call):
    """The masks by name in the arguments of a layer's call."""
    return {key: value for key, value in call["kwargs"].items()
            if key.endswith("mask") and key != "attention_mask"}


def _without_masks(call):
    masks = _masks_in(call)
    return [call["args"], [value for key, value in call["kwargs"].items() if key not in masks]]


def _mask_nodes(topology):
    """The names of the operations that compute masks for layers."""
    taken = {each[0] for each in topology["config"].get("output_layers", [])
             if isinstance(each, list)}
    masks = set()
    for node in reversed(topology["config"].get("layers", [])):
        name = node["config"].get("name")
        if _is_operation(node) and node["class_name"] in _OF_MASKS and name not in taken:
            masks.add(name)
            continue
        for call in node.get("inbound_nodes", []):
            if isinstance(call, dict):
                taken |= {each["config"]["keras_history"][0] for each in
                          tensors_in(call if _is_operation(node) else _without_masks(call))}
    return masks


def _masks_by_name(layers):
    """The names of the operations whose results are masks in the calls of layers."""
    return {each["config"]["keras_history"][0] for node in layers if not _is_operation(node)
            for call in node.get("inbound_nodes", []) if isinstance(call, dict)
            for each in tensors_in(_masks_in(call))}


def _takes(node, names):
    return any(each["config"]["keras_history"][0] in names for each in tensors_in(node["inbound_nodes"]))


def _renamed(node, name):
    return {**node, "name": name, "config": {**node["config"], "name": name}}


def _make_floats(topology, shared):
    """Makes float32 of the inputs of truths, and of integers that operations take; returns their names.

    Layers that take ids, such as Embedding, take whole floats, too. shared: weights with several uses.
    """
    layers, mask_nodes = topology["config"].get("layers", []), _mask_nodes(topology)
    taken = {each["config"]["keras_history"][0] for node in layers
             if _is_operation(node) and node["config"]["name"] not in mask_nodes and
             (node["class_name"] != "Take" or _takes(node, shared))
             for each in tensors_in(node["inbound_nodes"])}
    taken |= {each["config"]["keras_history"][0] for node in layers
              for call in node.get("inbound_nodes", []) if isinstance(call, dict)
              for each in tensors_in(call.get("kwargs", {}).get("attention_mask"))}
    def is_made(config):
        dtype = str(config.get("dtype"))
        return dtype == "bool" or config["name"] in taken and dtype.startswith(("int", "uint"))

    inputs = [node["config"] for node in layers
              if node["class_name"] == "InputLayer" and is_made(node["config"])]
    for node in layers if inputs else []:
        rows = node["config"].get("input_dim", 0) if node["class_name"] == "Embedding" else 0
        if rows > _MOST_WHOLE_FLOATS:
            raise NotSupported(f"layer {node['config']['name']} has {rows} rows, and the ids are "
                               f"taken by operations as float32, which has {_MOST_WHOLE_FLOATS} of "
                               f"them: give the ids as an input of their own")
    for config in inputs:
        config["dtype"] = "float32"
    return [config["name"] for config in inputs]


def _make_operations(layers):
    """Makes operations of the layers Softmax along another axis than the last, which a job lacks."""
    for node in layers:
        calls = node.get("inbound_nodes", [])
        if node["class_name"] != "Softmax" or not calls:
            continue
        axis = node["config"].get("axis", -1)
        if isinstance(axis, list) and len(axis) == 1:
            [axis] = axis
        rank = len(next(iter(tensors_in(calls)))["config"]["shape"])
        if isinstance(axis, int) and axis not in (-1, rank - 1):
            node.update(module="keras.src.ops.nn",
                        config={"name": node["config"]["name"], "axis": axis})
            for call in calls:
                call["kwargs"] = {}


class Translation:
    """Replaces the operations in a model's JSON, also in models that are layers of it.

    variables: Keras's variables, by the InputLayers that stand for them in the model.
    masks: tensors may have a mask [found in the topology].
    whole: the inputs that have whole numbers, although they are float32.
    """

    def __init__(self, topology, variables=None, masks=None, whole=()):
        layers = topology["config"].get("layers", [])
        for node in filter(_is_operation, layers):  # Some have no name in their config.
            node["config"].setdefault("name", node.get("name"))
        self._masks = _makes_masks(topology) if masks is None else masks
        if not self._masks:  # The layer takes and passes one.
            _make_operations(layers)
        uses = set(self._uses(layers, variables or {}))
        names = [name for name, _ in uses]
        shared = {name for name in names if names.count(name) > 1}
        self._whole = [*whole, *_make_floats(topology, shared)]
        # By the operation and the number of its call: the Tensor in the job, or a list of them.
        self._results = {}
        self.weights = Weights(variables or {}, uses,
                               [node["config"].get("name") for node in layers])
        self.layers = []
        mask_nodes, by_name = _mask_nodes(topology), _masks_by_name(layers)
        for node in layers:
            name = node["config"].get("name")
            if isinstance(node.get("config"), dict) and "layers" in node["config"]:
                Translation(node, masks=self._masks)
            if name in self.weights.variables:
                continue
            if not _is_operation(node) or name in mask_nodes:
                self._keep(node)
                continue
            if node["class_name"] in _OF_MASKS and name in by_name:
                self.layers.append(_renamed(node, name + _AS_MASK))
            for number in range(len(node["inbound_nodes"])):
                self._replace(node, number)
        self._check_outputs(topology["config"].get("output_layers", []))
        self._drop_unused()
        first = self.weights.input_layer()
        inputs = [first] if first else []
        config = topology["config"]
        config["layers"] = [*inputs, *self.weights.layers, *self.layers]
        if variables or inputs:
            config["input_layers"] = [
                *(each for each in config["input_layers"] if each[0] not in self.weights.variables),
                *([each["name"], 0, 0] for each in inputs)]

    def kind_of(self, name):
        """EXAMPLES, WEIGHTS, MEAN or SUM, of the output of a layer or operation."""
        result = self._result([name, 0, 0])
        return result.kind if result else EXAMPLES

    def _result(self, history):
        """The Tensor in the job for an output of an operation; None if it is one of a layer."""
        name, number, output = history
        result = self._results.get((name, number))
        return result[output] if isinstance(result, list) else result

    def _check_outputs(self, outputs):
        """outputs: [layer, call, output], or lists or a dict of them."""
        if outputs and isinstance(outputs, list) and isinstance(outputs[0], str):
            result = self._results.get(tuple(outputs[:2]))
            if isinstance(result, Tensor) and result.kind == STACKED:
                raise NotSupported(f"an output of the model is what {outputs[0]} stacks in front of the "
                                   f"axis of the examples: stack it behind that, as with axis=1")
            if isinstance(result, list):
                raise NotSupported(f"an output of the model is one of the parts that {outputs[0]} has "
                                   f"made: put an Identity layer behind it")
            return
        for each in outputs.values() if isinstance(outputs, dict) else outputs:
            self._check_outputs(each)

    def _drop_unused(self):
        """Drops the layers of parts that nothing uses: each layer of a job leads to an output."""
        makers = {name for (name, _), result in self._results.items() if isinstance(result, list)}
        used, kept = set(), []
        for layer in reversed(self.layers):
            name = layer["config"].get("name")
            if name in used or name.rpartition("_part")[0].split("_call")[0] not in makers:
                kept.append(layer)
                used |= {each["config"]["keras_history"][0]
                         for each in tensors_in(layer.get("inbound_nodes", []))}
        self.layers = kept[::-1]

    def _uses(self, layers, variables):
        """(InputLayer of a weight, how an operation uses it or None) of each use."""
        for node in layers:
            for call in node.get("inbound_nodes", []) if variables else []:
                use = families.kernel_use(node, call, variables)
                for tensor in tensors_in(call):
                    name = tensor["config"]["keras_history"][0]
                    if name in variables:
                        yield name, use[1] if use and use[0] == name else None

    def _tensor(self, value):
        """The Tensor in the job for a tensor in Keras's JSON."""
        config = value["config"]
        name, result = config["keras_history"][0], self._result(config["keras_history"])
        if result:
            return dataclasses.replace(result, dtype=config["dtype"])
        if name in self.weights.variables:
            return self.weights.tensor(name)
        shape = tuple(config["shape"][1:])
        return Tensor(tuple(config["keras_history"]), shape or (1,), len(shape),
                      dtype=config["dtype"], is_whole=name in self._whole)

    def _keep(self, node):
        """A layer, whose arguments may be results of operations."""
        calls_of_one = [i for i, call in enumerate(node.get("inbound_nodes", []))
                        if any(len(each["config"]["shape"]) == 1 for each in tensors_in(call))]
        masks = [each for call in node.get("inbound_nodes", []) if isinstance(call, dict)
                 for each in tensors_in(_masks_in(call))]
        for each in tensors_in(node.get("inbound_nodes", [])):
            name, number, _ = each["config"]["keras_history"]
            result = self._result(each["config"]["keras_history"])
            if any(each is mask for mask in masks):
                if result:
                    each["config"]["keras_history"] = [name + _AS_MASK, number, 0]
                continue
            if name in self.weights.variables or result and result.kind != EXAMPLES:
                raise NotSupported(f"layer {node['config']['name']} ({node['class_name']}) takes a "
                                   f"weight, or a mean over the examples, in place of examples")
            if result:
                each["config"]["keras_history"] = list(result.source)
        self.layers.append(node)
        if node["class_name"] == "Embedding":
            self._view_rows(node, calls_of_one)

    def _view_rows(self, node, calls):
        """Removes the axis that only the job adds from the rows of one id for each example."""
        width = node["config"]["output_dim"]
        for number in calls:
            name = f"{node['config']['name']}_row{number}"
            rows = Tensor((node["config"]["name"], number, 0), (1, width), 2)
            self.layers.append(node_of("Reshape", name, {"target_shape": [width]}, [rows]))
            self._results[node["config"]["name"], number] = Tensor((name, 0, 0), (width,), 1)

    def _replace(self, node, number):
        name, kind = node["config"]["name"], node["class_name"]
        config = {**node["config"], "name": name if number == 0 else f"{name}_call{number}"}
        one = {**node, "config": config, "inbound_nodes": [node["inbound_nodes"][number]]}
        # A cast to the same type returns its argument, with the mask.
        operation = Operation(one, self._tensor, self.weights, self._masks and kind != "Cast")
        try:
            result = families.translated(operation)
            # Of several results each is the output of a layer with a name of its own.
            if not isinstance(result, list):
                result = operation.finish(result)
        except NotSupported:
            raise
        except Exception as error:
            operation.fails(f"with these arguments ({type(error).__name__}: {error})")
        self._results[name, number] = result
        self.layers.extend(operation.layers)
