"""Keras's operations on tensors as layers that a job's model has.

`x / 127.5 - 1`, `ops.mean(x, axis=1)` and the like are nodes of a functional model, but no layers. Here
each becomes one or a few layers that compute the same.
"""

import math

from cairn.errors import NotSupported

# Operations that a layer of the same name computes if all their arguments are tensors.
_MERGES = ("Add", "Subtract", "Multiply", "Maximum", "Minimum", "Concatenate")
# Activations by operation, with the arguments that they must have.
_ACTIVATIONS = {
    "Relu": ("relu", {}), "Relu6": ("relu6", {}), "Sigmoid": ("sigmoid", {}), "Tanh": ("tanh", {}),
    "Softmax": ("softmax", {"axis": -1}), "Gelu": ("gelu", {"approximate": False}),
    "Silu": ("silu", {}), "Softplus": ("softplus", {}), "Softsign": ("softsign", {}),
    "Elu": ("elu", {"alpha": 1.0}), "Selu": ("selu", {}), "Exp": ("exponential", {}),
    "HardSigmoid": ("hard_sigmoid", {}),
}
_LARGEST_POWER = 8
# Arguments of operations, besides tensors, that are translated. Others must be None.
_KNOWN_ARGUMENTS = {
    **{kind: tuple(needed) for kind, (_, needed) in _ACTIVATIONS.items()},
    **dict.fromkeys(("Mean", "Sum", "Max", "Average"), ("axis", "keepdims")),
    **dict.fromkeys(("ExpandDims", "Squeeze", "Stack", "Concatenate"), ("axis",)),
    "Reshape": ("newshape",), "Transpose": ("axes",), "Cast": ("dtype",),
    "LeakyRelu": ("negative_slope",),
}


def _is_tensor(value):
    return isinstance(value, dict) and value.get("class_name") == "__keras_tensor__"


def _shape(tensor):
    """The shape without the axis of the examples."""
    return tensor["config"]["shape"][1:]


