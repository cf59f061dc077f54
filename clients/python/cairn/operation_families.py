"""What the layers of an operation are: a function for each of Keras's operations."""

import dataclasses
import json
import math

import numpy as np

from cairn import axis_families, product_families, stacked
from cairn.axis_families import joined, part, permuted, product
from cairn.product_families import kernel_layer, two
from cairn.tensors import EXAMPLES, MEAN, STACKED, SUM, WEIGHTS, Tensor, is_tensor

# Functions of each number, with the arguments that the operation must have. With a capital: a layer.
_FUNCTIONS = {
    "Relu": ("relu", {}), "Relu6": ("relu6", {}), "Sigmoid": ("sigmoid", {}), "Tanh": ("tanh", {}),
    "Gelu": ("gelu", {"approximate": False}),
    "Silu": ("silu", {}), "Softplus": ("softplus", {}), "Softsign": ("softsign", {}),
    "Elu": ("elu", {"alpha": 1.0}), "Selu": ("selu", {}), "Exp": ("exponential", {}),
    "HardSigmoid": ("hard_sigmoid", {}), "LogSigmoid": ("log_sigmoid", {}),
    "HardTanh": ("hard_tanh", {}), "HardSilu": ("hard_silu", {}), "TanhShrink": ("tanh_shrink", {}),
    "Celu": ("celu", {"alpha": 1.0}), "Squareplus": ("squareplus", {"b": 4}),
    "SoftShrink": ("soft_shrink", {"threshold": 0.5}),
    "HardShrink": ("hard_shrink", {"threshold": 0.5}),
    **{name: (name, {}) for name in ("Cos", "Erf", "Log", "Reciprocal", "Sign", "Sin", "Sqrt")},
}
_MOST_COPIED = 1 << 16  # Numbers of a weight of which each example of a batch has a copy.
_EPSILON = 1e-7  # keras.config.epsilon(), by which losses keep their logarithms finite.


def _function(op):
    name, needed = _FUNCTIONS[op.kind]
    for argument, value in needed.items():
        if op.config.get(argument, value) != value:
            op.fails(f"{argument} is {op.config[argument]!r}")
    return op.apply(name, op.arguments[0])


def _softmax(op, tensor):
    """Along the last axis, which another one becomes meanwhile."""
    function = "softmax" if op.kind == "Softmax" else "log_softmax"
    [axis] = op.axes(op.config.get("axis", -1), tensor)
    axes = [i for i in range(tensor.rank) if i != axis] + [axis]
    if axis == tensor.rank - 1:
        return op.apply(function, tensor)
    tensor = op.apply(function, op.permute(tensor, axes))
    return op.permute(tensor, [axes.index(i) for i in range(tensor.rank)])


def _normalize(op, tensor):
    if op.config.get("order", 2) != 2:
        op.fails("of another order than 2")
    axes = [axis + 1 for axis in op.axes(op.config.get("axis", -1), tensor)]
    return op.add("UnitNormalization", {"axis": axes}, tensor, tensor.shape)


def _of_two(method):
    return lambda op: getattr(op, method)(*two(op))


def _of_truths(method):
    def function(op):
        return getattr(op, method)(*map(op.truth, two(op)))

    return function


def _of_one(function):
    return lambda op: function(op, op.arguments[0])


def _power(op):
    base, exponent = (op.arguments[0], 2) if op.kind == "Square" else two(op)
    if isinstance(exponent, Tensor):
        logarithm = op.apply("Log", base) if isinstance(base, Tensor) else None
        if logarithm is None:
            op.fails("of a number to the power of a tensor")
        return op.apply("exponential", op.times(exponent, logarithm))
    if not isinstance(exponent, (int, float)):
        op.fails("with an array of powers")
    op.must_be_finite(exponent)
    if exponent == 0.5:
        return op.apply("Sqrt", base)
    power = _positive_power(op, base, abs(exponent))
    return op.apply("Reciprocal", power) if exponent < 0 else power


