"""Runs the Python code of layers, losses and metrics on symbolic tensors.

Keras's operations on keras.KerasTensor record what they compute. Here they do so of weights, too, and
TensorFlow's functions become Keras's operations.
"""

import contextlib
import importlib
import inspect
import itertools
import math
import sys
import types

import keras
from keras.src.backend.common import keras_tensor
from keras.src.backend.common.variables import Variable
from keras.src.metrics import reduction_metrics

from cairn.errors import NotSupported

ops = keras.ops
_MODULES = [importlib.import_module(f"keras.src.ops.{name}") for name in
            ("core", "einops", "image", "linalg", "math", "nn", "numpy", "operation")]
_OPERATORS = ["__getitem__", "__neg__", "__pos__", "__abs__",
              *(f"__{side}{name}__" for name in ("add", "sub", "mul", "truediv", "pow", "matmul")
                for side in ("", "r")), "__lt__", "__le__", "__gt__", "__ge__", "__eq__", "__ne__"]
_RANDOM = ("normal", "uniform", "truncated_normal", "binomial", "beta", "gamma", "poisson", "randint",
           "categorical", "shuffle", "dropout", "uniform_full_int")  # Keras's and TensorFlow's.
_trace = None  # The Trace that records now.


@contextlib.contextmanager
def patched(owner, name, value):
    """Inside, the attribute of a class, module or object is `value`."""
    is_there = name in vars(owner)
    before = vars(owner).get(name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        if is_there:
            setattr(owner, name, before)
        else:
            delattr(owner, name)


class Trace:
    """While it is entered, weights of own layers are symbolic tensors, if it is recording.

    weights: {name of the InputLayer that stands for a weight: Keras's variable}.
    noise: the tensor for random numbers of a shape, with their mean and standard deviation.
    """

    def __init__(self, noise):
        self.weights = {}
        self._noise = noise
        self._tensors = {}  # By id of the variable: the symbolic tensor.
        self._is_recording = False
        self._added = {}  # By id of a variable whose sums are collected: the tensors.
        self._stack = contextlib.ExitStack()

    def __enter__(self):
        global _trace
        _trace = self
        _dispatch_tensorflow()
        for module in _MODULES:
            self._set(module, "any_symbolic_tensors", self._any_symbolic)
        symbolic_call = keras.Operation.symbolic_call

        def called(operation, *args, **kwargs):
            args, kwargs = self.symbolic(args), self.symbolic(kwargs)
            with self.recording(False):
                return symbolic_call(operation, *args, **kwargs)

        self._set(keras.Operation, "symbolic_call", called)
        # A symbolic tensor has no comparison of its own: Python would compare identities.
        for name, function in ("__eq__", ops.equal), ("__ne__", ops.not_equal):
            self._set(keras.KerasTensor, name, self._comparison(name, function))
        self._set(keras.KerasTensor, "__hash__", object.__hash__)
        self._set(keras.KerasTensor, "__getitem__", self._item(keras.KerasTensor.__getitem__))
        self._set(keras.KerasTensor, "get_shape", _fail_for_dispatcher)
        for name in _OPERATORS:
            self._set(Variable, name, self._operator(name))
        for name in "assign", "assign_add", "assign_sub":
            self._set(Variable, name, self._collecting(name))
        for kind in (Variable, keras.Variable):
            for name in ("__array__", "numpy", "__tf_tensor__"):
                if name in vars(kind):
                    self._set(kind, name, self._converting(kind, name))
        for name, function in _OF_COUNTS.items():
            self._set(ops, name, self._taking_count(getattr(ops, name), function))
        shape_of = keras.layers.EinsumDense.compute_output_shape
        self._set(keras.layers.EinsumDense, "compute_output_shape",
                  lambda layer, shape: _einsum_shape(layer, shape, shape_of(layer, shape)))
        for owner, name in _without_dispatch():
            self._set(owner, name, self._asking_dispatcher(owner, name))
        for owner in _random_modules():
            for name in vars(owner):
                if name.removeprefix("stateless_") in _RANDOM:
                    self._set(owner, name, self._drawing(owner, name))
        for owner in _random_kernels():
            for name, function in list(vars(owner).items()):
                if inspect.isfunction(function) and not name.startswith("_") and \
                        inspect.unwrap(function).__module__ == owner.__name__:
                    self._set(owner, name, self._drawing(owner, name))
        dtype = Variable.dtype.fget
        self._set(Variable, "dtype", property(
            lambda variable: _WeightType(dtype(variable)) if self._is_recording else dtype(variable)))
        value = Variable.value.fget
        self._set(Variable, "value", property(
            lambda variable: self.tensor(variable) if self._is_recording else value(variable)))
        return self

    def __exit__(self, *_):
        global _trace
        _trace = None
        self._stack.close()

    def _set(self, owner, name, value):
        self._stack.enter_context(patched(owner, name, value))

    @property
    def is_recording(self):
        return self._is_recording

    @contextlib.contextmanager
    def recording(self, is_recording=True):
        """Inside, weights are symbolic: while Python code of the script runs, not that of Keras."""
        before, self._is_recording = self._is_recording, is_recording
        try:
            yield
        finally:
            self._is_recording = before

    @contextlib.contextmanager
    def collecting(self, variables, output):
        """Inside, what is added to the variables is recorded; yields {id of the variable: [value]}.

        output: a tensor of examples, whose number ops.shape and ops.size then have. None among the
        values stands for that number.
        """
        axes = list(range(1, len(output.shape)))
        self._added = {id(each): [] for each in variables}
        original, original_size = ops.shape, ops.size

        def shape(x):
            sizes = original(x)
            if not keras.backend.is_keras_tensor(x) or not sizes or sizes[0] is not None:
                return sizes
            return (count(), *sizes[1:])

        def count():
            return ops.sum(ops.ones_like(ops.mean(output, axis=axes)))

        try:
            ops.shape = shape
            ops.size = lambda x: math.prod(shape(x)) if keras.backend.is_keras_tensor(x) else \
                original_size(x)
            # Keras's own code of Mean and Sum, which a metric of the script may extend.
            counting = types.SimpleNamespace(**{**vars(keras.src.ops), "shape": shape})
            with self.recording(), patched(reduction_metrics, "ops", counting):
                yield self._added
            for values in self._added.values():
                values[:] = [count() if each is None else each for each in values]
        finally:
            ops.shape, ops.size = original, original_size
            added, self._added = self._added, {}
        states = [self._tensors.pop(id(each)) for each in variables if id(each) in self._tensors]
        for state in states:
            del self.weights[state._keras_history.operation.name]
        if any(_depends_on(value, states) for values in added.values() for value in values):
            raise NotSupported("its new state depends on its state other than by a sum")

    def tensor(self, variable):
        """The symbolic tensor of a weight."""
        if id(variable) not in self._tensors:
            name = f"own_weight{len(self._tensors)}"
            self._tensors[id(variable)] = keras.Input(batch_shape=tuple(variable.shape), name=name,
                                                      dtype=variable.dtype)
            self.weights[name] = variable
        return self._tensors[id(variable)]

    def noise_of(self, name, function, args, kwargs):
        """The tensor for a call of a random function: "normal", "uniform" or "dropout".

        None if it is another one, or if its shape is not that of a symbolic tensor of examples.
        """
        if name not in ("normal", "uniform", "dropout"):
            return None
        bound = inspect.signature(function).bind(*args, **kwargs)
        bound.apply_defaults()
        given = bound.arguments
        if name == "dropout":
            if given.get("noise_shape") is not None or not self.is_symbolic(given["inputs"]):
                return None
            with self.recording(False):
                return keras.layers.Dropout(given["rate"])(self.symbolic(given["inputs"]))
        shape = given.get("shape")
        is_float = given.get("dtype") is None or "float" in str(given["dtype"])
        if not self._is_recording or not isinstance(shape, (list, tuple)) or len(shape) < 2 or \
                shape[0] is not None or not is_float:
            return None
        with self.recording(False):
            if name == "normal":
                return self._noise(tuple(shape), given["mean"], given["stddev"])
            # The probability of smaller normal numbers is uniform: gelu(x) is its product with x.
            low, high = given["minval"], 1.0 if given["maxval"] is None else given["maxval"]
            noise = self._noise(tuple(shape), 0.0, 1.0)
            is_mean = ops.cast(ops.equal(noise, 0.0), "float32")  # Also in inference.
            probability = (ops.gelu(noise, approximate=False) + 0.5 * is_mean) / (noise + is_mean)
            return low + (high - low) * probability

    @property
    def inputs(self):
        return list(self._tensors.values())

    def symbolic(self, structure):
        """The structure with symbolic tensors in place of weights."""
        if not self._is_recording:
            return structure
        return keras.tree.map_structure(
            lambda each: self.tensor(each) if isinstance(each, Variable) else each, structure)

    def is_symbolic(self, structure):
        return any(keras.backend.is_keras_tensor(each) or
                   self._is_recording and isinstance(each, Variable)
                   for each in keras.tree.flatten(structure))

    def _any_symbolic(self, args=None, kwargs=None):
        return keras_tensor.any_symbolic_tensors(args, kwargs) or \
            self._is_recording and self.is_symbolic((args or (), kwargs or {}))

    def _operator(self, name):
        original = vars(Variable)[name]

        def operator(variable, *others):
            if not self._is_recording:
                return original(variable, *others)
            if name == "__getitem__" and isinstance(others[0], slice):
                others = [(others[0],)]  # A symbolic tensor takes a tuple.
            return getattr(self.tensor(variable), name)(*self.symbolic(others))

        return operator

    def _comparison(self, name, function):
        original = getattr(keras.KerasTensor, name)

        def compare(tensor, other):
            if not self._is_recording or other is None:
                return original(tensor, other)
            return function(tensor, other)

        return compare

    def _item(self, original):
        def item(tensor, key):
            keys = key if isinstance(key, tuple) else (key,)
            if self._is_recording and keys[0] is None and _is_for_all(tensor) and \
                    all(each in (Ellipsis, slice(None)) for each in keys[1:]):
                return tensor
            alone = key is None or key is Ellipsis or isinstance(key, slice)
            return original(tensor, keys if alone else key)

        return item

    def _taking_count(self, original, function):
        def operation(*args, **kwargs):
            result = function(original, *args, **kwargs) if self._is_recording else None
            return original(*args, **kwargs) if result is None else result

        return operation

    def _asking_dispatcher(self, owner, name):
        original = vars(owner)[name]

        def function(*args, **kwargs):
            if self._is_recording and self.is_symbolic((args, kwargs)):
                return _called(original, original.__name__, args, kwargs, self)
            return original(*args, **kwargs)

        return function

    def _drawing(self, owner, name):
        """A random function, whose numbers would be the same in each batch as a constant."""
        original = vars(owner)[name]

        def draw(*args, **kwargs):
            if not self._is_recording:
                return original(*args, **kwargs)
            noise = self.noise_of(name, original, args, kwargs)
            if noise is None:
                raise _draws(f"{owner.__name__}.{name}")
            return noise

        return draw

    def _collecting(self, name):
        original = vars(Variable)[name]

        def method(variable, value, *args, **kwargs):
            if not self._is_recording:
                return original(variable, value, *args, **kwargs)
            if id(variable) not in self._added:
                raise NotSupported(f"{name} of weight {variable.path} is called, which a job cannot: "
                                   f"its weights change in updates only")
            if name == "assign":
                value = self._sum_with(variable, value)
            self._added[id(variable)].append(-value if name == "assign_sub" else value)
            return variable

        return method

    def _sum_with(self, variable, value):
        """y of the sum of the variable and y, or of y and the variable."""
        history = getattr(value, "_keras_history", None)
        state = self._tensors.get(id(variable))
        if history is not None and type(history.operation).__name__ == "Add":
            terms = list(history.operation._inbound_nodes[history.node_index].arguments.args)
            if len(terms) == 2 and any(each is state for each in terms):
                return terms[1] if terms[0] is state else terms[0]
        raise NotSupported(f"{variable.path} is assigned something else than its sum with a value: "
                           f"use assign_add")

    def _converting(self, kind, name):
        original = vars(kind)[name]

        def method(variable, *args, **kwargs):
            if self._is_recording and name == "__tf_tensor__":
                raise TypeError("a symbolic weight")  # TensorFlow then asks the dispatcher.
            if self._is_recording:
                raise NotSupported(f"weight {variable.path} is taken as an array, which has no "
                                   f"gradient: use keras.ops")
            return original(variable, *args, **kwargs)

        return method


# ------------------------------------------------------------------------------- the number of examples


def _is_for_all(tensor):
    """True for rows of an Embedding that are the same for all examples: they have no axis of these.

    In the job's model they have one, so that the axis of length 1 which a script adds is there already.
    """
    return getattr(tensor, "_is_for_all", False)


def _einsum_shape(layer, input_shape, shape):
    """The shape of an EinsumDense, whose output_shape need not say what the input's says."""
    inputs, output = layer.equation.replace(" ", "").split("->")
    if "." in layer.equation:
        return shape
    sizes = dict(zip(inputs.split(",")[0], input_shape))
    return tuple(sizes.get(letter) if size is None else size for letter, size in zip(output, shape))


class _Counts(list):
    """A tensor of numbers, of which None is the number of examples of a batch."""


def _numbers_of(value):
    """The numbers as _Counts if the number of examples is among them, else None."""
    if value is None:
        return _Counts([None])
    values = list(value) if isinstance(value, (list, tuple)) else []
    return _Counts(values) if None in values or isinstance(value, _Counts) else None


def _joined_counts(_, xs, axis=0):
    parts = [_numbers_of(each) if isinstance(each, (list, tuple)) else None for each in xs]
    if all(part is None for part in parts):
        return None
    return _Counts(number for part, each in zip(parts, xs) for number in
                   (ops.convert_to_numpy(each).tolist() if part is None else part))


def _is_computed(x):
    """True for a weight, or a tensor that is no constant."""
    return keras.backend.is_keras_tensor(x) or isinstance(x, Variable)


def _for_each_example(x):
    """Weights, or what is computed of them, whose first axis of length 1 becomes that of the examples."""
    return ops.broadcast_to(x, [None, *x.shape[1:]])


def _tiled(tile, x, repeats):
    """A constant that is repeated for each example: it is the same for all."""
    counts = _numbers_of(repeats)
    if counts is None or counts[0] is not None or len(counts) != len(x.shape) or x.shape[0] != 1:
        return None
    if _is_computed(x):
        x = _for_each_example(x)
        return tile(x, [1, *counts[1:]]) if any(each != 1 for each in counts[1:]) else x
    return tile(x, [1, *counts[1:]])


def _broadcast(broadcast_to, x, shape):
    counts = _numbers_of(shape)
    if counts is None or _is_computed(x) or \
            len(counts) == len(x.shape) and x.shape[0] != 1:
        return None
    return broadcast_to(x, [1, *counts[1:]])


def _repeated(_, x, repeats, axis=None):
    if repeats is not None or axis != 0 or x.shape[0] != 1:
        return None
    return _for_each_example(x) if _is_computed(x) else x


# Operations of Keras that scripts call with the number of examples, ops.shape(x)[0], which is None.
_OF_COUNTS = {
    "expand_dims": lambda _, x, axis: x if axis == 0 and _is_for_all(x) else _numbers_of(x),
    "stack": lambda _, x, axis=0: _numbers_of(x),
    "convert_to_tensor": lambda _, x, *args, **kwargs: _numbers_of(x),
    "concatenate": _joined_counts, "tile": _tiled, "broadcast_to": _broadcast, "repeat": _repeated,
}
# TensorFlow's functions for which these stand, by their __name__.
_OF_COUNTS_IN_TENSORFLOW = {
    "expand_dims_v2": "expand_dims", "stack": "stack", "concat": "concatenate", "tile": "tile",
    "broadcast_to": "broadcast_to", "repeat": "repeat",
    "convert_to_tensor_v2_with_dispatch": "convert_to_tensor",
}


def _called_with_count(op, name, args, kwargs):
    """The result of TensorFlow's function `op` with the number of examples; None if it has no such one."""
    operation = _OF_COUNTS_IN_TENSORFLOW.get(name)
    if operation is None:
        return None
    bound = inspect.signature(op).bind(*args, **kwargs)
    values = [value for key, value in bound.arguments.items() if key != "name"]
    return _OF_COUNTS[operation](getattr(ops, operation), *values)


def _depends_on(value, tensors):
    """True if the symbolic tensor is computed of one of these."""
    seen, open_ = set(), [value]
    while open_:
        each = open_.pop()
        if id(each) in seen or not keras.backend.is_keras_tensor(each):
            continue
        seen.add(id(each))
        if any(each is other for other in tensors):
            return True
        operation, index, _ = each._keras_history
        if operation._inbound_nodes:
            open_ += operation._inbound_nodes[index].input_tensors
    return False


def _draws(function):
    return NotSupported(
        f"{function} is called, whose numbers would be the same in each batch: a job draws normal and "
        f"uniform numbers for each example, with keras.random.normal or uniform and a shape that "
        f"begins with ops.shape(x)[0], or keras.random.dropout without noise_shape")


def _random_modules():
    modules = [keras.random, keras.src.backend.random]
    if keras.backend.backend() == "tensorflow":
        import tensorflow
        modules += [tensorflow.random, tensorflow.random.Generator]
    other = sys.modules.get("keras._tf_keras.keras.random")  # That of tf.keras.
    return [*modules, other] if other is not None else modules


def _random_kernels():
    """The modules that TensorFlow's random functions call, also those that are imported by name."""
    if keras.backend.backend() != "tensorflow":
        return []
    return [importlib.import_module(f"tensorflow.python.ops.gen_{name}_ops") for name in
            ("random", "random_index_shuffle", "stateless_random")] + [
                importlib.import_module("tensorflow.python.ops.gen_stateless_random_ops_v2")]


def _without_dispatch():
    """TensorFlow's functions that fail with a weight before they ask a dispatcher."""
    if keras.backend.backend() != "tensorflow":
        return []
    import tensorflow
    return [(tensorflow, "clip_by_value"), (tensorflow.nn, "softmax"), (tensorflow.nn, "log_softmax")]


def _fail_for_dispatcher(_):
    """TensorFlow asks the dispatcher after a TypeError, and not after an AttributeError."""
    raise TypeError("a symbolic tensor")


class _WeightType(str):
    """The type of a symbolic weight.

    TensorFlow takes a weight for a tensor of its own, whose type has other attributes.
    """

    def __getattr__(self, name):
        if name in ("as_datatype_enum", "is_complex", "is_floating", "is_integer", "is_bool",
                    "base_dtype", "real_dtype", "as_numpy_dtype", "_type_enum"):
            _fail_for_dispatcher(self)
        raise AttributeError(name)


# ------------------------------------------------------------------------------ TensorFlow's functions


def _of(name, count=1):
    """Keras's operation of this name, of the first `count` arguments."""
    return name, count


def _matmul(a, b, transpose_a=False, transpose_b=False):
    def transposed(x):
        return ops.swapaxes(x, -1, -2)

    return ops.matmul(transposed(a) if transpose_a else a, transposed(b) if transpose_b else b)


def _norm(tensor, ord="euclidean", axis=None, keepdims=False):
    return ops.norm(tensor, None if ord == "euclidean" else ord, axis, keepdims)


def _size(input):
    shape = ops.shape(input)
    if None in shape:
        raise NotSupported("tf.size is of a batch, whose number of examples only a metric class knows: "
                           "use a mean")
    return math.prod(shape)


def _patches(images, sizes, strides, rates, padding):
    return ops.image.extract_patches(images, tuple(sizes[1:3]), tuple(strides[1:3]), rates[1],
                                     padding.lower())


def _places(splits):
    """Where to split an axis, for Keras: TensorFlow takes the sizes of the parts."""
    return splits if isinstance(splits, int) else list(itertools.accumulate(splits[:-1]))


def _padded(tensor, paddings, mode="CONSTANT", constant_values=0):
    if mode == "CONSTANT" and not constant_values:
        return ops.pad(tensor, paddings)
    return ops.pad(tensor, paddings, mode.lower(), constant_values if mode == "CONSTANT" else None)


def _unstacked(value, num=None, axis=0):
    return ops.unstack(value, num, axis)


def _moments(x, axes, keepdims=False):
    return [ops.mean(x, axes, keepdims), ops.var(x, axes, keepdims)]


_REDUCTIONS = ("mean", "sum", "max", "min")
# By the function's __name__ in TensorFlow: a function of some of its arguments by their names, or
# _of. Any other argument must have its default.
_FUNCTIONS = {
    **{name: _of(name) for name in (
        "abs", "square", "sqrt", "rsqrt", "exp", "expm1", "log", "log1p", "sign", "sin", "cos", "sinh",
        "cosh", "tanh", "erf", "floor", "ceil",
        "round", "stop_gradient", "sigmoid", "relu", "relu6", "softplus", "softsign", "elu", "selu",
        "reciprocal", "logical_not")},
    **{name: _of(name, 2) for name in (
        "add", "subtract", "multiply", "divide", "maximum", "minimum", "less", "less_equal", "greater",
        "greater_equal", "equal", "not_equal", "logical_and", "logical_or", "reshape", "stack", "cast",
        "broadcast_to", "leaky_relu", "gelu")},
    **{f"reduce_{name}": _of(name, 3) for name in _REDUCTIONS},
    "reduce_variance": _of("var", 3), "reduce_std": _of("std", 3),
    "reduce_logsumexp": _of("logsumexp", 3), "neg": _of("negative"),
    "squeeze_v2": _of("squeeze", 2), "expand_dims_v2": _of("expand_dims", 2),
    "transpose_v2": _of("transpose", 2), "div_no_nan": _of("divide_no_nan", 2),
    "truediv": _of("true_divide", 2), "pow": _of("power", 2), "where_v2": _of("where", 3),
    "tensordot": _of("tensordot", 3), "swish": _of("silu"),
    "size_v2": _size,
    "zeros_like_v2": _of("zeros_like"), "ones_like_v2": _of("ones_like"), "shape_v2": _of("shape"),
    "clip_by_value": _of("clip", 3), "matmul": _matmul, "norm_v2": _norm,
    "concat": lambda values, axis: ops.concatenate(values, axis),
    "squared_difference": lambda x, y: ops.square(x - y),
    "argmax_v2": lambda input, axis=None: ops.argmax(input, axis or 0),
    "argmin_v2": lambda input, axis=None: ops.argmin(input, axis or 0),
    "softmax_v2": lambda logits, axis=None: ops.softmax(logits, -1 if axis is None else axis),
    "log_softmax_v2": lambda logits, axis=None: ops.log_softmax(logits, -1 if axis is None else axis),
    "convert_to_tensor_v2_with_dispatch": lambda value: value, "identity": lambda input: input,
    "sigmoid_cross_entropy_with_logits_v2": lambda labels, logits: ops.binary_crossentropy(
        labels, logits, from_logits=True),
    "gather_v2": lambda params, indices, axis=None: ops.take(params, indices, axis=axis or 0),
    "embedding_lookup_v2": lambda params, ids: ops.take(params, ids, axis=0),
    "extract_image_patches_v2": _patches,
    "einsum": lambda equation, inputs: ops.einsum(equation, *inputs),
    "one_hot": lambda indices, depth: ops.one_hot(indices, depth),
    "cumsum": lambda x, axis=0: ops.cumsum(x, axis=axis),
    "roll": lambda input, shift, axis: ops.roll(input, shift, axis),
    "split": lambda value, num_or_size_splits, axis=0: ops.split(
        value, _places(num_or_size_splits), axis=axis),
    "tile": _of("tile", 2), "repeat": _of("repeat", 3),
    "pad_v2": _padded,
    "reverse_v2": lambda tensor, axis: ops.flip(tensor, axis=axis), "unstack": _unstacked,
    "add_n": lambda inputs: sum(inputs[1:], start=inputs[0]),
    "bias_add": lambda value, bias: value + bias, "moments_v2": _moments,
    "l2_normalize": lambda x, axis=None: ops.normalize(x, axis=axis, order=2),
}
_dispatched = False


def _called(op, name, args, kwargs, trace):
    """The result of TensorFlow's function `op` of symbolic tensors."""
    function = _FUNCTIONS.get(name)
    if function is None:
        raise NotSupported(f"tf.{name} is no operation that a job has: use keras.ops")
    signature = inspect.signature(op)
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    given = {key: keras.backend.standardize_dtype(value) if hasattr(type(value), "as_numpy_dtype")
             else value for key, value in bound.arguments.items() if key != "name"}
    given = dict(zip(given, trace.symbolic(tuple(given.values()))))
    read = list(given)[:function[1]] if isinstance(function, tuple) else \
        list(inspect.signature(function).parameters)
    for key, value in given.items():
        default = signature.parameters[key].default
        if key not in read and value is not default and \
                (trace.is_symbolic(value) or value not in (default, {})):
            raise NotSupported(f"tf.{name} has the argument {key}={value!r}, which no operation of a "
                               f"job has: use keras.ops")
    if isinstance(function, tuple):
        return getattr(ops, function[0])(*(given[key] for key in read))
    return function(**{key: given[key] for key in read if key in given})


def _dispatch_tensorflow():
    """Once: TensorFlow's functions of a Trace's symbolic tensors are Keras's operations."""
    global _dispatched
    if _dispatched or keras.backend.backend() != "tensorflow":
        return
    _dispatched = True
    from tensorflow.python.util import dispatch

    class Dispatcher(dispatch.GlobalOpDispatcher):
        def handle(self, op, args, kwargs):
            if _trace is None:
                return self.NOT_SUPPORTED
            name = getattr(op, "__name__", str(op))
            if _trace.is_symbolic((args, kwargs)):
                return _called(op, name, args, kwargs, _trace)
            if _trace.is_recording:
                result = _called_with_count(op, name, args, kwargs)
                if result is not None:
                    return result
            if not _trace.is_recording or not getattr(op, "__module__", "").endswith("random_ops"):
                return self.NOT_SUPPORTED
            # A random function has failed with the shape of a symbolic tensor.
            noise = _trace.noise_of(name.removeprefix("random_"), op, args, kwargs)
            if noise is None:
                raise _draws(f"tensorflow.{name}")
            return noise

    Dispatcher().register()