def _numbers(value):
    """A number or an array of numbers as a nested list; None if `value` is neither."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return value
    if isinstance(value, dict) and value.get("class_name") in ("__numpy__", "__tensor__"):
        return value["config"]["value"]
    return None


def _channels(constant, shape):
    """The constant as a number, or as a list for each channel of `shape`; None if it is neither."""
    while isinstance(constant, list) and len(constant) == 1:
        constant = constant[0]
    if isinstance(constant, list) and (len(constant) != shape[-1] or
                                       any(isinstance(each, list) for each in constant)):
        return None
    return constant


def _each(function, constant):
    return [function(each) for each in constant] if isinstance(constant, list) \
        else function(constant)


class _Operation:
    """One node of the model, and the layers that replace it."""

    def __init__(self, node):
        self.kind = node["class_name"]
        self.name = node["config"]["name"]
        self.config = node["config"]
        call = node["inbound_nodes"][0]
        # Arguments by position; a name that only one operation has stays in `named`.
        self.arguments = list(call.get("args", []))
        self.named = {key: value for key, value in call.get("kwargs", {}).items()
                      if value is not None}
        for key in ("x", "x1", "x2"):
            if key in self.named:
                self.arguments.append(self.named.pop(key))
        self.layers = []

    def fails(self, reason=""):
        raise NotSupported(f"the model computes {self.kind} ({self.name}), which is no layer of a "
                           f"job{': ' + reason if reason else ''}; use layers of Keras, or compute "
                           f"it before fit")

    def add(self, class_name, config, inputs, shape):
        """Adds a layer; returns its output. The last one has the operation's name."""
        name = f"{self.name}_part{len(self.layers)}"
        arguments = [inputs] if isinstance(inputs, list) else [inputs]
        self.layers.append({"module": "keras.layers", "class_name": class_name, "name": name,
                            "registered_name": None, "config": {**config, "name": name},
                            "inbound_nodes": [{"args": arguments, "kwargs": {}}]})
        return {"class_name": "__keras_tensor__", "config": {
            "shape": [None, *shape], "dtype": "float32", "keras_history": [name, 0, 0]}}

    def check_arguments(self):
        known = ("name", *_KNOWN_ARGUMENTS.get(self.kind, ()))
        for argument, value in self.config.items():
            if argument not in known and value is not None:
                self.fails(f"its argument {argument} is {value!r}")

    def drop_masks(self):
        """Puts a Reshape to the same shape, which is a view, between each tensor and the operation.

        An operation of Keras returns a tensor without a mask; most layers of a job pass it, and
        Reshape does not.
        """
        def without_mask(value):
            if isinstance(value, list):
                return [without_mask(each) for each in value]
            if not _is_tensor(value):
                return value
            source = tuple(value["config"]["keras_history"])
            if source not in dropped:
                dropped[source] = self.reshape(value, self.known(value))
                dropped[source]["config"]["dtype"] = value["config"]["dtype"]
            return dropped[source]

        dropped = {}
        self.arguments = without_mask(self.arguments)

    def finish(self):
        last = self.layers[-1]
        last["name"] = last["config"]["name"] = self.name
        return self.layers

    # ------------------------------------------------------------------------------------- families

    def rescale(self, tensor, scale, offset):
        return self.add("Rescaling", {"scale": scale, "offset": offset}, tensor, _shape(tensor))

    def reshape(self, tensor, shape):
        return self.add("Reshape", {"target_shape": list(shape)}, tensor, shape)

    def arithmetic(self):
        """With a number, or with one for each channel: a Rescaling."""
        if len(self.arguments) != 2:
            self.fails()
        left, right = self.arguments
        if _is_tensor(left) and _is_tensor(right):
            self.fails()
        tensor, other = (left, right) if _is_tensor(left) else (right, left)
        number = _numbers(other)
        constant = _channels(number, _shape(tensor)) if number is not None else None
        if constant is None or not _is_tensor(tensor):
            self.fails("its other argument is neither a tensor of the model, nor a number, nor one "
                       "for each channel")
        reverse = tensor is right
        if self.kind == "Add":
            return self.rescale(tensor, 1.0, constant)
        if self.kind == "Subtract":
            return self.rescale(tensor, -1.0, constant) if reverse else \
                self.rescale(tensor, 1.0, _each(lambda each: -each, constant))
        if self.kind == "Multiply":
            return self.rescale(tensor, constant, 0.0)
        if self.kind in ("TrueDivide", "Divide") and not reverse:
            return self.rescale(tensor, _each(lambda each: 1 / each, constant), 0.0)
        return self.fails("of a number and a tensor")

    def power(self):
        exponent = 2 if self.kind == "Square" else _numbers(self.arguments[1])
        if exponent not in range(1, _LARGEST_POWER + 1):
            self.fails(f"only whole powers from 1 to {_LARGEST_POWER} are")
        exponent = int(exponent)  # x ** 2.0 is a whole power, too.
        tensor = self.arguments[0]
        if exponent == 1:
            return self.add("Identity", {}, tensor, _shape(tensor))
        return self.add("Multiply", {}, [tensor] * exponent, _shape(tensor))

    def absolute(self):
        tensor = self.arguments[0]
        return self.add("Maximum", {}, [tensor, self.rescale(tensor, -1.0, 0.0)], _shape(tensor))

    def activation(self):
        name, needed = _ACTIVATIONS[self.kind]
        for argument, value in needed.items():
            if self.config.get(argument, value) != value:
                self.fails(f"{argument} is {self.config[argument]!r}")
        tensor = self.arguments[0]
        return self.add("Activation", {"activation": name}, tensor, _shape(tensor))

    def leaky_relu(self):
        tensor = self.arguments[0]
        return self.add("LeakyReLU", {"negative_slope": self.config.get("negative_slope", 0.2)},
                        tensor, _shape(tensor))

    def known(self, tensor):
        shape = _shape(tensor)
        if None in shape:
            self.fails(f"of a tensor of unknown shape {shape}")
        return shape

    def axes(self, value, rank):
        """Axes of the examples' shape, from those of the batch's."""
        axes = [value] if isinstance(value, int) else list(value or [])
        axes = sorted(axis + rank + 1 if axis < 0 else axis for axis in axes)
        if not axes or axes[0] < 1 or axes[-1] > rank:
            self.fails("over the axis of the examples")
        return [axis - 1 for axis in axes]

    def reduction(self):
        """A pooling over adjacent axes, which become the one between the others."""
        tensor = self.arguments[0]
        shape = self.known(tensor)
        axes = self.axes(self.config.get("axis"), len(shape))
        if axes != list(range(axes[0], axes[-1] + 1)):
            self.fails("over axes that are not adjacent")
        outer = math.prod(shape[:axes[0]])
        count = math.prod(shape[axes[0]:axes[-1] + 1])
        inner = math.prod(shape[axes[-1] + 1:])
        if outer > 1:
            tensor = self.reshape(tensor, [outer, count, inner])
            tensor = self.add("Permute", {"dims": [2, 1, 3]}, tensor, [count, outer, inner])
        tensor = self.reshape(tensor, [count, outer * inner])
        pooling = "GlobalMaxPooling1D" if self.kind == "Max" else "GlobalAveragePooling1D"
        tensor = self.add(pooling, {}, tensor, [outer * inner])
        if self.kind == "Sum":
            tensor = self.rescale(tensor, float(count), 0.0)
        keeps = self.config.get("keepdims")
        reduced = [1 if i in axes else size for i, size in enumerate(shape) if keeps or i not in axes]
        if not reduced:
            self.fails("to one number for each example; with keepdims=True it is")
        return self.reshape(tensor, reduced)

    def change_shape(self):
        tensor = self.arguments[0]
        shape = list(_shape(tensor))
        if self.kind == "Reshape":
            batch, *target = self.config["newshape"]
            if batch not in (-1, None) or not target:
                self.fails(f"to {self.config['newshape']}: the first axis must be -1")
            return self.reshape(tensor, target)
        shape = self.known(tensor)
        axis = self.config.get("axis")
        if self.kind == "ExpandDims":
            at = axis + len(shape) + 2 if axis < 0 else axis
            if at < 1:
                self.fails("before the axis of the examples")
            return self.reshape(tensor, [*shape[:at - 1], 1, *shape[at - 1:]])
        dropped = self.axes(axis, len(shape)) if axis is not None else \
            [i for i, size in enumerate(shape) if size == 1]
        return self.reshape(tensor, [size for i, size in enumerate(shape) if i not in dropped])

    def transpose(self):
        tensor, axes = self.arguments[0], self.config.get("axes")
        if not axes or axes[0] != 0:
            self.fails("of the axis of the examples")
        shape = _shape(tensor)
        return self.add("Permute", {"dims": list(axes[1:])}, tensor,
                        [shape[axis - 1] for axis in axes[1:]])

    def item(self):
        """Slices and single indices: a Cropping2D of the axis between the others for each."""
        tensor, index = self.arguments[0], self.arguments[1]
        shape = self.known(tensor)
        index = list(index) if isinstance(index, list) else [index]
        ellipsis = [i for i, each in enumerate(index)
                    if isinstance(each, dict) and each.get("class_name") == "__ellipsis__"]
        whole = {"class_name": "__slice__", "config": {}}
        if ellipsis:
            at = ellipsis[0]
            index[at:at + 1] = [whole] * (len(shape) + 2 - len(index))
        index += [whole] * (len(shape) + 1 - len(index))
        result, current = [], list(shape)
        for axis, each in enumerate(index):
            is_slice = isinstance(each, dict) and each.get("class_name") == "__slice__"
            if not is_slice and not isinstance(each, int):
                self.fails("with an index that is no number and no slice")
            if axis == 0:
                if not is_slice or any(value is not None for value in each["config"].values()):
                    self.fails("of single examples")
                continue
            size = shape[axis - 1]
            if is_slice:
                begin, end, step = slice(*(each["config"].get(key) for key in
                                           ("start", "stop", "step"))).indices(size)
                if step != 1 or end <= begin:
                    self.fails("with a step, or of nothing")
            else:
                begin = each + size if each < 0 else each
                end = begin + 1
            if (begin, end) != (0, size):
                outer, inner = math.prod(current[:axis - 1]), math.prod(current[axis:])
                tensor = self.reshape(tensor, [outer, size, inner])
                tensor = self.add("Cropping2D", {"cropping": [[0, 0], [begin, size - end]]}, tensor,
                                  [outer, end - begin, inner])
                current[axis - 1] = end - begin
            if is_slice:
                result.append(end - begin)
        if not result:
            self.fails("of one number for each example; with a slice of length 1 it is")
        return self.reshape(tensor, result)

    def stack(self):
        tensors = self.arguments[0]
        shape = self.known(tensors[0])
        axis = self.config.get("axis", 0)
        axis = axis + len(shape) + 2 if axis < 0 else axis
        if axis < 1:
            self.fails("along the axis of the examples")
        one = [*shape[:axis - 1], 1, *shape[axis - 1:]]
        several = [*shape[:axis - 1], len(tensors), *shape[axis - 1:]]
        return self.add("Concatenate", {"axis": axis}, [self.reshape(each, one) for each in tensors],
                        several)

    def negative(self):
        return self.rescale(self.arguments[0], -1.0, 0.0)

    def identity(self):
        tensor = self.arguments[0]
        if self.config.get("dtype", "float32") != "float32" or \
                tensor["config"]["dtype"] != "float32":
            self.fails("between types: all numbers of a job's model are float32")
        return self.add("Identity", {}, tensor, _shape(tensor))