def _positive_power(op, base, exponent):
    whole = int(exponent)
    if exponent == 0:
        return op.constant_like(base, 1.0)
    if whole == exponent:
        return _whole_power(op, base, whole)
    if whole == 0:
        return op.apply("exponential", op.rescale(op.apply("Log", base), exponent))
    # 0 for the base 0, which has a logarithm of 1 in place of its own. NaN for a negative one.
    nonzero = op.nonzero(base)
    logarithm = op.apply("Log", op.plus(base, op.inverse(nonzero)))
    rest = op.apply("exponential", op.rescale(logarithm, exponent - whole))
    return op.times(_whole_power(op, base, whole), op.times(rest, nonzero))


def _whole_power(op, base, exponent):
    """By repeated squares."""
    if exponent == 1:
        return op.add("Identity", {}, base, base.shape)
    half = _whole_power(op, base, exponent // 2) if exponent > 3 else base
    return op.merge("Multiply", [half, half] + [base] * (exponent % 2))


def _absolute(op, tensor):
    return op.times(tensor, op.apply("Sign", tensor))


def _floor(op, tensor):
    return op.as_whole(op.apply("Floor", tensor), True)


def _ceil(op, tensor):
    return op.as_whole(op.rescale(_floor(op, op.rescale(tensor, -1.0)), -1.0), True)


def _round(op, tensor):
    """Halves to the next even number."""
    if op.config.get("decimals"):
        op.fails(f"decimals is {op.config['decimals']!r}: a job rounds to whole numbers")
    floor = _floor(op, tensor)
    fraction = op.minus(tensor, floor)  # Exact.
    is_more = op.positive(op.rescale(fraction, 1.0, -0.5))
    is_half = op.inverse(op.nonzero(op.rescale(fraction, 1.0, -0.5)))
    is_odd = op.minus(floor, op.rescale(_floor(op, op.rescale(floor, 0.5)), 2.0))
    return op.as_whole(op.plus(floor, op.plus(is_more, op.times(is_half, is_odd))), True)


def _stop_gradient(op, tensor):
    """A floor has no gradient. It changes no float of at least 2^-36, and others by less than 2^-60."""
    return op.rescale(op.apply("Floor", op.rescale(tensor, 2.0**60)), 2.0**-60)


def _place_of(op, tensor):
    """Argmax and Argmin: of several places with the value, the first one."""
    if op.config.get("axis", -1) is None:
        op.fails("over the axis of the examples: give it an axis, such as axis=-1")
    op.must_be_of_examples(tensor)
    [axis] = op.axes(op.config.get("axis", -1), tensor)
    size = op.known(tensor)[axis]
    best = op.reduce("Max" if op.kind == "Argmax" else "Min", tensor, [axis], True)
    is_best = op.inverse(_unequal(op, tensor, best))
    # The first place has the largest number of places behind it.
    ranks = np.arange(size, 0, -1).reshape(size, *[1] * (tensor.rank - 1 - axis))
    ranked = op.times(is_best, op.weights.constant(ranks))
    first = op.reduce("Max", ranked, [axis], bool(op.config.get("keepdims")))
    return op.as_whole(op.rescale(first, -1.0, float(size)), True)


def _divide_no_nan(op):
    """0 for a divisor of 0."""
    left, right = two(op)
    if not isinstance(right, Tensor):
        return op.times(left, 0.0) if right == 0 else op.over(left, right)
    nonzero = op.nonzero(right)
    quotient = op.over(left, op.plus(right, op.inverse(nonzero)))
    return op.times(quotient, nonzero)


def _hyperbolic(sign):
    """The half of exp(x) + sign exp(-x)."""
    def function(op, tensor):
        ends = [op.apply("exponential", op.rescale(tensor, each)) for each in (1.0, -1.0)]
        return op.rescale(op.plus(ends[0], op.rescale(ends[1], sign)), 0.5)

    return function


def _logaddexp(op):
    left, right = two(op)
    return op.plus(op.apply("softplus", op.minus(left, right)), right)


def _hypot(op):
    left, right = two(op)
    if not isinstance(left, Tensor) or not isinstance(right, Tensor):
        op.fails("of other arguments than tensors of the model")
    return op.apply("Sqrt", op.plus(op.square(left), op.square(right)))


def _leaky_relu(op, tensor):
    op.must_be_of_examples(tensor)
    return op.add("LeakyReLU", {"negative_slope": op.config.get("negative_slope", 0.2)}, tensor,
                  tensor.shape)


def _full_like(op, tensor, value):
    if not isinstance(value, (int, float)):
        op.fails("of an array of numbers")
    op.must_be_finite(value)
    return op.rescale(tensor, 0.0, value)


def _clip(op, tensor):
    for bound in "x_min", "x_max":
        if not isinstance(op.config[bound], (int, float)):
            op.fails(f"{bound} is no number")
    return op.smaller(op.larger(tensor, op.config["x_min"]), op.config["x_max"])


def _less(op, left, right):
    return op.positive(op.minus(right, left))


def _unequal(op, left, right):
    return op.square(op.apply("Sign", op.minus(left, right)))


def _where(op):
    """c x + (1 - c) y."""
    if len(op.arguments) != 3:
        op.fails()
    condition, there, elsewhere = op.arguments
    condition = op.truth(condition)
    if not isinstance(there, Tensor) and not isinstance(elsewhere, Tensor):
        if isinstance(there, (list, dict)) or isinstance(elsewhere, (list, dict)):
            op.fails("of two arrays of numbers")
        op.must_be_finite(there)
        return op.plus(op.times(condition, there - elsewhere), elsewhere)
    parts = [op.times(op.inverse(condition) if inverts else condition, value)
             for inverts, value in ((False, there), (True, elsewhere))
             if isinstance(value, (Tensor, list)) or value != 0]
    return op.plus(*parts) if len(parts) == 2 else parts[0]


def _reduction(op):
    tensor, keeps = op.arguments[0], bool(op.config.get("keepdims"))
    how = {"Average": "Mean", "Amax": "Max", "Amin": "Min"}.get(op.kind, op.kind)
    axis = op.config.get("axis")
    over_examples = tensor.kind != WEIGHTS and (
        axis is None or any(each in (0, -tensor.rank - 1)
                            for each in ([axis] if isinstance(axis, int) else axis)))
    if not over_examples:
        axes = op.every(tensor) if axis is None else op.axes(axis, tensor)
        return _reduced(op, how, tensor, axes, keeps)
    if tensor.kind in (MEAN, SUM) and tensor.rank == 0:
        return op.add("Identity", {}, tensor, tensor.shape)
    over_all = axis is None or len(axis if isinstance(axis, (list, tuple)) else [axis]) == \
        tensor.rank + 1
    if not over_all or keeps or how not in ("Mean", "Sum"):
        op.fails("over the examples of a batch")
    reduced = _reduced(op, how, tensor, op.every(tensor), False) if tensor.rank else \
        op.add("Identity", {}, tensor, tensor.shape)
    return op.as_kind(reduced, MEAN if how == "Mean" else SUM)


def _truths(how):
    """Any or All over axes of an example."""
    def translate(op, tensor):
        return op.reduce(how, op.truth(tensor), op.axes(op.config.get("axis"), tensor),
                         bool(op.config.get("keepdims")))

    return translate


def _reduced(op, how, tensor, axes, keeps):
    if not axes:
        return op.add("Identity", {}, tensor, tensor.shape)
    if how == "Norm":
        if op.config.get("ord") not in (None, 2, "euclidean"):
            op.fails(f"ord is {op.config['ord']!r}")
        return op.apply("Sqrt", op.reduce("Sum", op.square(tensor), axes, keeps))
    if how == "Logsumexp":
        largest = op.reduce("Max", tensor, axes, True)
        total = op.reduce("Sum", op.apply("exponential", op.minus(tensor, largest)), axes, True)
        result = op.plus(op.apply("Log", total), largest)
        return result if keeps else op.reshape(result, [
            size for i, size in enumerate(tensor.shape) if i not in axes])
    if how in ("Var", "Std"):
        deviation = op.minus(tensor, op.reduce("Mean", tensor, axes, True))
        variance = op.reduce("Mean", op.square(deviation), axes, keeps)
        return variance if how == "Var" else op.apply("Sqrt", variance)
    return op.reduce(how, tensor, axes, keeps)


# --------------------------------------------------------------------------------------------- shapes


def _reshape(op, tensor):
    target = list(op.config["newshape"])
    if tensor.kind == WEIGHTS:
        return op.reshape(tensor, _without_unknown(target, tensor))
    batch, *rest = target
    if batch not in (-1, None) or not rest and tensor.shape != (1,):
        op.fails(f"to {op.config['newshape']}, which joins the examples of a batch: the first axis must be "
                 f"-1 and another one follow; a sum over the other axes needs no reshape (axis=(1, 2, 3))")
    shape = _without_unknown(rest, tensor)
    if product(shape) != product(tensor.shape):
        op.fails(f"from {(None, *tensor.shape)} to {op.config['newshape']}, which changes the number "
                 f"of examples")
    return op.reshape(tensor, shape, rank=len(rest))


def _without_unknown(shape, tensor):
    size, others = 1, 1
    for each in tensor.shape:
        size *= each
    for each in shape:
        others *= each if each != -1 else 1
    return [size // others if each == -1 else each for each in shape]


def _expand_dims(op, tensor):
    shape, axis = op.known(tensor), op.config["axis"]
    first = 0 if tensor.kind == WEIGHTS else 1
    for each in [axis] if isinstance(axis, int) else axis:
        at = each + len(shape) + 1 + first if each < 0 else each
        if at < first:
            op.fails("before the axis of the examples")
        shape = (*shape[:at - first], 1, *shape[at - first:])
    return op.reshape(tensor, shape)


def _squeeze(op, tensor):
    shape, axis = op.known(tensor), op.config.get("axis")
    dropped = op.axes(axis, tensor) if axis is not None else \
        [i for i, size in enumerate(shape) if size == 1]
    return op.reshape(tensor, [size for i, size in enumerate(shape) if i not in dropped])


def _transpose(op, tensor):
    count = tensor.rank + (tensor.kind != WEIGHTS)
    axes = op.config.get("axes") or list(range(count))[::-1]
    return permuted(op, tensor, [axis % count for axis in axes])


def _swapaxes(op, tensor):
    axes = list(range(tensor.rank + (tensor.kind != WEIGHTS)))
    one, two = op.config["axis1"], op.config["axis2"]
    axes[one], axes[two] = axes[two], axes[one]
    return permuted(op, tensor, axes)


def _item(op):
    """Slices and single indices: a Cropping2D of the axis between the others for each."""
    tensor, index = op.arguments[0], op.arguments[1]
    shape = list(op.known(tensor))
    index = list(index) if isinstance(index, list) else [index]
    whole = {"class_name": "__slice__", "config": {}}
    missing = len(shape) + (tensor.kind != WEIGHTS) - sum(
        each is not None and not _is_ellipsis(each) for each in index)
    at = next((i for i, each in enumerate(index) if _is_ellipsis(each)), len(index))
    index[at:at + 1] = [whole] * missing
    if tensor.kind != WEIGHTS:
        first = index.pop(0)
        if not _is_slice(first) or any(value is not None for value in first["config"].values()):
            op.fails("of single examples")
    result, current, axis = [], list(shape), 0
    for each in index:
        if each is None:
            result.append(1)
            continue
        begin, end = _range(op, each, shape[axis])
        if (begin, end) != (0, shape[axis]):
            tensor = part(op, tensor, current, axis, begin, end)
            current[axis] = end - begin
        if _is_slice(each):
            result.append(end - begin)
        axis += 1
    return op.reshape(tensor, result)


def _glu(op, tensor):
    """The first half of an axis, multiplied by the sigmoid of the second one."""
    [axis] = op.axes(op.config.get("axis", -1), tensor)
    shape = list(op.known(tensor))
    half = shape[axis] // 2
    values, gates = (part(op, tensor, shape, axis, begin, begin + half) for begin in (0, half))
    shape[axis] = half
    return op.reshape(op.times(values, op.apply("sigmoid", gates)), shape)


def _is_slice(value):
    return isinstance(value, dict) and value.get("class_name") == "__slice__"


def _is_ellipsis(value):
    return isinstance(value, dict) and value.get("class_name") == "__ellipsis__"


def _range(op, index, size):
    if isinstance(index, int) and not isinstance(index, bool):
        begin = index + size if index < 0 else index
        return begin, begin + 1
    if not _is_slice(index):
        op.fails("with an index that is no number and no slice")
    begin, end, step = slice(*(index["config"].get(key) for key in
                               ("start", "stop", "step"))).indices(size)
    if step != 1 or end <= begin:
        op.fails("with a step, or of nothing")
    return begin, end


def _stack(op):
    tensors = op.arguments[0]
    shape = op.known(tensors[0])
    first = 0 if tensors[0].kind == WEIGHTS else 1
    axis = op.config.get("axis", 0)
    axis = axis + len(shape) + 1 + first if axis < 0 else axis
    is_in_front = axis < first  # Of the axis of the examples.
    axis = max(0, axis - first)
    ones = [op.reshape(each, [*shape[:axis], 1, *shape[axis:]]) for each in tensors]
    result = joined(op, ones, axis)
    return dataclasses.replace(result, kind=STACKED) if is_in_front else result


def _concatenate(op):
    tensors = op.arguments[0]
    [axis] = op.axes(op.config.get("axis", -1), tensors[0])
    return joined(op, tensors, axis)


def _broadcast_to(op, tensor):
    """To the shape of a batch: what is the same for each example becomes a tensor of examples."""
    target = list(op.config["shape"])
    if tensor.kind != WEIGHTS or target[0] is not None:
        op.fails()
    shape = (1,) * (len(target) - tensor.rank) + tensor.shape[:tensor.rank]
    if shape[0] != 1 or tuple(target[1:]) != shape[1:]:
        op.fails(f"of shape {tensor.shape} to {tuple(target)}")
    return op.as_kind(op.reshape(tensor, shape[1:]), EXAMPLES)


def _extract_patches(op, tensor):
    """Patches beside each other: the rows of each one lie between those of its neighbors."""
    size, strides = op.config["size"], op.config["strides"]
    strides = [strides] * len(size) if isinstance(strides, int) else strides
    if len(size) != 2 or tensor.rank != 3 or op.config["data_format"] != "channels_last":
        op.fails("of other tensors than images with their channels last")
    if list(strides) != list(size) or op.config["dilation_rate"] not in (1, [1, 1]):
        op.fails(f"of patches of size {tuple(size)} with the strides {strides} and the dilation_rate "
                 f"{op.config['dilation_rate']}, which are not beside each other")
    height, width, channels = tensor.shape
    counts, rest = [height // size[0], width // size[1]], [height % size[0], width % size[1]]
    if rest != [0, 0]:
        if op.config["padding"] != "valid":
            op.fails(f"of patches of size {tuple(size)} of images of {height} x {width}, with padding")
        tensor = op.add("Cropping2D", {"cropping": [[0, rest[0]], [0, rest[1]]]}, tensor,
                        [height - rest[0], width - rest[1], channels])
    rows = op.reshape(tensor, [counts[0], size[0], counts[1], size[1] * channels])
    return op.reshape(op.permute(rows, [0, 2, 1, 3]), [*counts, size[0] * size[1] * channels])


def _same(op):
    tensor = op.arguments[0]
    if op.config.get("dtype") == "bool":
        return op.as_whole(op.truth(tensor), True)
    kinds = {op.config.get("dtype") or tensor.dtype, tensor.dtype}
    is_whole = tensor.is_whole or tensor.dtype == "bool"
    if len(kinds) > 1 and not is_whole and not kinds <= {"float32", "bool"}:
        op.fails("between types: all numbers of a job's model are float32")
    return op.as_whole(op.add("Identity", {}, tensor, tensor.shape), is_whole)


# -------------------------------------------------------------------------------------------- products


def kernel_use(node, call, weights):
    """(the weight, how) if the operation is a layer whose kernel is a weight; else None."""
    arguments = call.get("args", [])

    def is_weight(value):
        return is_tensor(value) and value["config"]["keras_history"][0] in weights

    def rank(value):
        return len(value["config"]["shape"])

    if node["class_name"] == "Einsum" and len(arguments) == 1 and isinstance(arguments[0], list):
        arguments = arguments[0]
    if len(arguments) != 2 or not all(map(is_tensor, arguments)) or \
            is_weight(arguments[0]) == is_weight(arguments[1]):
        return None
    first, second = arguments
    kind, config = node["class_name"], node["config"]
    how = None
    if is_weight(second):
        is_product = kind in ("Matmul", "Dot") or kind == "Tensordot" and config.get("axes") == 1
        if is_product and rank(second) == 2 and rank(first) > 1:
            how = "Dense"
        elif kind == "Einsum":
            how = "Einsum " + config["subscripts"]
        elif kind == "Conv":
            how = "Conv " + json.dumps({**config, "name": ""}, sort_keys=True)
    elif kind == "Take" and config.get("axis") == 0 and rank(first) == 2:
        how = "Embedding"
    if how is None:
        return None
    return (second if how != "Embedding" else first)["config"]["keras_history"][0], how


def _cumsum(op, tensor):
    """The product with a matrix of ones and zeros."""
    if op.config.get("axis") is None or tensor.rank > 2:
        op.fails("without an axis, or of a tensor with more than two axes for each example")
    [axis] = op.axes(op.config["axis"], tensor)
    op.must_be_of_examples(tensor)
    size = tensor.shape[axis]
    ones = op.weights.constant([[float(i <= j) for j in range(size)] for i in range(size)])
    rows = op.permute(tensor, [1, 0]) if axis < tensor.rank - 1 else tensor
    sums = op.add("Dot", {"axes": [tensor.rank, 1]}, [rows, ones], rows.shape, tensor.rank)
    sums = op.permute(sums, [1, 0]) if axis < tensor.rank - 1 else sums
    return op.as_whole(sums, tensor.is_whole)


def _take(op):
    table, ids = two(op)
    if not isinstance(table, Tensor) or not isinstance(ids, Tensor) or \
            not table.weight or table.rank != 2 or ids.dtype not in ("int32", "int64"):
        op.fails("of other arguments than a weight and ids")
    if not op.weights.is_kernel(table):
        return _take_shared(op, table, ids)
    shape = [*ids.shape[:ids.rank], table.shape[1]]
    config = {"input_dim": table.shape[0], "output_dim": table.shape[1]}
    return kernel_layer(op, table, "Embedding", config, ids, shape, "embeddings")


def _take_shared(op, table, ids):
    """The product of one-hot vectors and a table that something else takes, too: tied embeddings."""
    if math.prod(table.shape) > _MOST_COPIED:
        op.fails(f"of a table of {' x '.join(map(str, table.shape))} numbers, which another operation takes, "
                 f"too: each example gets a copy of it, of at most {_MOST_COPIED} numbers; give the other "
                 f"operation a weight of its own, as that of a Dense")
    rows = _one_hot_of(op, op.as_whole(ids, True), table.shape[0])
    flat = op.reshape(rows, [math.prod(ids.shape[:ids.rank]), table.shape[0]])
    product = op.add("Dot", {"axes": [2, 1]}, [flat, table], [flat.shape[0], table.shape[1]], 2)
    return op.reshape(product, [*ids.shape[:ids.rank], table.shape[1]])


def _conv(op):
    x, kernel = two(op)
    if not op.weights.is_kernel(kernel) or op.config.get("data_format") != "channels_last":
        op.fails("of other arguments than a tensor with its channels last and a weight")
    *size, channels, filters = kernel.shape
    if channels != x.shape[-1]:
        op.fails("with groups of channels")

    def several(value):
        return [value] * len(size) if isinstance(value, int) else list(value)

    strides, dilation = several(op.config["strides"]), several(op.config["dilation_rate"])
    padding = op.config["padding"]
    shape = [-(-length // stride) if padding == "same" else
             -(-(length - (width - 1) * rate) // stride)
             for length, width, stride, rate in zip(x.shape, size, strides, dilation)]
    config = {"filters": filters, "kernel_size": size, "strides": strides, "padding": padding,
              "dilation_rate": dilation, "use_bias": False}
    return kernel_layer(op, kernel, f"Conv{len(size)}D", config, x, [*shape, filters])


# ---------------------------------------------------------------------------------------------- losses


def _clipped(op, tensor):
    return op.smaller(op.larger(tensor, _EPSILON), 1 - _EPSILON)


def _negative_sum(op, left, right):
    product = op.times(left, right)
    return op.rescale(op.reduce("Sum", product, [product.rank - 1]), -1.0)


def _binary_crossentropy(op):
    target, output = two(op)
    if op.config.get("from_logits"):
        # max(x, 0) - x t + log(1 + exp(-|x|))
        size = op.apply("softplus", op.rescale(_absolute(op, output), -1.0))
        return op.plus(op.minus(op.apply("relu", output), op.times(output, target)), size)
    output = _clipped(op, output)
    right = op.times(target, op.apply("Log", output))
    wrong = op.times(op.inverse(target), op.apply("Log", op.inverse(output)))
    return op.rescale(op.plus(right, wrong), -1.0)


def _categorical_crossentropy(op):
    target, output = two(op)
    if op.config.get("axis", -1) not in (-1, output.rank):
        op.fails("over another axis than the last one")
    if op.config.get("from_logits"):
        return _negative_sum(op, target, op.apply("log_softmax", output))
    total = op.reduce("Sum", output, [output.rank - 1], True)
    return _negative_sum(op, target, op.apply("Log", _clipped(op, op.over(output, total))))


def _one_hot_of(op, ids, classes):
    ids = op.reshape(ids, [*ids.shape[:ids.rank], 1])
    numbers = op.weights.constant(list(range(classes)))
    return op.inverse(_unequal(op, ids, numbers))


def _one_hot(op):
    ids = op.arguments[0]
    if op.config.get("axis", -1) not in (-1, ids.rank + 1):
        op.fails("along another axis than the last one")
    return _one_hot_of(op, ids, op.config["num_classes"])


def _sparse_crossentropy(op):
    target, output = two(op)
    if op.config.get("axis", -1) not in (-1, output.rank):
        op.fails("over another axis than the last one")
    if not op.config.get("from_logits"):
        output = op.apply("Log", _clipped(op, output))
    if target.rank == output.rank:
        target = op.reshape(target, target.shape[:-1])
    return _negative_sum(op, _one_hot_of(op, target, output.shape[-1]),
                         op.apply("log_softmax", output))


# {operation: (function of an Operation, the arguments besides tensors that it reads)}. Any other
# argument must be None.
_FAMILIES = {
    **axis_families.FAMILIES, **product_families.FAMILIES,
    **{kind: (_function, tuple(needed)) for kind, (_, needed) in _FUNCTIONS.items()},
    **dict.fromkeys(("Softmax", "LogSoftmax"), (_of_one(_softmax), ("axis",))),
    "Normalize": (_of_one(_normalize), ("axis", "order", "epsilon")),
    "Add": (_of_two("plus"), ()), "Subtract": (_of_two("minus"), ()),
    "Multiply": (_of_two("times"), ()),
    **dict.fromkeys(("TrueDivide", "Divide"), (_of_two("over"), ())),
    "DivideNoNan": (_divide_no_nan, ()),
    "Maximum": (_of_two("larger"), ()), "Minimum": (_of_two("smaller"), ()),
    **dict.fromkeys(("Square", "Power"), (_power, ())),
    **dict.fromkeys(("Abs", "Absolute"), (_of_one(_absolute), ())),
    "Floor": (_of_one(_floor), ()), "Ceil": (_of_one(_ceil), ()),
    "Round": (_of_one(_round), ("decimals",)), "StopGradient": (_of_one(_stop_gradient), ()),
    **dict.fromkeys(("Argmax", "Argmin"), (_of_one(_place_of), ("axis", "keepdims"))),
    "Negative": (_of_one(lambda op, x: op.rescale(x, -1.0)), ()),
    "Rsqrt": (_of_one(lambda op, x: op.apply("Reciprocal", op.apply("Sqrt", x))), ()),
    **{kind: (_of_one(lambda op, x, base=base: op.rescale(op.apply("Log", x), 1 / math.log(base))), ())
       for kind, base in (("Log2", 2), ("Log10", 10))},
    "Exp2": (_of_one(lambda op, x: op.apply("exponential", op.rescale(x, math.log(2)))), ()),
    "Logaddexp": (_logaddexp, ()), "Hypot": (_hypot, ()),
    "Tan": (_of_one(lambda op, x: op.over(op.apply("Sin", x), op.apply("Cos", x))), ()),
    "Deg2rad": (_of_one(lambda op, x: op.rescale(x, math.pi / 180)), ()),
    "Rad2deg": (_of_one(lambda op, x: op.rescale(x, 180 / math.pi)), ()),
    "Log1p": (_of_one(lambda op, x: op.apply("Log", op.rescale(x, 1.0, 1.0))), ()),
    "Expm1": (_of_one(lambda op, x: op.rescale(op.apply("exponential", x), 1.0, -1.0)), ()),
    "Cosh": (_of_one(_hyperbolic(1.0)), ()), "Sinh": (_of_one(_hyperbolic(-1.0)), ()),
    "ZerosLike": (_of_one(lambda op, x: op.rescale(x, 0.0)), ()),
    "FullLike": (lambda op: _full_like(op, *two(op)), ("dtype",)),
    "OnesLike": (_of_one(lambda op, x: op.rescale(x, 0.0, 1.0)), ()),
    "Clip": (_of_one(_clip), ("x_min", "x_max")),
    "LeakyRelu": (_of_one(_leaky_relu), ("negative_slope",)), "Glu": (_of_one(_glu), ("axis",)),
    "Less": (lambda op: _less(op, *two(op)), ()),
    "Greater": (lambda op: _less(op, *two(op)[::-1]), ()),
    "LessEqual": (lambda op: op.inverse(_less(op, *two(op)[::-1])), ()),
    "GreaterEqual": (lambda op: op.inverse(_less(op, *two(op))), ()),
    "Equal": (lambda op: op.inverse(_unequal(op, *two(op))), ()),
    "NotEqual": (lambda op: _unequal(op, *two(op)), ()),
    "LogicalAnd": (_of_truths("times"), ()), "LogicalOr": (_of_truths("larger"), ()),
    "LogicalXor": (lambda op: op.nonzero(op.minus(*map(op.truth, two(op)))), ()),
    "LogicalNot": (_of_one(lambda op, x: op.inverse(op.truth(x))), ()),
    "Where": (_where, ()),
    **dict.fromkeys(("Mean", "Sum", "Max", "Min", "Average", "Amax", "Amin", "Var", "Std",
                     "Logsumexp"), (_reduction, ("axis", "keepdims"))),
    "Norm": (_reduction, ("axis", "keepdims", "ord")),
    "Any": (_of_one(_truths("Max")), ("axis", "keepdims")),
    "All": (_of_one(_truths("Min")), ("axis", "keepdims")),
    "Reshape": (_of_one(_reshape), ("newshape",)),
    "ExpandDims": (_of_one(_expand_dims), ("axis",)), "Squeeze": (_of_one(_squeeze), ("axis",)),
    "Transpose": (_of_one(_transpose), ("axes",)),
    "Swapaxes": (_of_one(_swapaxes), ("axis1", "axis2")),
    "GetItem": (_item, ()), "Stack": (_stack, ("axis",)), "Concatenate": (_concatenate, ("axis",)),
    "BroadcastTo": (_of_one(_broadcast_to), ("shape",)),
    "ExtractPatches": (_of_one(_extract_patches),
                       ("size", "strides", "dilation_rate", "padding", "data_format")),
    "Cast": (_same, ("dtype",)), "ConvertToTensor": (_same, ("dtype",)),
    "Cumsum": (_of_one(_cumsum), ("axis",)), "Take": (_take, ("axis",)),
    "Conv": (_conv, ("strides", "padding", "data_format", "dilation_rate")),
    "OneHot": (_one_hot, ("num_classes", "axis", "dtype", "sparse")),
    "BinaryCrossentropy": (_binary_crossentropy, ("from_logits",)),
    "CategoricalCrossentropy": (_categorical_crossentropy, ("from_logits", "axis")),
    "SparseCategoricalCrossentropy": (_sparse_crossentropy, ("from_logits", "axis")),
}


def translated(op):
    """The result of an Operation, whose layers it adds."""
    family, known = _FAMILIES.get(op.kind, (None, ()))
    if family is None or not op.arguments or \
            any(name not in product_families.NAMED.get(op.kind, ()) for name in op.named):
        op.fails()
    for argument, value in op.config.items():
        if argument not in ("name", *known) and value is not None:
            op.fails(f"its argument {argument} is {value!r}")
    return stacked.translated(op, family) if stacked.has_stacked(op) else family(op)