_FAMILIES = {
    **dict.fromkeys(("Add", "Subtract", "Multiply", "TrueDivide", "Divide"), _Operation.arithmetic),
    **dict.fromkeys(("Square", "Power"), _Operation.power),
    **dict.fromkeys(_ACTIVATIONS, _Operation.activation),
    **dict.fromkeys(("Mean", "Sum", "Max", "Average"), _Operation.reduction),
    **dict.fromkeys(("Reshape", "ExpandDims", "Squeeze"), _Operation.change_shape),
    "Absolute": _Operation.absolute, "LeakyRelu": _Operation.leaky_relu,
    "Transpose": _Operation.transpose, "GetItem": _Operation.item, "Stack": _Operation.stack,
    "Negative": _Operation.negative, "Cast": _Operation.identity,
}


def _all_tensors(value):
    if isinstance(value, list):
        return all(_all_tensors(each) for each in value)
    return _is_tensor(value)


def _makes_masks(node):
    """True if a layer of the model's JSON, or of a model in it, makes a mask."""
    config = node.get("config")
    if not isinstance(config, dict):
        return False
    return node.get("class_name") == "Masking" or bool(config.get("mask_zero")) or \
        any(map(_makes_masks, config.get("layers", [])))


def replace_operations(topology, masks=None):
    """Replaces the operations in a model's JSON, also in models that are layers of it.

    masks: tensors may have a mask [found in the topology].
    """
    masks = _makes_masks(topology) if masks is None else masks
    replaced = []
    for node in topology["config"].get("layers", []):
        if isinstance(node.get("config"), dict) and "layers" in node["config"]:
            replace_operations(node, masks)
        is_operation = str(node.get("module", "")).startswith("keras.src.ops")
        if not is_operation or node["class_name"] in ("NotEqual", "Any", "ConvertToTensor"):
            replaced.append(node)  # The last three compute masks.
            continue
        operation = _Operation(node)
        is_merge = node["class_name"] in _MERGES and not operation.named and \
            _all_tensors(operation.arguments)
        if not is_merge and (
                node["class_name"] not in _FAMILIES or operation.named or
                not operation.arguments or not _is_tensor(operation.arguments[0]) and
                operation.kind not in ("Add", "Subtract", "Multiply", "TrueDivide", "Divide",
                                       "Stack")):
            operation.fails()
        operation.check_arguments()
        # A cast to the same type returns its argument, with the mask.
        if masks and operation.kind != "Cast":
            operation.drop_masks()
        if is_merge:
            node["inbound_nodes"][0].update(args=operation.arguments, kwargs={})
            replaced.extend([*operation.layers, node])
            continue
        _FAMILIES[node["class_name"]](operation)
        replaced.extend(operation.finish())
    topology["config"]["layers"] = replaced
